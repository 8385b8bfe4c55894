"""Abstention: by hand, against the no-video baseline, and what abstaining cannot earn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from siming_tasks.metrics.abstention import abstention, risk_coverage
from siming_tasks.metrics.no_video_baselines import step_prior

from siming_tasks.metrics import ScoreMatrix, evaluate
from siming_tasks.metrics.catalogue import headline


def build_score_matrix(reference: Any, predicted: Any, away: Any, answer: str = "score", top: float = 2) -> ScoreMatrix:
    """A panel in which the judge abstained where ``away``, with the step prior for these steps."""
    reference, predicted, away = np.array(reference, float), np.array(predicted, float), np.array(away, bool)
    videos, steps = reference.shape
    panel = ScoreMatrix(
        tuple(f"v{number:03d}" for number in range(videos)), tuple(f"s{number:02d}" for number in range(steps)),
        ("cpr",) * steps, [top] * steps, reference, np.where(away, np.nan, predicted), np.ones_like(away), answer,
    )  # fmt: skip
    return replace(panel, fallback=np.where(away, step_prior(panel).predicted, np.nan))


def exams(seed: int = 1, videos: int = 40, steps: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points out of 2: steps differ in how often they fail. With them, a judge right in 6 of 10, and the hard steps."""
    rng = np.random.default_rng(seed)
    chance = np.linspace(0.02, 0.7, steps)
    reference = 2.0 - rng.binomial(2, chance, size=(videos, steps))
    said = np.where(rng.random(reference.shape) < 0.6, reference, rng.integers(0, 3, reference.shape))
    return reference, said, np.broadcast_to(chance > 0.4, reference.shape)


def test_abstention_metrics_equal_hand_counts() -> None:
    """Two videos, three steps out of 2. The other video's labels make the prior: v0 gets what v1 had, and the reverse.

    v0: labels 2 2 0; the judge says 2 1 and abstains. v1: labels 2 1 0; it says 2, abstains, says 0.
    """
    panel = build_score_matrix([[2, 2, 0], [2, 1, 0]], [[2, 1, 9], [2, 9, 0]], [[0, 0, 1], [0, 1, 0]])
    prior = step_prior(panel).predicted
    assert prior.tolist() == [[2, 1, 0], [2, 2, 0]]
    hidden = np.array([[False, False, True], [True, False, False]])
    found = abstention(panel, hidden, resamples=0)
    assert found.abstained.value == pytest.approx(2 / 6)
    assert found.accuracy.value == pytest.approx(3 / 4)
    assert found.accuracy_full.value == pytest.approx(4 / 6)  # v0's last is right by the prior, v1's second is not
    assert found.curve == ((pytest.approx(4 / 6), pytest.approx(1 / 4)), (1, pytest.approx(2 / 6)))
    losses, sure = [0, 1, 0, 0, 0, 1], [1, 1, 1, 1, 0, 0]
    assert found.area.value == pytest.approx(risk_coverage(losses, sure).area)
    assert (found.precision.value, found.recall.value) == (1 / 2, 1 / 2)
    assert found.precision.n_items == found.recall.n_items == 2


@pytest.mark.parametrize("answer", ["score", "error"])
def test_abstaining_from_everything_is_the_blind_row(answer: str) -> None:
    reference, said, _ = exams()
    said = said if answer == "score" else (said < 2).astype(float)
    panel = build_score_matrix(reference, said, np.ones_like(reference), answer)
    found = abstention(panel, np.zeros_like(panel.asked), resamples=50)
    blind = evaluate(step_prior(panel), resamples=0).metrics[headline(answer)].value
    assert found.headline.value == found.prior.value == pytest.approx(blind, abs=1e-12)
    assert found.gain.value == 0 and found.abstained.value == 1
    assert found.accuracy.value is None and found.accuracy.reason == "No step with a reference was answered."
    assert evaluate(panel, resamples=0).metrics[headline(answer)].value is None
    assert (found.precision.value, found.recall.value) == (0, None)


@pytest.mark.parametrize("answer", ["score", "error"])
def test_abstaining_from_hard_steps_earns_what_the_prior_has_on_them(answer: str) -> None:
    """The value among the answered steps can be had by choosing them; at full coverage nothing is left of that."""
    reference, said, hard = exams()
    easy_right = np.where(hard, said, reference)
    values = easy_right if answer == "score" else (easy_right < 2).astype(float)
    panel = build_score_matrix(reference, values, hard, answer)
    key = headline(answer)
    evaluated = evaluate(panel, resamples=0)
    assert evaluated.metrics[key].value == pytest.approx(1) and evaluated.imputed[key].value < 0.9
    found = abstention(panel, None, resamples=0)
    without_video = panel.predicting(np.where(hard, step_prior(panel).predicted, values))
    expected = evaluate(without_video, resamples=0).metrics[key].value
    assert found.headline.value == pytest.approx(expected)
    in_ranks = panel.predicting(np.where(hard, 0 if answer == "error" else 2, values))  # as any missing answer
    assert evaluated.imputed[key].value == pytest.approx(evaluate(in_ranks, resamples=0).metrics[key].value)
    assert found.precision.value is None and "not known" in str(found.precision.reason)


def test_a_missing_answer_is_no_abstention() -> None:
    reference, said, hard = exams()
    panel = build_score_matrix(reference, said, hard)
    predicted = panel.predicted.copy()
    predicted[0, 0] = np.nan
    lost = replace(panel, predicted=predicted)
    assert lost.abstained.sum() == hard.sum() and lost.imputed().predicted[0, 0] == 2
    assert abstention(lost).abstained.value == abstention(panel).abstained.value
    some = lost.subset(lost.step_ids[:3]).videos([1, 0])
    assert some.fallback is not None and some.fallback.shape == (2, 3)
    assert lost.predicting(said).fallback is None


def test_a_fallback_must_fit() -> None:
    from siming_tasks.common.errors import DataError

    panel = build_score_matrix([[2, 1], [0, 2]], [[2, 1], [0, 2]], [[0, 1], [0, 0]])
    with pytest.raises(DataError, match="fallback has shape"):
        replace(panel, fallback=np.zeros((1, 2)))
    with pytest.raises(DataError, match=r"fallback of video 'v000', step 's00' is 3, not 0\.\.2"):
        replace(panel, fallback=np.full((2, 2), 3.0))
