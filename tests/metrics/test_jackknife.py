"""The one construction of intervals and tests: textbook cases, brute force, and every edge of its rule."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from siming_tasks.common.errors import DataError
from siming_tasks.metrics import Estimate, Rows, difference, estimate
from siming_tasks.metrics.catalogue import statistic
from siming_tasks.metrics.correlation import leave_out, spearman
from siming_tasks.metrics.estimate import FLAGS
from siming_tasks.metrics.jackknife import holm, jackknife, leave_out_groups, mean
from siming_tasks.metrics.thresholds import GROUPS
from tests.metrics.conftest import make_exams

nan = np.nan


def mean_said(matrix):
    """A statistic that somebody writes."""
    return float(matrix.predicted.mean())


# --- the textbook -------------------------------------------------------------------------------------------------


def test_of_a_mean_it_is_the_t_interval(matrix):
    x = np.random.default_rng(0).uniform(0, 3, 23)
    found = estimate(mean_said, matrix(x[:, None], x[:, None]))
    expected = stats.ttest_1samp(x, 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx(tuple(expected)) and found.stderr == pytest.approx(stats.sem(x))
    assert (found.n, found.clusters, found.unit, found.p) == (23, 23, "video", None)


def test_of_a_difference_of_means_it_is_the_paired_t_test(matrix):
    x, y = np.random.default_rng(1).uniform(0, 3, (2, 30))
    a = matrix(x[:, None], x[:, None])
    found, expected = difference(mean_said, a, a.predicting(y[:, None])), stats.ttest_rel(x, y)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval()))


def test_of_clusters_of_equal_size_it_is_the_t_interval_of_their_means(matrix):
    x = np.random.default_rng(2).uniform(0, 3, (8, 4))
    names = tuple(f"student {k}" for k in range(8) for _ in range(4))
    found = estimate(mean_said, matrix(x.reshape(-1, 1), x.reshape(-1, 1), clusters=names))
    assert (found.low, found.high) == pytest.approx(tuple(stats.ttest_1samp(x.mean(1), 0).confidence_interval()))
    assert (found.n, found.clusters, found.unit) == (32, 8, "student")


def test_fishers_z_and_its_floor(exams):
    made = exams(np.random.default_rng(3), videos=20)
    found = jackknife(statistic("plcc"), made)
    left = np.arctanh([jackknife(statistic("plcc"), made.videos(np.arange(20) != v)).value for v in range(20)])
    spread = math.sqrt(19 / 20 * ((left - left.mean()) ** 2).sum())
    reach = stats.t.ppf(0.975, 19) * max(spread, 1 / math.sqrt(17))
    z, row = math.atanh(found.value), found.estimate()
    assert (row.low, row.high) == pytest.approx((math.tanh(z - reach), math.tanh(z + reach)))
    assert row.stderr == found.stderr != pytest.approx(spread)  # on the metric's own scale


def test_holm_is_that_of_statsmodels():
    for seed in range(20):
        p = np.random.default_rng(seed).random(7) ** 3
        assert holm(p) == pytest.approx(multipletests(p, method="holm")[1], abs=1e-15)
    assert holm([]) == []


# --- values without each cluster ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("key", ["plcc", "srcc", "qwk"])
def test_leaving_out_equals_brute_force(seed, key):
    rng = np.random.default_rng(seed)
    each = int(rng.integers(1, 4))
    made = make_exams(rng, videos=30, steps=int(rng.integers(1, 5)), each=each, missing=0.05)  # few steps: many ties
    found, names = jackknife(statistic(key), made), np.asarray(made.clusters)
    for place, name in enumerate(np.unique(names)):
        expected = jackknife(statistic(key), made.videos(names != name)).value
        assert found.without[place] == pytest.approx(expected, abs=1e-12, nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 25), st.integers(1, 4), st.integers(1, 9))
def test_ranks_with_ties_equal_brute_force(seed, videos, levels, number):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, levels + 1, (2, videos)) / levels
    x[rng.random(videos) < 0.1] = nan
    groups = rng.integers(0, number, videos)
    for ranks in (True, False):
        value, without = leave_out(x, y, groups, ranks=ranks)
        for group in range(int(groups.max()) + 1):
            kept = (groups != group) & ~np.isnan(x)
            a, b = x[kept], y[kept]
            defined = len(a) > 2 and np.ptp(a) > 0 and np.ptp(b) > 0
            expected = (stats.spearmanr if ranks else stats.pearsonr)(a, b)[0] if defined else nan
            assert without[group] == pytest.approx(expected, abs=1e-12, nan_ok=True)
        assert len(without) == groups.max() + 1 and (math.isnan(value) or abs(value) <= 1)


def test_spearman_by_hand():
    assert spearman(np.array([0.1, 0.2, 0.3]), np.array([3.0, 2, 1])) == -1
    assert np.isnan(spearman(np.array([1.0, 2]), np.array([1.0, 2])))


def test_above_1000_clusters_500_groups_are_left_out_for_ranks():
    made = make_exams(np.random.default_rng(4), videos=1001, steps=2)
    groups, clusters = leave_out_groups(made)
    assert clusters == 1001 and groups.tolist() == [place % 500 for place in range(1001)]
    found = jackknife(statistic("srcc"), made)
    assert len(found.without) == GROUPS == 500 and found.estimate().clusters == 1001
    assert len(jackknife(statistic("plcc"), made).without) == 1001 == len(jackknife(statistic("qwk"), made).without)
    kept = made.videos(groups != 17)
    assert found.without[17] == pytest.approx(jackknife(statistic("srcc"), kept).value, abs=1e-12)
    row = found.estimate()
    exact = jackknife(statistic("srcc"), made.videos(range(1000))).estimate()
    assert row.high - row.low == pytest.approx(exact.high - exact.low, rel=0.15)
    assert len(jackknife(mean_said, made).without) == 500  # one that somebody writes, too


# --- the edges of the rule ----------------------------------------------------------------------------------------


def test_below_five_clusters_there_is_no_interval(exams):
    made = exams(np.random.default_rng(5), videos=20, each=5)
    for key in ("plcc", "qwk"):
        row = jackknife(statistic(key), made).estimate()
        assert row.value is not None and row.stderr is not None and row.low is row.high is None
        assert row.why == "Fewer than 5 students: no interval."
    assert difference(statistic("qwk"), made, made.predicting(made.reference)).p is None


def test_undefined_without_one_video(matrix):
    reference, said = np.full((8, 2), 3.0), np.full((8, 2), 0.0)
    reference[0, 0] = said[1, 1] = 1
    row = jackknife(statistic("mcc"), matrix(reference, said > 0, answer="error")).estimate()
    assert row.value is not None and row.low is None and row.why == "Without one video it is undefined: no interval."


def test_a_perfect_correlation_has_no_interval(matrix):
    points = np.array([[0.0, 1], [1, 1], [2, 1], [3, 1], [3, 3], [2, 3]])
    row = jackknife(statistic("plcc"), matrix(points, points)).estimate()
    assert (row.value, row.low) == (1, None) and row.why == "Fisher's z of 1 or -1 has none: no interval."
    for seed in range(30):  # ... whatever the rounding of totals that are multiples of each other
        some = np.random.default_rng(seed).integers(0, 3, (9, 7)).astype(float)
        row = jackknife(statistic("plcc"), matrix(some, some, top=2 + np.arange(7))).estimate()
        assert (row.value, row.low) == (1, None)


def test_ends_are_cut_to_the_range(matrix):
    """Two wrong steps in 30 videos: without the cut MCC would be up to 1.30."""
    reference, said = np.full((30, 3), 3.0), np.zeros((30, 3))
    reference[[3, 9, 12], 0], said[[3, 9], 0] = 0, 1
    row = jackknife(statistic("mcc"), matrix(reference, said, answer="error")).estimate()
    assert row.high == 1 and 0 < row.low < row.value < 1


def test_all_but_one_right_is_no_narrow_interval(matrix):
    """73 of 74 steps in 14 exams: a precision of .986 may well be .957."""
    said = np.zeros((14, 6))
    said.ravel()[:74] = 1
    reference = np.where(said == 1, 0.0, 3.0)
    reference[4, 2] = 3.0
    row = jackknife(statistic("precision"), matrix(reference, said, answer="error")).estimate()
    assert row.value == pytest.approx(73 / 74) and row.high == 1 and row.low < 0.96


@pytest.mark.parametrize(("called", "low"), [(20, 1 - 3 / 20), (6, 1 - 3 / 6), (4, None)])
def test_rule_of_three_over_the_clusters_of_the_share(matrix, called, low):
    """Of 20 videos only those in which a step is called wrong say anything about the precision."""
    said = (np.arange(20)[:, None] < called) * np.array([[1.0, 0.0]])
    row = jackknife(statistic("precision"), matrix(np.where(said == 1, 0, 3), said, answer="error")).estimate()
    assert (row.value, row.n, row.low) == (1, called, pytest.approx(low) if low else None)
    none = jackknife(statistic("precision"), matrix(np.full((20, 2), 3.0), said, answer="error")).estimate()
    assert none.value == 0 and (none.high is None if low is None else none.high == pytest.approx(3 / called))


def test_what_never_varies_is_not_tested(matrix):
    reference = np.tile([3.0, 0.0], (20, 1))
    good = matrix(reference, reference)
    bad = good.predicting(3 - reference)
    row = difference(statistic("qwk"), good, bad)
    assert row.value == 2 and row.p is row.low is None and row.why == "It is the same without any video: no interval."


def test_a_difference_needs_the_same_videos(matrix):
    a, b = matrix([[1], [2]], [[1], [2]]), matrix([[1], [2], [3]], [[1], [2], [3]])
    with pytest.raises(DataError, match="same videos in the same clusters"):
        difference(mean_said, a, b)
    with pytest.raises(DataError, match="different clusters"):
        jackknife(mean_said, a) - jackknife(mean_said, b)


def test_what_a_user_writes_may_be_undefined(matrix):
    made = matrix(np.ones((6, 1)), np.ones((6, 1)))
    for found in (nan, math.inf):
        row = estimate(lambda m, found=found: found, made)
        assert row.value is None and row.why == "It is 0/0 here."
    few = estimate(lambda m: m.predicted.sum() if len(m.video_ids) == 6 else nan, made)
    assert few.value == 6 and few.why.startswith("Without one video")


def test_a_mean_of_values_is_taken_term_by_term(exams):
    made = exams(np.random.default_rng(6), videos=25)
    parts = [jackknife(statistic("qwk"), part) for part in (made, made.predicting(made.reference))]
    both = mean(parts)
    assert both.value == (parts[0].value + 1) / 2
    assert both.estimate().stderr == pytest.approx(parts[0].estimate().stderr / 2)


def test_fixed_units_and_few_videos_are_flagged(exams):
    made = replace(exams(np.random.default_rng(7), videos=19), fixed=("site",))
    row = jackknife(statistic("qwk"), made).estimate()
    assert row.flags == ("these-sites", "few-videos") and len(row.notes) == 2
    assert jackknife(statistic("qwk"), exams(np.random.default_rng(7), videos=20)).estimate().flags == ()


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(5, 30), st.sampled_from(["score", "error"]), st.integers(1, 3))
def test_interval_and_p_never_disagree(seed, videos, answer, each):
    rng = np.random.default_rng(seed)
    a = make_exams(rng, videos=videos, steps=4, answer=answer, each=each)
    b = a.predicting(np.where(rng.random(a.predicted.shape) < 0.5, a.predicted, rng.permuted(a.predicted, axis=0)))
    for key in ("qwk", "srcc") if answer == "score" else ("mcc", "f1"):
        row = difference(statistic(key), a, b)
        assert (row.p is None) == (row.low is None)
        assert (row.low is None) == bool(row.why)
        if row.p is not None:
            assert (row.p < 0.05) == (row.low > 0 or row.high < 0) or abs(row.p - 0.05) < 1e-9
            assert row.low <= row.value <= row.high


# --- estimates and rows -------------------------------------------------------------------------------------------


def test_an_estimate_is_never_nan():
    for bad in (nan, math.inf):
        with pytest.raises(ValueError, match="use None"):
            Estimate(0.5, low=bad)
    with pytest.raises(ValueError, match="unknown flag"):
        Estimate(0.5, flags=("nice",))
    assert str(Estimate(-0.0)) == "0.000" and all(text.endswith(".") for text in FLAGS.values())


def test_rows_are_found_by_name_and_survive_json():
    rows = Rows(
        Estimate(k / 10, table=t, row=r, metric="qwk", why="w") for k, (t, r) in enumerate(permutations("abc", 2))
    )
    assert Rows.from_json(rows.to_json()) == rows and isinstance(rows + rows, Rows)
    assert rows.one("a", "c").value == 0.1 and len(rows.of("b")) == 2 and rows.names("table") == ["a", "b", "c"]
    with pytest.raises(KeyError, match="0 estimates"):
        rows.one("a", "a")
    with pytest.raises(KeyError, match="6 estimates"):
        rows.one(metric="qwk")


# --- simulation ---------------------------------------------------------------------------------------------------


@pytest.mark.weekly
@pytest.mark.parametrize(("videos", "each"), [(40, 1), (60, 4)])
@pytest.mark.parametrize(("key", "answer"), [("qwk", "score"), ("mcc", "error"), ("plcc", "score")])
def test_equal_judges_differ_in_at_most_6_5_percent_of_studies(videos, each, key, answer):
    """Both are right in 40 % of the steps on average, one student's in more than another's."""
    rng, different = np.random.default_rng(11), 0

    def judge(made):
        right = (0.4 + rng.normal(0, 0.25, (videos, 1)))[np.arange(videos) // each]
        points = np.where(
            rng.random(made.reference.shape) < right, made.reference, rng.permuted(made.reference, axis=0)
        )
        return made.predicting((points < made.max_score).astype(float) if answer == "error" else points)

    for _ in range(800):
        made = make_exams(rng, videos=videos, steps=6, each=each, answer=answer)
        row = difference(statistic(key), judge(made), judge(made))
        different += row.p is not None and row.p <= 0.05
    assert different / 800 <= 0.065
