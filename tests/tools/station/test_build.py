"""From the station to a data set: what two physicians gave is what the folder says, or it is refused in a sentence."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import check_dataset, open_dataset
from siming_tasks.tools.builder import BuildOptions, UseRatings, build_dataset
from siming_tasks.tools.station.event_log import EventLog, check_event
from siming_tasks.tools.station.station_exams import Exams, find_exams
from siming_tasks.tools.station.worklist import Adjudication, Rating, Refusal, Work
from tests.tools.station.conftest import STEPS, rubric_of

NA = "N/A"
GIVEN = {
    ("Dr. Li", "exam a.mp4"): {"look": 2, "call": 10, "press": NA},
    ("Dr. Wu", "exam a.mp4"): {"look": 2, "call": 7, "press": 1},
    ("Dr. Li", "exam b.mp4"): {"look": 0, "call": 12, "press": 3},
    ("Dr. Wu", "exam b.mp4"): {"look": 1, "call": 12, "press": 3},
}
DECIDED = {("exam a.mp4", "call"): 8, ("exam a.mp4", "press"): NA, ("exam b.mp4", "look"): 1}


def do(work: Work, exam: str, step: str | None, kind: str, value: Any = None) -> dict[str, Any]:
    number = next(number for number, item in enumerate(work.items) if item.exam.name == exam)
    return work.event(number, str(uuid.uuid4()), step, kind, value)


def give(work: Work, exam: str, step: str, what: Any) -> None:
    do(work, exam, step, *(("applicable", False) if what == NA else ("points", what)))


@pytest.fixture
def exams(videos: Path, rubric: Path, cache: Path) -> Exams:
    return find_exams(videos, cache, rubric)


@pytest.fixture
def event_log(tmp_path: Path, exams: Exams) -> EventLog:
    return EventLog.begin(tmp_path / "s.sqlite", exams.rubric)


@pytest.fixture
def rated(event_log: EventLog, exams: Exams) -> EventLog:
    """Two physicians have scored both exams; Dr. Li marked spans: frames 0 to 4 of a's "look", 3 to 6 of b's."""
    for (rater, exam), points in GIVEN.items():
        work = Rating(event_log, rater, exams)
        for step, what in points.items():
            give(work, exam, step, what)
    work = Rating(event_log, "Dr. Li", exams)
    for exam, first, last in (("exam a.mp4", 0, 4), ("exam b.mp4", 3, 6)):
        do(work, exam, "look", "start", first)
        do(work, exam, "look", "end", last)
    return event_log


@pytest.fixture
def decided(rated: EventLog, exams: Exams) -> EventLog:
    """And the three steps on which they differ are adjudicated."""
    work = Adjudication(rated, exams)
    for (exam, step), what in DECIDED.items():
        give(work, exam, step, what)
    return rated


@pytest.fixture
def make(rubric: Path, videos: Path, tmp_path: Path) -> Callable[..., Any]:
    """Builds of an event log's file."""

    def build(event_log: EventLog, name: str = "exams", *, labels: Any = None, **more: Any) -> Any:
        about = {
            "rubric": rubric,
            "labels": labels or event_log.path,
            "videos": more.pop("videos", videos),
        }
        use = UseRatings(more.pop("spans_from", None), more.pop("finished", False))
        return build_dataset(tmp_path / name, **about, ratings=use, options=BuildOptions(keep_ids=False, **more))

    return build


def test_the_built_folder_says_what_was_given(decided: EventLog, make: Callable[..., Any]) -> None:
    built = make(decided)
    report = check_dataset(built.dataset.root)
    assert not report.errors, report.errors
    dataset = open_dataset(built.dataset.root)
    a, b = dataset.videos  # v001 is exam a: the event log lists exams as the folder does
    assert (a.step("look").span, b.step("look").span) == ((0.0, 0.5), (0.2, 0.64)), "frames 0 to 4 at 10/s; 3 to 6 of b"
    assert a.step("call").span is None
    assert not a.step("press").applicable, "adjudicated"
    raters = sorted(set(dataset.raters) - {"consensus"})
    assert len(raters) == 2
    given = {tuple(a.step("call").scores[name] for name in raters)} | {
        tuple(b.step("look").scores[name] for name in raters)
    }
    assert given == {(10, 7), (0, 1)}
    assert [a.step(step).consensus for step in ("look", "call")] == [2, 8]
    assert [b.step(step).consensus for step in STEPS] == [1, 12, 3]
    assert dataset.meta["label_sources"]["consensus"] == {"raters agree": 3, "given": 2}


def test_who_heard_the_exams_goes_with_the_labels(decided: EventLog, exams: Exams, make: Callable[..., Any]) -> None:
    """Dr. Li had the sound on for most of what was played of both exams, Dr. Wu in one; of the adjudicator nothing is
    known but that there was no other way to see the exams."""
    for rater, shares in {"Dr. Li": ((9, 1), (30, 0)), "Dr. Wu": ((20, 0), (0.1, 0.4))}.items():
        work = Rating(decided, rater, exams)
        for number in range(2):
            work.open(number, f"open-{rater[-2:]}-{number}")
        for exam, (heard, silent) in zip(("exam a.mp4", "exam b.mp4"), shares, strict=True):
            do(work, exam, None, "played", {"heard": heard, "silent": silent})
    before = Rating(decided, "Dr. Li", exams)
    do(before, "exam a.mp4", None, "played", {"heard": 1, "silent": 0})
    built = make(decided, keep_rater_names=True)
    facts = built.dataset.rater_facts
    assert {name: (rater.heard, rater.saw) for name, rater in facts.items()} == {
        "Dr. Li": (True, "recording"), "Dr. Wu": (None, "recording"), "consensus": (None, "recording"),
    }  # fmt: skip
    (mixed,) = (problem for problem in built.warnings if problem.code == "heard-differs")
    assert mixed.what.startswith("Dr. Wu had the sound on in 1 of 2 exams")
    (hardly,) = (problem for problem in built.warnings if problem.code == "hardly-played")
    least = "the least of all 'exam b.mp4' (31 %)."  # 0.5 s of 1.6 s
    assert hardly.what == f"Dr. Wu scored 1 of 2 exams with less than half of the video played, {least}"
    for bad in ({"heard": 1}, {"heard": -1, "silent": 0}, {"heard": True, "silent": 0}, None, "x"):
        with pytest.raises(Refusal, match="played takes no such value"):
            do(before, "exam a.mp4", None, "played", bad)
    for bad in ({"seconds": 0}, {"seconds": "3"}, {"seconds": float("nan")}, [1]):
        assert check_event(exams.rubric, None, "open", bad) is not None, bad


def test_open_disagreements_are_listed(rated: EventLog, make: Callable[..., Any]) -> None:
    with pytest.raises(DataError, match=r"says not applicable, Dr\. .. gives points") as refused:
        make(rated)
    assert {problem.code for problem in refused.value.problems} >= {"applicable-differs", "consensus-open"}
    (hint,) = (problem for problem in refused.value.problems if problem.code == "adjudication-open")
    assert "raters differ on 3 steps that nobody has adjudicated" in hint.what and "--adjudicate" in hint.fix


def test_unfinished_exams_are_named(event_log: EventLog, exams: Exams, make: Callable[..., Any]) -> None:
    li = Rating(event_log, "Dr. Li", exams)
    for step, what in GIVEN["Dr. Li", "exam b.mp4"].items():
        give(li, "exam b.mp4", step, what)
    give(li, "exam a.mp4", "look", 1)
    with pytest.raises(DataError) as refused:
        make(event_log, consensus="Dr. Li")
    (problem,) = (problem for problem in refused.value.problems if problem.code == "exam-unfinished")
    assert "Dr. Li has not finished 'exam a.mp4': call, press." in problem.what
    built = make(event_log, consensus="Dr. Li", finished=True)
    assert len(built.dataset.videos) == 1 and [w.code for w in built.warnings][:1] == ["exam-unfinished"]
    assert built.dataset.videos[0].step("call").consensus == 12


def test_spans_of_two_raters_are_not_mixed(decided: EventLog, exams: Exams, make: Callable[..., Any]) -> None:
    wu = Rating(decided, "Dr. Wu", exams)
    do(wu, "exam a.mp4", "look", "start", 1)
    do(wu, "exam a.mp4", "look", "end", 4)
    do(wu, "exam a.mp4", "call", "start", 10)
    do(wu, "exam a.mp4", "call", "end", 19)
    with pytest.raises(
        DataError, match=r"raters marked 1 steps differently, the first being exam a.mp4 look.*--spans-from"
    ):
        make(decided)
    spans = {name: make(decided, f"of {name}", spans_from=name).dataset for name in ("Dr. Li", "Dr. Wu")}
    assert spans["Dr. Li"].videos[0].step("look").span == (0.0, 0.5)
    assert spans["Dr. Wu"].videos[0].step("look").span == (0.1, 0.5)
    assert spans["Dr. Li"].videos[0].step("call").span is None
    assert spans["Dr. Wu"].videos[0].step("call").span == (1.0, 2.0)
    with pytest.raises(DataError, match=r"--spans-from takes Dr. Li, Dr. Wu"):
        make(decided, "none", spans_from="Dr. Who")
    decider = Adjudication(decided, exams)
    with pytest.raises(Refusal, match="This exam has no step 'look'"):
        do(decider, "exam a.mp4", "look", "start", 2)  # nobody differs about its points
    do(decider, "exam a.mp4", "call", "start", 11)
    do(decider, "exam a.mp4", "call", "end", 12)
    built = make(decided, "decided", spans_from="Dr. Li").dataset
    assert built.videos[0].step("call").span == (1.1, 1.3), "the adjudicated marks come first"


def test_an_event_log_and_a_sheet_are_built_together(
    event_log: EventLog, exams: Exams, make: Callable[..., Any], tmp_path: Path
) -> None:
    """Points of a sheet, marks of a log in which nobody gave points; flags that meet no event log are refused."""
    work = Rating(event_log, "Dr. Li", exams)
    for exam, first, last in (("exam a.mp4", 0, 4), ("exam b.mp4", 3, 6)):
        do(work, exam, "look", "start", first)
        do(work, exam, "look", "end", last)
    sheet = tmp_path / "scores.csv"
    rows = [f"{exam},consensus,{','.join(map(str, STEPS.values()))}" for exam in ("exam a.mp4", "exam b.mp4")]
    sheet.write_text("\n".join([f"video_id,rater,{','.join(STEPS)}", *rows]) + "\n")
    built = make(event_log, labels=[sheet, event_log.path]).dataset
    assert [video.step("look").span for video in built.videos] == [(0.0, 0.5), (0.2, 0.64)]
    assert built.videos[0].step("call").consensus == 12
    with pytest.raises(DataError, match="--spans-from and --finished are about the event log"):
        make(event_log, "other", labels=sheet, finished=True)
    do(work, "exam a.mp4", "call", "start", 10)
    with pytest.raises(DataError, match="only one of start and end is given"):
        make(event_log, "half", labels=[sheet, event_log.path])


def test_other_videos_other_rubrics_and_unstated_simulation_are_refused(
    decided: EventLog, exams: Exams, make: Callable[..., Any], videos: Path, tmp_path: Path
) -> None:
    swapped = tmp_path / "swapped"
    swapped.mkdir()
    for one, two in (("exam a.mp4", "exam b.mp4"), ("exam b.mp4", "exam a.mp4")):
        (swapped / one).write_bytes((videos / two).read_bytes())
    with pytest.raises(DataError, match=r"exam a.mp4 is not the video that was rated as 'exam a.mp4'"):
        make(decided, videos=swapped)
    other = tmp_path / "other.yaml"
    other.write_text(yaml.safe_dump(rubric_of({**STEPS, "look": 4})))
    with pytest.raises(DataError, match="was rated by another rubric"):
        build_dataset(tmp_path / "x", rubric=other, labels=decided.path, videos=videos)
    simulated = EventLog.begin(tmp_path / "sim.sqlite", exams.rubric, synthetic=True)
    work = Rating(simulated, "x", exams)
    for exam in ("exam a.mp4", "exam b.mp4"):
        for step in STEPS:
            give(work, exam, step, 1)
    with pytest.raises(DataError, match=r"the rated videos are SYNTHETIC. Add --synthetic"):
        make(simulated, consensus="x")


def test_a_forged_act_is_refused(decided: EventLog, make: Callable[..., Any], exams: Exams) -> None:
    """An event log comes from a colleague, too: points off the scale."""
    digest = exams.exams[0].digest
    decided.append("forged-1", work="rate", rater="Dr. Li", exam=digest, step="look", kind="points", value=99)
    with pytest.raises(DataError, match=r"event forged-1: 99 is not on the scale of look"):
        make(decided)


def test_command_builds_from_an_event_log(
    decided: EventLog, rubric: Path, videos: Path, tmp_path: Path, capsys: Any
) -> None:
    words = ["data", "build", "--rubric", rubric, "--labels", decided.path, "--videos", videos, tmp_path / "out"]
    assert main(list(map(str, words))) == 0
    assert main(["data", "check", str(tmp_path / "out")]) == 0
    assert "0 errors" in capsys.readouterr().out


def test_adjudication_shows_what_differs_and_no_name(rated: EventLog, exams: Exams) -> None:
    li = Rating(rated, "Dr. Li", exams)
    do(li, "exam b.mp4", "look", "comment", "looked <i>late</i>")
    work = Adjudication(rated, exams)
    shown = {item.exam.name: (item.steps, work.shown(item)) for item in work.items}
    assert {name: steps for name, (steps, _) in shown.items()} == {
        "exam a.mp4": ("call", "press"),
        "exam b.mp4": ("look",),
    }
    assert "Li" not in str(shown) and "Wu" not in str(shown)
    one, two = shown["exam b.mp4"][1]["scores"]["look"]
    assert sorted([one["points"], two["points"]]) == [0, 1]
    assert {one["comment"], two["comment"]} == {"looked <i>late</i>", ""}
    assert shown["exam b.mp4"][1]["moments"]["look"] == [0.2, 0.64]
    assert shown == {item.exam.name: (item.steps, work.shown(item)) for item in Adjudication(rated, exams).items}


def test_adjudication_waits_for_both(event_log: EventLog, exams: Exams) -> None:
    for rater, exam in (("a", "exam a.mp4"), ("b", "exam a.mp4"), ("a", "exam b.mp4")):
        work = Rating(event_log, rater, exams)
        for step in STEPS:
            give(work, exam, step, int(rater == "b"))
    found = Adjudication(event_log, exams)
    assert [item.exam.name for item in found.items] == ["exam a.mp4"] and found.waiting == 1


def test_event_logs_of_two_machines_are_joined(
    videos: Path, exams: Exams, tmp_path: Path, make: Callable[..., Any]
) -> None:
    """Each physician has a file; both are built together, or joined (twice is once) and adjudicated."""
    files = {}
    for rater in ("Dr. Li", "Dr. Wu"):
        files[rater] = EventLog.begin(tmp_path / f"{rater}.sqlite", exams.rubric)
        work = Rating(files[rater], rater, exams)
        for exam in ("exam a.mp4", "exam b.mp4"):
            for step, what in GIVEN[rater, exam].items():
                give(work, exam, step, what)
    li, wu = files.values()
    assert [li.join(wu), li.join(wu)] == [6, 0], "two exams of three steps"
    assert len(li.events()) == 12 and li.raters("rate") == ["Dr. Li", "Dr. Wu"]
    given = {item.exam.name: item.steps for item in Adjudication(li, exams).items}
    assert given == {"exam a.mp4": ("call", "press"), "exam b.mp4": ("look",)}
    assert Rating(li, "Dr. Wu", exams).items == Rating(wu, "Dr. Wu", exams).items, "the recorded order comes along"
    other = EventLog.begin(tmp_path / "o.sqlite", exams.rubric, synthetic=True)
    with pytest.raises(DataError, match="cannot be joined"):
        li.join(other)


def test_two_event_logs_are_built_together(exams: Exams, tmp_path: Path, rubric: Path, videos: Path) -> None:
    paths = []
    for rater in ("Dr. Li", "Dr. Wu"):
        event_log = EventLog.begin(tmp_path / f"{rater}.sqlite", exams.rubric)
        paths.append(event_log.path)
        for exam in ("exam a.mp4", "exam b.mp4"):
            for step in STEPS:
                give(Rating(event_log, rater, exams), exam, step, 2)
    built = build_dataset(tmp_path / "out", rubric=rubric, labels=paths, videos=videos)
    steps = [step for video in built.dataset.videos for step in video.steps]
    assert all(step.consensus == 2 and len(step.scores) == 3 for step in steps) and len(steps) == 6
