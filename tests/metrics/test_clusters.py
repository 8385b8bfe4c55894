"""Clusters of videos are resampled whole: against independent formulas, slow loops and the unclustered numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from siming_tasks.metrics.resample import n_clusters, per_cluster, weight_chunks
from siming_tasks.metrics.sufficient_stats import Tally

from siming_tasks.common.errors import DataError
from siming_tasks.metrics import ScoreMatrix, evaluate
from siming_tasks.metrics.catalogue import select

STUDENTS = ("ann", "bob", "ann", "cid", "bob", "ann")


def clustered(panel: ScoreMatrix, clusters: Any, unit: Any = "student") -> ScoreMatrix:
    return replace(panel, clusters=tuple(map(str, clusters)), unit=unit)


def doubled(panel: ScoreMatrix, unit: Any = "student") -> ScoreMatrix:
    """Every video twice, both of one student."""
    arrays = {name: np.repeat(getattr(panel, name), 2, axis=0) for name in ("reference", "predicted", "asked")}
    names = tuple(f"{name}{take}" for name in panel.video_ids for take in "ab")
    clusters = tuple(name for name in panel.video_ids for _ in "ab")
    return replace(panel, video_ids=names, clusters=clusters, unit=unit, **arrays)


def test_clusters_are_numbered_as_they_appear_and_travel_with_their_videos(panel: Any) -> None:
    matrix = clustered(panel(np.eye(6, 3), np.eye(6, 3)), STUDENTS)
    assert matrix.cluster_numbers.tolist() == [0, 1, 0, 2, 1, 0]
    assert matrix.videos([5, 3, 1]).clusters == ("ann", "cid", "bob")
    assert matrix.videos([5, 3, 1]).cluster_numbers.tolist() == [0, 1, 2]
    for same in (matrix.sorted(), matrix.subset(["s01"]), matrix.predicting(matrix.reference), matrix.imputed()):
        assert (same.clusters, same.unit) == (STUDENTS, "student")


def test_without_clusters_every_video_is_its_own(panel: Any) -> None:
    matrix = panel(np.eye(3), np.eye(3))
    assert matrix.clusters == matrix.video_ids and matrix.unit == "video"
    assert replace(matrix, video_ids=("x", "y", "z")).clusters == ("x", "y", "z")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"clusters": ("a", "b"), "unit": "student"}, "2 clusters for 3 videos; give the name of one for each video."),
        ({"clusters": ("a", "a", "b")}, "two videos are in one cluster, and the unit is 'video'. Name the unit."),
        ({"unit": "ward"}, "no unit 'ward'; it must be one of video, performance, student, site."),
    ],
)
def test_clusters_that_do_not_fit_are_refused(panel: Any, given: Any, message: str) -> None:
    with pytest.raises(DataError) as refused:
        replace(panel(np.eye(3), np.eye(3)), **given)
    assert str(refused.value) == f"ScoreMatrix: {message}"


def test_a_resample_takes_a_cluster_whole() -> None:
    numbers = np.array([0, 1, 0, 2, 1, 0])
    weights = np.concatenate(list(weight_chunks(numbers, 300, 7)))
    assert weights.shape == (300, 6)
    np.testing.assert_array_equal(weights[:, 0], weights[:, 2])
    np.testing.assert_array_equal(weights[:, 1], weights[:, 4])
    # The three clusters are drawn as three videos would be.
    np.testing.assert_array_equal(weights[:, [0, 1, 3]], np.concatenate(list(weight_chunks(np.arange(3), 300, 7))))


def test_sums_over_clusters_by_hand() -> None:
    rows = np.array([[1.0, 10], [2, 20], [3, 30], [4, 40], [5, 50], [6, 60]])
    numbers = np.array([0, 1, 0, 2, 1, 0])
    assert per_cluster(rows, numbers).tolist() == [[10, 100], [7, 70], [4, 40]]
    assert n_clusters(numbers) == 3 and per_cluster(rows, np.arange(6)) is rows


@pytest.mark.parametrize("method", ["bootstrap", "jackknife"])
@pytest.mark.parametrize("answer", ["score", "error"])
def test_students_seen_once_change_no_bit(synthetic: Any, answer: str, method: Any) -> None:
    matrix = synthetic(np.random.default_rng(1), videos=40, answer=answer, missing=0.05)
    plain = evaluate(matrix, resamples=200, method=method)
    once = evaluate(clustered(matrix, range(40)), resamples=200, method=method)
    assert once.metrics == plain.metrics and once.imputed == plain.imputed and once.per_skill == plain.per_skill
    assert (plain.options["unit"], once.options["unit"], once.options["n_clusters"]) == ("video", "student", 40)


@pytest.mark.parametrize("method", ["bootstrap", "jackknife"])
@pytest.mark.parametrize("answer", ["score", "error"])
def test_a_second_take_of_every_exam_tells_nothing_new(synthetic: Any, answer: str, method: Any) -> None:
    matrix = synthetic(np.random.default_rng(2), videos=40, answer=answer, missing=0.05)
    plain = evaluate(matrix, resamples=300, method=method).metrics
    twice = evaluate(doubled(matrix), resamples=300, method=method).metrics
    for name, estimate in twice.items():
        once = plain[name]
        assert (estimate.n_videos, estimate.n_clusters, once.n_clusters) == (80, 40, 40)
        for number in ("value", "stderr", "low", "high"):
            assert getattr(estimate, number) == pytest.approx(getattr(once, number), rel=1e-9, abs=1e-12), name


def test_leaving_out_a_student_is_computing_without_her(synthetic: Any) -> None:
    matrix = clustered(synthetic(np.random.default_rng(3), videos=12), [*"aabbbcdeeffg"[:12]])
    tally = Tally.of(matrix, metrics=select(compared=True))
    for number, name in enumerate(dict.fromkeys(matrix.clusters)):
        rest = Tally.of(matrix.videos([c != name for c in matrix.clusters]), metrics=tally.metrics).observed
        assert {m: tally.left_out[m][number] for m in tally.metrics} == pytest.approx(rest, rel=1e-12)


@pytest.mark.parametrize("metric", [name for name in select(compared=True) if name != "srcc"])
def test_linearised_errors_are_those_of_influences_summed_over_clusters(synthetic: Any, metric: str) -> None:
    """The derivative of the value in a student's weight, by finite differences, for the data and for a resample."""
    matrix = clustered(synthetic(np.random.default_rng(4), videos=30), np.arange(30) // 3)
    tally = Tally.of(matrix, metrics=(metric,))
    for weights in (np.ones((1, 30)), next(weight_chunks(matrix.cluster_numbers, 16, 5))[:1]):
        total = 0.0
        for cluster in range(10):
            step = 1e-5 * (matrix.cluster_numbers == cluster)
            up, down = (tally.compute(weights * (1 + sign * step))[metric][0] for sign in (1, -1))
            up, down = (np.arctanh(side) if metric == "plcc" else side for side in (up, down))
            # A student who was drawn twice enters the sum as two students, each with half of the derivative.
            times = weights[0, matrix.cluster_numbers == cluster][0]
            total += times * ((up - down) / 2e-5 / times) ** 2 if times else 0.0
        error = tally.errors(tally.sums(weights))[metric][0]
        assert error == pytest.approx(np.sqrt(10 / 9 * total), rel=1e-6)


def test_the_error_of_a_share_is_statsmodels_cluster_robust_one(synthetic: Any) -> None:
    """Precision is a weighted mean: least squares on a constant with HC0-type errors of clusters, times m / (m - 1)."""
    matrix = clustered(synthetic(np.random.default_rng(5), videos=60, answer="error"), np.arange(60) // 4)
    tally = Tally.of(matrix, metrics=("precision",))
    called = matrix.predicted_wrong & matrix.counted & matrix.answered
    right = matrix.reference_wrong[called].astype(float)
    groups = np.broadcast_to(matrix.cluster_numbers[:, None], called.shape)[called]
    fit = sm.OLS(right, np.ones(len(right))).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    assert tally.own_errors()["precision"] == pytest.approx(fit.bse[0] * np.sqrt(15 / 14), rel=1e-12)


def test_few_clusters_have_the_t_interval_of_leaving_each_out(synthetic: Any) -> None:
    """A slow loop over seven sites; PLCC and SRCC on Fisher's z."""
    matrix = clustered(synthetic(np.random.default_rng(8), videos=42), np.arange(42) % 7, "site")
    found = evaluate(matrix, resamples=50).metrics
    for name in ("plcc", "srcc", "qwk"):
        to, back = (np.arctanh, np.tanh) if name in ("plcc", "srcc") else (float, float)
        rest = [matrix.videos([c != site for c in matrix.clusters]) for site in sorted(set(matrix.clusters))]
        left = np.array([to(Tally.of(panel, metrics=(name,)).observed[name]) for panel in rest])
        reach = stats.t.ppf(0.975, 6) * np.sqrt(6 / 7 * ((left - left.mean()) ** 2).sum())
        expected = [back(to(found[name].value) + sign * reach) for sign in (-1, 1)]
        assert [found[name].low, found[name].high] == pytest.approx(expected, rel=1e-9), name
        assert found[name].n_clusters == 7 and found[name].low < found[name].value < found[name].high


def test_what_is_resampled_together_must_be_in_the_same_clusters(synthetic: Any) -> None:
    from siming_tasks.metrics.evaluate import draw

    matrix = synthetic(np.random.default_rng(6), videos=10)
    tallies = {"a": Tally.of(matrix), "b": Tally.of(clustered(matrix, np.arange(10) // 2))}
    with pytest.raises(DataError, match="must be in the same clusters"):
        draw(tallies, resamples=20, seed=0)


def test_thresholds_are_of_the_clusters_and_flags_say_so(synthetic: Any) -> None:
    matrix = synthetic(np.random.default_rng(7), videos=120)
    flags = {
        students: evaluate(clustered(matrix, np.arange(120) % students), resamples=100).metrics["qwk"].flags
        for students in (60, 20, 5, 4)
    }
    assert flags == {60: (), 20: ("few-clusters",), 5: ("few-clusters",), 4: ("too-few-clusters",)}
    fixed = evaluate(replace(matrix, fixed=("site",)), resamples=100)
    assert fixed.metrics["qwk"].notes == ("The interval is of exams at these sites and says nothing of other sites.",)
    assert fixed.options["fixed"] == ["site"]
