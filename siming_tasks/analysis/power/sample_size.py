"""Sample size by simulation: detectable effects of a number of videos, and videos needed for an effect.

The data sets are synthetic (:mod:`siming_tasks.analysis.power.latent_model`). Three questions, each a two-sided test at
level alpha: does one judge differ from one that sees no video (``zero``), do two judges on the same videos differ
(``two``), and does the pair still differ when it is the hardest to show among k comparisons under Holm's correction
(``holm``: the first step of Holm tests at alpha / k)?
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
from scipy import stats

from siming_tasks.analysis.power.latent_model import SimulatedRatings, StudyDesign, draw, score
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.thresholds import ALPHA, POWER

__all__ = ["QUESTIONS", "PowerSettings", "SmallestEffect", "VideosNeeded", "plan", "smallest_effects"]

QUESTIONS = {"zero": "one judge against one that sees no video", "two": "two judges", "holm": "two judges, after Holm"}
CELLS = 2_000_000
"""Labels held at once; replicates are drawn in batches of about this many."""
PILOT = 200
LARGEST = 5000
"""Videos up to which a plan is checked by drawing data sets of that size."""

Progress = Callable[[int], None]


@dataclass(frozen=True)
class PowerSettings:
    """Level, wanted power and the number of comparisons that Holm's correction spans."""

    __test__ = False  # not a test case of pytest

    alpha: float = ALPHA
    power: float = POWER
    comparisons: int = 66

    def __post_init__(self) -> None:
        if not (0 < self.alpha < 1 and 0 < self.power < 1 and self.comparisons >= 1):
            raise DataError("alpha and power lie between 0 and 1; there is at least one comparison.")

    def critical(self, question: str) -> float:
        """Standard errors beyond which the test rejects."""
        return float(stats.norm.isf(self.alpha / (self.comparisons if question == "holm" else 1) / 2))

    def reach(self, question: str) -> float:
        """Standard errors that the truth must lie away from zero to be found with the wanted power."""
        return self.critical(question) + float(stats.norm.ppf(self.power))


@dataclass(frozen=True)
class SmallestEffect:
    """The smallest effect on one metric that ``videos`` videos show with the wanted power (judges near chance).

    None: larger than the metric can be.
    """

    metric: str
    videos: int
    stderr: float
    zero: float | None
    two: float | None
    holm: float | None

    def to_json(self) -> dict[str, object]:
        """Plain JSON types."""
        return asdict(self)


@dataclass(frozen=True)
class VideosNeeded:
    """Videos needed to show an effect, and the power found by drawing data sets of that size.

    ``videos`` is None if no judge can reach the effect (``reason``); ``power`` is None if the size was not drawn.
    """

    metric: str
    effect: float
    question: str
    videos: int | None
    power: float | None
    reason: str = ""

    def to_json(self) -> dict[str, object]:
        """Plain JSON types."""
        return asdict(self)


def smallest_effects(
    design: StudyDesign,
    videos: int,
    *,
    rng: np.random.Generator,
    test: PowerSettings | None = None,
    metrics: tuple[str, ...] | None = None,
    replicates: int = 2000,
    progress: Progress = lambda done: None,
) -> tuple[SmallestEffect, ...]:
    """Smallest detectable effects for a number of videos.

    The spread of an estimate is taken from ``replicates`` data sets with judges that know nothing; its own error is
    about ``1 / sqrt(2 replicates)`` of it. ``progress`` is told of every data set drawn. ``metrics``: by default
    all that have a lift.
    """
    test, metrics = test or PowerSettings(), select(lifted=True) if metrics is None else metrics
    of_one_judge: dict[str, list[FloatArray]] = {metric: [] for metric in metrics}
    two: dict[str, list[FloatArray]] = {metric: [] for metric in metrics}
    for sample in _batches(design, videos, replicates, rng, progress):
        judged = [sample.judged(0.0, judge) for judge in (0, 1)]
        for metric in metrics:
            first, second = (score(sample.reference, labels, metric) for labels in judged)
            of_one_judge[metric].append(first)
            two[metric].append(second - first)
    smallest = []
    for metric in metrics:
        alone, apart = (float(np.concatenate(side[metric]).std(ddof=1)) for side in (of_one_judge, two))
        reach = {name: test.reach(name) * (alone if name == "zero" else apart) for name in QUESTIONS}
        most = CATALOGUE[metric].high  # over a judge that sees nothing
        effects = {name: value if value <= most else None for name, value in reach.items()}
        smallest.append(SmallestEffect(metric, videos, alone, **effects))
    return tuple(smallest)


def plan(
    design: StudyDesign,
    metric: str,
    effect: float,
    *,
    rng: np.random.Generator,
    test: PowerSettings | None = None,
    replicates: int = 1000,
    progress: Progress = lambda done: None,
) -> tuple[VideosNeeded, ...]:
    """Videos needed to show ``effect`` on ``metric``, one plan for each of :data:`QUESTIONS`.

    The judge's skill is set so that its metric is ``effect`` in expectation (the other judge sees no video). The spread
    at 200 videos, with and without the effect, gives the size; ``replicates`` data sets of that size give the power.

    Raises:
        DataError: the effect is not above 0.
    """
    test = test or PowerSettings()
    if not effect > 0:
        raise DataError(f"effect is {effect:g}; give the difference to be shown, above 0.")
    calibration = draw(design, 2000, 10, rng, judges=1)
    ceiling = _mean(calibration, 1.0, metric)
    if effect >= ceiling:
        reason = f"A judge that sees the truth reaches {ceiling:.2f} on average against raters with this agreement."
        return tuple(VideosNeeded(metric, effect, question, None, None, reason) for question in QUESTIONS)
    skill = _skill(calibration, metric, effect)
    pilot = _estimates(design, metric, skill, PILOT, replicates, rng, progress)
    plans = []
    for question in QUESTIONS:
        null, real = pilot[question]
        beyond = test.reach(question) - test.critical(question)
        need = test.critical(question) * null.std(ddof=1) + beyond * real.std(ddof=1)
        videos = max(10, math.ceil(PILOT * (need / effect) ** 2))
        if videos > LARGEST:
            plans.append(VideosNeeded(metric, effect, question, videos, None, f"Sizes above {LARGEST} are not drawn."))
            continue
        null, real = _estimates(design, metric, skill, videos, replicates, rng, progress)[question]
        power = float((np.abs(real) > test.critical(question) * null.std(ddof=1)).mean())
        plans.append(VideosNeeded(metric, effect, question, videos, power))
    return tuple(plans)


def _estimates(
    design: StudyDesign,
    metric: str,
    skill: float,
    videos: int,
    replicates: int,
    rng: np.random.Generator,
    progress: Progress,
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Per question, estimates without and with the effect, one per data set."""
    columns: list[tuple[FloatArray, ...]] = []
    for sample in _batches(design, videos, replicates, rng, progress):
        judged = sample.judged(0.0, 0), sample.judged(skill, 0), sample.judged(0.0, 1)
        columns.append(tuple(score(sample.reference, labels, metric) for labels in judged))
    blind, able, other = (np.concatenate(column) for column in zip(*columns, strict=True))
    return {"zero": (blind, able), "two": (blind - other, able - other), "holm": (blind - other, able - other)}


def _batches(
    design: StudyDesign, videos: int, replicates: int, rng: np.random.Generator, progress: Progress
) -> Iterator[SimulatedRatings]:
    size = max(1, CELLS // (videos * design.steps))
    while replicates > 0:
        now = min(size, replicates)
        yield draw(design, videos, now, rng)
        replicates -= now
        progress(now)


def _mean(sample: SimulatedRatings, skill: float, metric: str) -> float:
    return float(score(sample.reference, sample.judged(skill), metric).mean())


def _skill(sample: SimulatedRatings, metric: str, effect: float) -> float:
    """Bisection on one large sample; its metric grows with the skill."""
    blind = _mean(sample, 0.0, metric)  # sampling error of the sample itself, near 0
    low, high = 0.0, 1.0
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (middle, high) if _mean(sample, middle, metric) - blind < effect else (low, middle)
    return (low + high) / 2
