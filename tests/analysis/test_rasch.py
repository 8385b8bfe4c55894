"""The Rasch model against published conditional estimates, enumeration and planted truth."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from siming_tasks.analysis.rasch import Likelihood, ability, differential, rasch
from siming_tasks.common.errors import DataError

# Bock & Lieberman (1970), LSAT section 6: how many of 1,000 examinees gave each pattern 00000 ... 11111.
LSAT6 = [
    3,
    6,
    2,
    11,
    1,
    1,
    3,
    4,
    1,
    8,
    0,
    16,
    0,
    3,
    2,
    15,
    10,
    29,
    14,
    81,
    3,
    28,
    15,
    80,
    16,
    56,
    21,
    173,
    11,
    61,
    28,
    298,
]


def _simulated(rng: np.random.Generator, trainees: int, difficulty: np.ndarray, severity: np.ndarray) -> np.ndarray:
    theta = rng.normal(0.8, 1, trainees)
    p = 1 / (1 + np.exp(-(theta[:, None, None] - difficulty[None, :, None] - severity[None, None, :])))
    return (rng.random(p.shape) < p).astype(float)


def test_difficulties_of_lsat6_are_the_published_ones() -> None:
    """Conditional estimates of Andersen (1970) as given by Thissen (1982): -1.256, 0.475, 1.236, 0.168, -0.624."""
    x = np.array([list(map(float, f"{pattern:05b}")) for pattern, n in enumerate(LSAT6) for _ in range(n)])
    found = rasch(x[:, :, None], tuple("abcde"), ("one",))
    assert [facet.measure for facet in found.steps.values()] == pytest.approx(
        [-1.256, 0.475, 1.236, 0.168, -0.624], abs=2e-3
    )
    assert (found.trainees, found.extreme) == (1000 - 3 - 298, 301)


def test_the_likelihood_is_that_of_all_patterns_with_the_same_score() -> None:
    """With missing judgments and two facets, by writing every pattern out."""
    rng = np.random.default_rng(1)
    x = (rng.random((6, 6)) < 0.6).astype(float)
    x[0, 2] = x[3, 0] = x[3, 5] = np.nan
    x[:, 1], x[:, 4] = 1, 0
    design, free = rng.normal(size=(6, 3)), rng.normal(size=3)
    beta, expected = design @ free, 0.0
    for row in x:
        known = ~np.isnan(row)
        b, r = beta[known], row[known]
        same = [p for p in product((0, 1), repeat=int(known.sum())) if sum(p) == r.sum()]
        expected += -r @ b - np.log(sum(np.exp(-np.array(p) @ b) for p in same))
    likelihood = Likelihood(x, design)
    assert likelihood.value(free) == pytest.approx(expected, rel=1e-12)
    step = 1e-6
    slope = [(likelihood.value(free + step * e) - likelihood.value(free - step * e)) / (2 * step) for e in np.eye(3)]
    assert likelihood.gradient(free) == pytest.approx(slope, abs=1e-6)


def test_planted_difficulty_and_severity_come_back_within_their_errors() -> None:
    rng = np.random.default_rng(2)
    difficulty, severity = np.linspace(-1.5, 1.5, 12), np.array([-0.4, 0.4])
    x = _simulated(rng, 600, difficulty, severity)
    x[rng.random(x.shape) < 0.03] = np.nan
    names = tuple(map(str, range(12)))
    found = rasch(x, names, ("mild", "strict"))
    z = [(found.steps[name].measure - d) / found.steps[name].stderr for name, d in zip(names, difficulty, strict=True)]
    assert np.square(z).sum() < 26.2  # chi-square, 12 degrees of freedom, 1 %
    assert abs(found.raters["strict"].measure - 0.4) < 3 * found.raters["strict"].stderr
    assert all(0.8 < (facet.infit or 0) < 1.2 for facet in found.steps.values())


def test_a_step_judged_by_chance_misfits() -> None:
    rng = np.random.default_rng(3)
    x = _simulated(rng, 400, np.linspace(-1, 1, 10), np.zeros(2))
    x[:, 4] = rng.random((400, 2)) < 0.5
    found = rasch(x, tuple(map(str, range(10))), ("a", "b")).steps
    assert max(found, key=lambda name: found[name].infit or 0) == "4" and (found["4"].infit or 0) > 1.2


def test_steps_and_trainees_that_tell_nothing_are_named_and_counted() -> None:
    rng = np.random.default_rng(4)
    x = _simulated(rng, 60, np.linspace(-1, 1, 6), np.zeros(2))
    x[:, 2], x[:5] = 1, 1
    found = rasch(x, tuple("abcdef"), ("r", "s"))
    assert found.left_out == ("c",) and "c" not in found.steps
    assert found.extreme >= 5 and found.trainees + found.extreme == 60


def test_nothing_to_tell_is_refused() -> None:
    with pytest.raises(DataError, match="two steps"):
        rasch(np.ones((5, 3, 2)), tuple("abc"), ("r", "s"))


def test_perfect_separation_is_refused() -> None:
    """Nobody who did either got the other right: no finite difficulty."""
    x = np.tile(np.array([[1.0, 0], [1, 0], [1, 0]])[:, :, None], (10, 1, 1))
    x = np.concatenate([x, np.array([[[1.0], [1.0]], [[0.0], [0.0]]])])
    with pytest.raises(DataError, match=r"no finite estimate|two steps"):
        rasch(x, ("easy", "hard"), ("r",))


def test_ability_solves_the_likelihood_equation() -> None:
    x, difficulty = np.array([[1.0, 0, 1, np.nan], [0, 0, 1, 1]]), np.array([-1.0, 0, 0.5, 2])
    theta = ability(x, difficulty)
    for row, value in zip(x, theta, strict=True):
        known = ~np.isnan(row)
        assert (1 / (1 + np.exp(difficulty[known] - value))).sum() == pytest.approx(row[known].sum())


def test_a_step_that_is_harder_at_one_site_is_found_and_no_other() -> None:
    rng = np.random.default_rng(5)
    difficulty = np.linspace(-1, 1, 8)
    here = _simulated(rng, 300, difficulty + np.eye(8)[3] * 1.5, np.zeros(2))
    there = _simulated(rng, 300, difficulty, np.zeros(2))
    few = _simulated(rng, 5, difficulty, np.zeros(2))
    sites = ["A"] * 300 + ["B"] * 300 + ["C"] * 5
    found = differential(np.concatenate([here, there, few]), sites, tuple(map(str, range(8))), ("r", "s"))
    assert [(d.step, d.site) for d in found.differences if d.large] == [("3", "A")]
    planted = next(d for d in found.differences if d.step == "3")
    assert abs(planted.value - 1.5 * 7 / 8) < 3 * planted.stderr  # both sides are centred
    assert found.left_out == ("C",)


def test_sites_with_too_few_trainees_are_refused() -> None:
    with pytest.raises(DataError, match="two sites"):
        differential(np.ones((40, 3, 2)), ["A"] * 35 + ["B"] * 5, tuple("abc"), ("r", "s"))
