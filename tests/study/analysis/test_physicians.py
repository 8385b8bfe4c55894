"""Physicians beside a judge: each with each, the judge with each of them, and the difference with its margin.

The mean difference, its error and the verdict are held against the definition in ``tests/benchmark/metrics``.
"""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef

from siming_tasks.benchmark.metrics import ordinal_labels
from siming_tasks.benchmark.metrics.thresholds import MARGIN
from siming_tasks.common.errors import DataError
from siming_tasks.study.analysis.comparison import compare_judges
from siming_tasks.study.analysis.physicians import (
    EACH_OTHER,
    MEAN,
    MINUS,
    WITH_EACH,
    beside_physicians,
    physician_rows,
    physician_sentence,
)
from tests.benchmark.metrics.conftest import make_matrix

nan = np.nan


def study(rng, *, videos=120, steps=8, physicians=3, judge=0.8, answer="score"):
    """A judge and physicians: each has the truth in a share of the steps (physicians .8), else any points.

    The reference is the median of the physicians, a consensus.
    """
    shape = (videos, steps)
    truth = np.where(rng.random(shape) < 0.7, 3.0, rng.integers(0, 4, shape)).astype(float)

    def points(share):
        return np.where(rng.random(shape) < share, truth, rng.integers(0, 4, shape).astype(float))

    names = {f"rater_{letter}": points(0.8) for letter in "abcdef"[:physicians]}
    said = points(judge)
    said = (said < 3).astype(float) if answer == "error" else said
    return make_matrix(np.floor(np.median([*names.values()], axis=0)), said, answer=answer), names


def kappa(a, b):
    both = ~np.isnan(a) & ~np.isnan(b)
    x, y = (ordinal_labels(side, 3)[both] for side in (a, b))
    return cohen_kappa_score(x, y, weights="quadratic", labels=range(4))


def test_agreement_of_each_pair_and_its_mean():
    made, points = study(np.random.default_rng(0))
    points["rater_c"][:40] = nan
    rows = physician_rows(made, points)
    expected = {f"{a} and {b}": kappa(points[a], points[b]) for a, b in combinations(points, 2)}
    assert {row.row: row.value for row in rows.of(EACH_OTHER, metric="qwk")} == pytest.approx(
        {**expected, MEAN: np.mean([*expected.values()])}
    )
    differ = rows.one(EACH_OTHER, "rater_a and rater_b", "differ").value
    assert differ == np.mean(points["rater_a"] != points["rater_b"])
    assert rows.one(EACH_OTHER, "rater_a and rater_c", "qwk").n == 80
    made, points = study(np.random.default_rng(1), answer="error", physicians=2)
    rows = physician_rows(made, points)  # verdicts of physicians are points below the maximum
    expected = matthews_corrcoef(*(side.ravel() < 3 for side in points.values()))
    assert rows.one(EACH_OTHER, "rater_a and rater_b", "mcc").value == pytest.approx(expected)
    assert rows.names("metric") == ["mcc", "f1"]  # what does not depend on who is the reference


def test_every_table_with_both_has_the_column_with_each_physician():
    """The model against the consensus does not stand beside physicians against each other alone."""
    made, points = study(np.random.default_rng(2), judge=0.7)
    found = compare_judges({"model": made}, points=points)
    with_each = found.rows.of(WITH_EACH, metric="qwk")
    expected = {f"model: {name}": kappa(own, made.predicted) for name, own in points.items()}
    mean = np.mean([*expected.values()])
    assert {row.row: row.value for row in with_each} == pytest.approx({**expected, f"model: {MEAN}": mean})
    minus = found.rows.one(MINUS, f"model: {MEAN}", "qwk")
    # each number of the difference is printed; that with the consensus is none of them
    assert minus.value == pytest.approx(mean - found.rows.one(EACH_OTHER, MEAN, "qwk").value)
    assert minus.p is not None and found.value("model").value > mean + 0.05


def test_what_cannot_be_tested_is_not_and_the_margin_is_stated():
    few, points = study(np.random.default_rng(5), videos=4)
    beside = beside_physicians(few, points)
    assert (beside.claim.kind, beside.claim.p_margin) == ("not tested", None)
    assert "is not tested here. Fewer than 5" in physician_sentence(beside, "m", "score")
    made, points = study(np.random.default_rng(14))
    gaps = made.predicting(np.where(np.arange(960).reshape(120, 8) % 25 == 0, nan, made.predicted))
    assert beside_physicians(gaps, points) == beside_physicians(gaps.imputed(), points), "they count as full points"
    half = made.predicting(np.where(np.arange(8) < 4, nan, made.predicted))
    said = physician_sentence(beside_physicians(half, points), "m", "score")
    assert said.endswith(" is not tested here. It answered less than 95 % of the steps.")
    assert MARGIN == 0.05 == beside_physicians(made, points).margin  # and does not come from the physicians
    assert compare_judges({"m": made}, points=points, margin=0.1).physicians["m"].margin == 0.1
    with pytest.raises(DataError, match="margin is 0; give a difference"):
        beside_physicians(made, points, margin=0)


@pytest.mark.parametrize("answer", ["score", "error"])
def test_a_physicians_own_points_are_named_and_not_held_against_themselves(answer):
    made, points = study(np.random.default_rng(9), answer=answer)
    own = points["rater_b"] if answer == "score" else (points["rater_b"] < 3).astype(float)
    own = np.where(np.random.default_rng(1).random(own.shape) < 0.03, nan, own)
    beside = beside_physicians(made.predicting(own), points)
    assert beside.copy_of == "rater_b" and beside_physicians(made, points).copy_of == ""
    assert beside.rows.of(WITH_EACH).names("row") == ["rater_a", "rater_c", MEAN]
    assert beside.rows.one(WITH_EACH, MEAN, "qwk" if answer == "score" else "mcc").value < 0.95
    said = physician_sentence(beside, "model", answer)
    assert said.endswith("Its answers are the points of rater_b, who is left out.")


def test_without_two_physicians_there_is_nothing_beside_the_judge():
    made, points = study(np.random.default_rng(13), physicians=2)
    assert compare_judges({"m": made}, points={"rater_a": points["rater_a"]}).physicians == {}
    assert compare_judges({"m": made}).rows.of(WITH_EACH) == ()
    first = np.arange(8) < 4
    apart = {"a": np.where(first, points["rater_a"], nan), "b": np.where(first, nan, points["rater_b"])}
    with pytest.raises(DataError, match="No step was scored by two physicians"):
        beside_physicians(made, apart)
    assert physician_rows(made, apart) == ()


@pytest.mark.parametrize("answer", ["score", "error"])
def test_sentences_follow_from_the_tests(answer):
    """Judges from far below to far above the physicians: what is said is what the two one-sided tests allow."""
    seen = set()
    for seed in range(24):
        made, points = study(np.random.default_rng(seed), videos=(20, 60, 240)[seed % 3], steps=4,
                             judge=0.5 + seed / 50, answer=answer)  # fmt: skip
        beside = beside_physicians(made, points)
        row = beside.rows.one(MINUS, MEAN, "qwk" if answer == "score" else "mcc")
        said = physician_sentence(beside, "J", answer)
        kind = beside.claim.kind
        seen.add(kind)
        words = {"as good": "within 0.05", "better": "agrees better", "worse": "agrees less well", "open": "It is open"}
        assert [claim for claim, word in words.items() if word in said] == [kind] and str(row) in said
        if kind == "as good":
            assert abs(row.value) < 0.05 and beside.claim.p_margin <= 0.05
        else:
            assert {"better": row.low > 0, "worse": row.high < 0, "open": row.low <= 0 <= row.high}[kind]
    assert {"better", "worse", "open"} <= seen
