"""Errors that were mended: a judge who sees the end alone overlooks them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from siming_tasks.analysis.recoveries import recoveries
from siming_tasks.analysis.run_analyses import diagnose_scores
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.options import Options
from siming_tasks.report.tables.diagnosis import diagnosis_section
from siming_tasks.results.evaluate_records import build_reference_matrix
from siming_tasks.tools import public_sets
from tests.tools.public_sets.test_published_sets import FOLDERS


def test_a_judge_of_the_end_alone_overlooks_what_was_mended(tmp_path_factory: pytest.TempPathFactory) -> None:
    """On EgoOops's labels: 8 of 51 steps that were tried again were mended; the last attempt shows none of them."""
    if not FOLDERS["egooops"].is_dir():
        pytest.skip("the published annotation files are not here")
    sets: dict[str, Dataset] = {}
    for rule in ("worst", "last"):
        out = tmp_path_factory.mktemp(rule) / "labels"
        public_sets.fetch("egooops", out, annotations=FOLDERS["egooops"], rule=rule)
        sets[rule] = open_dataset(out, media=False)
    matrix, at_the_end = (build_reference_matrix(sets[rule], "full_error") for rule in ("worst", "last"))
    videos = [sets["worst"].video(name) for name in matrix.video_ids]
    end_alone = np.where(at_the_end.asked, at_the_end.reference_wrong, np.nan)
    how = {"resamples": 200, "seed": 0}
    found = recoveries(matrix.predicting(end_alone), videos, "worst", **how)
    assert found and (found.tried_again, found.recovered) == (51, 8)
    assert (found.called_wrong.value, found.called_wrong_unmended.value, found.gap.value) == (0, 1, -1)
    oracle = matrix.predicting(np.where(matrix.asked, matrix.reference_wrong, np.nan))
    knows = recoveries(oracle, videos, "worst", **how)
    assert knows and (knows.called_wrong.value, knows.gap.value) == (1, 0)
    assert knows.called_wrong_unmended.n_items == 68 - 12 - 8  # left out, and mended
    diagnosis = diagnose_scores(matrix.predicting(end_alone), "full_error", sets["worst"], Options(resamples=50))
    text = "\n".join(map(str, diagnosis_section(diagnosis, "x")))
    assert "51 answered steps were tried again, 8 were mended; the worst attempt is the label." in text
    once = [replace(video, steps=tuple(replace(step, attempts=()) for step in video.steps)) for video in videos]
    assert recoveries(oracle, once, "worst", **how) is None
