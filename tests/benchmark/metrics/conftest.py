"""Score matrices for the tests: by hand, and random ones of exams."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from siming_tasks.benchmark.metrics import ScoreMatrix


def make_matrix(
    reference: Any, predicted: Any, *, top: Any = 3.0, answer: Any = "score", skills: Sequence[str] = (), **how: Any
) -> ScoreMatrix:
    """A matrix from nested lists; ``clusters`` are students unless ``unit`` says otherwise."""
    reference = np.asarray(reference, float)
    v, s = reference.shape
    unit = how.pop("unit", "student" if "clusters" in how else "video")
    return ScoreMatrix(
        video_ids=tuple(f"v{i:05d}" for i in range(v)),
        step_ids=tuple(f"s{i:02d}" for i in range(s)),
        skills=tuple(skills or ["cpr"] * s),
        max_score=np.broadcast_to(np.asarray(top, float), (s,)),
        reference=reference,
        predicted=np.asarray(predicted, float),
        asked=how.pop("asked", np.ones((v, s), bool)),
        answer=answer,
        unit=unit,
        **how,
    )


def make_exams(
    rng: np.random.Generator, *, videos: int = 60, steps: int = 12, agreement: float = 0.4, each: int = 1, **how: Any
) -> ScoreMatrix:
    """Random exams: trainees and steps differ, and a judge has the truth in a share of the steps.

    ``each``: videos of a student, who makes the same mistakes in all of them; ``missing``: share without an answer.
    """
    missing, answer = how.pop("missing", 0.0), how.pop("answer", "score")
    top = rng.choice([1.0, 2.0, 3.0, 5.0], steps)
    ease, students = rng.normal(1.2, 0.8, steps), np.arange(videos) // each
    own = rng.normal(0, 0.5, (videos, 1))[students] + 0.8 * rng.normal(0, 1, (videos, steps))[students]

    def points(noise: float) -> np.ndarray:
        quality = ease + own + noise * rng.normal(0, 1, (videos, steps))
        return np.where(quality > 0, top, np.floor(top * np.clip(1 + quality / 2, 0, 0.99)))

    reference = points(0.6)
    said = np.where(rng.random(reference.shape) < agreement, reference, rng.permuted(reference, axis=0))
    said = (said < top).astype(float) if answer == "error" else said
    said[rng.random(said.shape) < missing] = np.nan
    if each > 1:
        how["clusters"] = tuple(f"student {number}" for number in students)
    return make_matrix(reference, said, top=top, answer=answer, **how)


@pytest.fixture
def matrix() -> Callable[..., ScoreMatrix]:
    """``matrix(reference, predicted, ...)``: V x S lists."""
    return make_matrix


@pytest.fixture
def exams() -> Callable[..., ScoreMatrix]:
    """``exams(rng, ...)``: random exams."""
    return make_exams
