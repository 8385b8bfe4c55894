"""Leak audit: facts that tell the labels of a data set without any picture.

Each probe (:mod:`siming_tasks.analysis.leak_probes`) is a judge that is given one kind of facts and learns the labels
of the other clusters from them (:mod:`siming_tasks.metrics.cross_fitting`). What it reaches is what a judge of pictures
must beat before it has shown anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.analysis.leak_probes import PROBES, AuditedExams, Kind, probe_features
from siming_tasks.analysis.paired_tests import Paired, holm, jackknife_t
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset
from siming_tasks.metrics import Estimate, ScoreMatrix
from siming_tasks.metrics.cross_fitting import CrossFitted, cross_fit
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.evaluate import estimates
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, IntArray
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import ALPHA
from siming_tasks.options import Options
from siming_tasks.results.evaluate_records import build_reference_matrix
from siming_tasks.tasks import benchmark_task

STEP_PRIOR = "step prior"

FEWEST_CELLS = 5
"""Fewest wrong and fewest right videos of a step whose area is looked at on its own."""


@dataclass(frozen=True)
class ProbeResult:
    """Agreement of one probe with the labels.

    Attributes:
        name, kind, what: of the probe: what it is given, and whether a judge is sent it or it stands in the file.
        auc: chance that a wrong step is thought likelier to be wrong than a right one, over all steps; NaN where one
            class is missing.
        gain: the same minus that of the step prior, which knows the step alone.
        within: the same among the videos of one step, all steps together, less 0.5: 0 is nothing. By the jackknife.
        p, p_holm: one-sided, of ``within``, and corrected over the probes. It rests on what is learnt from the folds
            ahead, the areas on all other folds.
        step_aucs: area of each step with :data:`FEWEST_CELLS` videos of either kind.
        qwk, plcc: kappa of the points, and correlation of the totals.
    """

    name: str
    kind: Kind
    what: str
    auc: float
    gain: float
    within: Paired
    p: float
    p_holm: float
    step_aucs: Mapping[str, float]
    qwk: Estimate
    plcc: Estimate

    @property
    def tells(self) -> bool:
        """True if it tells something of the labels beyond the step, beyond chance."""
        return bool(self.p_holm <= ALPHA)


@dataclass(frozen=True)
class LeakAudit:
    """Result of :func:`leak_audit`: ``prior`` knows the step alone; ``absent`` says why a probe was left out.

    ``unreadable`` has a sentence for each video that should have been opened and could not be.
    """

    videos: int
    clusters: int
    unit: str
    prior: ProbeResult
    probes: tuple[ProbeResult, ...]
    absent: Mapping[str, str]
    unreadable: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {name: plain(value) for name, value in vars(self).items()}


def leak_audit(
    dataset: Dataset,
    options: Options | None = None,
    *,
    probes: Iterable[str] | None = None,
    media: bool = True,
) -> LeakAudit:
    """Audit a data set: what tells its labels, and how well.

    ``probes`` are names of :data:`siming_tasks.analysis.leak_probes.PROBES` (default: all); without ``media`` no file
    is opened, so that exams without their videos can be audited, also those that were made in memory::

        from siming_tasks.analysis.leak_audit import leak_audit
        audit = leak_audit(dataset, probes=["span length", "place", "order", "duration"], media=False)
        audit.prior.auc, audit.probes[0].auc, max(audit.probes[0].step_aucs.values())

    Raises:
        DataError: the labels are withheld, or there are fewer than two clusters.
        KeyError: there is no such probe.
    """
    options = options or Options()
    panel = build_reference_matrix(
        dataset, benchmark_task("full", "score").name, options.rater, options.cluster
    ).sorted()
    if not panel.counted.any():
        raise DataError(f"{dataset.root}: the labels are withheld: what tells them cannot be said.")
    if panel.n_clusters < 2:
        raise DataError(f"{dataset.root}: all videos are one {panel.unit}; an audit needs two that can be kept apart.")
    exams = AuditedExams(dataset, [dataset.video(v) for v in panel.video_ids], panel.step_ids, options, media)
    prior = cross_fit(panel, np.zeros((*panel.reference.shape, 0)))
    results, absent = [], {}
    for name in PROBES if probes is None else probes:
        features = probe_features(exams, name)
        if isinstance(features, str):
            absent[name] = features
        else:
            results.append(_audit(name, panel, features, prior, options))
    corrected = holm(np.array([result.p for result in results]))
    results = [replace(result, p_holm=float(p)) for result, p in zip(results, corrected, strict=True)]
    base = _result(STEP_PRIOR, panel, prior, prior, options)
    unread = tuple(exams.unreadable) if media else ()
    return LeakAudit(len(panel.video_ids), panel.n_clusters, panel.unit, base, tuple(results), absent, unread)


def _audit(name: str, panel: ScoreMatrix, features: FloatArray, prior: CrossFitted, options: Options) -> ProbeResult:
    """One probe with its test."""
    result = _result(name, panel, cross_fit(panel, features), prior, options)
    ahead = cross_fit(panel, features, forward=True)
    rows = np.flatnonzero(ahead.fold > 1)
    if not len(rows):
        return result
    found = _scored(panel.videos(rows), ahead.wrong[rows], ahead.fold[rows]).within()
    p = found.p / 2 if found.value > 0 else 1 - found.p / 2
    if found.stderr == 0 and found.value > 0:  # every pair told right: what does not vary has no t, and is no chance
        p = 0.0
    return replace(result, p=p, p_holm=p)


@dataclass(frozen=True, eq=False)
class _ScoredSteps:
    """Scores of V videos with S steps: the larger, the surer that the step is wrong.

    Attributes:
        scores: less the mean of the step in the video's fold, ``float[V, S]``. A judge that learns nothing but the
            mean of the other folds says less of a step in the fold where more is wrong: within a step its area would
            lie below 0.5. No label takes part in this.
        wrong: ``bool[V, S]``; ``known``: cells that count.
        clusters: the number of each video's cluster, ``int[V]``.
    """

    scores: FloatArray
    wrong: BoolArray
    known: BoolArray
    clusters: NDArray[np.intp]

    def within(self) -> Paired:
        """Area among pairs of videos of one step, less 0.5, by the jackknife over clusters; steps count by pairs."""
        videos = len(self.scores)
        wins, pairs = np.zeros((videos, videos)), np.zeros((videos, videos))
        for scores, wrong, known in zip(self.scores.T, self.wrong.T, self.known.T, strict=True):
            counted = np.outer(wrong & known, ~wrong & known)
            pairs += counted
            wins += counted * (1 + np.sign(scores[:, None] - scores)) / 2
        if not pairs.any():
            return Paired(*(np.nan,) * 5, 0)
        with np.errstate(invalid="ignore"):  # without some cluster no pair may be left
            left_out: FloatArray = self._without_each(wins) / self._without_each(pairs) - 0.5
        return jackknife_t(float(wins.sum() / pairs.sum() - 0.5), left_out)

    def _without_each(self, of_pairs: FloatArray) -> FloatArray:
        """Sum of ``float[V, V]`` without the rows and columns of each cluster in turn, ``float[C]``."""
        same = self.clusters[:, None] == self.clusters
        touched = of_pairs.sum(axis=0) + of_pairs.sum(axis=1) - (of_pairs * same).sum(axis=1)
        left: FloatArray = of_pairs.sum() - np.bincount(np.unique(self.clusters, return_inverse=True)[1], touched)
        return left

    def of_steps(self) -> FloatArray:
        """Area of each step, ``float[S]``; NaN below :data:`FEWEST_CELLS` videos of either kind."""
        areas = np.full(self.known.shape[1], np.nan)
        for step, known in enumerate(self.known.T):
            wrong = self.wrong[known, step]
            if min(wrong.sum(), (~wrong).sum()) >= FEWEST_CELLS:
                areas[step] = _area(self.scores[known, step], wrong)
        return areas


def _scored(panel: ScoreMatrix, wrong: FloatArray, fold: IntArray) -> _ScoredSteps:
    """Chances of "wrong", ``float[V, S]``, as scores within the folds, ``int[V]``."""
    known = panel.counted & ~np.isnan(wrong)
    scores = np.where(known, wrong, 0.0)
    for number in np.unique(fold):
        rows = fold == number
        scores[rows] -= scores[rows].sum(axis=0) / np.maximum(known[rows].sum(axis=0), 1)
    return _ScoredSteps(scores.round(9), panel.reference_wrong & known, known, panel.cluster_numbers)


def _area(scores: FloatArray, wrong: BoolArray) -> float:
    """Area under the ROC curve; NaN where one class is missing."""
    from sklearn.metrics import roc_auc_score  # not at import time: slow

    return float(roc_auc_score(wrong, scores)) if wrong.any() and not wrong.all() else np.nan


def _result(name: str, panel: ScoreMatrix, fitted: CrossFitted, prior: CrossFitted, options: Options) -> ProbeResult:
    """Areas and agreement of one probe, without its test."""
    auc, rival = (
        _area(side.wrong[known], panel.reference_wrong[known])
        for side in (fitted, prior)
        for known in (panel.counted & ~np.isnan(side.wrong),)
    )
    scored = _scored(panel, fitted.wrong, fitted.fold)
    by_step = zip(panel.step_ids, scored.of_steps().tolist(), strict=True)
    tally = Tally.of(panel.predicting(fitted.predicted), options.mapping)
    metrics = estimates({name: tally}, resamples=options.resamples, seed=options.seed)[name]
    probe = PROBES.get(name)
    return ProbeResult(
        name=name,
        kind=probe.kind if probe else "sent",
        what=probe.what if probe else "the step alone",
        auc=auc,
        gain=auc - rival,
        within=scored.within(),
        p=np.nan,
        p_holm=np.nan,
        step_aucs={step: area for step, area in by_step if not np.isnan(area)},
        qwk=metrics["qwk"],
        plcc=metrics["plcc"],
    )
