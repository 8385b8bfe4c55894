"""Is the judge better at steps that can be seen on the spot than at those that depend on what went before?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siming_tasks.analysis.diagnosis.frame import Frame
from siming_tasks.metrics.agreement.kappa import confusion, qwk
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.ratio_estimates import Labels, Stat, difference, estimate_stats, kappa_stat
from siming_tasks.metrics.score_matrix import BoolArray
from siming_tasks.rubrics import Rubric

__all__ = ["SCOPES", "HistoryContrast", "history_contrast"]

SCOPES = ("local", "mixed", "history")
SPLITS = 2_000


@dataclass(frozen=True)
class HistoryContrast:
    """Kappa by scope of the rubric step, and local minus history against what any split of the steps gives.

    Attributes:
        steps: number of steps of each scope.
        kappa: of judge and reference, by scope.
        contrast: kappa(local) - kappa(history); above 0 is what failing to track state predicts.
        null: 2.5 % and 97.5 % points of the contrast when steps are assigned to the scopes at random; None without it.
        rank: share of random assignments with a contrast at least as large (a one-sided p-value); None without it.
        human_kappa: kappa of the two physicians by scope, if given.
        human: the physicians' own contrast, if given.
        excess: ``contrast - human``: what is left after the steps' own difficulty.
        caveat: what to bear in mind.
    """

    steps: dict[str, int]
    kappa: dict[str, Estimate]
    contrast: Estimate
    null: tuple[float, float] | None
    rank: float | None
    human_kappa: dict[str, Estimate] | None
    human: Estimate | None
    excess: Estimate | None
    caveat: str


def history_contrast(frame: Frame, rubric: Rubric, resamples: int, rng: np.random.Generator) -> HistoryContrast:
    """Contrast of local and history steps of a judge and, if given, of the physicians."""
    scope = np.array([rubric.by_id[name].scope for name in frame.panel.step_ids])
    at = {name: scope == name for name in SCOPES}
    stats = _stats("judge", frame.truth, frame.said, at)
    if frame.raters:
        stats |= _stats("human", *frame.raters, at)
        stats["judge", "excess"] = difference(stats["judge", "contrast"], stats["human", "contrast"])
    found = estimate_stats(stats, len(frame.panel.video_ids), resamples, rng)
    contrast = found["judge", "contrast"]
    null, rank = _random_splits(frame, scope, contrast, rng)
    spread = f" Random assignments of the same sizes alone give {null[0]:+.2f} to {null[1]:+.2f}." if null else ""
    caveat = (
        "Scopes are the rubric author's, and steps differ in difficulty and in how often they fail."
        + spread
        + " Read the "
        "contrast by its rank among random assignments and beside the physicians' own."
    )
    return HistoryContrast(
        steps={name: int(mask.sum()) for name, mask in at.items()},
        kappa={name: found["judge", name] for name in SCOPES},
        contrast=contrast,
        null=null,
        rank=rank,
        human_kappa={name: found["human", name] for name in SCOPES} if frame.raters else None,
        human=found.get(("human", "contrast")),
        excess=found.get(("judge", "excess")),
        caveat=caveat,
    )


def _stats(who: str, one: Labels, other: Labels, at: dict[str, BoolArray]) -> dict[tuple[str, str], Stat]:
    stats = {
        (who, name): kappa_stat(one, other, np.broadcast_to(mask, one.shape), f"The rubric has no {name} step here.")
        for name, mask in at.items()
    }
    stats[who, "contrast"] = difference(stats[who, "local"], stats[who, "history"])
    return stats


def _random_splits(
    frame: Frame, scope: np.ndarray, contrast: Estimate, rng: np.random.Generator
) -> tuple[tuple[float, float] | None, float | None]:
    if contrast.value is None or contrast.undefined:
        return None, None
    per_step = np.stack([confusion(frame.truth[:, [s]], frame.said[:, [s]]).sum(axis=0) for s in range(len(scope))])
    shuffled = rng.permuted(np.broadcast_to(scope, (SPLITS, len(scope))), axis=1)
    local, history = (qwk((shuffled == name) @ per_step) for name in ("local", "history"))
    drawn = (local - history)[~np.isnan(local - history)]
    if not len(drawn):
        return None, None
    low, high = np.quantile(drawn, [0.025, 0.975])
    reached = int((drawn >= contrast.value - 1e-12).sum())
    return (float(low), float(high)), (1 + reached) / (1 + len(drawn))
