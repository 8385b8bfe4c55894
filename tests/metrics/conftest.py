"""Panels for the tests: by hand, and synthetic ones with realistic prevalence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from siming_tasks.metrics import ScoreMatrix


def make_panel(reference, predicted, *, max_score=3.0, answer="score", skills=None, asked=None) -> ScoreMatrix:
    """A panel from nested lists."""
    reference = np.asarray(reference, float)
    v, s = reference.shape
    return ScoreMatrix(
        video_ids=tuple(f"v{i:05d}" for i in range(v)),
        step_ids=tuple(f"s{i:02d}" for i in range(s)),
        skills=tuple(skills or ["cpr"] * s),
        max_score=np.broadcast_to(np.asarray(max_score, float), (s,)),
        reference=reference,
        predicted=np.asarray(predicted, float),
        asked=np.ones((v, s), bool) if asked is None else asked,
        answer=answer,
    )


def synthetic_panel(
    rng: np.random.Generator, *, videos=60, steps=33, agreement=0.3, answer="score", missing=0.0
) -> ScoreMatrix:
    """Synthetic exams: skill varies between trainees and steps, a judge copies the truth in a share of the steps."""
    max_score = rng.choice([1.0, 2.0, 3.0, 5.0], steps)
    ease, trainee = rng.normal(1.3, 0.8, steps), rng.normal(0, 0.5, (videos, 1))

    def exam() -> np.ndarray:
        quality = trainee + ease + rng.normal(0, 1, (videos, steps))
        return np.where(quality > 0, max_score, np.floor(max_score * np.clip(1 + quality / 2, 0, 0.99)))

    reference = exam()
    predicted = np.where(rng.random((videos, steps)) < agreement, reference, rng.permutation(exam()))
    if answer == "error":
        predicted = (predicted < max_score).astype(float)
    predicted[rng.random((videos, steps)) < missing] = np.nan
    skills = ["cpr"] * (steps - steps // 3) + ["aed"] * (steps // 3)
    return make_panel(reference, predicted, max_score=max_score, answer=answer, skills=skills)


@pytest.fixture
def panel() -> Callable[..., ScoreMatrix]:
    """``panel(reference, predicted, ...)``: V x S lists."""
    return make_panel


@pytest.fixture
def synthetic() -> Callable[..., ScoreMatrix]:
    """``synthetic(rng, ...)``: a random panel of exams."""
    return synthetic_panel
