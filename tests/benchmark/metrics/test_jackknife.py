"""The one construction of intervals and tests: textbook cases, brute force, and every edge of its rule."""

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit
from statsmodels.stats.multitest import multipletests

from siming_tasks.benchmark.metrics import Estimate, Rows, difference, estimate
from siming_tasks.benchmark.metrics.catalogue import share_of, statistic
from siming_tasks.benchmark.metrics.correlation import leave_out
from siming_tasks.benchmark.metrics.jackknife import Counted, holm, jackknife, mean
from siming_tasks.common.errors import DataError
from siming_tasks.study.words import notes
from tests.benchmark.metrics.conftest import make_exams

nan = np.nan


def mean_said(matrix):
    """A statistic that somebody writes."""
    return float(matrix.predicted.mean())


# --- the textbook -------------------------------------------------------------------------------------------------


def test_of_a_difference_of_means_it_is_the_paired_t_test(matrix):
    x, y = np.random.default_rng(1).uniform(0, 3, (2, 30))
    a = matrix(x[:, None], x[:, None])
    found, expected = difference(mean_said, a, a.predicting(y[:, None])), stats.ttest_rel(x, y)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval()))


@pytest.mark.parametrize(("each", "unit"), [(1, "video"), (4, "student")])
def test_of_a_mean_it_is_the_t_interval_of_the_clusters(matrix, each, unit):
    x = np.random.default_rng(2).uniform(0, 3, (8, each))
    how = {"clusters": tuple(f"student {k}" for k in range(8) for _ in range(each))} if each > 1 else {}
    found = estimate(mean_said, matrix(x.reshape(-1, 1), x.reshape(-1, 1), **how))
    assert (found.low, found.high) == pytest.approx(tuple(stats.ttest_1samp(x.mean(1), 0).confidence_interval()))
    assert found.stderr == pytest.approx(stats.sem(x.mean(1)))
    assert (found.n, found.clusters, found.unit, found.p) == (8 * each, 8, unit, None)


def test_holm_is_that_of_statsmodels():
    for p in np.random.default_rng(0).random((20, 7)) ** 3:
        assert holm(p) == pytest.approx(multipletests(p, method="holm")[1], abs=1e-15)
    assert holm([]) == []


# --- values without each cluster ----------------------------------------------------------------------------------


@settings(max_examples=60)
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


# --- the edges of the rule ----------------------------------------------------------------------------------------


def test_below_five_clusters_there_is_no_interval(exams):
    made = replace(exams(np.random.default_rng(5), videos=19, each=5), fixed=("site",))
    for key in ("plcc", "qwk"):
        row = jackknife(statistic(key), made).estimate()
        assert row.value is not None and row.stderr is not None and row.low is row.high is None
        assert row.why == "few-clusters"
        assert row.flags == ("these-sites", "few-videos", "few-clusters")
        assert notes(row) == ("Fewer than 5 students: no interval.",), "no note on an interval that is not there"
    assert difference(statistic("qwk"), made, made.predicting(made.reference)).p is None


def test_undefined_without_one_video(matrix):
    reference, said = np.full((8, 2), 3.0), np.full((8, 2), 0.0)
    reference[0, 0] = said[1, 1] = 1
    row = jackknife(statistic("mcc"), matrix(reference, said > 0, answer="error")).estimate()
    assert row.value is not None and row.low is None and row.why == "undefined-without-one"


def test_a_perfect_correlation_has_no_interval(matrix):
    points = np.array([[0.0, 1], [1, 1], [2, 1], [3, 1], [3, 3], [2, 3]])
    row = jackknife(statistic("plcc"), matrix(points, points)).estimate()
    assert (row.value, row.low) == (1, None) and row.why == "perfect-correlation"
    for some in np.random.default_rng(0).integers(0, 3, (30, 9, 7)).astype(float):  # ... whatever totals are rounded to
        row = jackknife(statistic("plcc"), matrix(some, some, top=2 + np.arange(7))).estimate()
        assert (row.value, row.low) == (1, None)


def test_ends_lie_within_the_range(matrix):
    """Three wrong steps in 30 videos: MCC would be up to 1.30; in -1 to 1 logit is Fisher's z."""
    reference, said = np.full((30, 3), 3.0), np.zeros((30, 3))
    reference[[3, 9, 12], 0], said[[3, 9], 0] = 0, 1
    found = jackknife(statistic("mcc"), matrix(reference, said, answer="error"))
    row, degrees = found.estimate(), 2 * 30 / (stats.kurtosis(found.without, fisher=False) - 1)
    assert row.degrees == pytest.approx(degrees) and 2 < degrees < 29  # three videos make the error
    reach = stats.t.ppf(0.975, degrees) * row.stderr / (1 - row.value**2)
    assert (row.low, row.high) == pytest.approx(tuple(np.tanh(np.arctanh(row.value) + np.array([-reach, reach]))))
    assert row.flags == ("few-errors",) and row.value + reach * (1 - row.value**2) > 1.3
    lead = difference(statistic("mcc"), (made := matrix(reference, said, answer="error")), made.predicting(1 - said))
    assert lead.high == 2  # of a difference the ends are cut


@pytest.mark.parametrize("videos", range(10, 60, 2))
def test_clusters_that_all_tell_as_much_keep_their_degrees_of_freedom(matrix, videos):
    """Half of the videos are right: the values without each have the least kurtosis, 1, but for rounding."""
    right = np.arange(videos)[:, None] % 2 == 0
    row = jackknife(share_of(lambda m: right, lambda m: m.asked, ""), matrix(3.0 * right, 3.0 * right)).estimate()
    reach = stats.t.ppf(0.975, videos - 1) * row.stderr / 0.25
    assert row.degrees == videos - 1 and (row.low, row.high) == pytest.approx((expit(-reach), expit(reach)))


@pytest.mark.parametrize(("sizes", "why", "degrees", "flagged"), [
    ((4,) * 8, "", 7, False),
    ((2, 2, 3, 4, 6, 9, 14, 20), "", 60**2 / 746 - 1, True),
    ((1, 1, 1, 1, 20), "uneven-clusters", 24**2 / 404 - 1, True),
])  # fmt: skip
def test_uneven_clusters_count_as_fewer(exams, sizes, why, degrees, flagged):
    """The sum of sizes squared over the sum of their squares; where it is below four there is no test either."""
    made = exams(np.random.default_rng(3), videos=sum(sizes), answer="error")
    made = replace(made, unit="student", clusters=tuple(np.repeat([*"abcdefgh"], (*sizes, *[0] * (8 - len(sizes))))))
    row = jackknife(statistic("mcc"), made).estimate()
    assert (row.why, row.degrees) == (why, pytest.approx(degrees)) and ("few-clusters" in row.flags) == flagged
    lead = difference(statistic("mcc"), made, made.predicting(1 - made.predicted))
    assert (lead.p is None) == bool(why)
    if not why:
        assert lead.p == pytest.approx(2 * stats.t.sf(abs(lead.value) / lead.stderr, degrees))
        assert lead.high - lead.value == pytest.approx(stats.t.ppf(0.975, degrees) * lead.stderr)


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
    assert row.flags == ()
    assert row.value == 2 and row.low is None and row.why == "no-variation" and row.degrees == 19


def test_a_difference_needs_the_same_videos(matrix):
    a, b = matrix([[1], [2]], [[1], [2]]), matrix([[1], [2], [3]], [[1], [2], [3]])
    with pytest.raises(DataError, match="same videos in the same clusters"):
        difference(mean_said, a, b)
    with pytest.raises(DataError, match="different clusters"):
        jackknife(mean_said, a) - jackknife(mean_said, b)


def test_what_a_user_writes_may_be_undefined(matrix):
    made = matrix(np.ones((6, 1)), np.ones((6, 1)))
    lead = difference(statistic("qwk"), made.predicting(np.array([[1.0], [2], [3], [1], [0], [1]])), made)
    assert lead.value is None and lead.why == "one-label"  # of the side that has no value
    for found in (nan, math.inf):
        row = estimate(lambda m, found=found: found, made)
        assert row.value is None and row.why == "undefined"
    few = estimate(lambda m: m.predicted.sum() if len(m.video_ids) == 6 else nan, made)
    assert few.value == 6 and few.why == "undefined-without-one"
    assert estimate(lambda m: 1.0, matrix(np.ones((1, 1)), np.ones((1, 1)))).degrees == 0
    own = estimate(Counted(lambda m: m.predicted, lambda sums: sums[..., 0]), made)
    assert own.value == 6 and "few-errors" not in own.flags  # it does not say that it is about errors


def test_a_mean_of_values_is_taken_term_by_term(exams):
    made = exams(np.random.default_rng(6), videos=25)
    both = mean(parts := [jackknife(statistic("qwk"), part) for part in (made, made.predicting(made.reference))])
    assert both.value == (parts[0].value + 1) / 2
    assert both.estimate().stderr == pytest.approx(parts[0].estimate().stderr / 2)


@settings(max_examples=80)
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
    with pytest.raises(ValueError, match="not a valid Flag"):
        Estimate(0.5, flags=("nice",))
    assert str(Estimate(-0.0)) == "0.000"


def test_rows_are_found_by_name_and_survive_json():
    places = enumerate(permutations("abc", 2))
    rows = Rows(Estimate(k / 10, table=table, row=row, metric="qwk", why="w") for k, (table, row) in places)
    assert Rows.from_json(rows.to_json()) == rows and isinstance(rows + rows, Rows)
    assert rows.one("a", "c").value == 0.1 and len(rows.of("b")) == 2 and rows.names("table") == ["a", "b", "c"]
    for names, found in ((("a", "a"), 0), ((None, None, "qwk"), 6)):
        with pytest.raises(KeyError, match=f"{found} estimates"):
            rows.one(*names)


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
