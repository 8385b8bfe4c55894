"""From the station to a data set: what two physicians gave is what the folder says, or it is refused in a sentence."""

import json
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
from tests.data.conftest import make_folder
from tests.tools.station.conftest import STEPS, rubric_of

A, B, NA = "exam a.mp4", "exam b.mp4", "N/A"
GIVEN = {
    ("Dr. Li", A): {"look": 2, "call": 10, "press": NA},
    ("Dr. Wu", A): {"look": 2, "call": 7, "press": 1},
    ("Dr. Li", B): {"look": 0, "call": 12, "press": 3},
    ("Dr. Wu", B): {"look": 1, "call": 12, "press": 3},
}
DECIDED = {(A, "call"): 8, (A, "press"): NA, (B, "look"): 1}


def do(work: Work, exam: str, step: str | None, kind: str, value: Any = None) -> dict[str, Any]:
    number = next(number for number, item in enumerate(work.items) if item.exam.name == exam)
    return work.event(number, str(uuid.uuid4()), step, kind, value)


def give(work: Work, exam: str, points: dict[str, Any]) -> None:
    for step, what in points.items():
        do(work, exam, step, *(("applicable", False) if what == NA else ("points", what)))


def mark(work: Work, exam: str, step: str, first: int, last: int) -> None:
    do(work, exam, step, "start", first)
    do(work, exam, step, "end", last)


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
        give(Rating(event_log, rater, exams), exam, points)
    work = Rating(event_log, "Dr. Li", exams)
    mark(work, A, "look", 0, 4)
    mark(work, B, "look", 3, 6)
    return event_log


@pytest.fixture
def decided(rated: EventLog, exams: Exams) -> EventLog:
    """And the three steps on which they differ are adjudicated."""
    work = Adjudication(rated, exams)
    for (exam, step), what in DECIDED.items():
        give(work, exam, {step: what})
    return rated


@pytest.fixture
def make(rubric: Path, videos: Path, tmp_path: Path) -> Callable[..., Any]:
    def build(labels: Any, name: str = "exams", *, videos: Path = videos, rubric: Path = rubric, **more: Any) -> Any:
        use = UseRatings(more.pop("spans_from", None), more.pop("finished", False))
        about = {"rubric": rubric, "labels": labels.path if isinstance(labels, EventLog) else labels, "videos": videos}
        return build_dataset(tmp_path / name, **about, ratings=use, options=BuildOptions(keep_ids=False, **more))

    return build


def test_the_built_folder_says_what_was_given(
    decided: EventLog, rubric: Path, videos: Path, tmp_path: Path, capsys: Any
) -> None:
    words = ["data", "build", "--rubric", rubric, "--labels", decided.path, "--videos", videos, tmp_path / "out"]
    assert main(list(map(str, words))) == 0
    assert not check_dataset(tmp_path / "out").errors
    dataset = open_dataset(tmp_path / "out")
    a, b = dataset.videos  # v001 is exam a: the event log lists exams as the folder does
    assert (a.step("look").span, b.step("look").span) == ((0.0, 0.5), (0.2, 0.64)), "frames 0 to 4 at 10/s; 3 to 6 of b"
    assert a.step("call").span is None
    assert not a.step("press").applicable, "adjudicated"
    raters = sorted(set(dataset.raters) - {"consensus"})
    assert len(raters) == 2
    scores = {tuple(step.scores[name] for name in raters) for step in (a.step("call"), b.step("look"))}
    assert scores == {(10, 7), (0, 1)}
    assert [a.step(step).consensus for step in ("look", "call")] == [2, 8]
    assert [b.step(step).consensus for step in STEPS] == [1, 12, 3]
    assert dataset.meta["label_sources"]["consensus"] == {"raters agree": 3, "given": 2}


def test_who_heard_the_exams_goes_with_the_labels(decided: EventLog, exams: Exams, make: Callable[..., Any]) -> None:
    """Dr. Li had the sound on for most of what was played of both exams, Dr. Wu in one; of the adjudicator nothing is
    known but that there was no other way to see the exams."""
    for rater, shares in {"Dr. Li": ((10, 1), (30, 0)), "Dr. Wu": ((20, 0), (0.1, 0.4))}.items():
        work = Rating(decided, rater, exams)
        for number, (exam, (heard, silent)) in enumerate(zip((A, B), shares, strict=True)):
            work.open(number, f"open-{rater[-2:]}-{number}")
            do(work, exam, None, "played", {"heard": heard, "silent": silent})
    built = make(decided, keep_rater_names=True)
    facts = built.dataset.rater_facts
    assert {name: (rater.heard, rater.saw) for name, rater in facts.items()} == {
        "Dr. Li": (True, "recording"), "Dr. Wu": (None, "recording"), "consensus": (None, "recording"),
    }  # fmt: skip
    warnings = {problem.code: problem.what for problem in built.warnings}
    assert warnings["heard-differs"].startswith("Dr. Wu had the sound on in 1 of 2 exams")
    least = "the least of all 'exam b.mp4' (30 %)."  # 0.5 s of 1.64 s
    assert warnings["hardly-played"] == f"Dr. Wu scored 1 of 2 exams with less than half of the video played, {least}"
    for bad in ({"heard": 1}, {"heard": -1, "silent": 0}, {"heard": True, "silent": 0}, None, "x"):
        with pytest.raises(Refusal, match="played takes no such value"):
            do(work, A, None, "played", bad)
    for bad in ({"seconds": 0}, {"seconds": "3"}, {"seconds": float("nan")}, [1]):
        assert check_event(exams.rubric, None, "open", bad) is not None, bad


def test_open_disagreements_and_unfinished_exams_are_named(
    rated: EventLog, exams: Exams, make: Callable[..., Any]
) -> None:
    with pytest.raises(DataError, match=r"says not applicable, Dr\. .. gives points") as refused:
        make(rated)
    problems = {problem.code: problem for problem in refused.value.problems}
    assert {"applicable-differs", "consensus-open"} <= problems.keys()
    assert all(problem.line is None for problem in problems.values()), "an event log has no rows to open"
    assert str(problems["consensus-open"]).startswith(f"{rated.path}: points: video 'exam ")
    assert "raters differ on 3 steps that nobody has adjudicated" in problems["adjudication-open"].what
    for rater in ("Dr. Li", "Dr. Wu"):
        work = Rating(rated, rater, exams)
        do(work, A, "call", "points", None)
        do(work, A, "press", "applicable", True)
    with pytest.raises(DataError) as refused:
        make(rated, consensus="Dr. Li")
    named = [problem.what for problem in refused.value.problems if problem.code == "exam-unfinished"]
    assert named == [f"{rater} has not finished 'exam a.mp4': call, press." for rater in ("Dr. Li", "Dr. Wu")]
    built = make(rated, consensus="Dr. Li", finished=True)
    assert "exam-unfinished" in {problem.code for problem in built.warnings}
    assert [video.step("call").consensus for video in built.dataset.videos] == [12]


def test_a_log_of_marks_alone_has_no_points_and_says_so(
    event_log: EventLog, exams: Exams, make: Callable[..., Any]
) -> None:
    mark(Rating(event_log, "Dr. Li", exams), A, "look", 1, 4)
    built = make(event_log)
    assert built.dataset.withheld and "labels-withheld" in {problem.code for problem in built.warnings}


def test_spans_of_two_raters_are_not_mixed(decided: EventLog, exams: Exams, make: Callable[..., Any]) -> None:
    wu = Rating(decided, "Dr. Wu", exams)
    mark(wu, A, "look", 1, 4)
    mark(wu, A, "call", 10, 19)
    first = "raters marked 1 step differently, the first being exam a.mp4 look"
    with pytest.raises(DataError, match=f"{first}.*--spans-from"):
        make(decided)
    for name, look, call in (("Dr. Li", (0.0, 0.5), None), ("Dr. Wu", (0.1, 0.5), (1.0, 2.0))):
        video = make(decided, f"of {name}", spans_from=name).dataset.videos[0]
        assert (video.step("look").span, video.step("call").span) == (look, call)
    with pytest.raises(DataError, match=r"--spans-from takes Dr. Li, Dr. Wu"):
        make(decided, "none", spans_from="Dr. Who")
    decider = Adjudication(decided, exams)
    with pytest.raises(Refusal, match="This exam has no step 'look'"):
        do(decider, A, "look", "start", 2)  # nobody differs about its points
    mark(decider, A, "call", 11, 12)
    built = make(decided, "decided", spans_from="Dr. Li").dataset
    assert built.videos[0].step("call").span == (1.1, 1.3), "the adjudicated marks come first"


def test_an_event_log_and_a_sheet_are_built_together(
    event_log: EventLog, exams: Exams, make: Callable[..., Any], tmp_path: Path
) -> None:
    """Points of a sheet, marks of a log in which nobody gave points; flags that meet no event log are refused."""
    work = Rating(event_log, "Dr. Li", exams)
    mark(work, A, "look", 0, 4)
    mark(work, B, "look", 3, 6)
    sheet = tmp_path / "scores.csv"
    rows = [f"{exam},consensus,{','.join(map(str, STEPS.values()))}" for exam in (A, B)]
    sheet.write_text("\n".join([f"video_id,rater,{','.join(STEPS)}", *rows]) + "\n")
    built = make([sheet, event_log.path]).dataset
    assert [video.step("look").span for video in built.videos] == [(0.0, 0.5), (0.2, 0.64)]
    assert built.videos[0].step("call").consensus == 12
    with pytest.raises(DataError, match="--spans-from and --finished need the event log"):
        make(sheet, "other", finished=True)
    do(work, A, "call", "start", 10)
    with pytest.raises(DataError, match=r"has not finished .*: call \(one mark of two\)"):
        make([sheet, event_log.path], "half")


def test_other_videos_rubrics_scales_and_unstated_simulation_are_refused(
    decided: EventLog, exams: Exams, make: Callable[..., Any], videos: Path, tmp_path: Path
) -> None:
    (swapped := tmp_path / "swapped").mkdir()
    for one, two in ((A, B), (B, A)):
        (swapped / one).write_bytes((videos / two).read_bytes())
    with pytest.raises(DataError, match=r"exam a.mp4 is not the video that was rated as 'exam a.mp4'"):
        make(decided, videos=swapped)
    other = tmp_path / "other.yaml"
    other.write_text(yaml.safe_dump(rubric_of({**STEPS, "look": 4})))
    with pytest.raises(DataError, match="was rated with another rubric"):
        make(decided, rubric=other)
    simulated = EventLog.begin(tmp_path / "sim.sqlite", exams.rubric, synthetic=True)
    for exam in (A, B):
        give(Rating(simulated, "x", exams), exam, dict.fromkeys(STEPS, 1))
    with pytest.raises(DataError, match=r"the rated videos are SYNTHETIC. Add --simulated-videos"):
        make(simulated, consensus="x")
    digest = exams.exams[0].digest  # an event log comes from a colleague, too
    decided.append("forged-1", work="rate", rater="Dr. Li", exam=digest, step="look", kind="points", value=99)
    with pytest.raises(DataError, match=r"event forged-1: 99 is not on the scale of To look"):
        make(decided)


def test_adjudication_shows_what_differs_and_no_name(rated: EventLog, exams: Exams) -> None:
    do(Rating(rated, "Dr. Li", exams), B, "look", "comment", "looked <i>late</i>")
    work = Adjudication(rated, exams)
    shown = {item.exam.name: (item.steps, work.shown(item)) for item in work.items}
    assert {name: steps for name, (steps, _) in shown.items()} == {A: ("call", "press"), B: ("look",)}
    assert "Li" not in str(shown) and "Wu" not in str(shown)
    one, two = shown[B][1]["scores"]["look"]
    assert sorted([one["points"], two["points"]]) == [0, 1]
    assert {one["comment"], two["comment"]} == {"looked <i>late</i>", ""}
    assert shown[B][1]["moments"]["look"] == [0.2, 0.64]
    assert shown == {item.exam.name: (item.steps, work.shown(item)) for item in Adjudication(rated, exams).items}


def test_adjudication_waits_for_both(event_log: EventLog, exams: Exams) -> None:
    for rater, exam in (("a", A), ("b", A), ("a", B)):
        give(Rating(event_log, rater, exams), exam, dict.fromkeys(STEPS, int(rater == "b")))
    found = Adjudication(event_log, exams)
    assert [item.exam.name for item in found.items] == [A] and found.waiting == 1


def test_event_logs_of_two_machines_are_built_or_joined(exams: Exams, tmp_path: Path, make: Callable[..., Any]) -> None:
    """Each physician has a file; both are built together, or joined (twice is once) and adjudicated."""
    files = {rater: EventLog.begin(tmp_path / f"{rater}.sqlite", exams.rubric) for rater in ("Dr. Li", "Dr. Wu")}
    for (rater, exam), points in GIVEN.items():
        give(Rating(files[rater], rater, exams), exam, points)
    li, wu = files.values()
    with pytest.raises(DataError, match="says not applicable"):
        make([li.path, wu.path])
    assert [li.join(wu), li.join(wu)] == [6, 0], "two exams of three steps"
    assert len(li.events()) == 12 and li.raters("rate") == ["Dr. Li", "Dr. Wu"]
    assert {item.exam.name: item.steps for item in Adjudication(li, exams).items} == {
        A: ("call", "press"),
        B: ("look",),
    }
    assert Rating(li, "Dr. Wu", exams).items == Rating(wu, "Dr. Wu", exams).items, "the same order"
    with pytest.raises(DataError, match="cannot be joined"):
        li.join(EventLog.begin(tmp_path / "o.sqlite", exams.rubric, synthetic=True))
    give(Rating(wu, "Dr. Wu", exams), A, GIVEN["Dr. Li", A])
    give(Rating(wu, "Dr. Wu", exams), B, GIVEN["Dr. Li", B])
    (tmp_path / "Dr. Li.sqlite").unlink()
    alone = EventLog.begin(tmp_path / "Dr. Li.sqlite", exams.rubric)
    for exam in (A, B):
        give(Rating(alone, "Dr. Li", exams), exam, GIVEN["Dr. Li", exam])
    built = make([alone.path, wu.path], "both").dataset
    assert [built.videos[1].step(step).consensus for step in STEPS] == [0, 12, 3] and len(built.raters) == 3


def test_a_built_data_set_is_rated_blind(tmp_path: Path) -> None:
    """Its labels, raters, spans and which steps apply are not sent; a second rater is not told of the first."""
    exams = find_exams(make_folder(tmp_path / "set", videos=2), tmp_path / "cache")
    assert exams.synthetic and [len(exam.steps) for exam in exams.exams] == [4, 4]
    event_log = EventLog.begin(tmp_path / "s.sqlite", exams.rubric, synthetic=True)
    first = Rating(event_log, "Dr. Li", exams)
    for number in range(2):
        first.event(number, f"event-{number:05}", "cpr_03", "points", 4)
        first.event(number, f"comment-{number:05}", "cpr_03", "comment", "for nobody else")
    second = Rating(event_log, "Dr. Wu", exams)
    told = [second.start(), *(second.open(number, f"open-{number:05}") for number in range(2))]
    for secret in ("rater_a", "rater_b", "consensus", "Li", "nobody", "score", "span"):
        assert secret not in json.dumps(told), secret
    for item in told[1:]:
        assert set(item) == {"name", "steps", "player", "state", "left", "seconds", "played", "heard"}
        assert set(item["player"]) == {"src", "times", "end", "sound"} and (item["state"], item["left"]) == ({}, 4)
    assert {exam["left"] for exam in told[0]["items"]} == {4}
    # A page of the first rater that was left open names nothing of the second's.
    assert len({*first.names, *second.names}) == 4 and first.usual_port != second.usual_port


def test_a_change_elsewhere_and_a_span_of_a_picture_are_refused(event_log: EventLog, exams: Exams) -> None:
    work = Rating(event_log, "Dr. Li", exams)
    do(work, A, "look", "points", 1)
    number = next(at for at, item in enumerate(work.items) if item.exam.name == A)
    with pytest.raises(Refusal, match="changed in another window"):
        work.event(number, "stale-act-1", "look", "points", None, {"points": 2, "applicable": True})
    assert work.event(number, "fresh-act-1", "look", "points", 2, {"points": 1})["state"]["look"]["points"] == 2
    again = work.event(number, "fresh-act-1", "look", "points", 2, {"points": 1})
    assert again["state"]["look"]["points"] == 2, "an act that arrives twice is done once, and no change elsewhere"
    number = next(at for at, item in enumerate(work.items) if item.exam.name == B)  # pictures 40 ms apart
    work.event(number, "mark-start-1", "look", "start", 0)
    with pytest.raises(Refusal, match=r"less than 0\.1 s"):
        work.event(number, "mark-end-01", "look", "end", 1)
