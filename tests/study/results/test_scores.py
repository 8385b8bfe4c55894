"""Scoring outside a run, with and without the labels at hand; a run by its folder alone, and as a table."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import siming_tasks as st
from siming_tasks.common.errors import DataError
from siming_tasks.data import open_dataset, with_labels, withhold
from siming_tasks.options import Options
from siming_tasks.study.results.run import Scores, read_run, score_run
from tests.data.conftest import video_row
from tests.records import number_of, write_predictions, write_rows
from tests.study.results.test_read import complete_run


def scored(
    folder: Path, path: Path, options: Options | None = None, *, labels: Path | None = None, **how: Any
) -> Scores:
    """The numbers of a prediction file; the videos need not be there."""
    dataset = open_dataset(folder, media=False)
    return score_run(read_run(path, with_labels(dataset, labels) if labels else dataset, **how), options)


@pytest.fixture
def predictions(folder: Path, tmp_path: Path) -> Path:
    return write_predictions(complete_run(open_dataset(folder)), tmp_path / "run" / "1_samples_siming_a.jsonl")


def test_verdict_metrics_equal_hand_counts(folder: Path, tmp_path: Path) -> None:
    """Two steps judged: of cpr_01 (2, 1, 2 points) the wrong one is found, of cpr_02 (1, 2, 1) one of two."""
    labels = [[step["score"]["consensus"] for step in video_row(n)["steps"][:2]] for n in (1, 2, 3)]
    assert labels == [[1, 2], [2, 1], [1, 2]]
    said, clip = ("incorrect", "incorrect", "correct"), {"setting": "clip_error", "step_id": "cpr_01"}
    rows = [{**clip, "video_id": f"v00{n}", "verdict": verdict} for n, verdict in enumerate(said, 1)]
    path = write_rows(tmp_path / "p.jsonl", rows)
    scores = scored(folder, path)
    result = scores.settings["clip_error"]
    assert scores.rows("clip_error").to_json() == result["rows"] and len(scores.to_pandas()) == len(result["rows"])
    assert number_of(result, "precision").value == pytest.approx(1 / 2)
    assert number_of(result, "recall").value == pytest.approx(1 / 2)
    assert number_of(result, "coverage").value == pytest.approx(3 / 12)
    assert result["requests"] == {"answered": 3, "asked": 12, "expected": 12, "conflicts": []}
    partial = scored(folder, path, partial=True).settings["clip_error"]
    assert number_of(partial, "coverage").value == 1.0


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
    (warned,) = (problem for problem in full.problems if problem.code == "dataset-differs")
    assert "--allow" not in str(warned)  # it was given
    assert "dataset-differs" not in {problem.code for problem in hosted.problems}


def test_scoring_needs_no_videos(folder: Path, predictions: Path) -> None:
    """The keeper of the labels, or a colleague with the logs, need not have the media."""
    with_media = scored(folder, predictions)
    shutil.rmtree(folder / "media")
    without = scored(folder, predictions)
    assert (without.settings, without.problems) == (with_media.settings, with_media.problems)
    with pytest.raises(DataError, match="media not found"):
        open_dataset(folder)


def test_load_finds_the_data_set_that_the_results_file_names(
    folder: Path, predictions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SIMING_DATA", raising=False)
    with pytest.raises(DataError, match=r"its data set is not stated\. Give its folder \(data=\.\.\.\)"):
        st.load(predictions.parent)
    task = {"dataset_kwargs": {"data_files": {"test": str(folder / "videos.jsonl")}}}
    results = {"config": {"model": "m"}, "configs": {"siming_full_score": task}}
    (predictions.parent / "1_results.json").write_text(json.dumps(results))
    assert st.load(predictions.parent).dataset.root == folder


def test_a_frame_has_one_row_for_each_step_of_each_record(folder: Path, predictions: Path) -> None:
    run = st.load(predictions, folder)
    frame = run.to_pandas()
    steps = {name: sum(len(r.answers) + len(r.missing) for r in records) for name, records in run.records.items()}
    assert steps and frame.groupby("setting").size().to_dict() == steps
    for name in run.settings:
        matrix = run.score_matrix(name)
        for row in frame[frame.setting == name].itertuples():
            v, s = matrix.video_ids.index(row.video_id), matrix.step_ids.index(row.step_id)
            np.testing.assert_equal(row.answer, matrix.predicted[v, s])
            wanted = matrix.reference[v, s] if matrix.answer == "score" else float(matrix.reference_wrong[v, s])
            if not np.isnan(matrix.reference[v, s]):
                assert row.reference == wanted
    first, *others = predictions.read_text().splitlines(keepends=True)
    predictions.write_text("".join(others))
    fewer = st.load(predictions, folder).to_pandas()
    lost = fewer[fewer.status == "no_line"]  # a request without a line has its rows
    assert len(fewer) == len(frame) and set(lost.video_id) == {json.loads(first)["video_id"]}
