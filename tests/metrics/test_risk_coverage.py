"""Risk-coverage curves by hand, by the definition item by item, and the analytic curve of a known judge."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from siming_tasks.metrics.abstention import area, by_level, risk_coverage

from siming_tasks.common.errors import DataError


def by_definition(loss: np.ndarray, order: np.ndarray) -> float:
    """The mean risk of the first 1, 2, ..., n items."""
    return float(np.mean([loss[order][: k + 1].mean() for k in range(len(loss))]))


def test_risk_coverage_curve_equals_hand_counts() -> None:
    """Right, wrong, right with falling confidence: risks 0, 1/2, 1/3; best 0, 0, 1/3."""
    curve = risk_coverage([0, 1, 0], [0.9, 0.8, 0.1])
    assert curve.coverage == pytest.approx((1 / 3, 2 / 3, 1))
    assert curve.risk == pytest.approx((0, 1 / 2, 1 / 3))
    assert curve.area == pytest.approx((0 + 1 / 2 + 1 / 3) / 3)
    assert curve.best == pytest.approx((0 + 0 + 1 / 3) / 3) and curve.full == pytest.approx(1 / 3)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=6))
def test_ties_have_the_mean_over_all_their_orders(items: list[tuple[int, int]]) -> None:
    loss, sure = (np.array(side, dtype=float) for side in zip(*items, strict=True))
    orders = [
        order for order in map(np.array, itertools.permutations(range(len(loss)))) if (np.diff(sure[order]) <= 0).all()
    ]
    expected = np.mean([by_definition(loss, order) for order in orders])
    assert risk_coverage(loss, sure).area == pytest.approx(expected, abs=1e-12)


def test_a_judge_with_known_confidence_has_the_analytic_curve() -> None:
    """Confidence p is uniform on (1/2, 1) and the judge is right with chance p.

    The surest share c has p in (1 - c/2, 1): risk c / 4, area 1/8; the errors, a quarter of all, last:
    risk 0 up to c = 3/4, then (c - 3/4) / c, area 1/4 + 3/4 ln(3/4).
    """
    rng = np.random.default_rng(4)
    sure = rng.uniform(0.5, 1, 200_000)
    loss = (rng.random(sure.size) > sure).astype(float)
    curve = risk_coverage(loss, sure)
    coverage, risk = np.array(curve.coverage), np.array(curve.risk)
    later = coverage > 0.05
    assert np.abs(risk - coverage / 4)[later].max() < 0.01
    assert curve.area == pytest.approx(1 / 8, abs=2e-3)
    assert curve.full == pytest.approx(1 / 4, abs=4e-3)
    assert curve.best == pytest.approx(1 / 4 + 3 / 4 * np.log(3 / 4), abs=3e-3)
    assert risk_coverage(loss, np.zeros_like(loss)).area == pytest.approx(curve.full)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4))
def test_summed_counts_are_the_items_themselves(levels: list[tuple[int, int]]) -> None:
    counts = np.array([[wrong + right for wrong, right in levels]], dtype=float)
    sums = np.array([[wrong for wrong, _ in levels]], dtype=float)
    loss = np.concatenate([np.r_[np.ones(wrong), np.zeros(right)] for wrong, right in levels])
    sure = np.concatenate([np.full(wrong + right, -place) for place, (wrong, right) in enumerate(levels)])
    found = area(counts, sums)
    assert by_level(np.concatenate([counts, sums], axis=1)).tolist() == pytest.approx(found.tolist(), nan_ok=True)
    if len(loss):
        assert found[0] == pytest.approx(risk_coverage(loss, sure).area, abs=1e-12)
    else:
        assert np.isnan(found[0])


def test_no_items_have_no_curve() -> None:
    with pytest.raises(DataError, match="as many losses as confidences, not 0, 0"):
        risk_coverage([], [])
    with pytest.raises(DataError, match="not 2, 1"):
        risk_coverage([0, 1], [1])
