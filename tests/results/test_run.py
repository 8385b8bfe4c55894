"""A run by its folder alone, and as a table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import siming_tasks as st
from siming_tasks.common.errors import DataError
from tests.records import write_predictions
from tests.results.test_read import complete_run


@pytest.fixture
def run_file(folder: Path, tmp_path: Path) -> Path:
    return write_predictions(complete_run(st.open_dataset(folder)), tmp_path / "run" / "1_samples_siming_a.jsonl")


def test_load_finds_the_data_set_that_the_results_file_names(
    folder: Path, run_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SIMING_DATA", raising=False)
    with pytest.raises(DataError, match=r"its data set is not stated\. Give its folder \(data=\.\.\.\)"):
        st.load(run_file.parent)
    task = {"dataset_kwargs": {"data_files": {"test": str(folder / "videos.jsonl")}}}
    results = {"config": {"model": "m"}, "configs": {"siming_full_score": task}}
    (run_file.parent / "1_results.json").write_text(json.dumps(results))
    assert st.load(run_file.parent).dataset.root == folder


def test_a_frame_has_one_row_for_each_step_of_each_record(folder: Path, run_file: Path) -> None:
    run = st.load(run_file, folder)
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
