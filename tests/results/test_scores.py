"""Scoring outside a run, with and without the labels at hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import open_dataset, with_labels, withhold
from siming_tasks.options import Options
from siming_tasks.results.evaluate_records import evaluate_records
from siming_tasks.results.record import Record
from siming_tasks.results.run import Scores, read_run, score_run
from tests.data.conftest import video_row
from tests.records import number_of, write_predictions
from tests.results.test_read import complete_run, lines, logged


def scored(
    folder: Path, path: Path, options: Options | None = None, *, labels: Path | None = None, **how: Any
) -> Scores:
    """The numbers of a prediction file; the videos need not be there."""
    dataset = open_dataset(folder, media=False)
    return score_run(read_run(path, with_labels(dataset, labels) if labels else dataset, **how), options)


@pytest.fixture
def predictions(folder: Path, tmp_path: Path) -> Path:
    return write_predictions(complete_run(open_dataset(folder)), tmp_path / "predictions.jsonl")


def test_the_numbers_are_those_of_the_aggregators(folder: Path, predictions: Path, tmp_path: Path) -> None:
    dataset = open_dataset(folder)
    records = [Record.from_json(record) for record in complete_run(dataset)]
    logged(tmp_path / "logs_samples_a.jsonl", reversed([record.to_json() for record in records]))
    for source in (predictions, tmp_path / "logs_samples_a.jsonl"):
        scores = scored(folder, source)
        for name, result in scores.settings.items():
            assert result == evaluate_records(records, dataset, Options(), name)  # every request has a record
    assert json.loads(json.dumps(scores.to_json(), allow_nan=False))["synthetic"] is True


def test_verdict_metrics_equal_hand_counts(folder: Path, tmp_path: Path) -> None:
    """Two steps judged: of cpr_01 (2, 1, 2 points) the wrong one is found, of cpr_02 (1, 2, 1) one of two."""
    assert [[step["score"]["consensus"] for step in video_row(n)["steps"][:2]] for n in (1, 2, 3)] == [
        [1, 2],
        [2, 1],
        [1, 2],
    ]
    verdicts = {"v001": "incorrect", "v002": "incorrect", "v003": "correct"}
    path = lines(
        tmp_path / "p.jsonl",
        [
            {"setting": "clip_error", "video_id": video, "step_id": "cpr_01", "verdict": verdict}
            for video, verdict in verdicts.items()
        ],
    )
    result = scored(folder, path).settings["clip_error"]
    assert number_of(result, "precision").value == pytest.approx(1 / 2)
    assert number_of(result, "recall").value == pytest.approx(1 / 2)
    assert number_of(result, "coverage").value == pytest.approx(3 / 12)
    assert result["requests"] == {"answered": 3, "asked": 12, "expected": 12, "conflicts": []}
    partial = scored(folder, path, partial=True).settings["clip_error"]
    assert number_of(partial, "coverage").value == 1.0


def test_another_rater_and_mapping(folder: Path, predictions: Path) -> None:
    base = scored(folder, predictions).settings["full_score"]
    rater = scored(folder, predictions, Options(rater="rater_b")).settings["full_score"]
    mapped = scored(folder, predictions, Options(mapping="proportional"))
    assert base["options"]["rater"] == "consensus" and rater["options"]["rater"] == "rater_b"
    assert number_of(base, "qwk").value != number_of(rater, "qwk").value
    assert mapped.settings["full_score"]["options"]["mapping"] == "proportional"
    with pytest.raises(DataError, match=r"no rater 'rater_z'; there are consensus, rater_a, rater_b\."):
        scored(folder, predictions, Options(rater="rater_z"))


def test_predictions_made_without_labels_score_as_with_them(folder: Path, tmp_path: Path) -> None:
    public = withhold(folder, tmp_path / "public", tmp_path / "labels.json")
    path = write_predictions(complete_run(public), tmp_path / "p.jsonl")
    with pytest.raises(DataError, match=r"the labels are withheld\. Give the label file with --labels"):
        scored(public.root, path)
    hosted = scored(public.root, path, labels=tmp_path / "labels.json")
    with pytest.raises(DataError, match=r"made on dataset \w{12}, scored on \w{12}\. Give the data set"):
        scored(folder, path)
    full = scored(folder, path, allow=["dataset"])
    for name in full.settings:
        assert hosted.settings[name]["rows"] == full.settings[name]["rows"]
    assert "dataset-differs" in {problem.code for problem in full.problems}
    assert "dataset-differs" not in {problem.code for problem in hosted.problems}


def test_withholding_overwrites_nothing(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must lie outside the public folder"):
        withhold(folder, tmp_path / "public", tmp_path / "public/labels.json")
    withhold(folder, tmp_path / "public", tmp_path / "labels.json")
    with pytest.raises(DataError, match=r"exists\. Name another folder"):
        withhold(folder, tmp_path / "public", tmp_path / "labels2.json")
    with pytest.raises(DataError, match=r"exists\. Name another place"):
        withhold(folder, tmp_path / "public2", tmp_path / "labels.json")
    with pytest.raises(DataError, match="there is nothing to withhold"):
        withhold(tmp_path / "public", tmp_path / "public3", tmp_path / "labels3.json")
    assert not list(tmp_path.glob(".public*"))


def test_scoring_needs_no_videos(folder: Path, predictions: Path) -> None:
    """The keeper of the labels, or a colleague with the logs, need not have the media."""
    with_media = scored(folder, predictions)
    shutil.rmtree(folder / "media")
    without = scored(folder, predictions)
    assert (without.settings, without.problems) == (with_media.settings, with_media.problems)
    with pytest.raises(DataError, match="media not found"):
        open_dataset(folder)


def test_the_score_command_equals_the_library(
    folder: Path, predictions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(predictions), "--data", str(folder), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    timed = {"full_timed_score", "full_timed_error"}
    assert set(printed["settings"]) == {"full_score", "full_error", "clip_score", "clip_error"} | timed
    assert printed["settings"]["full_score"] == json.loads(
        json.dumps(scored(folder, predictions).settings["full_score"])
    )
    assert main(["score", str(predictions), "--data", str(folder)]) == 0
    first, *table = capsys.readouterr().out.splitlines()
    assert first.startswith("Replies that could not be read whole: clip_score 1 of 12 (8.3%: 1 refused); clip_error 1")
    table = table[table.index("") + 1 :]
    assert table[0] == f"tiny 1 SYNTHETIC, digest {open_dataset(folder).digest[:12]}"
    result, place = printed["settings"]["clip_score"], table.index("## clip_score")
    shown = [f"{number_of(result, 'qwk', name).value:.3f}‡" for name in ("answered", "ranked")]
    rows = [line.replace("|", " ").split() for line in table[place:] if line.startswith("| all steps")]
    assert [row[4] for row in rows[:2]] == shown and shown[0] != shown[1], "one of 12 clips is refused: both tables"
    assert any(line == "Fewer than 5 videos: no interval. (all steps)" for line in table)
    assert main(["data", "split", str(folder), str(tmp_path / "pub"), "--key", str(tmp_path / "key.json")]) == 0
    capsys.readouterr()
    assert main(["score", "--show", "missing", "--data", str(tmp_path / "pub"), str(predictions)]) == 0, (
        "needs no labels"
    )
    assert "siming_clip_score: 12 of 12 requests answered" in capsys.readouterr().out
    lines(tmp_path / "bad.jsonl", [{"setting": "x", "video_id": "v001"}])
    for words in (["--data", str(folder)], ["--show", "missing", "--data", str(tmp_path / "pub")]):
        assert main(["score", *words, str(tmp_path / "bad.jsonl")]) == 1
        assert f"{tmp_path}/bad.jsonl:1: setting: unknown setting 'x'." in capsys.readouterr().err
