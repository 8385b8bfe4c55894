"""Repeats against NumPy and scikit-learn."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from siming_tasks.benchmark.metrics import evaluate
from siming_tasks.common.errors import DataError
from siming_tasks.study.analysis.repeats import repeats
from tests.study.analysis.exams import check_jackknife, drawn, exams


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(0)
    base = exams(*rng.integers(0, 4, (2, 40, 5)))
    return [base.predicting(np.where(rng.random((40, 5)) < 0.8, base.predicted, rng.integers(0, 4, (40, 5))))
            for _ in range(3)]  # fmt: skip


def test_mean_and_sd_are_those_of_the_runs_and_agreement_of_all_pairs(runs):
    rows = repeats(runs)
    for metric in ("plcc", "srcc", "qwk"):
        values = [evaluate(run).one("ranked", metric=metric).value for run in runs]
        mean, sd = (rows.one(row=name, metric=metric) for name in ("mean", "sd"))
        assert (mean.value, sd.value) == pytest.approx((np.mean(values), np.std(values, ddof=1)))
        assert (sd.low, sd.why, sd.n) == (None, "Over 3 runs of the same exams: no interval.", 40)
        rest = [[evaluate(run.videos(np.arange(40) != v)).one("ranked", metric=metric).value for v in range(40)]
                for run in runs]  # fmt: skip
        without = np.mean(rest, axis=0)
        stderr = np.sqrt(39 / 40 * ((without - np.mean(without)) ** 2).sum() + sd.value**2 / 3)
        assert mean.stderr == pytest.approx(stderr) and mean.n == 40
        degrees = min(39, 2 * 40 / (stats.kurtosis(without, fisher=False) - 1))
        assert mean.high - mean.value == pytest.approx(stats.t.ppf(0.975, degrees) * stderr)

    def pooled(function):
        def value(kept):
            pairs = [(a.predicted[kept].ravel(), b.predicted[kept].ravel()) for a, b in combinations(runs, 2)]
            return function(*map(np.concatenate, zip(*pairs, strict=True)))

        return value

    weighted = lambda x, y: cohen_kappa_score(x, y, weights="quadratic", labels=range(4))  # noqa: E731
    for metric, function in (("same", lambda x, y: (x == y).mean()), ("kappa", weighted)):
        check_jackknife(
            rows.one(row="with itself", metric=metric), pooled(function), 40, -1 if metric == "kappa" else 0
        )


def test_only_what_all_runs_were_asked_and_both_answered_counts(runs):
    first, second = runs[0], runs[1].videos(range(10, 40))
    gaps = np.random.default_rng(1).random(second.predicted.shape) < 0.2
    second = second.predicting(np.where(gaps, np.nan, second.predicted))
    same = repeats([first, second]).one(row="with itself", metric="same")
    assert same.value == pytest.approx((first.predicted[10:] == second.predicted)[~gaps].mean()) and same.n == 30
    for bad, said in (
        ([first], "two runs of one model or more"),
        ([first, drawn(np.random.default_rng(4), 40, 5, answer="error")], "no metric is common to both"),
        ([first.videos(range(9)), first.videos(range(9, 40))], "share no videos"),
    ):
        with pytest.raises(DataError, match=said):
            repeats(bad)
