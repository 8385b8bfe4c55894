"""The physicians of a data set as psychometricians look at them: reliability, difficulty, severity, cut scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from siming_tasks.analysis import standard_setting
from siming_tasks.analysis.generalizability import Design, GStudy, decision_study, g_study
from siming_tasks.analysis.pass_decisions import PASS_MARK
from siming_tasks.analysis.rasch import Rasch, SiteDifferences, differential, rasch
from siming_tasks.analysis.totals_agreement import IntraclassCorrelation, TotalsAgreement, icc, totals_agreement
from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import CONSENSUS, Unit, UnitChoice
from siming_tasks.data import Dataset
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.metrics.thresholds import FEWEST
from siming_tasks.options import Options
from siming_tasks.results.evaluate_records import build_reference_matrix
from siming_tasks.tasks import benchmark_task

GLOBAL_RATING = "global_rating"
"""Key of ``videos.jsonl``: the examiners' overall impression of an exam, a number; higher is better."""

MOST_TRAINEES = 2_000
"""Trainees that the Rasch model is fitted to, evenly spaced over the data set; more would take memory, not bias."""

_RARELY_SCORED = 0.95


@dataclass(frozen=True)
class Psychometrics:
    """Everything that could be computed; what could not stands in ``missing`` with the reason.

    Attributes:
        complete: videos and steps that all raters scored; totals, reliability and generalisability rest on these.
        unit: what the jackknife leaves out: a video, student or site.
        icc: of the totals, as shares of the available points.
        limits: totals of each pair, first minus second, as shares of the available points.
        generalizability: variance components of points / maximum.
        designs: what other numbers of raters would reach; steps fixed, and steps as a sample.
        sites: steps that are harder at one site than at another for trainees of the same ability.
        cuts: pass marks from examinees.
        decisions: accuracy and consistency at the pass mark and at each of ``cuts``.
    """

    raters: tuple[str, ...]
    videos: int
    complete: tuple[int, int]
    unit: Unit = "video"
    icc: IntraclassCorrelation | None = None
    limits: Mapping[str, TotalsAgreement] = field(default_factory=dict)
    generalizability: GStudy | None = None
    designs: tuple[Design, ...] = ()
    rasch: Rasch | None = None
    sites: SiteDifferences | None = None
    cuts: tuple[standard_setting.CutScore, ...] = ()
    decisions: tuple[standard_setting.Classification, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {name: plain(value) for name, value in vars(self).items()}


def psychometrics(
    dataset: Dataset,
    options: Options | None = None,
    *,
    names: Sequence[str] | None = None,
    pass_mark: float = PASS_MARK,
    borderline: float | None = None,
) -> Psychometrics:
    """Everything at once, of two physicians or more; of ``names`` only, the consensus too if it is named.

    ``pass_mark``: share of the points that passes, for the accuracy of decisions. ``borderline``: the global rating
    that means borderline, for borderline regression. Of ``options`` only the seed counts.

    Raises:
        DataError: fewer than two physicians.
    """
    panel, points = _points_of_raters(dataset, names, (options or Options()).cluster)
    raters, n = tuple(points), len(panel.video_ids)
    shares = np.stack([values / panel.max_score for values in points.values()], axis=2)
    rows, part, totals = _complete_part(shares, panel.max_score)
    clusters = [panel.clusters[row] for row in rows]
    pairs = {f"{raters[a]} - {raters[b]}": totals[:, [a, b]].T for a, b in combinations(range(len(raters)), 2)}
    missing: dict[str, str] = {}

    def attempt(name: str, compute: Callable[[], Any], default: Any = None) -> Any:
        try:
            return compute()
        except DataError as error:
            missing[name] = str(error)
            return default

    study: GStudy | None = attempt("generalizability", lambda: _g_study(part, clusters))
    designs: list[Design] = attempt("designs", lambda: _designs(study), []) if study else []
    correct = np.where(np.isnan(shares), np.nan, shares >= 1 - 1e-9)
    some = np.unique(np.linspace(0, n - 1, min(n, MOST_TRAINEES)).astype(np.int64))
    fitted = attempt("rasch", lambda: rasch(correct[some], panel.step_ids, raters))
    sites = [dataset.video(panel.video_ids[at]).site for at in some]
    by_site = attempt("sites", lambda: differential(correct[some], sites, panel.step_ids, raters))
    known, reference, of_consensus = _consensus_shares(panel, points)
    seed = (options or Options()).seed
    cut = attempt("cuts", lambda: _cut_score(dataset, panel, known, reference, of_consensus, borderline, seed))
    cuts = (cut,) if cut else ()
    marks = [pass_mark, *(cut.value for cut in cuts)]
    return Psychometrics(
        raters=raters,
        videos=n,
        complete=part.shape[:2],
        unit=panel.unit,
        icc=icc(totals, clusters),
        limits={name: totals_agreement(first, second, clusters) for name, (first, second) in pairs.items()},
        generalizability=study,
        designs=tuple(designs),
        rasch=fitted,
        sites=by_site,
        cuts=cuts,
        decisions=attempt("decisions", lambda: _decisions(study, len(raters), of_consensus, marks), ()),
        missing=missing,
    )


def _points_of_raters(
    dataset: Dataset, names: Sequence[str] | None, cluster: UnitChoice
) -> tuple[ScoreMatrix, dict[str, FloatArray]]:
    """The consensus, and by name the points ``[V, S]`` of the raters who scored anything, in its order."""
    setting = benchmark_task("full", "score").name
    points: dict[str, FloatArray] = {}
    for name in names or dataset.physicians:
        values = build_reference_matrix(dataset, setting, name).sorted().reference
        points |= {} if np.isnan(values).all() else {name: values}
    if len(points) < 2:
        present = ", ".join(points) or "none"
        raise DataError(f"Psychometrics of raters need two physicians; {dataset.name} has {present}.")
    return build_reference_matrix(dataset, setting, CONSENSUS, cluster).sorted(), points


def _complete_part(shares: FloatArray, max_score: FloatArray) -> tuple[list[int], FloatArray, FloatArray]:
    """Positions of the P videos that everybody scored, their shares ``[P, I, R]`` and totals as shares ``[P, R]``."""
    known: BoolArray = np.asarray(~np.isnan(shares).any(axis=2))
    some: BoolArray = np.asarray(known.any(axis=1))
    # A step that is often missing goes before the videos do.
    columns = np.flatnonzero(known[some].mean(axis=0) >= _RARELY_SCORED) if some.any() else np.arange(0)
    rows = np.flatnonzero(known[:, columns].all(axis=1)) if len(columns) else np.arange(0)
    part, worth = shares[rows][:, columns], max_score[columns]
    if not len(columns):
        return [], part, np.full((0, shares.shape[2]), np.nan)
    return rows.tolist(), part, np.einsum("vsr,s->vr", part, worth) / worth.sum()


def _g_study(part: FloatArray, clusters: Sequence[str]) -> GStudy:
    """Variance components, of enough independent videos to say something."""
    if (n := len(set(clusters))) < FEWEST:
        raise DataError(f"Variance components take {FEWEST} trainees whom all have scored; there are {n}.")
    return g_study(part, clusters)


def _designs(study: GStudy) -> list[Design]:
    """One to four raters, on these steps and with steps as a sample."""
    return [design for fixed in (True, False) for design in decision_study(study, (1, 2, 3, 4), fixed=fixed)]


def _decisions(
    study: GStudy | None, raters: int, shares: FloatArray, marks: Sequence[float]
) -> tuple[standard_setting.Classification, ...]:
    """Accuracy and consistency at each mark, for totals as reliable as the mean of the raters."""
    if study is None:
        raise DataError("The reliability of the totals is not known.")
    reliability = decision_study(study, (raters,))[0].absolute
    if not reliability:
        raise DataError("The reliability of the totals is 0.")
    return tuple(standard_setting.livingston_lewis(shares, reliability, mark) for mark in marks)


def _consensus_shares(panel: ScoreMatrix, points: Mapping[str, FloatArray]) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Steps with a consensus, its points ``[V, S]``, and its totals as shares ``[V]``; the raters' mean without one."""
    known = panel.counted
    reference = panel.reference if known.any() else np.nanmean(np.stack(list(points.values())), axis=0)
    known = known if known.any() else ~np.isnan(reference)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(known, reference, 0).sum(axis=1) / np.where(known, panel.max_score, 0).sum(axis=1)
    return known, reference, shares


def _cut_score(
    dataset: Dataset,
    panel: ScoreMatrix,
    known: BoolArray,
    reference: FloatArray,
    shares: FloatArray,
    borderline: float | None,
    seed: int,
) -> standard_setting.CutScore:
    """Cut score from the examiners' global ratings, or else from failed must-pass steps."""
    ratings = np.full(len(panel.video_ids), np.nan)
    for row, video in enumerate(panel.video_ids):
        value = dataset.video(video).extra.get(GLOBAL_RATING)
        try:
            number = float("nan") if value is None else float(value)
        except (TypeError, ValueError):
            number = float("inf")
        if isinstance(value, bool) or math.isinf(number):
            raise DataError(f"{GLOBAL_RATING} of video {video} is {str(value)[:40]!r}; give a number.")
        ratings[row] = number
    must = np.array([dataset.rubric.by_id[name].critical for name in panel.step_ids])
    if not np.isnan(ratings).all():
        if borderline is None:
            raise DataError("Borderline regression: say which global rating means borderline (--borderline).")
        return standard_setting.borderline_regression(shares, ratings, borderline)
    if not must.any():
        raise DataError("No global rating in the data (`global_rating`), and no must-pass step in the rubric.")
    failed: BoolArray = np.asarray(((reference <= 0) & known)[:, must].any(axis=1))
    return standard_setting.contrasting_groups(shares, ~failed, seed=seed)
