"""Variance of decoding against that of the videos: a simulation in which both are known."""

from __future__ import annotations

import numpy as np
import pytest

from siming_tasks.analysis.variance_sources import repeatability
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.alignment import ComparisonEntry
from siming_tasks.report.table import to_markdown
from siming_tasks.report.tables.comparison import repeats_section


def test_the_parts_are_those_of_recall_by_hand(panel):
    """Recall of one step that is always wrong: each video is found with its own chance p, drawn once for all runs.

    Between runs the variance is mean(p (1 - p)) / n, over videos var(p) / n.
    """
    rng = np.random.default_rng(0)
    n, runs = 4000, 400
    p = np.where(rng.random(n) < 0.5, 0.9, 0.3)
    base = panel(np.zeros((n, 1)), np.zeros((n, 1)), answer="error")
    said = [base.predicting((rng.random(n) < p).astype(float)[:, None]) for _ in range(runs)]
    found = repeatability([ComparisonEntry(str(k), one) for k, one in enumerate(said)])["recall"]
    assert found.mean == pytest.approx(0.6, abs=0.02)
    assert found.decoding_sd == pytest.approx(np.sqrt((p * (1 - p)).mean() / n), rel=0.08)
    assert found.video_stderr == pytest.approx(np.sqrt(p.var() / n), rel=0.12)
    assert found.runs_needed == pytest.approx((p * (1 - p)).mean() / (0.21 * p.var()), abs=2.5)


def test_the_same_answers_again_need_one_run(synthetic):
    panel = synthetic(np.random.default_rng(1), videos=40)
    found = repeatability([ComparisonEntry("a", panel), ComparisonEntry("b", panel)])
    assert all(one.decoding_sd == 0 and one.runs_needed == 1 and one.video_stderr > 0 for one in found.values())
    assert "| kappa (qwk) |" in to_markdown(repeats_section(found))


def test_an_undefined_value_is_said_and_not_averaged(synthetic):
    panel = synthetic(np.random.default_rng(1), videos=40)
    constant = panel.predicting(np.broadcast_to(panel.max_score, panel.reference.shape))
    found = repeatability([ComparisonEntry("a", panel), ComparisonEntry("b", constant)])
    assert found["plcc"].values[1] is None and found["plcc"].mean is None
    assert "-" in to_markdown(repeats_section(found))


def test_one_run_is_no_repeat(synthetic):
    with pytest.raises(DataError, match="Repeats are at least two runs of one judge; 1 given"):
        repeatability([ComparisonEntry("a", synthetic(np.random.default_rng(1)))])
