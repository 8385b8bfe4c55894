from __future__ import annotations

import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from siming_tasks.cli.main import main
from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import StepLabel
from siming_tasks.data import Dataset
from siming_tasks.metrics.evaluate import ALL, RANKED
from siming_tasks.options import Options
from siming_tasks.results.discovery import find_runs
from siming_tasks.results.run import read_run
from siming_tasks.tools.board.build import build_board
from siming_tasks.tools.board.submission import ModelCard, pack, predictions_of, read_submission
from tests.report.conftest import write_run

OPTIONS = Options()


def packed(lab, run: str | Path, out: Path, **card: str) -> Path:
    source = find_runs([str(lab.runs / run)])[0]
    read = read_run(source, lab.dataset)
    return pack(source, read.records, lab.dataset, ModelCard(**{"name": "A model", **card}), out)


def test_a_packed_run_reads_back_the_same(lab, tmp_path: Path) -> None:
    archive = packed(lab, "noisy", tmp_path / "a.zip", organization="Org", url="https://example.org/m")
    received = read_submission(archive)
    assert received.submission.model.organization == "Org"
    assert received.submission.dataset.digest == lab.dataset.digest
    found = predictions_of(received, lab.dataset)
    assert found.problems == ()
    original = read_run(lab.runs / "noisy", lab.dataset).records
    for name, records in original.items():
        assert [(r["id"], r["answers"], r["status"]) for r in found.records[name]] == [
            (r["id"], r["answers"], r["status"]) for r in records
        ]
    text = archive.read_bytes() + received.predictions
    assert (
        b"sk-private" not in text and str(lab.runs).encode() not in text and str(lab.dataset.root).encode() not in text
    )


def zip_of(path: Path, members: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


GOOD = [("submission.json", b"{}"), ("predictions.jsonl", b"")]


def test_the_board_ranks_flags_and_verifies_submissions(lab, tmp_path: Path) -> None:
    inbox, reruns = tmp_path / "inbox", tmp_path / "reruns"
    inbox.mkdir()
    reruns.mkdir()
    packed(lab, "noisy", inbox / "noisy.zip", name="Noisy", organization="Org")
    packed(lab, "noisy", inbox / "copy.zip", name="Another name")
    perfect = write_run(lab.dataset, tmp_path / "perfect", model="example/Perfect")
    packed(lab, perfect, inbox / "wrong.zip", name="<script>alert(1)</script>", saw_test_data="yes")
    packed(lab, "hostile", inbox / "few.zip", name="noisy")
    zip_of(inbox / "bomb.zip", [("submission.json", b"0" * 5_000_000), GOOD[1]])
    (reruns / "noisy").symlink_to(lab.runs / "noisy")
    (reruns / "wrong").symlink_to(lab.runs / "noisy")
    entries, refused = build_board(
        inbox, lab.dataset, tmp_path / "board", OPTIONS, reruns=reruns, most=9, progress=False
    )
    found = {entry.received.path.stem: entry for entry in entries}

    assert refused == ["bomb.zip: submission.json unpacks to more than 1,000,000 bytes."]
    assert [name for name, entry in found.items() if entry.verified] == ["noisy"]
    assert found["noisy"].agreement == 1.0 and found["copy"].agreement is None
    assert found["wrong"].agreement is not None and 0.3 < found["wrong"].agreement < 0.9
    assert "not verified" in " ".join(found["wrong"].findings)
    assert "The model has seen test data, by its own card." in found["wrong"].findings
    assert "The same predictions as copy.zip." in found["noisy"].findings
    assert "The same model name as few.zip." in found["noisy"].findings
    assert any("coverage" in note and "not comparable below 95 %" in note for note in found["few"].findings)

    page = (tmp_path / "board" / "index.html").read_text()
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page and "Synthetic data." in page
    written = json.loads((tmp_path / "board" / "board.json").read_text())
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


def sent(exams: Dataset, inbox: Path, sender: str, number: int, noise: float, seed: int) -> None:
    """Write a submission of a sender that came on a day: the reference answers with so much noise."""
    run = write_run(exams, inbox.parent / f"{sender}{number}", model=f"{sender}/{number}", noise=noise, seed=seed)
    source, card = find_runs([str(run)])[0], ModelCard(name=f"{sender} {number}")
    archive = pack(source, read_run(source, exams).records, exams, card, inbox / sender / f"{number}.zip")
    os.utime(archive, (86_400.0 * number,) * 2)


def test_a_later_number_of_a_sender_needs_to_be_better_beyond_chance(dozen: Dataset, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    for number, (noise, seed) in enumerate(((0.9, 1), (0.9, 2), (0.5, 3), (0.15, 4), (0.0, 5))):
        sent(dozen, inbox, "acme", number, noise, seed)
    sent(dozen, inbox, "other", 1, 0.8, 2)
    _, refused = build_board(inbox, dozen, tmp_path / "board", OPTIONS, most=99, progress=False)
    written = json.loads((tmp_path / "board" / "board.json").read_text())
    assert refused == [] and len(written["submissions"]) == 6
    for part in written["settings"]:
        assert {row["name"] for row in part["judges"]} == {"acme 3", "other 1"}
        assert part["not_ranked"]["acme 0"] == "Replaced by acme 2, which is better."
        assert part["not_ranked"]["acme 1"] == "Not better beyond chance than acme 0, of the same sender."
        assert part["not_ranked"]["acme 4"] == "Its sender has had 3 numbers in this setting."


def test_a_sender_has_three_submissions_within_thirty_days(dozen: Dataset, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    for number, sender in {0: "acme", 1: "acme\u180b", 2: "\uff41cme\U000e0100", 29: "acme", 31: "acme"}.items():
        sent(dozen, inbox, sender, number, 0.8, number)
    entries, refused = build_board(inbox, dozen, tmp_path / "board", OPTIONS, progress=False)
    assert [entry.received.path.stem for entry in entries] == ["0", "1", "2", "31"]
    assert refused == [
        "29.zip: acme has 3 submissions within 30 days before it, and this board takes 3. Give each sender a folder in "
        "the inbox, or raise --most."
    ]
    _, refused = build_board(inbox, dozen, tmp_path / "board", OPTIONS, most=4, progress=False)
    assert refused == []


def test_all_that_a_board_says_of_the_labels_is_a_few_coarse_numbers(dozen: Dataset, tmp_path: Path) -> None:
    """From one archive of chosen answers every hidden label came back: metrics by skill, with sixteen digits."""
    sent(dozen, tmp_path / "inbox", "acme", 1, 0.6, 1)
    build_board(tmp_path / "inbox", dozen, tmp_path / "board", OPTIONS, progress=False)
    written = json.loads((tmp_path / "board" / "board.json").read_text())
    held = {key for part in written["settings"] for row in (*part["judges"], *part["no_video"]) for key in row}
    assert held == {"name", "rank", "value", "low", "high", "beats_every_judge_that_never_looks", "better_than",
                    "answered"}  # fmt: skip
    numbers = [(row[key], digits) for part in written["settings"] for row in (*part["judges"], *part["no_video"])
               for key, digits in (("value", 3), ("low", 2), ("high", 2)) if row[key] is not None]  # fmt: skip
    assert len(numbers) > 20 and all(value == round(value, digits) for value, digits in numbers)
    exact = read_run(find_runs([str(tmp_path / "acme1")])[0], dozen).evaluate("full_score", OPTIONS)
    (value,) = [row["value"] for row in exact["rows"]
                if (row["table"], row["row"], row["metric"]) == (RANKED, ALL, "qwk")]  # fmt: skip
    assert written["settings"][0]["judges"][0]["value"] == round(value, 3) != value
    page = (tmp_path / "board" / "index.html").read_text()
    assert str(value)[:7] not in page + json.dumps(written)


def test_one_label_for_every_step_gives_no_label_away(dozen: Dataset, tmp_path: Path) -> None:
    """The same constant answers to exams that are all right, and to others, get the same words and no number."""

    def right(step: StepLabel) -> StepLabel:
        points = dozen.rubric.by_id[step.step_id].max_score
        return replace(step, scores=dict.fromkeys(step.scores, points), errors=())

    videos = [replace(video, steps=tuple(map(right, video.steps))) for video in dozen.videos]
    constant = replace(dozen, videos=tuple(videos))
    sent(constant, tmp_path / "inbox", "acme", 1, 0.0, 1)
    told = []
    for name, exams in {"a": constant, "b": dozen}.items():
        build_board(tmp_path / "inbox", exams, tmp_path / name, OPTIONS, progress=False)
        text = (tmp_path / name / "board.json").read_text() + (tmp_path / name / "index.html").read_text()
        assert "0/0" not in text and "one and the same" not in text
        settings = json.loads((tmp_path / name / "board.json").read_text())["settings"]
        told.append([(part["judges"], part["not_ranked"], part["why"]) for part in settings])
    assert told[0] == told[1] and told[0][0][:2] == ([], {"acme 1": "All its answers are the same."})


def test_of_few_answers_a_board_says_no_number(lab, tmp_path: Path) -> None:
    """84 chosen answers of 9 % of the steps gave 84 labels back."""
    records = read_run(find_runs([str(lab.runs / "noisy")])[0], lab.dataset).records
    source = find_runs([str(lab.runs / "noisy")])[0]
    few = {name: [replace(record, parsed=replace(record.parsed, answers=dict(list(record.answers.items())[:3])))
                  for record in kept] for name, kept in records.items() if name.startswith("full")}  # fmt: skip
    pack(source, few, lab.dataset, ModelCard(name="Probe"), tmp_path / "inbox" / "probe.zip")
    entries, refused = build_board(tmp_path / "inbox", lab.dataset, tmp_path / "board", OPTIONS, progress=False)
    assert len(entries) == 1 and refused == []
    written = json.loads((tmp_path / "board" / "board.json").read_text())
    for part in written["settings"]:
        assert part["judges"] == [] and part["not_ranked"] == {"Probe": "It answered less than 95 % of the setting."}


def test_a_reference_judge_is_refused_as_a_model(lab, tmp_path: Path) -> None:
    (tmp_path / "inbox").mkdir()
    packed(lab, "oracle", tmp_path / "inbox" / "best.zip", name="The best model")
    entries, refused = build_board(tmp_path / "inbox", lab.dataset, tmp_path / "board", OPTIONS, progress=False)
    assert entries == []
    (why,) = refused
    assert why.startswith("best.zip: a run of a reference judge (--model siming_reference), which is no model.")


def test_what_the_board_needs(lab, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no \*\.zip"):
        build_board(tmp_path, lab.dataset, tmp_path / "board", OPTIONS)
    packed(lab, "hostile", tmp_path / "a.zip")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("x")
    with pytest.raises(DataError, match="exists and is not a board"):
        build_board(tmp_path, lab.dataset, tmp_path / "mine", OPTIONS)


def test_an_archive_that_is_not_there_is_said_before_a_data_set_is_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMING_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SIMING_DATA", raising=False)
    assert main(["board", "submit", "--check", str(tmp_path / "none.zip")]) == 1
    assert "none.zip: no such file." in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []  # no demo was drawn
