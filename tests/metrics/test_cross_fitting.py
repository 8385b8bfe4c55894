"""Cross-fitted judges and the clock: clusters kept apart, planted times found, nothing found where nothing is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from siming_tasks.metrics.cross_fitting import cross_fit, deal_folds
from siming_tasks.metrics.no_video_baselines import JUDGES, clock
from siming_tasks.metrics.timing import Timing

from siming_tasks.common.errors import DataError
from siming_tasks.metrics import ScoreMatrix, evaluate


def timed(panel: ScoreMatrix, rng: np.random.Generator, *, told: float) -> ScoreMatrix:
    """The panel with spans of 4 to 8 seconds; a share ``told`` of the wrong steps takes 2 seconds less."""
    shape = panel.reference.shape
    length = rng.uniform(4, 8, shape) - 6 * (panel.reference_wrong & (rng.random(shape) < told))
    start = 20.0 * np.arange(shape[1]) + rng.uniform(0, 5, shape)
    return replace(panel, timing=Timing(np.full(shape[0], 20.0 * shape[1]), np.stack([start, start + length + 3], 2)))


def test_folds_keep_clusters_whole_and_even_by_hand() -> None:
    # largest first, each to the smallest fold: b (3) -> 0, a (2) -> 1, c (1) -> 1, d (1) -> 0
    fold = deal_folds(["a", "a", "b", "b", "b", "c", "d"], folds=2)
    assert fold.tolist() == [1, 1, 0, 0, 0, 1, 0]
    assert deal_folds(["a", "b", "c"], folds=5).tolist() == [0, 1, 2]
    assert deal_folds(["a", "a"]).tolist() == [-1, -1]
    assert deal_folds([]).tolist() == []


@pytest.mark.parametrize("answer", ["score", "error"])
def test_nothing_that_is_said_of_a_cluster_depends_on_its_labels(synthetic, answer: str) -> None:
    """Other labels for all that shares a fold with a video change nothing of what is said of that video."""
    rng = np.random.default_rng(1)
    panel = timed(synthetic(rng, videos=20, steps=6, answer=answer), rng, told=0.9)
    before = cross_fit(panel, panel.timing.features())
    own = before.fold == before.fold[0]
    assert 1 < own.sum() < 20
    other = np.where(own[:, None], panel.max_score - panel.reference, panel.reference)
    after = cross_fit(replace(panel, reference=other), panel.timing.features())
    np.testing.assert_array_equal(after.predicted[own], before.predicted[own])
    np.testing.assert_array_equal(after.wrong[own], before.wrong[own])
    assert (after.wrong[~own] != before.wrong[~own]).any()


def test_the_order_of_the_videos_changes_nothing(synthetic) -> None:
    rng = np.random.default_rng(2)
    panel = timed(synthetic(rng, videos=17, steps=5), rng, told=0.9)
    turned = rng.permutation(17)
    np.testing.assert_array_equal(clock(panel.videos(turned)).predicted, clock(panel).predicted[turned])


def test_the_clock_reads_times_that_tell_the_labels(synthetic) -> None:
    rng = np.random.default_rng(3)
    panel = timed(synthetic(rng, videos=60, steps=12, answer="error"), rng, told=1.0)
    # Every wrong step is shorter than 5 s and every right one longer than 7 s: the times alone separate them.
    assert evaluate(clock(panel), resamples=0).metrics["mcc"].value == pytest.approx(1.0, abs=0.02)
    exams = replace(panel, answer="score", predicted=panel.predicted * np.nan)
    found = evaluate(clock(exams), resamples=0).metrics
    assert found["qwk"].value > 0.75 and found["plcc"].value > 0.8


@pytest.mark.parametrize(("answer", "metric"), [("score", "qwk"), ("error", "mcc")])
def test_the_clock_finds_nothing_where_times_are_chance(synthetic, answer: str, metric: str) -> None:
    """Labels that no step and no time tells: agreement is 0, with a standard error of 1 / sqrt(1,200) = 0.029."""
    rng = np.random.default_rng(4)
    panel = synthetic(rng, videos=100, steps=12, answer=answer)
    mixed = rng.permutation(np.round(panel.reference / panel.max_score).ravel()).reshape(panel.reference.shape)
    panel = timed(replace(panel, reference=mixed * panel.max_score), rng, told=0.0)
    assert abs(evaluate(clock(panel), resamples=0).metrics[metric].value) < 3 / np.sqrt(mixed.size)


def test_of_a_full_video_the_clock_knows_the_duration_alone(synthetic) -> None:
    """Good exams are long here, so that the duration tells the totals; no span is shown."""
    rng = np.random.default_rng(5)
    panel = synthetic(rng, videos=80, steps=10)
    share = (panel.reference / panel.max_score).mean(axis=1)
    hidden = Timing(100 + 50 * share, np.full((*panel.reference.shape, 2), np.nan))
    assert evaluate(clock(replace(panel, timing=hidden)), resamples=0).metrics["plcc"].value > 0.8


def test_without_times_the_clock_is_absent(synthetic) -> None:
    panel = synthetic(np.random.default_rng(6), videos=6, steps=4)
    assert clock(panel) is None and JUDGES["clock"].absent
    unknown = Timing(np.full(6, np.nan), np.full((6, 4, 2), np.nan))
    assert clock(replace(panel, timing=unknown)) is None


def test_labels_alike_and_a_single_cluster(synthetic) -> None:
    rng = np.random.default_rng(7)
    panel = timed(synthetic(rng, videos=6, steps=4), rng, told=0.5)
    full = replace(panel, reference=np.broadcast_to(panel.max_score, panel.reference.shape))
    np.testing.assert_array_equal(clock(full).predicted, full.reference)
    assert np.isnan(clock(panel.videos([2])).predicted).all()


class TestTiming:
    """Times of a panel."""

    def test_features_by_hand(self) -> None:
        timing = Timing([100.0, 200.0], [[[10, 14.04]], [[20, 30]]])
        length, duration, start, share = np.moveaxis(timing.features()[:, 0, :4], 1, 0)
        assert length.tolist() == [4.0, 10.0] and duration.tolist() == [100.0, 200.0] and start.tolist() == [10, 20]
        assert share.tolist() == [0.04, 0.05]
        # around the median of 7 s, in standard deviations of 3 s
        assert timing.features()[:, 0, 4].tolist() == [-1.0, 1.0]

    def test_they_follow_videos_and_steps(self, synthetic) -> None:
        rng = np.random.default_rng(8)
        panel = timed(synthetic(rng, videos=5, steps=4), rng, told=0.5)
        part = panel.videos([3, 1]).subset(panel.step_ids[2:]).predicting(np.zeros((2, 2)))
        np.testing.assert_array_equal(part.timing.spans, panel.timing.spans[[3, 1]][:, 2:])
        np.testing.assert_array_equal(part.timing.durations, panel.timing.durations[[3, 1]])

    def test_wrong_shapes_are_refused(self, synthetic) -> None:
        with pytest.raises(DataError, match=r"shapes \(2,\) and \(3, 4, 2\)"):
            Timing(np.zeros(2), np.zeros((3, 4, 2)))
        panel = synthetic(np.random.default_rng(9), videos=5, steps=4)
        with pytest.raises(DataError, match=r"timing is of \(2, 4\), not \(5, 4\)"):
            replace(panel, timing=Timing(np.zeros(2), np.zeros((2, 4, 2))))
