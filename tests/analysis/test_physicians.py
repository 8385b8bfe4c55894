"""Physicians beside a judge: each with each, the judge with each of them, and the difference with its margin."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef

from siming_tasks.analysis.comparison import compare_judges
from siming_tasks.analysis.physicians import (
    EACH_OTHER,
    MEAN,
    MINUS,
    WITH_EACH,
    beside_physicians,
    physician_rows,
    physician_sentence,
)
from siming_tasks.common.errors import DataError
from siming_tasks.common.words import say
from siming_tasks.metrics import ordinal_labels
from siming_tasks.metrics.thresholds import MARGIN
from tests.metrics.conftest import make_matrix

nan = np.nan


def study(rng, *, videos=120, steps=8, physicians=3, judge=0.8, answer="score", each=1):
    """A judge and physicians: each has the truth in a share of the steps (physicians .8), else any points.

    The reference is the median of the physicians, a consensus.
    """
    shape = (videos, steps)
    truth = np.where(rng.random(shape) < 0.7, 3.0, rng.integers(0, 4, shape)).astype(float)

    def points(share):
        return np.where(rng.random(shape) < share, truth, rng.integers(0, 4, shape).astype(float))

    names = {f"rater_{letter}": points(0.8) for letter in "abcdef"[:physicians]}
    said = points(judge)
    consensus = np.floor(np.median([*names.values()], axis=0))
    how = {"clusters": tuple(f"s{v // each}" for v in range(videos))} if each > 1 else {}
    said = (said < 3).astype(float) if answer == "error" else said
    return make_matrix(consensus, said, answer=answer, **how), names


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
    assert rows.one(EACH_OTHER, "rater_a and rater_b", "differ").value == (
        np.mean(points["rater_a"] != points["rater_b"])
    )
    assert rows.one(EACH_OTHER, "rater_a and rater_c", "qwk").n == 80


def test_verdicts_of_physicians_are_points_below_the_maximum():
    made, points = study(np.random.default_rng(1), answer="error", physicians=2)
    a, b = (side.ravel() < 3 for side in points.values())
    rows = physician_rows(made, points)
    assert rows.one(EACH_OTHER, "rater_a and rater_b", "mcc").value == pytest.approx(matthews_corrcoef(a, b))
    assert rows.names("metric") == ["mcc", "f1"]  # what does not depend on who is the reference


def test_every_table_with_both_has_the_column_with_each_physician():
    """The model against the consensus does not stand beside physicians against each other alone."""
    made, points = study(np.random.default_rng(2), judge=0.7)
    found = compare_judges({"model": made}, points=points)
    with_each = found.rows.of(WITH_EACH, metric="qwk")
    assert [row.row for row in with_each] == [f"model: {name}" for name in (*points, MEAN)]
    for name, own in points.items():
        assert with_each.one(row=f"model: {name}").value == pytest.approx(kappa(own, made.predicted))
    mean = with_each.one(row=f"model: {MEAN}").value
    assert mean == pytest.approx(np.mean([kappa(own, made.predicted) for own in points.values()]))
    consensus, others = found.value("model").value, found.rows.one(EACH_OTHER, MEAN, "qwk").value
    minus = found.rows.one(MINUS, f"model: {MEAN}", "qwk")
    # each number of the difference is printed; that with the consensus is none of them
    assert minus.value == pytest.approx(mean - others) and minus.p is not None and consensus > mean + 0.05


def test_the_difference_is_paired_over_the_clusters():
    made, points = study(np.random.default_rng(3), physicians=2, each=3)
    row = beside_physicians(made, points).rows.one(MINUS, MEAN, "qwk")

    def minus(part):
        kept = np.isin(made.video_ids, part.video_ids)
        a, b = (own[kept] for own in points.values())
        return (kappa(a, part.predicted) + kappa(b, part.predicted)) / 2 - kappa(a, b)

    left = np.array([minus(made.videos(np.array(made.clusters) != name)) for name in sorted(set(made.clusters))])
    c = len(left)
    stderr = np.sqrt((c - 1) / c * ((left - left.mean()) ** 2).sum())
    assert (row.value, row.stderr) == pytest.approx((minus(made), stderr)) and row.clusters == c == 40
    assert row.p == pytest.approx(2 * stats.t.sf(abs(row.value) / stderr, c - 1))


@pytest.mark.parametrize("seed", range(6))
def test_the_verdict_is_that_of_two_one_sided_t_tests(seed):
    made, points = study(np.random.default_rng(seed), judge=0.7 + seed / 20, videos=60)
    for margin in (0.02, 0.05, 0.15):
        beside = beside_physicians(made, points, margin=margin)
        row = beside.rows.one(MINUS, MEAN, "qwk")
        less = stats.t.sf((row.value + margin) / row.stderr, row.clusters - 1)
        more = stats.t.cdf((row.value - margin) / row.stderr, row.clusters - 1)
        assert (beside.p_inferior, beside.p_different) == pytest.approx((less, max(less, more)))
        expected = "equivalent" if max(less, more) <= 0.05 else "not inferior" if less <= 0.05 else "not shown"
        assert beside.verdict == expected


def test_below_five_clusters_it_is_not_tested():
    made, points = study(np.random.default_rng(5), videos=4)
    beside = beside_physicians(made, points)
    assert (beside.verdict, beside.p_inferior) == ("not tested", None)
    assert "cannot be tested here" in physician_sentence(beside, "m", "score")


# --- the margin ---------------------------------------------------------------------------------------------------


def test_the_margin_is_stated_and_does_not_come_from_the_physicians():
    made, points = study(np.random.default_rng(6))
    assert MARGIN == 0.05 == beside_physicians(made, points).margin
    assert compare_judges({"m": made}, points=points, margin=0.1).physicians["m"].margin == 0.1
    with pytest.raises(DataError, match="margin is 0; give a difference"):
        beside_physicians(made, points, margin=0)


@pytest.mark.weekly
def test_a_true_equal_is_found_equivalent_the_more_videos_there_are():
    """Three physicians: their range would shrink with the videos, and none would ever be found equivalent."""
    found = {}
    for videos in (30, 300):
        rng = np.random.default_rng(7)
        verdicts = [beside_physicians(*study(rng, videos=videos)).verdict for _ in range(40)]
        found[videos] = verdicts.count("equivalent") / 40
    assert found[30] < 0.5 and found[300] > 0.85


@pytest.mark.weekly
def test_a_judge_at_the_margin_is_seldom_called_not_inferior():
    rng, wrong = np.random.default_rng(8), 0
    for _ in range(200):
        made, points = study(rng, videos=60, judge=0.8)
        worse = np.where(
            rng.random(made.predicted.shape) < 0.1, rng.integers(0, 4, made.predicted.shape), made.predicted
        )
        beside = beside_physicians(made.predicting(worse), points)
        wrong += beside.verdict in ("equivalent", "not inferior")
    assert wrong / 200 <= 0.1  # it agrees less by about .05 to .1


# --- copies, and judges that never look ---------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["score", "error"])
def test_a_physicians_own_points_are_named_and_not_held_against_themselves(answer):
    made, points = study(np.random.default_rng(9), answer=answer)
    own = points["rater_b"] if answer == "score" else (points["rater_b"] < 3).astype(float)
    own = np.where(np.random.default_rng(1).random(own.shape) < 0.03, nan, own)
    beside = beside_physicians(made.predicting(own), points)
    assert beside.copy_of == "rater_b"
    assert beside.rows.of(WITH_EACH).names("row") == ["rater_a", "rater_c", MEAN]
    assert beside.rows.one(WITH_EACH, MEAN, "qwk" if answer == "score" else "mcc").value < 0.95
    said = physician_sentence(beside, "model", answer)
    assert said.endswith("Its answers are the points of rater_b, who is left out.")
    assert beside_physicians(made, points).copy_of == ""


def test_without_two_physicians_there_is_nothing_beside_the_judge():
    made, points = study(np.random.default_rng(13), physicians=2)
    assert compare_judges({"m": made}, points={"rater_a": points["rater_a"]}).physicians == {}
    assert compare_judges({"m": made}).rows.of(WITH_EACH) == ()
    apart = {
        "a": np.where(np.arange(8) < 4, points["rater_a"], nan),
        "b": np.where(np.arange(8) < 4, nan, points["rater_b"]),
    }
    with pytest.raises(DataError, match="No step was scored by two physicians"):
        beside_physicians(made, apart)
    assert physician_rows(made, apart) == ()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 40), st.floats(0, 1), st.sampled_from(["score", "error"]))
def test_sentences_follow_from_the_tests(seed, videos, judge, answer):
    made, points = study(np.random.default_rng(seed), videos=videos, steps=4, judge=judge, answer=answer)
    beside = beside_physicians(made, points)
    row = beside.rows.one(MINUS, MEAN, "qwk" if answer == "score" else "mcc")
    said = physician_sentence(beside, "J", answer)
    assert said.startswith(say(beside.verdict, judge="J", margin=0.05, metric="").split("0.05")[0])
    assert (beside.verdict == "not tested") == (row.low is None) == (beside.p_inferior is None)
    if beside.verdict in ("equivalent", "not inferior"):
        assert row.value > -0.05 and beside.p_inferior <= 0.05
    if beside.verdict == "equivalent":
        assert abs(row.value) < 0.05


def test_the_judges_missing_answers_count_as_full_points():
    made, points = study(np.random.default_rng(14))
    gaps = made.predicting(np.where(np.arange(960).reshape(120, 8) % 25 == 0, nan, made.predicted))
    assert beside_physicians(gaps, points) == beside_physicians(gaps.imputed(), points)
    half = made.predicting(np.where(np.arange(8) < 4, nan, made.predicted))
    assert beside_physicians(half, points).verdict == "not tested"  # below 95 % answered
