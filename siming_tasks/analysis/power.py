"""Sample size by simulation: detectable effects of a number of videos, and videos needed for an effect.

The data sets are synthetic. Every quantity is a standard normal latent, cut into the labels 0..3 at the quantiles that
give the wanted prevalence::

    quality    t = sqrt(video) a_v + sqrt(step) b_s + sqrt(1 - video - step) e_vs
    reference  c = sqrt(ρ) t + sqrt(1 - ρ) n_vs                ρ: two such raters reach the wanted quadratic kappa
    judge      j = w t + sqrt(1 - w²) (sqrt(halo) h_v + sqrt(1 - halo) u_vs)          w: what the judge really sees

``a_v`` is the examinee's ability, ``b_s`` the ease of a step (fixed, normal quantiles), ``h_v`` what a judge thinks of
a video for reasons of its own. Points are the labels, a video's total their sum. A judge with w = 0 knows nothing; one
with w = 1 sees the true quality and still differs from the noisy reference, which is the ceiling of every metric.

Three questions, each a two-sided test at level alpha: does one judge differ from one that sees no video (``zero``), do
two judges on the same videos differ (``two``), and does the pair still differ when it is the hardest to show among k
comparisons under Holm's correction (``holm``: the first step of Holm tests at alpha / k)?

The simulated videos are independent of each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import brentq

from siming_tasks.common.errors import DataError
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.metrics.classification import binary_counts
from siming_tasks.metrics.correlation import Paired
from siming_tasks.metrics.kappa import confusion
from siming_tasks.metrics.ratio_estimates import Labels
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.thresholds import ALPHA, FEWEST, POWER

QUESTIONS = {"zero": "one judge against one that sees no video", "two": "two judges", "holm": "two judges, after Holm"}
CELLS = 2_000_000
"""Labels held at once; replicates are drawn in batches of about this many."""
PILOT = 200
LARGEST = 5000
"""Videos up to which a plan is checked by drawing data sets of that size."""

Progress = Callable[[int], None]
"""Called with the number of data sets that were just drawn."""


@dataclass(frozen=True)
class StudyDesign:
    """Parameters of a simulated data set and its judges.

    Attributes:
        steps: rubric steps per video.
        prevalence: share of reference labels below 3, in (0, 1).
        agreement: quadratic weighted kappa of two raters, in (0, 1).
        split: shares of the labels 2, 1 and 0 among those below 3.
        video: share of the quality's variance that belongs to the video; ``step``: to the step.
        halo: share of a judge's own error that is the same for all steps of a video.
        skew: skewness of the examinees' ability, 0 (normal) or negative: a few very weak ones (a gamma distribution
            turned round). With -2.2 the totals' is about -3, without about -1.2.

    Raises:
        DataError: a value is out of range.
    """

    steps: int = 33
    prevalence: float = 0.186
    agreement: float = 0.732
    split: tuple[float, float, float] = (0.5, 0.3, 0.2)
    video: float = 0.15
    step: float = 0.15
    halo: float = 0.15
    skew: float = 0.0

    def __post_init__(self) -> None:
        for name, value in {"prevalence": self.prevalence, "agreement": self.agreement}.items():
            if not 0 < value < 1:
                raise DataError(f"{name} is {value:g}; it must lie between 0 and 1.")
        if self.steps < 1:
            raise DataError(f"steps is {self.steps}; a video has at least one.")
        if min(self.split) < 0 or not math.isclose(sum(self.split), 1):
            raise DataError(f"split is {self.split}; give three shares that sum to 1.")
        if min(self.video, self.step, self.halo) < 0 or self.video + self.step > 1 or self.halo > 1:
            raise DataError("video, step and halo are shares of a variance; video + step must not exceed 1.")
        if self.skew > 0:
            raise DataError(f"skew is {self.skew:g}; it must be 0 or negative.")

    @cached_property
    def cuts(self) -> FloatArray:
        """The three thresholds of a latent: below the first is label 0, above the last label 3."""
        two_points, one_point, no_points = (self.prevalence * share for share in self.split)
        below = [no_points, no_points + one_point, no_points + one_point + two_points]
        return np.asarray(stats.norm.ppf(below), dtype=np.float64)

    @cached_property
    def reliability(self) -> float:
        """Latent correlation of two raters whose labels have the wanted quadratic weighted kappa."""
        cuts = self.cuts[np.isfinite(self.cuts)]
        below = stats.norm.cdf(cuts)
        same, product = np.minimum.outer(below, below), np.outer(below, below)

        def kappa(rho: float) -> float:
            # A label is the number of cuts below it, so the covariance of two labels sums that of pairs of indicators.
            normal = stats.multivariate_normal(cov=[[1, rho], [rho, 1]])
            both = np.array([[float(normal.cdf([a, b])) for b in cuts] for a in cuts])
            return float((both - product).sum() / (same - product).sum())

        return float(brentq(lambda rho: kappa(rho) - self.agreement, 0, 1 - 1e-9))


@dataclass(frozen=True)
class SimulatedRatings:
    """Latents of ``replicates`` data sets, ``float32[replicates, videos, steps]`` each, before a judge is chosen."""

    design: StudyDesign
    quality: NDArray[np.float32]
    reference: Labels
    errors: tuple[NDArray[np.float32], ...]

    def judged(self, skill: float, judge: int = 0) -> Labels:
        """Labels of a judge that sees the true quality with weight ``skill`` in [0, 1]."""
        latent = np.float32(skill) * self.quality + np.float32(math.sqrt(1 - skill**2)) * self.errors[judge]
        return _labels(latent, self.design.cuts)


def draw(
    design: StudyDesign, videos: int, replicates: int, rng: np.random.Generator, judges: int = 2
) -> SimulatedRatings:
    """Draw data sets and the errors of some judges that are independent of each other."""
    shape = (replicates, videos, design.steps)

    def noise(*size: int) -> NDArray[np.float32]:
        return rng.standard_normal(size or shape, dtype=np.float32)

    def mix(*parts: tuple[float, NDArray[np.float32]]) -> NDArray[np.float32]:
        total = np.zeros(shape, np.float32)
        for share, part in parts:
            total += np.float32(math.sqrt(share)) * part
        return total

    ease = stats.norm.ppf((np.arange(design.steps) + 0.5) / design.steps).astype(np.float32)
    if design.steps > 1:
        ease /= ease.std()
    ability = noise(replicates, videos, 1)
    if design.skew:
        shape_of = 4 / design.skew**2
        ability = ((shape_of - rng.gamma(shape_of, size=ability.shape)) / math.sqrt(shape_of)).astype(np.float32)
    quality = mix((design.video, ability), (design.step, ease), (1 - design.video - design.step, noise()))
    rho = design.reliability
    reference = _labels(mix((rho, quality), (1 - rho, noise())), design.cuts)
    errors = tuple(mix((design.halo, noise(replicates, videos, 1)), (1 - design.halo, noise())) for _ in range(judges))
    return SimulatedRatings(design, quality, reference, errors)


def _labels(latent: NDArray[np.float32], cuts: FloatArray) -> Labels:
    labels = np.zeros(latent.shape, np.int8)
    for cut in cuts.astype(np.float32):
        labels += latent > cut
    return labels


def score(reference: Labels, judged: Labels, metric: str) -> FloatArray:
    """One metric of every replicate, ``float64[replicates]``; 0 where undefined.

    A metric that is not 0 for a judge that knows nothing (F1) is its gain over a judge that gives the same labels as
    often, at random.
    """
    row = CATALOGUE[metric]
    if row.family == "totals":
        pairs = zip(*(side.sum(axis=2, dtype=np.float64) for side in (reference, judged)), strict=True)
        once = np.ones((1, reference.shape[1]))
        values: FloatArray = np.concatenate([row.function(Paired(x, y), once) for x, y in pairs])
        return np.nan_to_num(values)
    x, y = (side.reshape(len(reference), -1) for side in (reference, judged))
    counts = confusion(x, y) if row.family == "labels" else binary_counts(x < 3, y < 3, np.ones_like(x, dtype=np.bool_))
    scores: FloatArray = np.nan_to_num(row.function(counts))
    if row.corrected:
        return scores
    # The counts expected of two sides with these margins that know nothing of each other.
    k = math.isqrt(counts.shape[1])
    table = counts.reshape(-1, k, k)
    product = table.sum(axis=2, keepdims=True) * table.sum(axis=1, keepdims=True)
    by_chance: FloatArray = (product / table.sum(axis=(1, 2), keepdims=True)).reshape(counts.shape)
    gain: FloatArray = scores - np.nan_to_num(row.function(by_chance))
    return gain


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

    def critical(self, question: str, units: float = math.inf) -> float:
        """Standard errors beyond which the t test over ``units`` independent units rejects."""
        tail = self.alpha / (self.comparisons if question == "holm" else 1) / 2
        return float(stats.t.isf(tail, units - 1))

    def reach(self, question: str, units: float = math.inf) -> float:
        """Standard errors that the truth must lie away from zero to be found with the wanted power."""
        return self.critical(question, units) + float(stats.norm.ppf(self.power))


@dataclass(frozen=True)
class SmallestEffect:
    """The smallest effect on one metric that ``videos`` videos show with the wanted power (judges near chance).

    None: larger than the metric can be, or too few videos for a test.
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

    None if no judge can reach the effect (``reason``); ``power`` is None if the size was not drawn.
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
    """Smallest detectable effects for a number of videos; none below :data:`siming_tasks.metrics.thresholds.FEWEST`.

    The spread of an estimate is taken from ``replicates`` data sets with judges that know nothing; its own error is
    about ``1 / sqrt(2 replicates)`` of it. ``metrics``: by default all that have a lift.
    """
    test, metrics = test or PowerSettings(), select(lifted=True) if metrics is None else metrics
    of_one_judge: dict[str, list[FloatArray]] = {metric: [] for metric in metrics}
    of_two: dict[str, list[FloatArray]] = {metric: [] for metric in metrics}
    for sample in _batches(design, videos, replicates, rng, progress):
        judged = [sample.judged(0.0, judge) for judge in (0, 1)]
        for metric in metrics:
            first, second = (score(sample.reference, labels, metric) for labels in judged)
            of_one_judge[metric].append(first)
            of_two[metric].append(second - first)
    smallest = []
    for metric in metrics:
        alone, apart = (float(np.concatenate(side[metric]).std(ddof=1)) for side in (of_one_judge, of_two))
        reach = {name: test.reach(name, videos) * (alone if name == "zero" else apart) for name in QUESTIONS}
        most = CATALOGUE[metric].high if videos >= FEWEST else -math.inf  # over a judge that sees nothing
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

    def mean(skill: float) -> float:
        return float(score(calibration.reference, calibration.judged(skill), metric).mean())

    ceiling = mean(1.0)
    if effect >= ceiling:
        reason = f"A judge that sees the truth reaches {ceiling:.2f} on average against raters with this agreement."
        return tuple(VideosNeeded(metric, effect, question, None, None, reason) for question in QUESTIONS)
    blind = mean(0.0)  # sampling error of the sample itself, near 0
    low, high = 0.0, 1.0
    for _ in range(16):  # bisection: the metric grows with the skill
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) - blind < effect else (low, middle)
    skill = (low + high) / 2

    def estimates(videos: int) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Per question, estimates without and with the effect, one per data set."""
        columns: list[tuple[FloatArray, ...]] = []
        for sample in _batches(design, videos, replicates, rng, progress):
            judged = sample.judged(0.0, 0), sample.judged(skill, 0), sample.judged(0.0, 1)
            columns.append(tuple(score(sample.reference, labels, metric) for labels in judged))
        null, able, other = (np.concatenate(column) for column in zip(*columns, strict=True))
        return {"zero": (null, able), "two": (null - other, able - other), "holm": (null - other, able - other)}

    pilot, plans = estimates(PILOT), []
    for question in QUESTIONS:
        null, real = (side.std(ddof=1) for side in pilot[question])
        videos = PILOT
        for _ in range(20):  # the critical value depends on the number of videos, which it decides
            critical = test.critical(question, videos)
            need = critical * null + (test.reach(question) - test.critical(question)) * real
            before, videos = videos, max(FEWEST, math.ceil(PILOT * (need / effect) ** 2 - 1e-9))
            if videos == before:
                break
        if videos > LARGEST:
            reason = f"Sizes above {LARGEST} are not drawn."
            plans.append(VideosNeeded(metric, effect, question, videos, None, reason))
            continue
        without, with_effect = estimates(videos)[question]
        power = float((np.abs(with_effect) > critical * without.std(ddof=1)).mean())
        plans.append(VideosNeeded(metric, effect, question, videos, power))
    return tuple(plans)


def _batches(
    design: StudyDesign, videos: int, replicates: int, rng: np.random.Generator, progress: Progress
) -> Iterator[SimulatedRatings]:
    size = max(1, CELLS // (videos * design.steps))
    while replicates > 0:
        now = min(size, replicates)
        yield draw(design, videos, now, rng)
        replicates -= now
        progress(now)
