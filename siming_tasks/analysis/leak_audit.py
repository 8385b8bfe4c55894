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

from siming_tasks.analysis.leak_probes import PROBES, AuditedExams, Kind, probe_features
from siming_tasks.analysis.paired_tests import holm
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset
from siming_tasks.metrics import Estimate, ScoreMatrix
from siming_tasks.metrics.cross_fitting import CrossFitted, cross_fit
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.evaluate import estimates
from siming_tasks.metrics.roc import Area, ScoredSteps
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import ALPHA
from siming_tasks.options import Options
from siming_tasks.results.evaluate_records import build_reference_matrix
from siming_tasks.tasks import benchmark_task

EXCHANGES = 999
"""Exchanges of whole clusters for the p-values."""

STEP_PRIOR = "step prior"


@dataclass(frozen=True)
class ProbeResult:
    """Agreement of one probe with the labels.

    Attributes:
        name, kind, what: of the probe: what it is given, and whether a judge is sent it or it stands in the file.
        auc: chance that a wrong step is thought likelier to be wrong than a right one, over all steps.
        gain: the same minus that of the step prior, which knows the step alone.
        within: the same among the videos of one step, all steps together; 0.5 is nothing.
        p, p_holm: of ``within``, and corrected over the probes. It rests on what is learnt from the folds ahead, the
            areas on all other folds.
        step, step_auc, step_p: the step that lies furthest above 0.5; p for the largest of all steps.
        step_aucs: area of each step with enough videos of either kind.
        qwk, plcc: kappa of the points, and correlation of the totals.
    """

    name: str
    kind: Kind
    what: str
    auc: Area
    gain: Area
    within: Area
    p: float
    p_holm: float
    step: str
    step_auc: float
    step_p: float
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
    exchanges: int = EXCHANGES,
) -> LeakAudit:
    """Audit a data set: what tells its labels, and how well.

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
            results.append(_audit(name, panel, features, prior, exchanges, options))
    corrected = holm(np.array([result.p for result in results]))
    results = [replace(result, p_holm=float(p)) for result, p in zip(results, corrected, strict=True)]
    base = _result(STEP_PRIOR, panel, prior, prior, options)
    unread = tuple(exams.unreadable) if media else ()
    return LeakAudit(len(panel.video_ids), panel.n_clusters, panel.unit, base, tuple(results), absent, unread)


def _audit(
    name: str, panel: ScoreMatrix, features: FloatArray, prior: CrossFitted, exchanges: int, options: Options
) -> ProbeResult:
    """One probe with its tests."""
    result = _result(name, panel, cross_fit(panel, features), prior, options)
    ahead = cross_fit(panel, features, forward=True)
    rows = np.flatnonzero(ahead.fold > 1)
    if not len(rows):
        return result
    scored = _scored(panel.videos(rows), ahead.wrong[rows]).centred(ahead.fold[rows])
    p, step_p, where = scored.exchange_p(exchanges, np.random.default_rng(options.seed))
    step = panel.step_ids[where] if where >= 0 else ""
    area = result.step_aucs.get(step, np.nan)
    return replace(result, p=p, p_holm=p, step=step, step_auc=area, step_p=step_p)


def _scored(panel: ScoreMatrix, wrong: FloatArray) -> ScoredSteps:
    known = panel.counted & ~np.isnan(wrong)
    return ScoredSteps(np.where(known, wrong, 0.0), panel.reference_wrong & known, known, panel.cluster_numbers)


def _result(name: str, panel: ScoreMatrix, fitted: CrossFitted, prior: CrossFitted, options: Options) -> ProbeResult:
    """Areas and agreement of one probe, without its tests."""
    scored = _scored(panel, fitted.wrong)
    value, influence = scored.pooled()
    rival, other = _scored(panel, prior.wrong).pooled()
    within, inside, by_step = scored.centred(fitted.fold).within()
    tally = Tally.of(panel.predicting(fitted.predicted), options.mapping)
    metrics = estimates({name: tally}, resamples=options.resamples, seed=options.seed)[name]
    probe = PROBES.get(name)
    return ProbeResult(
        name=name,
        kind=probe.kind if probe else "sent",
        what=probe.what if probe else "the step alone",
        auc=Area.of(value, influence),
        gain=Area.of(value - rival, influence - other, lowest=-1.0),
        within=Area.of(within, inside),
        p=np.nan,
        p_holm=np.nan,
        step="",
        step_auc=np.nan,
        step_p=np.nan,
        step_aucs={step: float(area) for step, area in zip(panel.step_ids, by_step, strict=True) if not np.isnan(area)},
        qwk=metrics["qwk"],
        plcc=metrics["plcc"],
    )
