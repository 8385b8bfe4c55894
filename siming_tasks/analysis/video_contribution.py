"""Contribution of the video to the agreement: its parts, the no-video baselines, the lift over the best of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from siming_tasks.analysis.paired_tests import Paired, paired_difference
from siming_tasks.analysis.shuffle_test import numeric_labels, shuffle_p
from siming_tasks.metrics import correlation
from siming_tasks.metrics.catalogue import CATALOGUE, Family, select
from siming_tasks.metrics.classification import Positive
from siming_tasks.metrics.estimate import Estimate, plain
from siming_tasks.metrics.evaluate import RESAMPLES, draw, estimates, summaries
from siming_tasks.metrics.intervals import derived, summarise
from siming_tasks.metrics.kappa import LEVELS, LabelMapping, ordinal_labels
from siming_tasks.metrics.no_video_baselines import JUDGES
from siming_tasks.metrics.resample import sample, spreads
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.metrics.sufficient_stats import Tally

PARTS = ("prior", "video", "local")
"""Parts of the agreement that :class:`AgreementDecomposition` separates."""

NO_VIDEO_BASELINES: Mapping[str, str] = {
    **{name: judge.what for name, judge in JUDGES.items()},
    "shuffled-self": "the run's own answers, given to other videos (expectation over all exchanges)",
}
"""No-video baselines by name, each with a description."""

STEP_PRIOR = "step-prior"

StepSums = Sequence[FloatArray]
"""Weighted sums over the videos of each step: of 1, x, y and x * y; arrays that broadcast together."""


def _expected_products(once: StepSums, squared: StepSums) -> FloatArray:
    """Sum of x * y that each step is expected to have after its predictions were shuffled between its n videos.

    With every video once this is sum x * sum y / n. A resample repeats videos; a plain shuffle of it would give a video
    its own predictions more often than once in n, and look better than it is. So pairs of different videos are
    averaged, and the one in n that stays in place is put back. In deviations from the step's means, where all pairs
    sum to zero: different pairs average -q / (1 - q) times the equal ones, with q the share of equal pairs. ``squared``
    are sums with the squared weights, that is over pairs of a video with itself.
    """
    number, sum_x, sum_y, sum_xy = once
    equal_n, equal_x, equal_y, equal_xy = squared
    n = np.where(number > 0, number, 1)
    x, y = sum_x / n, sum_y / n
    equal = equal_xy - x * equal_y - y * equal_x + x * y * equal_n
    apart = n * n - equal_n
    different = -np.divide(equal, apart, out=np.zeros_like(equal), where=apart > 0)
    shuffled = n * x * y + (sum_xy / n - x * y) + (n - 1) * different
    return np.where(apart > 0, shuffled, sum_xy)


class AgreementDecomposition:
    """Exact decomposition of kappa (scores) or MCC (verdicts): ``prior + video + local``.

    All are covariances over one denominator. *prior*: its expectation when the predictions of each step are shuffled
    between videos; which steps are usually failed is known without any video. *video*: when the predictions of each
    video are shuffled between steps; an overall impression. *local*: the rest, this step in this video, which is what
    the benchmark claims to measure. Without missing answers the three are the between-step, between-video and
    interaction parts of a two-way analysis of covariance; with missing answers the sum is still exact.

    Attributes:
        metric: key of the metric that is decomposed.
    """

    def __init__(self, matrix: ScoreMatrix, mapping: LabelMapping = "absolute") -> None:
        self.metric = "qwk" if matrix.answer == "score" else "mcc"
        x, y, both = numeric_labels(matrix, mapping)
        self.steps = np.concatenate([both, x, y, x * y], axis=1)
        n, sum_x, sum_y = both.sum(axis=1), x.sum(axis=1), y.sum(axis=1)
        impression = np.divide(sum_x * sum_y, n, out=np.zeros(len(n)), where=n > 0)
        squares = [(x * x).sum(axis=1), (y * y).sum(axis=1), (x * y).sum(axis=1)]
        self.videos = np.stack([n, sum_x, sum_y, *squares, impression], axis=1)

    def compute(self, weights: FloatArray) -> dict[str, FloatArray]:
        """``prior``, ``video``, ``local`` and their sum ``total`` under every row of weights; NaN where undefined."""
        n, x, y, xx, yy, xy, impression = (weights @ self.videos).T
        sums = (np.split(w @ self.steps, 4, axis=1) for w in (weights, weights * weights))
        by_step = _expected_products(*sums).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            chance = x * y / n
            var_x, var_y = n * xx - x * x, n * yy - y * y
            is_kappa = self.metric == "qwk"
            scale = (var_x + var_y + (x - y) ** 2) / 2 if is_kappa else np.sqrt(var_x) * np.sqrt(var_y)
            factor = np.where(scale > 0, n / scale, np.nan)
        prior, video, total = (factor * (part - chance) for part in (by_step, impression, xy))
        return {"prior": prior, "video": video, "local": total - prior - video, "total": total}


class ShuffledAnswers:
    """Metrics of a run's own answers given to other videos, in expectation over all exchanges within each step.

    Exact, not simulated: the expected confusion counts of a step are the product of its margins over its size. The
    expected correlation of totals is zero.
    """

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        families = dict.fromkeys(CATALOGUE[name].family for name in tally.metrics if CATALOGUE[name].compared)
        self.expected = {family: _expected_counts(tally, family) for family in families if family != "totals"}

    def compute(self, weights: FloatArray) -> dict[str, FloatArray]:
        """As :meth:`siming_tasks.metrics.sufficient_stats.Tally.compute`."""
        counts = {family: expected(weights) for family, expected in self.expected.items()}
        values = self.tally.compute(weights)
        for name in self.tally.metrics:
            metric = CATALOGUE[name]
            if metric.family == "totals":
                values[name] = np.where(np.isnan(values[name]), np.nan, 0.0)
            elif metric.compared:
                values[name] = metric.function(counts[metric.family])
        return values


def _expected_counts(tally: Tally, family: Family) -> Callable[[FloatArray], FloatArray]:
    """Expected confusion counts of one family when predictions are exchanged: weights to ``float64[B, k * k]``."""
    matrix, k = tally.panel, len(LEVELS) if family == "labels" else 2
    if family == "labels":
        sides = [ordinal_labels(s, matrix.max_score, tally.mapping) for s in (matrix.reference, matrix.predicted)]
    else:
        wrong = matrix.reference_wrong, matrix.predicted_wrong
        sides = [side == (tally.positive == "error") for side in wrong]
    known = matrix.counted & matrix.answered
    x, y = (np.where(known, side.astype(np.int64), -1) for side in sides)
    a, b = (side[:, :, None] == np.arange(k) for side in (x, y))
    videos, steps = x.shape
    joint = (a[:, :, :, None] & b[:, :, None, :]).reshape(videos, steps * k * k).astype(np.float64)
    margins = np.concatenate([side.reshape(videos, steps * k) for side in (a, b)], axis=1).astype(np.float64)
    both = (x >= 0).astype(np.float64)

    def sums(weights: FloatArray) -> StepSums:
        """Sums of the indicators "x is label i" and "y is label j", ``[B, S, i, j]``."""
        shape = len(weights), steps
        sum_x, sum_y = np.split(weights @ margins, 2, axis=1)
        products = (weights @ joint).reshape(*shape, k, k)
        number = (weights @ both)[:, :, None, None]
        return number, sum_x.reshape(*shape, k, 1), sum_y.reshape(*shape, 1, k), products

    def expected(weights: FloatArray) -> FloatArray:
        products = _expected_products(sums(weights), sums(weights * weights))
        counts: FloatArray = products.sum(axis=1).reshape(len(weights), k**2)
        return counts

    return expected


class ExcessCorrelation:
    """Correlation of the totals beyond the one that the agreement on the steps implies; for scores only.

    ``excess = PLCC - implied``, with ``implied = r g / sqrt(1 - r^2 + r^2 g^2)``. r is the correlation of step points
    around each step's mean, pooled over all steps; g^2 = var(total) / sum of the steps' variances of the reference
    (above 1 if good trainees are good throughout). ``implied`` is the correlation of totals of a judge that follows
    every step equally well and errs independently. Excess above 0: the totals agree more than the steps do, an overall
    impression; below 0: errors that pile up within a video.
    """

    def __init__(self, matrix: ScoreMatrix) -> None:
        both = matrix.counted & matrix.answered
        x, y = (np.where(both, side, 0) for side in (matrix.reference, matrix.predicted))
        self.pairs = correlation.Paired(*correlation.shares(matrix))
        self.steps = np.concatenate([both, x, y, x * x], axis=1).astype(np.float64)
        self.products = np.stack([(a * b).sum(axis=1) for a, b in ((x, x), (y, y), (x, y))], axis=1)

    def compute(self, weights: FloatArray) -> dict[str, FloatArray]:
        """``plcc``, ``implied`` and ``excess`` under every row of weights; NaN where undefined."""
        n, x, y, xx = np.split(weights @ self.steps, 4, axis=1)
        divisor = np.where(n > 0, n, 1)
        within_xx, within_yy, within_xy = (
            product - (a * b / divisor).sum(axis=1)
            for product, a, b in zip((weights @ self.products).T, (x, y, x), (x, y, y), strict=True)
        )
        step_variance = np.where(n > 0, xx / divisor - (x / divisor) ** 2, 0).sum(axis=1)
        kept = self.pairs.weights(weights)
        count = kept.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = kept @ self.pairs.x / count
            total_variance = kept @ self.pairs.x**2 / count - mean**2
            r = within_xy / np.sqrt(within_xx * within_yy)
            g = np.sqrt(np.maximum(total_variance, 0) / step_variance)
            implied = r * g / np.sqrt(1 - r**2 + (r * g) ** 2)
        implied = np.where(np.isfinite(implied), implied, np.nan)
        plcc = correlation.pearson(self.pairs, weights)
        return {"plcc": plcc, "implied": implied, "excess": plcc - implied}


@dataclass(frozen=True)
class Lift:
    """A metric minus that of the best no-video baseline, paired; choosing the best one makes the lift err downwards."""

    over: str
    estimate: Estimate

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {"over": self.over, **self.estimate.to_json()}


@dataclass(frozen=True)
class VideoContribution:
    """Result of :func:`video_contribution`.

    Attributes:
        metric: key of the metric that is decomposed.
        parts: ``prior``, ``video``, ``local`` and ``total`` of ``metric``.
        shuffle_p: p-values of "the predictions fit another video as well".
        rows: metrics of the run (``run``) and of every no-video baseline.
        lift: by metric.
        excess_correlation: ``plcc``, ``implied`` and ``excess`` (:class:`ExcessCorrelation`); empty for verdicts.
        options: options that it was computed with.
    """

    metric: str
    parts: Mapping[str, Estimate]
    shuffle_p: Mapping[str, float | None]
    rows: Mapping[str, Mapping[str, Estimate]]
    lift: Mapping[str, Lift]
    excess_correlation: Mapping[str, Estimate]
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {name: plain(value) for name, value in vars(self).items()}


def no_video_matrices(matrix: ScoreMatrix, *, where_answered: bool = False) -> dict[str, ScoreMatrix]:
    """Answers of each no-video baseline to the same questions; one that cannot judge them is left out.

    ``where_answered``: only where the run has an answer.
    """
    answers = {name: baseline for name, item in JUDGES.items() if (baseline := item.judge(matrix))}
    if not where_answered:
        return answers
    return {
        name: baseline.predicting(np.where(matrix.answered, baseline.predicted, np.nan))
        for name, baseline in answers.items()
    }


def no_video_estimates(
    matrices: Mapping[str, ScoreMatrix],
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, dict[str, Estimate]]:
    """Every metric of the no-video baselines, from one set of resamples; 1 or 0 resamples give no intervals."""
    tallies = {name: Tally.of(matrix.sorted(), mapping, positive) for name, matrix in matrices.items()}
    rows = estimates(tallies, resamples=resamples, seed=seed)
    return {name: _without_totals(row) if name == STEP_PRIOR else row for name, row in rows.items()}


def _without_totals(row: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Row of the step prior with the correlations of its totals undefined: by its nature its totals are constant."""
    reason = "The step prior gives every video the same total; what differs is only that the video itself was left out."
    undefined = {
        name: Estimate(0.0, n_videos=e.n_videos, n_items=e.n_items, undefined=True, reason=reason, coverage=e.coverage)
        for name, e in row.items()
        if name in select(family="totals") and e.value is not None
    }
    return {**row, **undefined}


def video_contribution(
    matrix: ScoreMatrix,
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    permutations: int = 1999,
    seed: int = 0,
    known: Mapping[str, Estimate] | None = None,
    no_video: Mapping[str, Mapping[str, Estimate]] | None = None,
) -> VideoContribution:
    """Decomposition, shuffle test, no-video baselines and lift of one run; clusters are resampled whole.

    ``permutations`` are exchanges of whole videos for the shuffle p-values. ``known`` are the run's own metrics if they
    were computed already, perhaps with more resamples: they stand as they are; ``no_video`` those of the no-video
    baselines on the steps that the run answered (:func:`no_video_estimates`).
    """
    matrix = matrix.sorted()
    run = Tally.of(matrix, mapping, positive)
    rows, values, drawn = _baseline_rows(run, resamples, seed)
    decomposition = AgreementDecomposition(matrix, mapping)
    metric = decomposition.metric
    computed: dict[str, Any] = {"shuffled-self": ShuffledAnswers(run), "parts": decomposition}
    computed |= {"excess": ExcessCorrelation(matrix)} if matrix.answer == "score" else {}

    def compute(weights: FloatArray) -> dict[tuple[str, str], FloatArray]:
        return {(part, name): v for part, item in computed.items() for name, v in item.compute(weights).items()}

    # The same seed gives the same resamples, so that lifts are paired.
    derived_values, derived_drawn = sample(compute, matrix.cluster_numbers, resamples=resamples, seed=seed)
    base_metric = {"parts": metric, "excess": "plcc"}  # the metric whose videos and reasons a part shares
    spread = spreads(derived_drawn, {key: run.size(base_metric.get(key[0], key[1])).clusters for key in derived_drawn})
    rows |= {name: dict(row) for name, row in (no_video or {}).items()}
    rows["shuffled-self"] = {
        name: summarise(run, name, derived_values["shuffled-self", name], spread.get(("shuffled-self", name)))
        for name in run.metrics
    }
    rows |= {"run": dict(known or rows["run"]), STEP_PRIOR: _without_totals(rows[STEP_PRIOR])}
    values, drawn = values | derived_values, drawn | derived_drawn
    values |= {(STEP_PRIOR, name): math.nan for name in select(matrix.answer, family="totals")}

    def estimate(part: str, name: str) -> Estimate:
        base = base_metric[part]
        why = rows["run"][base].reason or "The reference or the prediction has no spread: 0/0."
        return derived(run, base, derived_values[part, name], spread.get((part, name)), why=why)

    options: dict[str, Any] = {"mapping": mapping, "positive": positive, "resamples": resamples}
    options |= {"unit": matrix.unit, "n_clusters": matrix.n_clusters}
    lifted = select(matrix.answer, lifted=True) if run.size(metric).items else ()
    excess = {"plcc": rows["run"]["plcc"]} if "excess" in computed else {}
    return VideoContribution(
        metric=metric,
        parts={**{name: estimate("parts", name) for name in PARTS}, "total": rows["run"][metric]},
        shuffle_p=shuffle_p(matrix, mapping=mapping, permutations=permutations, seed=seed),
        rows=rows,
        lift={name: _lift(name, run, rows, values, drawn) for name in lifted},
        excess_correlation=excess | {name: estimate("excess", name) for name in ("implied", "excess") if excess},
        options={**options, "permutations": permutations, "seed": seed},
    )


def _baseline_rows(
    run: Tally, resamples: int, seed: int
) -> tuple[dict[str, dict[str, Estimate]], dict[tuple[str, str], float], dict[tuple[str, str], FloatArray]]:
    """Estimates of the run (``run``) and of the baselines where it answered, with their values and replicates."""
    baselines = no_video_matrices(run.panel, where_answered=True)
    tallies = {"run": run, **{name: Tally.of(m, run.mapping, run.positive) for name, m in baselines.items()}}
    values, drawn, errors = draw(tallies, resamples=resamples, seed=seed)
    return summaries(tallies, values, drawn, errors), values, drawn


def _lift(
    metric: str,
    run: Tally,
    rows: Mapping[str, Mapping[str, Estimate]],
    values: Mapping[tuple[str, str], float],
    drawn: Mapping[tuple[str, str], FloatArray],
) -> Lift:
    """Lift over the best baseline; undefined rows are no rivals, and an undefined metric has no lift."""
    sign = CATALOGUE[metric].sign
    known = {row: sign * values.get((row, metric), math.nan) for row in NO_VIDEO_BASELINES}
    rivals = {row: value for row, value in known.items() if not math.isnan(value)}
    over = max(rivals, key=rivals.__getitem__, default=next(iter(NO_VIDEO_BASELINES)))
    gains = {metric: drawn["run", metric] - drawn[over, metric]} if drawn else {}
    value = values["run", metric] - values[over, metric]
    spread = spreads(gains, run.size(metric).clusters).get(metric)
    why = rows["run"][metric].reason or "No no-video baseline has a value here."
    return Lift(over, derived(run, metric, value, spread, why=why))


def hardest_baseline(matrix: ScoreMatrix, metric: str, shuffled: float | None, **how: Any) -> tuple[str, Paired]:
    """The no-video baseline that a run has the weakest case against, and the difference: the largest of the p-values.

    A run beats every baseline if it beats this one (intersection-union test: no correction is needed over baselines). A
    baseline whose metric is undefined is no rival. ``shuffled`` is the p-value of the run's own answers given to other
    videos (:func:`siming_tasks.analysis.shuffle_test.shuffle_p`), which is one of the rivals. ``how`` has label
    mapping and positive class. The p is NaN where no test is defined.
    """

    def tally(panel: ScoreMatrix) -> Tally:
        return Tally.of(panel.sorted(), metrics=[metric], **how)

    own = tally(matrix.imputed())
    rivals: dict[str, Paired] = {}
    for name, panel in no_video_matrices(matrix).items():
        rival = tally(panel)
        lead = paired_difference(own, rival)[metric]
        ahead = CATALOGUE[metric].sign * lead.value > 0
        if math.isnan(rival.observed[metric]) or (ahead and lead.stderr == 0):  # a lead that never varies has no p
            continue
        rivals[name] = lead if ahead or math.isnan(lead.p) else lead._replace(p=1.0)
    if shuffled is not None:
        nan = math.nan
        rivals["shuffled-self"] = Paired(own.observed[metric], nan, nan, nan, shuffled, len(own.contributing(metric)))
    if not rivals:
        return "", Paired(*(math.nan,) * 5, 0)
    over = next((name for name, lead in rivals.items() if math.isnan(lead.p)), None)
    over = over or max(rivals, key=lambda name: rivals[name].p)
    lead = rivals[over]
    return over, lead._replace(p=math.nan) if math.isnan(own.observed[metric]) else lead
