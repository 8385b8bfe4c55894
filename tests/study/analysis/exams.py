"""Exams for the tests of analyses: by hand or drawn, their rubric, and a jackknife in loops to hold errors against."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from siming_tasks.benchmark.metrics import Estimate, ScoreMatrix
from siming_tasks.benchmark.rubrics import Rubric, rubric_from
from tests.benchmark.metrics.conftest import make_matrix as exams

__all__ = ["check_jackknife", "drawn", "exams", "rubric"]


def drawn(
    rng: np.random.Generator, videos: int = 60, steps: int = 8, *, agreement: float = 0.5, answer: Any = "score",
    missing: float = 0.0, **more: Any,
) -> ScoreMatrix:  # fmt: skip
    """Drawn exams; skill varies between trainees and steps, and a judge copies the truth in a share of the steps."""
    top = rng.choice([1.0, 2.0, 3.0, 5.0], steps)
    ease, trainee = rng.normal(0.8, 0.8, steps), rng.normal(0, 0.5, (videos, 1))

    def sheet() -> np.ndarray:
        quality = trainee + ease + rng.normal(0, 1, (videos, steps))
        return np.where(quality > 0, top, np.floor(top * np.clip(1 + quality / 2, 0, 0.99)))

    reference = sheet()
    predicted = np.where(rng.random((videos, steps)) < agreement, reference, rng.permutation(sheet()))
    predicted = (predicted < top).astype(float) if answer == "error" else predicted
    predicted[rng.random((videos, steps)) < missing] = np.nan
    return exams(reference, predicted, top=top, answer=answer, **more)


def rubric(steps: int, *, scopes: Sequence[str] = (), requires: Any = None, critical: Any = (), heard: Any = (),
           top: float = 3) -> Rubric:  # fmt: skip
    """A rubric whose steps are named as those of :func:`exams`."""
    made = [
        {
            "id": f"s{i:02d}",
            "name": f"step {i}",
            "requirement": "Does it.",
            "max_score": top,
            "criteria": {"full": "all", "partial": "some", "fail": "none"},
            "scope": scopes[i] if scopes else "local",
            "requires": [{"id": f"s{j:02d}"} for j in (requires or {}).get(i, [])],
            "critical": i in critical,
            "evidence": {"channel": "audio" if i in heard else "visual"},
        }
        for i in range(steps)
    ]
    skills = [{"id": "cpr", "name": "CPR", "steps": made}]
    return rubric_from({"schema_version": 1, "rubric_id": "test", "version": "1", "skills": skills})


def check_jackknife(
    found: Estimate, function: Callable[[np.ndarray], float], clusters: Sequence[Any] | int, least: float = -np.inf
) -> None:
    """Assert that an estimate is a function of the kept videos' places, with its jackknife error and t interval.

    ``least``: smallest possible value; where it is given, 1 is the largest, and the interval is on the logit between.
    """
    names = np.arange(clusters) if isinstance(clusters, int) else np.asarray(clusters)
    everything, (different, sizes) = np.arange(len(names)), np.unique(names, return_counts=True)
    value, c = function(everything), len(different)
    without = np.array([function(everything[names != name]) for name in different])
    error = float(np.sqrt((c - 1) / c * ((without - without.mean()) ** 2).sum()))
    degrees = min(sizes.sum() ** 2 / (sizes**2).sum() - 1, 2 * c / (stats.kurtosis(without, fisher=False) - 1))
    reach = stats.t.ppf(0.975, degrees) * error
    ends = value - reach, value + reach
    if least > -np.inf:
        place, width = (value - least) / (1 - least), 1 - least
        odds, factor = place / (1 - place), np.exp(reach / width / (place * (1 - place)))
        ends = least + width * odds / (odds + factor), least + width * odds / (odds + 1 / factor)
    assert (found.value, found.stderr) == pytest.approx((value, error), abs=1e-8), found
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-7), found
    assert found.clusters == c
