"""Leak audit: facts that tell the labels of a data set without any picture.

Each probe (:mod:`siming_tasks.analysis.leak_probes`) is a judge that is given one kind of facts and learns the labels
of the other clusters from them (:mod:`siming_tasks.metrics.cross_fitting`). What it reaches is what a judge of pictures
must beat before it has shown anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from siming_tasks.analysis.leak_probes import PROBES, AuditedExams, probe_features
from siming_tasks.analysis.paired_tests import holm
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset
from siming_tasks.metrics import Estimate, ScoreMatrix
from siming_tasks.metrics.cross_fitting import CrossFitted, cross_fit
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.evaluate import estimates
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, IntArray
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import ALPHA, LEVEL
from siming_tasks.options import Options
from siming_tasks.results.evaluate_records import build_reference_matrix
from siming_tasks.tasks import benchmark_task

PERMUTATIONS = 999
"""Exchanges of whole clusters for the p-values."""

FEWEST_CELLS = 5
"""Fewest wrong and fewest right videos of a step whose area is looked at on its own."""


@dataclass(frozen=True)
class Area:
    """Area under the ROC curve with its interval over clusters; all NaN where one class is missing."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ProbeResult:
    """Agreement of one probe with the labels.

    Attributes:
        auc: chance that a wrong step is given a larger chance of being wrong than a right one, over all steps.
        gain: the same minus that of the step prior.
        within: the same among the videos of one step, all steps together; 0.5 is nothing.
        p, p_holm: of ``within``, by exchanges of whole clusters; corrected over the probes.
        step, step_auc, step_p: the step whose area lies furthest above 0.5 in its standard errors; p for the largest
            of all steps.
        qwk, plcc: kappa of the points, and the correlation of the totals.
        missing: why there is no result, the rest being undefined; empty if there is one.
    """

    name: str
    auc: Area
    gain: Area
    within: Area
    p: float
    p_holm: float
    step: str
    step_auc: float
    step_p: float
    qwk: Estimate | None
    plcc: Estimate | None
    step_aucs: Mapping[str, float]
    missing: str = ""

    @property
    def tells(self) -> bool:
        """True if it tells something of the labels beyond the step, beyond chance."""
        return bool(self.p_holm <= ALPHA)


@dataclass(frozen=True)
class LeakAudit:
    """Result of :func:`leak_audit`: ``prior`` knows the step alone; ``probes`` by name."""

    videos: int
    clusters: int
    unit: str
    prior: ProbeResult
    probes: tuple[ProbeResult, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {name: plain(value) for name, value in vars(self).items()}


def leak_audit(
    dataset: Dataset,
    options: Options | None = None,
    *,
    probes: Iterable[str] | None = None,
    media: bool = True,
    permutations: int = PERMUTATIONS,
) -> LeakAudit:
    """Audit a data set.

    ``probes`` are names of :data:`siming_tasks.analysis.leak_probes.PROBES` (default: all); without ``media`` no file
    is opened, so that exams without their videos can be audited, also those that were made in memory::

        from siming_tasks.analysis.leak_audit import leak_audit
        audit = leak_audit(dataset, probes=["span length", "place", "order", "duration"], media=False)
        audit.prior.auc.value, audit.probes[0].auc.value, max(audit.probes[0].step_aucs.values())

    Raises:
        DataError: the labels are withheld, or there are fewer than two clusters.
        KeyError: there is no such probe.
    """
    options = options or Options()
    panel = build_reference_matrix(dataset, benchmark_task("full", "score").name, options.rater).sorted()
    if not panel.counted.any():
        raise DataError(f"{dataset.root}: the labels are withheld, so nothing can be said of what tells them.")
    clusters = np.unique(getattr(panel, "clusters", panel.video_ids), return_inverse=True)[1]
    if clusters.max() < 1:
        raise DataError(f"{dataset.root}: one cluster only; an audit needs at least two.")
    exams = AuditedExams(dataset, [dataset.video(v) for v in panel.video_ids], panel.step_ids, options, media)
    names = tuple(PROBES) if probes is None else tuple(probes)
    shape = *panel.reference.shape, 0
    prior = cross_fit(panel, np.zeros(shape))
    rng = np.random.default_rng(options.seed)
    orders = [_exchange(clusters, rng) for _ in range(permutations)]
    base = _result("step prior", panel, prior, prior, clusters, orders[:0], options)
    results = []
    for name in names:
        features = probe_features(exams, name)
        if isinstance(features, str):
            results.append(_absent(name, features))
        else:
            fitted = cross_fit(panel, features)
            results.append(_result(name, panel, fitted, prior, clusters, orders, options))
    known = [place for place, result in enumerate(results) if not np.isnan(result.p)]
    for place, value in zip(known, holm(np.array([results[place].p for place in known])), strict=True):
        results[place] = replace(results[place], p_holm=float(value))
    unit = getattr(panel, "unit", "video")
    return LeakAudit(len(panel.video_ids), int(clusters.max()) + 1, unit, base, tuple(results))


def _absent(name: str, why: str) -> ProbeResult:
    none = Area(np.nan, np.nan, np.nan)
    return ProbeResult(name, none, none, none, np.nan, np.nan, "", np.nan, np.nan, None, None, {}, why)


def _exchange(clusters: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Whole clusters in two random orders: the videos of the first are given the labels of the second."""
    sides = []
    for _ in range(2):
        rank = rng.permutation(clusters.max() + 1)
        sides.append(np.argsort(rank[clusters], kind="stable"))
    return sides[0], sides[1]


def _result(
    name: str,
    panel: ScoreMatrix,
    fitted: CrossFitted,
    prior: CrossFitted,
    clusters: IntArray,
    orders: Sequence[tuple[IntArray, IntArray]],
    options: Options,
) -> ProbeResult:
    known = panel.counted & ~np.isnan(fitted.wrong)
    wrong = panel.reference_wrong & known
    auc, influence = pooled_auc(fitted.wrong, wrong, known, clusters)
    rival, other = pooled_auc(prior.wrong, wrong, known, clusters)
    scores = centred(fitted.wrong, known, fitted.fold)
    within, inside, by_step = stratified_auc(scores, wrong, known, clusters)
    largest, p, step_p, where = _permutation_p(scores, wrong, known, within, by_step, orders)
    resampling: dict[str, Any] = {"resamples": options.resamples, "seed": options.seed}
    tally = Tally.of(panel.predicting(fitted.predicted), options.mapping)
    metrics = estimates({"probe": tally}, **resampling)["probe"]
    return ProbeResult(
        name,
        _area(auc, influence),
        _area(auc - rival, influence - other, low=-1.0),
        _area(within, inside),
        p,
        p,
        panel.step_ids[where] if where >= 0 else "",
        largest,
        step_p,
        metrics["qwk"],
        metrics["plcc"],
        {panel.step_ids[s]: float(value) for s, value in enumerate(by_step) if not np.isnan(value)},
    )


def _area(value: float, influence: FloatArray, low: float = 0.0) -> Area:
    """The value with the interval that the clusters' influences give it (Obuchowski 1997), by Student's t."""
    number = len(influence)
    error = float(np.sqrt(number / (number - 1) * (influence**2).sum()))
    half = float(stats.t.ppf(0.5 + LEVEL / 2, number - 1)) * error
    return Area(float(value), max(low, float(value) - half), min(1.0, float(value) + half))


def centred(scores: FloatArray, known: BoolArray, fold: IntArray) -> FloatArray:
    """Scores minus the mean of their step in their fold, ``float[V, S]``.

    A judge that learns nothing but the mean of the other folds says less of a step in the fold where more is wrong:
    within a step its area would lie below 0.5. No label takes part in this.
    """
    out = np.where(known, scores, 0.0)
    for number in np.unique(fold):
        rows = fold == number
        count = np.maximum(known[rows].sum(axis=0), 1)
        out[rows] -= out[rows].sum(axis=0) / count
    return np.where(known, out.round(9), np.nan)


def _placements(scores: FloatArray, wrong: BoolArray) -> tuple[FloatArray, FloatArray]:
    """For each wrong cell the number of right ones below it, for each right one the wrong ones above; ties are half."""
    ranks = stats.rankdata(scores)
    among_wrong, among_right = stats.rankdata(scores[wrong]), stats.rankdata(scores[~wrong])
    below: FloatArray = ranks[wrong] - among_wrong
    above: FloatArray = int(wrong.sum()) - (ranks[~wrong] - among_right)
    return below, above


def pooled_auc(scores: FloatArray, wrong: BoolArray, known: BoolArray, clusters: IntArray) -> tuple[float, FloatArray]:
    """Area over all steps, and the influence of each cluster on it, ``float[C]``; NaN if one class is missing."""
    truth, member = wrong[known], np.broadcast_to(clusters[:, None], known.shape)[known]
    positive, negative = int(truth.sum()), int((~truth).sum())
    count = int(clusters.max()) + 1
    if not positive or not negative:
        return np.nan, np.full(count, np.nan)
    below, above = _placements(scores[known], truth)
    value = float(below.mean() / negative)
    influence = np.bincount(member[truth], below / negative - value, count) / positive
    influence += np.bincount(member[~truth], above / positive - value, count) / negative
    return value, influence


def stratified_auc(
    scores: FloatArray, wrong: BoolArray, known: BoolArray, clusters: IntArray
) -> tuple[float, FloatArray, FloatArray]:
    """Area among pairs of videos of the same step: value, clusters' influence ``[C]``, steps' areas ``[S]``.

    Steps count by their number of pairs; a step's own area is NaN below :data:`FEWEST_CELLS` videos of either kind.
    """
    count = int(clusters.max()) + 1
    pairs, total, own = 0, 0.0, np.full(known.shape[1], np.nan)
    parts: list[tuple[IntArray, FloatArray, float]] = []
    for step in range(known.shape[1]):
        cells = known[:, step]
        truth, member = wrong[cells, step], clusters[cells]
        positive, negative = int(truth.sum()), int((~truth).sum())
        if not positive or not negative:
            continue
        below, above = _placements(scores[cells, step], truth)
        parts += [(member[truth], below, negative), (member[~truth], above, positive)]
        pairs, total = pairs + positive * negative, total + float(below.sum())
        if min(positive, negative) >= FEWEST_CELLS:
            own[step] = below.mean() / negative
    if not pairs:
        return np.nan, np.full(count, np.nan), own
    value, influence = total / pairs, np.zeros(count)
    for member, placed, others in parts:
        influence += np.bincount(member, placed - value * others, count) / pairs
    return value, influence, own


def _permutation_p(
    scores: FloatArray,
    wrong: BoolArray,
    known: BoolArray,
    within: float,
    by_step: FloatArray,
    orders: Sequence[tuple[IntArray, IntArray]],
) -> tuple[float, float, float, int]:
    """The largest area of a step, the p of all steps together, the p of the largest, and where that step is.

    Largest in standard errors of an area that tells nothing, sqrt((m + n + 1) / 12 m n). A video that has no score of a
    step is given the middle rank among those that have.
    """
    middle = np.where(known, scores, 0.0)  # centred: 0 is the middle
    ranks = stats.rankdata(middle, axis=0)

    def areas(truth: BoolArray, some: BoolArray, rank: FloatArray) -> tuple[float, FloatArray]:
        positive, all_of = truth.sum(axis=0), some.sum(axis=0)
        negative = all_of - positive
        sums = np.where(truth, rank, 0).sum(axis=0)
        # Ranks are among all videos; those without a label stand in the middle and are taken off by their mean.
        centre = np.where(some, rank, 0).sum(axis=0) / np.maximum(all_of, 1)
        excess = sums - positive * centre
        pairs = positive * negative
        with np.errstate(invalid="ignore", divide="ignore"):
            z = excess / np.sqrt(pairs * (all_of + 1) / 12)
        z[np.minimum(positive, negative) < FEWEST_CELLS] = -np.inf
        return float(excess.sum() / max(1, pairs.sum())), z

    value, z = areas(wrong, known, ranks)
    if np.isnan(within) or not orders:
        return np.nan, np.nan, np.nan, -1
    drawn = [areas(wrong[label], known[label], ranks[score]) for score, label in orders]
    p = (1 + sum(other >= value - 1e-12 for other, _ in drawn)) / (1 + len(drawn))
    if not np.isfinite(z).any():
        return np.nan, p, np.nan, -1
    where = int(z.argmax())
    step_p = (1 + sum(other.max() >= z[where] - 1e-12 for _, other in drawn)) / (1 + len(drawn))
    return float(by_step[where]), p, step_p, where
