"""Calibration of totals and bias by group, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from siming_tasks.analysis.group_bias import group_biases, signed_error
from siming_tasks.analysis.totals_calibration import totals_calibration

HOW = {"resamples": 200, "seed": 0}


@pytest.fixture
def judged(panel):
    """Sixty videos of twenty students, who differ; a judge that sees half of what differs and is one point kind."""
    rng = np.random.default_rng(2)
    student = np.repeat(np.arange(20), 3)
    skill = rng.normal(0, 1, 20)[student][:, None]
    reference = np.clip(np.rint(2 + skill + rng.normal(0, 1, (60, 8))), 0, 3)
    predicted = np.clip(np.rint(2.2 + 0.5 * skill + rng.normal(0, 1, (60, 8))), 0, 3)
    return replace(panel(reference, predicted), clusters=tuple(f"s{i}" for i in student), unit="student")


def test_levels_are_means_of_the_thirds(judged):
    found = totals_calibration(judged, **HOW)
    x, y = judged.predicted.sum(axis=1), judged.reference.sum(axis=1)
    assert found.whole.value == pytest.approx((y - x).mean()) and found.whole.n_clusters == 20
    level = np.array([int(3 * np.sum(x < total) / 60) for total in x])  # a total below k of 60 others
    for number, estimate in enumerate(found.levels.values()):
        assert estimate.value == pytest.approx((y - x)[level == number].mean())
        assert estimate.low < estimate.value < estimate.high


def test_a_judge_that_gives_one_total_has_one_level(panel):
    found = totals_calibration(panel(np.arange(12).reshape(6, 2) % 4, np.full((6, 2), 3.0)), **HOW)
    assert [level.value is None for level in found.levels.values()] == [False, True, True]


def test_verdicts_have_no_totals(panel):
    assert totals_calibration(panel(np.full((6, 2), 3.0), np.zeros((6, 2)), answer="error"), **HOW) is None


def test_groups_are_compared_with_all_others(judged):
    columns = {
        "sex": {v: "fm"[(i // 3) % 2] for i, v in enumerate(judged.video_ids)},
        "year": {v: str(2020 + (i // 3) % 3) for i, v in enumerate(judged.video_ids)},
        "alone": dict.fromkeys(judged.video_ids, "x"),
        "many": {v: v for v in judged.video_ids},
    }
    found = group_biases(judged, columns, **HOW)
    error = judged.predicted.sum(axis=1) - judged.reference.sum(axis=1)
    assert signed_error(judged) == pytest.approx(error)
    assert [(g.column, g.group) for g in found.groups] == [("sex", "m")] + [
        ("year", str(y)) for y in (2020, 2021, 2022)
    ]
    for group in found.groups:
        inside = np.array([columns[group.column][v] == group.group for v in judged.video_ids])
        assert (group.videos, group.clusters) == (inside.sum(), len(set(judged.cluster_numbers[inside])))
        assert group.error.value == pytest.approx(error[inside].mean())
        assert group.difference.value == pytest.approx(error[inside].mean() - error[~inside].mean())


def test_a_planted_bias_is_found_and_verdicts_are_signed(panel):
    rng = np.random.default_rng(6)
    reference = rng.integers(0, 4, (60, 10)).astype(float)
    wrong = reference < 3
    strict = np.where(rng.random((60, 10)) < np.where(np.arange(60) < 30, 0.3, 0.0)[:, None], True, wrong)
    judged = panel(reference, strict.astype(float), answer="error")
    found = group_biases(judged, {"site": {v: "ab"[i >= 30] for i, v in enumerate(judged.video_ids)}}, **HOW)
    (group,) = found.groups
    assert signed_error(judged) == pytest.approx((strict.astype(float) - wrong).mean(axis=1))
    assert group.difference.high < 0  # b is treated less strictly than a
