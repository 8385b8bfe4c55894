"""Effects of an ablation: values by scikit-learn and SciPy, pairing against the jackknife of a comparison."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr, t
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef

from siming_tasks.analysis.comparison import compare_scores
from siming_tasks.analysis.input_controls import NO_AGREEMENT, AblationResult, ablation_effects
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.alignment import ComparisonEntry
from siming_tasks.metrics.resample import sample
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.tasks import INPUT_ABLATIONS

QUICK: dict[str, Any] = {"resamples": 400}


def said(panel: ScoreMatrix, predicted: np.ndarray) -> ScoreMatrix:
    return replace(panel, predicted=predicted)


def half(panel: ScoreMatrix, rng: np.random.Generator) -> ScoreMatrix:
    """The same answers, but every other video's are another video's."""
    rows = np.arange(len(panel.video_ids))
    rows[::2] = rng.permutation(rows[::2])
    return said(panel, panel.predicted[rows])


def test_values_by_other_libraries(synthetic: Any) -> None:
    rng = np.random.default_rng(3)
    drawn = synthetic(rng, videos=40, agreement=0.6, missing=0.05)
    threes = drawn.max_score == 3  # whose points are the labels
    plain = drawn.subset(np.array(drawn.step_ids)[threes].tolist())
    ablated = half(plain, rng)
    both = ~np.isnan(plain.predicted) & ~np.isnan(ablated.predicted)
    found = ablation_effects(plain, ablated, **QUICK)["qwk"]

    def kappa(panel: ScoreMatrix) -> float:
        points = [side[both].astype(int) for side in (panel.reference, panel.predicted)]
        return float(cohen_kappa_score(*points, weights="quadratic"))

    assert found.plain.value == pytest.approx(kappa(plain)) and found.ablated.value == pytest.approx(kappa(ablated))
    assert found.retained.value == pytest.approx(kappa(ablated) / kappa(plain))
    assert found.change.value == pytest.approx(kappa(ablated) - kappa(plain))
    assert found.retained.coverage == pytest.approx(both.mean())
    assert found.retained.low < found.retained.value < found.retained.high < 1


def test_verdicts_and_totals(synthetic: Any) -> None:
    rng = np.random.default_rng(4)
    wrong = synthetic(rng, agreement=0.6, answer="error")
    other = half(wrong, rng)
    truth = (wrong.reference < wrong.max_score).ravel()
    values = [matthews_corrcoef(truth, side.predicted.ravel()) for side in (wrong, other)]
    assert ablation_effects(wrong, other, **QUICK)["mcc"].retained.value == pytest.approx(values[1] / values[0])
    score = synthetic(rng, agreement=0.6)
    turned = half(score, rng)
    values = [pearsonr(score.reference.sum(1), side.predicted.sum(1)).statistic for side in (score, turned)]
    assert ablation_effects(score, turned, **QUICK)["plcc"].change.value == pytest.approx(values[1] - values[0])


def test_the_difference_is_paired(synthetic: Any) -> None:
    """Its interval is that of the paired jackknife, and far shorter than that of two independent runs."""
    rng = np.random.default_rng(5)
    plain = synthetic(rng, videos=200, agreement=0.6)
    some = np.where(rng.random(plain.predicted.shape) < 0.1, plain.max_score, plain.predicted)
    found = ablation_effects(plain, said(plain, some), resamples=2000)["qwk"]
    runs = [ComparisonEntry("plain", plain), ComparisonEntry("ablation", said(plain, some))]
    (paired,) = (item for item in compare_scores(runs, resamples=50).differences if item.metric == "qwk")
    assert found.change.value == pytest.approx(-paired.value)
    assert [found.change.low, found.change.high] == pytest.approx([-paired.high, -paired.low], abs=0.004)
    apart = np.hypot(found.plain.stderr, found.ablated.stderr)
    assert found.change.stderr < 0.6 * apart


def test_answers_that_do_not_change_survive_whole(synthetic: Any) -> None:
    plain = synthetic(np.random.default_rng(6), videos=30, agreement=0.6)
    effects = ablation_effects(plain, plain, **QUICK)
    assert list(effects) == ["plcc", "srcc", "qwk"]
    for found in effects.values():
        assert (found.retained.value, found.change.value) == (1.0, 0.0)
        assert found.retained.low is None and "no-variation" in found.retained.flags
    result = AblationResult("full_score", INPUT_ABLATIONS["no_video"], "score", "", effects, None)
    assert result.sentence == "100% of kappa (quadratic) survives without any video."


def test_a_constant_keeps_nothing_and_nothing_has_no_ratio(synthetic: Any) -> None:
    plain = synthetic(np.random.default_rng(7), videos=30, agreement=0.6)
    constant = said(plain, np.broadcast_to(plain.max_score, plain.predicted.shape))
    found = ablation_effects(plain, constant, **QUICK)
    assert found["qwk"].retained.value == 0.0 and found["plcc"].retained.undefined
    back = ablation_effects(constant, plain, **QUICK)["qwk"]
    assert back.retained.value is None and back.retained.reason == NO_AGREEMENT
    silent = said(plain, np.full_like(plain.predicted, np.nan))
    none = ablation_effects(plain, silent, **QUICK)["qwk"]
    assert none.retained.value is None and none.retained.coverage == 0


def test_only_some_steps_and_only_shared_videos(synthetic: Any) -> None:
    rng = np.random.default_rng(8)
    plain = synthetic(rng, videos=30, agreement=0.6)
    ablated = half(plain, rng).videos(range(20))
    steps = plain.step_ids[5:15]
    found = ablation_effects(plain, ablated, steps, **QUICK)["qwk"]
    again = ablation_effects(plain.videos(range(20)).subset(steps), ablated.subset(steps), **QUICK)["qwk"]
    assert found.retained == again.retained and found.retained.n_items == 200


@pytest.mark.parametrize("answer", ["score", "error"])
def test_a_judge_at_chance_has_nothing_to_keep(synthetic: Any, answer: Any) -> None:
    """Quotients of two noises, here from 3.8 down to -8.1 over forty judges, are printed nowhere."""
    shown = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        plain = synthetic(rng, videos=40, answer=answer)
        guesses = [rng.random(plain.predicted.shape) for _ in range(2)]
        scale = 1 + (plain.max_score if answer == "score" else 1)
        plain, ablated = (said(plain, np.floor(guess * scale)) for guess in guesses)
        for found in ablation_effects(plain, ablated, resamples=200).values():
            assert found.plain.value is not None and found.change.value is not None
            above = found.plain.low is not None and found.plain.low > 0 and found.metric != "f1"
            shown.append((found.retained.value is not None, above))
    assert all(above for printed, above in shown if printed) and np.mean([printed for printed, _ in shown]) < 0.1


def test_few_videos_have_no_ratio(synthetic: Any) -> None:
    """Below ten videos nothing has an interval, so that nothing says that the plain task is above chance."""
    rng = np.random.default_rng(9)
    plain = synthetic(rng, videos=9, agreement=0.6)
    found = ablation_effects(plain, half(plain, rng), **QUICK)["qwk"]
    assert found.plain.value > 0.3 and (found.retained.value, found.retained.reason) == (None, NO_AGREEMENT)


def test_the_interval_of_the_ratio_is_fiellers(synthetic: Any) -> None:
    """A ratio r is inside where ``b - r a`` does not differ from 0, asked here for one r after the other."""
    rng = np.random.default_rng(10)
    plain = synthetic(rng, videos=40, agreement=0.3)
    ablated = half(plain, rng)
    found = ablation_effects(plain, ablated, resamples=2000)["qwk"]
    runs = [Tally.of(matrix, metrics=("qwk",)) for matrix in (plain, ablated)]
    values, drawn = sample(
        lambda w: {k: run.compute(w)["qwk"] for k, run in enumerate(runs)}, np.arange(40), resamples=2000, seed=0
    )
    inside = []
    for ratio in np.arange(-1, 3, 0.0005):
        error = np.std(drawn[1] - ratio * drawn[0], ddof=1) * np.sqrt(40 / 39)
        if abs(values[1] - ratio * values[0]) <= t.ppf(0.975, 39) * error:
            inside.append(ratio)
    assert [found.retained.low, found.retained.high] == pytest.approx([inside[0], inside[-1]], abs=0.001)


def test_a_share_of_a_metric_without_a_zero_at_chance_is_not_printed(synthetic: Any) -> None:
    """A judge that answers at random has an F1 above 0, of which an ablation leaves all: 100 % says nothing."""
    plain = synthetic(np.random.default_rng(11), videos=40, agreement=0.6, answer="error")
    found = ablation_effects(plain, half(plain, np.random.default_rng(12)), **QUICK)
    assert found["mcc"].retained.value is not None and found["f1"].retained.value is None
    assert found["f1"].change.value is not None
