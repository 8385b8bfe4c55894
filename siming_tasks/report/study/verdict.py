"""The verdict of a setting: the best judge, how sure that is, its distance to physicians and no-video baselines.

Every claim is a paired test over videos, corrected over its family by Holm: all pairs of the ranked runs; each ranked
run against the physicians; each ranked run against the no-video baselines. The sentences are those of
:mod:`siming_tasks.report.pages.verdict_text`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siming_tasks.analysis.comparison.paired_tests import Paired, holm, paired_difference
from siming_tasks.analysis.comparison.pairwise import Comparison
from siming_tasks.analysis.controls.video_contribution import no_video_matrices
from siming_tasks.analysis.inter_rater.human_ceiling import human_difference
from siming_tasks.analysis.inter_rater.rater_agreement import rater_pairs, rater_references
from siming_tasks.data import Dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import ALPHA
from siming_tasks.options import Options

__all__ = ["Ranked", "shuffle_p_of", "verdict"]


@dataclass(frozen=True, eq=False)
class Ranked:
    """A run that is ranked: its answers, and the shuffle p of its headline (None if it is undefined)."""

    name: str
    panel: ScoreMatrix
    shuffle_p: float | None


def verdict(
    ranked: Sequence[Ranked],
    comparison: Comparison | None,
    dataset: Dataset,
    setting: str,
    metric: str,
    options: Options,
) -> dict[str, Any]:
    """What the tests say of the runs that are ranked, as plain JSON.

    Args:
        ranked: runs that answered enough of the same questions.
        comparison: of them; None for fewer than two.
        dataset: with the physicians' labels, if there are any.
        setting: name.
        metric: that orders the table.
        options: label mapping and positive class.

    Returns:
        ``top``: the runs that none is better than, the largest value first (one: the best; several: they cannot be told
        apart); ``behind``: those that the first is better than; ``tested``: whether there was a test of every pair;
        ``pairs``: how many; ``humans`` and ``no_video``: by run, the test against the physicians (empty without two),
        and against the no-video baselines.
    """
    found: dict[str, Any] = {"runs": [run.name for run in ranked], "top": [], "behind": [], "tested": False, "pairs": 0}
    if comparison is None:
        found["top"] = [run.name for run in ranked]
    else:
        found |= _first(comparison, metric)
    found["humans"] = _against_physicians(ranked, dataset, setting, metric, options)
    found["no_video"] = _against_no_video(ranked, metric, options)
    return found


def _first(comparison: Comparison, metric: str) -> dict[str, Any]:
    """The run with the best rank, those that it is not better than, and those that it is."""
    standing = comparison.ranks.get(metric, {})
    value = {name: comparison.imputed[name][metric].value or 0.0 for name in standing}
    order = sorted(standing, key=lambda name: (standing[name].rank, -CATALOGUE[metric].sign * value[name], name))
    if not order:
        return {}
    rows = [item for item in comparison.differences if item.metric == metric]
    beaten = {item.a if item.better == item.b else item.b for item in rows if item.better == order[0]}
    tested = [item for item in rows if item.p_holm is not None]
    return {
        "top": [name for name in order if name not in beaten],
        "behind": [name for name in order if name in beaten],
        "tested": len(tested) == len(rows),
        "pairs": len(tested),
    }


def _against_physicians(
    ranked: Sequence[Ranked], dataset: Dataset, setting: str, metric: str, options: Options
) -> dict[str, Any]:
    """By run, agreement with the physicians minus theirs with each other; ``side`` is 0 if no difference is found."""
    if not ranked or not rater_pairs(dataset, setting):
        return {}
    how: Any = {"mapping": options.mapping, "positive": options.positive}
    gaps = [
        human_difference(run.panel, *rater_references(dataset, setting, run.panel), **how)[metric] for run in ranked
    ]
    corrected = _holm([gap.p for gap in gaps])
    return {run.name: _gap(gap, p) for run, gap, p in zip(ranked, gaps, corrected, strict=True)}


def _gap(gap: Paired, p: float | None) -> dict[str, Any]:
    sure = p is not None and p <= ALPHA
    return plain({**gap._asdict(), "p_holm": p, "side": int(np.sign(gap.value)) if sure else 0})  # type: ignore[no-any-return]


def _against_no_video(ranked: Sequence[Ranked], metric: str, options: Options) -> dict[str, Any]:
    """By run, the test that it beats every no-video baseline: the largest of the p-values against each of them.

    A judge whose metric is undefined is no rival. ``over`` is the rival with the largest p. The run's own answers given
    to other videos are a rival too, by the exchanges of videos.
    """
    hardest = [_hardest(run, metric, options) for run in ranked]
    corrected = _holm([math.nan if p is None else p for _, p in hardest])
    return {
        run.name: {"over": over, "p": p, "p_holm": each, "beats": each is not None and each <= ALPHA}
        for run, (over, p), each in zip(ranked, hardest, corrected, strict=True)
    }


def _hardest(run: Ranked, metric: str, options: Options) -> tuple[str | None, float | None]:
    mine = _tally(run.panel.imputed(), metric, options)
    found: dict[str, float] = {}
    for name, panel in no_video_matrices(run.panel).items():
        rival = _tally(panel, metric, options)
        apart = paired_difference(mine, rival)[metric]
        ahead = CATALOGUE[metric].sign * apart.value > 0
        if math.isnan(rival.observed[metric]) or (ahead and apart.stderr == 0):  # a lead that never varies has no p
            continue
        found[name] = apart.p if ahead or math.isnan(apart.p) else 1.0
    if run.shuffle_p is not None:
        found["shuffled-self"] = run.shuffle_p
    if not found or any(math.isnan(p) for p in found.values()) or math.isnan(mine.observed[metric]):
        return None, None
    over = max(found, key=found.__getitem__)
    return over, found[over]


def _tally(panel: ScoreMatrix, metric: str, options: Options) -> Tally:
    return Tally.of(panel.sorted(), options.mapping, options.positive, [metric])


def _holm(p: Sequence[float]) -> list[float | None]:
    """Holm's p of those that are known; None for the others."""
    known = [k for k, each in enumerate(p) if not math.isnan(each)]
    found: list[float | None] = [None] * len(p)
    for k, each in zip(known, holm(np.array([p[k] for k in known], float)).tolist(), strict=True):
        found[k] = each
    return found


def shuffle_p_of(part: Mapping[str, Any], metric: str) -> float | None:
    """A studied setting's shuffle p of its headline; None without labels."""
    return ((part["contribution"] or {}).get("shuffle_p") or {}).get(metric)
