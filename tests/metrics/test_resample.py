"""The fast paths against written-out resamples and independent libraries."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from siming_tasks.metrics.sufficient_stats import Tally
from sklearn import metrics as sk

from siming_tasks.metrics import classification, correlation, evaluate, kappa, ordinal_labels, resample
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.correlation import pearson_left_out, spearman_left_out

TOL = 1e-12


def weights_of(n, resamples, seed=0):
    return np.concatenate(list(resample.weight_chunks(np.arange(n), resamples, seed)))


def test_weights_are_multinomial_draws():
    weights = weights_of(40, 4000)
    assert (weights.sum(axis=1) == 40).all()
    # Multiplicities of one video are Binomial(40, 1/40).
    expected = stats.binom.pmf(range(5), 40, 1 / 40)
    observed = [(weights == k).mean() for k in range(5)]
    assert observed == pytest.approx(expected, abs=0.005)
    assert np.corrcoef(weights[:, :2].T)[0, 1] == pytest.approx(-1 / 39, abs=0.05)


def test_chunks_do_not_change_the_numbers():
    whole = np.concatenate(list(resample.weight_chunks(np.arange(30), 100, 5, cells=10**9)))
    parts = np.concatenate(list(resample.weight_chunks(np.arange(30), 100, 5, cells=1)))
    np.testing.assert_array_equal(whole, parts)


@pytest.mark.parametrize("ties", [2, 9, 1000])
def test_correlations_of_every_resample(ties):
    rng = np.random.default_rng(ties)
    x, y = rng.integers(0, ties, (2, 25)).astype(float)
    y[:3] = np.nan  # never take part
    weights = weights_of(25, 200)
    pairs = correlation.Paired(x, y)
    got = {f.__name__: f(pairs, weights) for f in (correlation.pearson, correlation.spearman)}
    assert len(weights) == 200
    for b, row in enumerate(weights):
        taken = np.repeat(np.arange(25), row.astype(int))
        taken = taken[taken >= 3]
        for name, reference in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
            if len(set(x[taken])) < 2 or len(set(y[taken])) < 2:
                assert np.isnan(got[name][b])
            else:
                assert got[name][b] == pytest.approx(reference(x[taken], y[taken])[0], abs=TOL)


def test_pearson_survives_a_large_offset():
    x, y = np.random.default_rng(0).normal(size=(2, 50)).round(3) + 1e6
    got = correlation.pearson(correlation.Paired(x, y), np.ones((1, 50)))[0]
    assert got == pytest.approx(np.corrcoef(x - 1e6, y - 1e6)[0, 1], abs=1e-9)


def test_step_metrics_of_every_resample(synthetic):
    panel = synthetic(np.random.default_rng(3), videos=15)
    labels = [ordinal_labels(side, panel.max_score) for side in (panel.reference, panel.predicted)]
    wrong = panel.reference_wrong, panel.predicted_wrong
    weights = weights_of(15, 50)
    pooled = kappa.qwk(weights @ kappa.confusion(*labels))
    counts = weights @ classification.binary_counts(*wrong, np.ones_like(wrong[0]))
    assert len(weights) == 50
    for b, row in enumerate(weights):
        taken = np.repeat(np.arange(15), row.astype(int))
        a, p = (side[taken].ravel() for side in labels)
        assert pooled[b] == pytest.approx(sk.cohen_kappa_score(a, p, weights="quadratic", labels=range(4)), abs=TOL)
        a, p = (side[taken].ravel() for side in wrong)
        for ours, theirs in (
            (classification.mcc, sk.matthews_corrcoef),
            (classification.precision, sk.precision_score),
            (classification.recall, sk.recall_score),
            (classification.f1, sk.f1_score),
        ):
            assert ours(counts[b]) == pytest.approx(theirs(a, p), abs=TOL)


def test_binary_metrics_of_huge_counts_do_not_overflow():
    counts = np.array([4e9, 1e9, 2e9, 3e9])
    assert classification.mcc(counts) == pytest.approx(classification.mcc(counts / 1e9))


def test_interval_is_the_expanded_percentile_interval_and_leaves_out_what_is_undefined():
    drawn = np.r_[np.arange(1.0, 98.0), np.nan, np.nan, np.nan]
    found = resample.spreads({"x": drawn}, 12)["x"]
    tail = stats.norm.cdf(-np.sqrt(12 / 11) * stats.t.ppf(0.975, 11))
    written = np.arange(1.0, 98.0)
    ends = np.quantile(written, [tail, 1 - tail])
    assert found == pytest.approx((written.std(ddof=1), *ends, 0.03))
    assert tail < 0.012  # 2.5 % would be too short


def test_studentised_interval_by_hand():
    """(drawn - value) / error of the resamples, turned round: the upper tail makes the lower end."""
    drawn, errors = np.array([1.0, 2, 3, 5]), np.array([1.0, 1, 2, 2])
    t = np.quantile([-1, 0, 0.5, 1.5], [0.025, 0.975])
    assert resample.studentised(2.0, 0.5, drawn, errors) == pytest.approx((2 - t[1] * 0.5, 2 - t[0] * 0.5))
    assert np.isnan(resample.studentised(2.0, 0.0, drawn, errors)).all()
    assert np.isnan(resample.studentised(2.0, 0.5, drawn, np.array([0, 0, 0, 2.0]) * np.nan)).all()


@pytest.mark.parametrize("answer", ["score", "error"])
def test_linearised_standard_errors_are_close_to_the_jackknife(synthetic, answer):
    panel = synthetic(np.random.default_rng(3), videos=150, answer=answer, missing=0.02)
    tally = Tally.of(panel)
    left = tally.left_out
    errors = tally.errors(tally.sums(np.ones((1, 150))))
    assert set(errors) == ({"plcc", "qwk"} if answer == "score" else {"mcc", "precision", "recall", "f1"})
    for name, error in errors.items():
        values = np.arctanh(left[name]) if name == "plcc" else left[name]
        assert error[0] == pytest.approx(np.sqrt(149 / 150 * ((values - values.mean()) ** 2).sum()), rel=0.06), name


def test_linearised_standard_errors_of_a_resample_are_those_of_the_videos_written_out(synthetic):
    panel = synthetic(np.random.default_rng(3), videos=30)
    weights = weights_of(30, 5)
    tally = Tally.of(panel)
    found = tally.errors(tally.sums(weights))
    assert len(weights) == 5 and set(found) == {"plcc", "qwk"}
    for b, row in enumerate(weights):
        taken = np.repeat(np.arange(30), row.astype(int))
        copy = replace(panel.videos(taken[:1]), video_ids=("v",))
        arrays = {name: getattr(panel, name)[taken] for name in ("reference", "predicted", "asked")}
        again = Tally.of(replace(copy, video_ids=tuple(map(str, range(30))), **arrays))
        once = again.errors(again.sums(np.ones((1, 30))))
        for name, error in once.items():
            assert found[name][b] == pytest.approx(error[0], rel=1e-9), name


def test_slopes_are_derivatives():
    rng = np.random.default_rng(0)
    counts = rng.integers(5, 60, 4).astype(float)
    for name in ("mcc", "precision", "recall", "f1"):
        row = CATALOGUE[name]
        rise = [(row.function(counts + h) - row.function(counts - h)) / 2e-4 for h in 1e-4 * np.eye(4)]
        np.testing.assert_allclose(row.slope(counts), rise, atol=1e-9)
    cells = rng.integers(5, 60, 16).astype(float)
    rise = [(kappa.qwk(cells + h) - kappa.qwk(cells - h)) / 2e-4 for h in 1e-4 * np.eye(16)]
    np.testing.assert_allclose(kappa.MOMENTS @ kappa.qwk_slope(cells @ kappa.MOMENTS), rise, atol=1e-9)


@pytest.mark.parametrize("answer", ["score", "error"])
def test_a_share_at_its_boundary_has_an_interval_with_a_width(panel, answer):
    """12 of 20 videos have an error; all are found. At most 1 - .025^(1/12) of such videos may hold a missed one."""
    reference = np.full((20, 2), 3.0)
    reference[:12, 0] = 1
    found = evaluate(panel(reference, (reference < 3).astype(float), answer="error"), resamples=200).metrics
    bound = stats.beta.ppf(0.025, 12, 1)  # Clopper and Pearson of 12 of 12
    assert (found["recall"].value, found["recall"].low, found["recall"].high) == (1.0, pytest.approx(bound), 1.0)
    assert found["mcc"].value == 1.0 and found["mcc"].low is None and "no-variation" in found["mcc"].flags


def test_no_interval_below_ten_videos(synthetic):
    nine, ten = (evaluate(synthetic(np.random.default_rng(0), videos=n), resamples=99).metrics["qwk"] for n in (9, 10))
    assert nine.low is None and nine.stderr > 0 and nine.notes == ("Fewer than 10 videos: no interval.",)
    assert ten.low < ten.value < ten.high and "few-videos" in ten.flags


def test_no_interval_of_plcc_is_shorter_than_that_of_normal_totals(panel):
    """Totals spread evenly, where leaving out a video changes little, and totals with an extreme video."""
    rng = np.random.default_rng(3)
    reference = np.linspace(0.5, 2.5, 60)[:, None]
    even = panel(reference, reference + 0.5 * (-1.0) ** np.arange(60)[:, None])
    far = np.arange(60)[:, None] < 1
    tail = panel(*(np.where(far, 0, rng.integers(low, 4, (60, 4))) for low in (2, 1)))
    for case, is_floor in ((even, True), (tail, False)):
        x, y = case.reference.sum(axis=1), case.predicted.sum(axis=1)
        z = [np.arctanh(np.corrcoef(np.delete(x, k), np.delete(y, k))[0, 1]) for k in range(60)]
        jackknife = np.sqrt(59 / 60 * np.square(z - np.mean(z)).sum())
        assert (jackknife < 1 / np.sqrt(57)) == is_floor
        own = Tally.of(case, metrics=["plcc"]).own_errors()["plcc"]
        assert own == pytest.approx(max(jackknife, 1 / np.sqrt(57)))


def test_bootstrap_standard_error_of_recall_with_one_step_is_binomial(panel):
    """One step, all positive: videos are independent, so the standard error is known."""
    predicted = np.repeat([1.0, 0.0], [30, 70])[:, None]
    found = evaluate(panel(np.zeros((100, 1)), predicted, answer="error"), resamples=4000).metrics["recall"]
    assert found.value == 0.3
    assert found.stderr == pytest.approx(np.sqrt(0.3 * 0.7 / 100), rel=0.03)
    assert (found.low, found.high) == pytest.approx((0.21, 0.39), abs=0.015)


def test_copies_of_a_step_do_not_shrink_the_interval(panel):
    """Ten copies of one step are still 40 independent videos: a step-level bootstrap would shrink by sqrt(10)."""
    rng = np.random.default_rng(0)
    reference, predicted = rng.integers(0, 4, (2, 40, 1)).astype(float)
    one = evaluate(panel(reference, predicted), resamples=500).metrics["qwk"]
    ten = evaluate(panel(np.tile(reference, 10), np.tile(predicted, 10)), resamples=500).metrics["qwk"]
    assert (ten.low, ten.high) == pytest.approx((one.low, one.high))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 40])
@pytest.mark.parametrize("ties", [2, 3, 9, 1000])
def test_correlations_without_each_video_are_those_of_the_others(n, ties):
    """Against SciPy on what is left, with ties in one side, in both, and none."""
    rng = np.random.default_rng([n, ties])
    for _ in range(20):
        x = rng.integers(0, ties, n).astype(float)
        y = np.round(0.3 * x + rng.integers(0, int(rng.choice([2, ties])), n), 9)
        pairs = correlation.Paired(x, y)
        for got, reference in ((pearson_left_out, stats.pearsonr), (spearman_left_out, stats.spearmanr)):
            values = got(pairs)
            assert values.shape == (n,)
            for i in range(n):
                a, b = np.delete(x, i), np.delete(y, i)
                if len(set(a)) < 2 or len(set(b)) < 2:
                    assert np.isnan(values[i])
                else:
                    assert values[i] == pytest.approx(reference(a, b)[0], abs=TOL)


def test_one_video_far_from_all_others_is_left_out_without_loss():
    """Taking its share from the sums of all would leave the others with a few digits."""
    x, y = np.random.default_rng(2).normal(size=(2, 30)) * 1e-6
    x[11], y[11] = 1e4, -1e4
    got = pearson_left_out(correlation.Paired(x, y))[11]
    assert got == pytest.approx(stats.pearsonr(np.delete(x, 11), np.delete(y, 11))[0], abs=TOL)


@pytest.mark.parametrize("answer", ["score", "error"])
def test_a_tally_without_each_video_is_the_tally_of_the_others(synthetic, answer):
    """Every metric, also where videos miss so many answers that they have no total, and where nothing is asked."""
    panel = synthetic(np.random.default_rng(11), videos=17, steps=6, answer=answer, missing=0.2)
    panel = replace(panel, asked=panel.asked & (np.arange(17) != 4)[:, None])
    got = Tally.of(panel).left_out
    assert np.isnan(Tally.of(panel).totals.x).any() or len(Tally.of(panel).totals) < 17
    for i in range(17):
        rest = Tally.of(panel.videos(np.arange(17) != i))
        values = rest.compute(np.ones((1, 16)))
        assert got.keys() == values.keys()
        for name, value in values.items():
            np.testing.assert_allclose(got[name][i], value[0], rtol=0, atol=TOL, err_msg=name)


def test_leaving_out_each_of_many_videos_takes_no_square_of_time_or_memory(synthetic):
    """100,000 videos: the weights of a loop over them would have 80 GB, and half a day."""
    panel = synthetic(np.random.default_rng(12), videos=100_000, steps=3)
    tracemalloc.start()
    try:
        got = Tally.of(panel).left_out
        assert tracemalloc.get_traced_memory()[1] < 300e6
    finally:
        tracemalloc.stop()
    totals = Tally.of(panel).totals
    for i in (0, 54_321):
        rest = np.delete(totals.x, i), np.delete(totals.y, i)
        assert got["srcc"][i] == pytest.approx(stats.spearmanr(*rest)[0], abs=TOL)
        assert got["plcc"][i] == pytest.approx(stats.pearsonr(*rest)[0], abs=TOL)


def test_jackknife_is_leave_one_out(synthetic):
    panel = synthetic(np.random.default_rng(6), videos=20, missing=0.02)
    found = evaluate(panel, method="jackknife").metrics
    left = [evaluate(panel.videos(np.arange(20) != i), resamples=0).metrics for i in range(20)]
    for name in ("plcc", "srcc", "qwk"):
        values = np.array([row[name].value for row in left])
        stderr = np.sqrt(19 / 20 * ((values - values.mean()) ** 2).sum())
        reach = stats.t.ppf(0.975, 19) * stderr
        assert found[name].stderr == pytest.approx(stderr, abs=TOL)
        assert found[name].high - found[name].value == pytest.approx(reach, abs=TOL)


def test_jackknife_and_bootstrap_agree_roughly(synthetic):
    panel = synthetic(np.random.default_rng(7), videos=150)
    a, b = (evaluate(panel, resamples=2000, method=method).metrics for method in ("bootstrap", "jackknife"))
    for name in ("plcc", "srcc", "qwk"):
        assert a[name].stderr == pytest.approx(b[name].stderr, rel=0.1)


def test_memory_does_not_grow_with_the_resamples(synthetic):
    """20,000 videos: 300 more resamples are 48 MB in one matrix of weights, and several times that in rank matrices."""
    panel = synthetic(np.random.default_rng(8), videos=20_000, steps=4)

    def peak(resamples):
        tracemalloc.start()
        try:
            evaluate(panel, resamples=resamples)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(332) - peak(32) < 10e6
