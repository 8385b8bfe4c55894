"""Variance components against Brennan's published example."""

from __future__ import annotations

import numpy as np
import pytest

from siming_tasks.analysis.generalizability import decision_study, g_study, raters_needed
from siming_tasks.common.errors import DataError

# Brennan (2001), Generalizability Theory, table 3.1: synthetic data set no. 3, ten persons, four items, two occasions.
BRENNAN = np.array(
    [
        [[2, 6, 7, 5], [2, 5, 5, 5]],
        [[4, 5, 6, 7], [6, 7, 5, 7]],
        [[5, 5, 4, 6], [5, 4, 5, 5]],
        [[5, 9, 8, 6], [5, 7, 7, 6]],
        [[4, 3, 5, 6], [4, 5, 6, 4]],
        [[4, 4, 4, 7], [6, 4, 7, 8]],
        [[2, 6, 6, 5], [2, 7, 7, 5]],
        [[3, 4, 4, 5], [6, 6, 6, 4]],
        [[0, 5, 4, 5], [5, 5, 5, 3]],
        [[6, 8, 7, 6], [6, 8, 8, 6]],
    ],
    dtype=float,
).transpose(0, 2, 1)


def test_components_are_brennans() -> None:
    """Table 3.2 of the book; his occasions are our raters."""
    found = g_study(BRENNAN).components
    published = {"p": 0.5528, "i": 0.4417, "r": 0.0074, "pi": 0.5750, "pr": 0.1009, "ir": 0.1565, "pir": 0.9352}
    assert {name: round(part.variance, 4) for name, part in found.items()} == published
    assert sum(part.share for part in found.values()) == pytest.approx(1)


def test_standard_errors_are_the_jackknife_over_trainees() -> None:
    whole = g_study(BRENNAN).components["p"]
    left = np.array([g_study(np.delete(BRENNAN, n, axis=0)).components["p"].variance for n in range(10)])
    assert whole.stderr == pytest.approx(np.sqrt(0.9 * np.square(left - left.mean()).sum()))


def test_decision_study_by_hand() -> None:
    """Two raters, eight steps, from the published components."""
    sampled, fixed = (decision_study(g_study(BRENNAN), [2], [8], fixed)[0] for fixed in (False, True))
    relative = 0.5750 / 8 + 0.1009 / 2 + 0.9352 / 16
    absolute = relative + 0.4417 / 8 + 0.0074 / 2 + 0.1565 / 16
    assert sampled.relative == pytest.approx(0.5528 / (0.5528 + relative), abs=2e-4)
    assert sampled.absolute == pytest.approx(0.5528 / (0.5528 + absolute), abs=2e-4)
    assert sampled.sem == pytest.approx(np.sqrt(absolute), abs=2e-4)
    rest = absolute - (0.5750 + 0.4417) / 8
    universe = 0.5528 + 0.5750 / 8
    assert fixed.absolute == pytest.approx(universe / (universe + rest), abs=2e-4)


@pytest.mark.parametrize("goal", [0.5, 0.7, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("fixed", [True, False])
def test_raters_needed_is_the_smallest_number_that_reaches_the_goal(goal: float, fixed: bool) -> None:
    study = g_study(BRENNAN)
    reached = [d.absolute or 0 for d in decision_study(study, range(1, 400), fixed=fixed)]
    first = next((r for r, value in enumerate(reached, 1) if value >= goal), None)
    assert raters_needed(study, goal, fixed=fixed) == first


@pytest.mark.parametrize(("shape", "what"), [((1, 4, 2), "two trainees"), ((5, 4, 1), "two raters")])
def test_too_small_a_study_is_refused(shape: tuple[int, int, int], what: str) -> None:
    with pytest.raises(DataError, match=what):
        g_study(np.ones(shape))


def test_a_missing_score_is_refused() -> None:
    scores = BRENNAN.copy()
    scores[0, 0, 0] = np.nan
    with pytest.raises(DataError, match="every step"):
        g_study(scores)


def test_the_jackknife_leaves_out_whole_clusters() -> None:
    """Five students with two exams each, left out by hand."""
    students = [f"s{n // 2}" for n in range(10)]
    found = g_study(BRENNAN, students).components["pir"]
    left = np.array(
        [g_study(np.delete(BRENNAN, [2 * n, 2 * n + 1], axis=0)).components["pir"].variance for n in range(5)]
    )
    assert found.stderr == pytest.approx(np.sqrt(0.8 * np.square(left - left.mean()).sum()))
    assert found.variance == g_study(BRENNAN).components["pir"].variance
