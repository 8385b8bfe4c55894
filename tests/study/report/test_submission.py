"""Submissions and the board of them: what is packed, verified and ranked, and how little of the labels is told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.exams import StepLabel
from siming_tasks.benchmark.metrics.catalogue import COVERAGE
from siming_tasks.benchmark.metrics.evaluate import ALL, ANSWERED, RANKED
from siming_tasks.benchmark.metrics.no_video import SHUFFLED
from siming_tasks.benchmark.tasks import BENCHMARK_TASKS
from siming_tasks.cli import main
from siming_tasks.data import Dataset
from siming_tasks.study.analysis.comparison import NO_VIDEO
from siming_tasks.study.report.standings import Entrant, stand
from siming_tasks.study.results.comparable import TaskRun
from siming_tasks.study.results.discovery import find_runs
from siming_tasks.study.results.run import read_run
from siming_tasks.tools.board.build import build_board
from siming_tasks.tools.board.disclosure import coarse
from siming_tasks.tools.board.submission import ModelCard, pack, predictions_of, read_submission
from tests.study.report.conftest import OPTIONS, packed, write_run


def board_of(exams: Dataset, inbox: Path, **how: Any) -> tuple[dict[str, Any], str, list[Any], list[str]]:
    """board.json and page of an inbox, its entries and what was refused."""
    out = inbox.parent / "board"
    entries, refused = build_board(inbox, exams, out, OPTIONS, progress=False, **how)
    return json.loads((out / "board.json").read_text()), (out / "index.html").read_text(), entries, refused


def test_a_packed_run_reads_back_the_same(lab, tmp_path: Path) -> None:
    archive = packed(lab, "noisy", tmp_path / "a.zip", organization="Org", url="https://example.org/m")
    received = read_submission(archive, lab.dataset)
    assert received.submission.model.organization == "Org"
    found = predictions_of(received, lab.dataset)
    assert found.problems == ()
    for name, records in read_run(lab.runs / "noisy", lab.dataset).records.items():
        assert [(r.id, r.answers, r.status) for r in found.records[name]] == [
            (r.id, r.answers, r.status) for r in records
        ]
    text = archive.read_bytes() + received.predictions
    assert not any(said in text for said in (b"sk-private", str(lab.runs).encode(), str(lab.dataset.root).encode()))


def test_the_board_ranks_flags_and_verifies_submissions(lab, tmp_path: Path) -> None:
    inbox, reruns = tmp_path / "inbox", tmp_path / "reruns"
    reruns.mkdir()
    perfect = write_run(lab.dataset, tmp_path / "perfect", model="example/Perfect")
    packed(lab, "noisy", inbox / "noisy.zip", name="Noisy", organization="Org")
    packed(lab, "noisy", inbox / "copy.zip", name="Another name")
    packed(lab, perfect, inbox / "wrong.zip", name="<script>alert(1)</script>", saw_test_data="yes")
    packed(lab, "hostile", inbox / "few.zip", name="noisy")
    packed(lab, "oracle", inbox / "best.zip", name="The best model")
    for name in ("noisy", "wrong"):
        (reruns / name).symlink_to(lab.runs / "noisy")
    written, page, entries, refused = board_of(lab.dataset, inbox, reruns=reruns, most=9)
    found = {entry.received.path.stem: entry for entry in entries}

    assert len(refused) == 1 and "best.zip: a run of a reference judge (--model siming_reference)" in refused[0]
    assert [name for name, entry in found.items() if entry.verified] == ["noisy"]
    assert found["noisy"].agreement == 1.0 and found["copy"].agreement is None
    assert 0.3 < found["wrong"].agreement < 0.9 and "not verified" in " ".join(found["wrong"].findings)
    assert "The model has seen test data, by its own card." in found["wrong"].findings
    assert {"The same predictions as copy.zip.", "The same model name as few.zip."} <= {*found["noisy"].findings}

    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page and "Synthetic data." in page
    assert [row["archive"] for row in written["submissions"] if row["verified"]] == ["noisy.zip"]
    assert {row["date"] for row in written["submissions"]} == {"2026-01-02"} and "2026-01-02" in page
    names = {row["archive"]: row["name"] for row in written["submissions"]}
    assert len(set(names.values())) == 4
    full = written["settings"][0]
    assert full["setting"] == "full_score" and [row["rank"] for row in full["judges"]] == ["1"]  # one number a sender
    assert full["judges"][0]["name"] == names["noisy.zip"] and names["few.zip"] in full["not_ranked"]


@pytest.fixture(scope="module")
def dozen(lab) -> Dataset:
    """Twelve exams: each of the short ones under three names, so that there are intervals."""
    videos = [replace(video, video_id=f"{video.video_id}-{copy}") for copy in "abc" for video in lab.dataset.videos]
    return replace(lab.dataset, videos=tuple(videos))


def sent(
    exams: Dataset, inbox: Path, sender: str, number: int, noise: float, seed: int, settings: Any = BENCHMARK_TASKS
) -> None:
    """Write a submission of a sender that came on a day: the reference answers with so much noise."""
    how: dict[str, Any] = {"noise": noise, "seed": seed, "settings": settings}
    run = write_run(exams, inbox.parent / f"{sender}{number}", model=f"{sender}/{number}", **how)
    source, card = find_runs([str(run)])[0], ModelCard(name=f"{sender} {number}")
    archive = pack(source, read_run(source, exams).records, exams, card, inbox / sender / f"{number}.zip")
    os.utime(archive, (86_400.0 * number,) * 2)


def test_a_later_number_of_a_sender_needs_to_be_better_beyond_chance(dozen: Dataset, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    for number, (noise, seed) in enumerate(((0.9, 1), (0.9, 2), (0.5, 3), (0.15, 4), (0.0, 5))):
        sent(dozen, inbox, "acme", number, noise, seed, ("full_score", "full_error"))
    sent(dozen, inbox, "other", 1, 0.8, 2, ("full_score", "full_error"))
    written, *_, refused = board_of(dozen, inbox, most=99)
    assert refused == [] and len(written["submissions"]) == 6
    for part in written["settings"]:
        assert {row["name"] for row in part["judges"]} == {"acme 3", "other 1"}
        assert part["not_ranked"]["acme 0"] == "Replaced by acme 2, which is better."
        assert part["not_ranked"]["acme 1"] == "Not better beyond chance than acme 0, of the same sender."
        assert part["not_ranked"]["acme 4"] == "Its sender has had 3 numbers in this setting."


def test_a_sender_has_three_submissions_within_thirty_days(dozen: Dataset, tmp_path: Path) -> None:
    """Whatever signs nobody sees stand in the name of its folder."""
    inbox = tmp_path / "inbox"
    for number, sender in {0: "acme", 1: "acme\u180b", 2: "\uff41cme\U000e0100", 29: "acme", 31: "acme"}.items():
        sent(dozen, inbox, sender, number, 0.8, number, ("full_error",))
    *_, entries, (refused,) = board_of(dozen, inbox)
    assert [entry.received.path.stem for entry in entries] == ["0", "1", "2", "31"]
    assert "29.zip: acme has 3 submissions within 30 days before it, and this board takes 3." in refused
    assert board_of(dozen, inbox, most=4)[-1] == []


def test_all_that_a_board_says_of_the_labels_is_a_few_coarse_numbers(dozen: Dataset, tmp_path: Path) -> None:
    """From one archive of chosen answers every hidden label came back: metrics by skill, with sixteen digits."""
    sent(dozen, tmp_path / "inbox", "acme", 1, 0.6, 1)
    written, page, *_ = board_of(dozen, tmp_path / "inbox")
    rows = [row for part in written["settings"] for row in (*part["judges"], *part["no_video"])]
    assert {key for row in rows for key in row} == {
        "name", "rank", "value", "low", "high", "beats_all_no_video_baselines", "better_than", "answered",
    }  # fmt: skip
    numbers = [(row[key], digits) for row in rows for key, digits in (("value", 3), ("low", 2), ("high", 2))]
    known = [(value, digits) for value, digits in numbers if value is not None]
    assert len(known) > 20 and all(value == round(value, digits) for value, digits in known)
    exact = read_run(find_runs([str(tmp_path / "acme1")])[0], dozen).evaluate("full_score", OPTIONS)
    (value,) = [row["value"] for row in exact["rows"]
                if (row["table"], row["row"], row["metric"]) == (RANKED, ALL, "qwk")]  # fmt: skip
    assert written["settings"][0]["judges"][0]["value"] == round(value, 3) != value
    assert str(value)[:7] not in page + json.dumps(written)


def test_a_coarse_standing_holds_no_other_number_about_labels(lab) -> None:
    run = read_run(lab.runs / "noisy", lab.dataset)
    judge = Entrant(TaskRun.of(run, "full_score"), "0", "model", run.evaluate("full_score", OPTIONS))
    standing = stand([judge], lab.dataset, "full_score", OPTIONS)
    whole, kept = standing.comparison, coarse(standing).comparison
    told, known = ({(row.table, row.metric) for row in made.rows} for made in (kept, whole))
    assert told == {(ANSWERED, COVERAGE), (RANKED, "qwk"), (NO_VIDEO, "qwk")} < known
    assert any(row.row.startswith(SHUFFLED) for row in whole.rows)
    assert not any(row.row.startswith(SHUFFLED) for row in kept.rows)


def test_one_label_for_every_step_gives_no_label_away(dozen: Dataset, tmp_path: Path) -> None:
    """The same constant answers to exams that are all right, and to others, get the same words and no number."""

    def right(step: StepLabel) -> StepLabel:
        points = dozen.rubric.by_id[step.step_id].max_score
        return replace(step, scores=dict.fromkeys(step.scores, points), errors=())

    videos = [replace(video, steps=tuple(map(right, video.steps))) for video in dozen.videos]
    constant = replace(dozen, videos=tuple(videos))
    sent(constant, tmp_path / "inbox", "acme", 1, 0.0, 1)
    told = []
    for exams in (constant, dozen):
        written, page, *_ = board_of(exams, tmp_path / "inbox")
        assert not any(said in page + json.dumps(written) for said in ("0/0", "one and the same"))
        told.append([(part["judges"], part["not_ranked"], part["why"]) for part in written["settings"]])
    assert told[0] == told[1] and told[0][0][:2] == ([], {"acme 1": "All its answers are the same."})


def test_of_few_answers_a_board_says_no_number(lab, tmp_path: Path) -> None:
    """84 chosen answers of 9 % of the steps gave 84 labels back."""
    run = read_run(lab.runs / "noisy", lab.dataset)
    few = {name: [replace(record, parsed=replace(record.parsed, answers=dict(list(record.answers.items())[:3])))
                  for record in kept] for name, kept in run.records.items() if name.startswith("full")}  # fmt: skip
    pack(run.source, few, lab.dataset, ModelCard(name="Probe"), tmp_path / "inbox" / "probe.zip")
    written, _, entries, refused = board_of(lab.dataset, tmp_path / "inbox")
    assert len(entries) == 1 and refused == []
    for part in written["settings"]:
        assert part["judges"] == [] and part["not_ranked"] == {"Probe": "It answered less than 95 % of the setting."}


@pytest.fixture
def command(exams: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> Iterator[Callable[..., Any]]:
    """``siming board ...`` in an empty folder with the data named: code, and all that is printed."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str]:
        code = main(["board", *words, "--data", str(exams.root)])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


def test_submit_then_board(command: Callable[..., Any], exams: Dataset, make_run: Callable[..., Path]) -> None:
    run = make_run(exams, Path("run"), "rater_a", model="org/Model", settings=("full_error",))
    code, said = command("submit", str(run), "--name", "Model", "--out", "inbox/model.zip")
    assert code == 0 and "inbox/model.zip: ready. Model, 4 predictions" in said
    Path("reruns").mkdir()
    (Path("reruns") / "model").symlink_to(run.resolve())
    code, said = command("build", "inbox", "--reruns", "reruns", "--out", "board")
    assert code == 0 and "board/index.html: 1 verified, 0 community rows." in said
    Path("inbox/bad.zip").write_bytes(b"not a zip")
    code, said = command("build", "inbox", "--out", "board")
    assert code == 1 and "refused: bad.zip: not a readable zip archive" in said
    assert "0 verified, 1 community rows." in said
    for words, why in ((("submit", "--check", "none.zip"), "none.zip: no such file"),
                       (("submit", "run", "--url", "javascript:alert(1)"), "--url: "),
                       (("build", "inbox", "--out", "run"), "exists and is not a board"),
                       (("build", "run"), "holds no *.zip")):  # fmt: skip
        code, said = command(*words)
        assert code and why in said, words


@pytest.mark.parametrize(
    ("setting", "what"),
    [("ablation_no_video_full_score", "ablations only"), ("full_score_abstain", "another form of the reply")],
)
def test_a_board_takes_no_other_task(command, exams, make_run, setting: str, what: str) -> None:
    run = make_run(exams, Path("run"), "rater_a", model="org/M", settings=(setting,))
    code, said = command("submit", str(run), "--out", "s.zip")
    assert code == 1 and what in said
