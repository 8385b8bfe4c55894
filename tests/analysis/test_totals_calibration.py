"""Calibration of totals and bias by group against statsmodels with clustered covariance, and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.multitest import multipletests

from siming_tasks.analysis.cluster_regression import fit
from siming_tasks.analysis.group_bias import group_biases, signed_error
from siming_tasks.analysis.totals_calibration import totals_calibration


def clustered(y, x, groups):
    design = sm.add_constant(x) if x is not None else np.ones((len(y), 1))
    return sm.OLS(y, design).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)


@pytest.fixture
def judged(panel):
    """Sixty videos of twenty students, who differ; a judge that sees half of what differs and is one point kind."""
    rng = np.random.default_rng(2)
    student = np.repeat(np.arange(20), 3)
    skill = rng.normal(0, 1, 20)[student][:, None]
    reference = np.clip(np.rint(2 + skill + rng.normal(0, 1, (60, 8))), 0, 3)
    predicted = np.clip(np.rint(2.2 + 0.5 * skill + rng.normal(0, 1, (60, 8))), 0, 3)
    return replace(panel(reference, predicted), clusters=tuple(f"s{i}" for i in student), unit="student")


def test_line_is_statsmodels(judged):
    x, y = judged.predicted.sum(axis=1), judged.reference.sum(axis=1)
    expected = clustered(y, x, judged.cluster_numbers)
    found = totals_calibration(judged, {}).whole
    assert [found.intercept.value, found.slope.value] == pytest.approx(expected.params)
    assert [found.intercept.stderr, found.slope.stderr] == pytest.approx(expected.bse)
    assert (found.slope.low, found.slope.high) == pytest.approx(expected.conf_int()[1])
    assert found.slope.n_clusters == 20
    centred = clustered(y - x.mean(), x - x.mean(), judged.cluster_numbers)
    assert (found.offset.value, found.offset.stderr) == pytest.approx((centred.params[0], centred.bse[0]))
    assert found.offset.value == pytest.approx((y - x).mean())


def test_sites_and_levels(judged):
    site = {video: "AB"[i >= 30] for i, video in enumerate(judged.video_ids)}
    found = totals_calibration(judged, site)
    x, y = judged.predicted.sum(axis=1), judged.reference.sum(axis=1)
    for name, rows in (("A", slice(0, 30)), ("B", slice(30, 60))):
        expected = clustered(y[rows], x[rows], judged.cluster_numbers[rows])
        assert (found.sites[name].slope.value, found.sites[name].slope.stderr) == pytest.approx(
            (expected.params[1], expected.bse[1])
        )
    level = np.array([int(3 * np.sum(x < total) / 60) for total in x])  # a total below k of 60 others
    for number, estimate in enumerate(found.levels.values()):
        rows = level == number
        expected = clustered((y - x)[rows], None, judged.cluster_numbers[rows])
        assert (estimate.value, estimate.stderr) == pytest.approx((expected.params[0], expected.bse[0]))


def test_a_judge_that_gives_one_total_has_no_line(panel):
    found = totals_calibration(panel([[3, 2], [1, 0], [2, 2]], [[3, 3]] * 3), {})
    assert found.whole.slope.value is None and "no line" in found.whole.slope.reason
    assert totals_calibration(panel([[3]], [[1]], answer="error"), {}) is None


def test_nine_students_have_no_interval(judged):
    few = judged.videos(range(27))
    slope = totals_calibration(few, {}).whole.slope
    assert (slope.low, slope.flags) == (None, ("too-few-clusters",)) and slope.stderr > 0


def test_a_fit_of_more_columns_is_statsmodels():
    rng = np.random.default_rng(1)
    x, groups = rng.normal(size=(40, 3)), np.repeat(np.arange(10), 4)
    y = x @ [1, 2, 0] + rng.normal(size=10)[groups] + rng.normal(size=40)
    found, expected = fit(y, list(x.T), groups), clustered(y, x, groups)
    assert found.values == pytest.approx(expected.params) and found.errors == pytest.approx(expected.bse)
    assert found.p_value(3) == pytest.approx(expected.pvalues[3])
    assert fit(y, [np.zeros(40)], groups) is None


# --- bias by group ---------------------------------------------------------------------------------------------------


def test_groups_are_statsmodels_with_holms_correction(judged):
    columns = {
        "sex": {v: "fm"[(i // 3) % 2] for i, v in enumerate(judged.video_ids)},
        "year": {v: str(2020 + (i // 3) % 3) for i, v in enumerate(judged.video_ids)},
        "alone": dict.fromkeys(judged.video_ids, "x"),
        "many": {v: v for v in judged.video_ids},
    }
    found = group_biases(judged, columns)
    error = judged.predicted.sum(axis=1) - judged.reference.sum(axis=1)
    assert signed_error(judged) == pytest.approx(error)
    assert [(g.column, g.group) for g in found.groups] == [("sex", "m")] + [
        ("year", str(y)) for y in (2020, 2021, 2022)
    ]
    p_values = []
    for group in found.groups:
        inside = np.array([columns[group.column][v] == group.group for v in judged.video_ids])
        expected = clustered(error, inside.astype(float), judged.cluster_numbers)
        assert group.difference.value == pytest.approx(error[inside].mean() - error[~inside].mean())
        assert group.difference.stderr == pytest.approx(expected.bse[1])
        assert group.p == pytest.approx(expected.pvalues[1])
        p_values.append(expected.pvalues[1])
    assert [g.p_holm for g in found.groups] == pytest.approx(multipletests(p_values, method="holm")[1])
    assert found.tests == 4


def test_a_group_of_four_students_is_counted_and_not_compared(judged):
    found = group_biases(judged, {"device": {v: "ab"[i < 12] for i, v in enumerate(judged.video_ids)}})
    (group,) = found.groups
    assert (group.videos, group.clusters, group.p, group.p_holm) == (12, 4, None, None)
    assert group.difference.value is not None and group.difference.low is None


def test_a_planted_bias_is_found_and_verdicts_are_signed(panel):
    rng = np.random.default_rng(6)
    reference = rng.integers(0, 4, (60, 10)).astype(float)
    wrong = reference < 3
    strict = np.where(rng.random((60, 10)) < np.where(np.arange(60) < 30, 0.3, 0.0)[:, None], True, wrong)
    judged = panel(reference, strict.astype(float), answer="error")
    found = group_biases(judged, {"site": {v: "ab"[i >= 30] for i, v in enumerate(judged.video_ids)}})
    (group,) = found.groups
    assert signed_error(judged) == pytest.approx((strict.astype(float) - wrong).mean(axis=1))
    assert group.difference.high < 0 and group.p_holm < 0.01  # b is treated less strictly than a
