"""How far into the procedure does the judge stay right? First divergence and strict sequential credit."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from siming_tasks.analysis.diagnosis.frame import Frame
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.ratio_estimates import Stat, estimate_stats, ratio
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray

__all__ = ["Divergence", "prefix", "sequence"]

CAVEAT = (
    "A step is judged right when judge and reference agree on whether it is fully correct; unanswered steps are passed "
    "over. Credit by itself flatters constants: where most steps are correct, saying so of every step can earn more "
    "than a weak judge does. Only the difference from the best constant means anything."
)


@dataclass(frozen=True)
class Divergence:
    """Steps judged right before the first one judged wrong, in rubric order.

    Attributes:
        credit: mean share of a video's steps that come before the first divergence.
        constant: the same for the better of always-correct and always-wrong.
        gain: ``credit - constant``, the number to read.
        flawless: share of videos without any divergence.
        median: median position (1 = the first step) of the first divergence among videos that have one; None if none.
        caveat: what to bear in mind.
    """

    credit: Estimate
    constant: Estimate
    gain: Estimate
    flawless: Estimate
    median: float | None
    caveat: str = field(default=CAVEAT, init=False)


def sequence(frame: Frame, resamples: int, rng: np.random.Generator) -> Divergence:
    """Strict sequential credit of a judge."""
    both = frame.both
    wrong, called = frame.panel.reference_wrong, frame.panel.predicted_wrong
    asked = both.sum(axis=1)
    known = (asked > 0).astype(np.float64)
    share = {}
    for name, says in (("judge", called), ("correct", np.zeros_like(called)), ("wrong", np.ones_like(called))):
        share[name] = prefix(wrong == says, both) / np.maximum(asked, 1)
    counts = np.stack([share["judge"], share["correct"], share["wrong"], known], axis=1) * known[:, None]
    items, needs = int(known.sum()), "No step was answered."

    def stat(pick: str) -> Stat:
        def value(sums: FloatArray) -> FloatArray:
            judge, correct, all_wrong, n = sums.T
            constant = np.maximum(correct, all_wrong)
            top = {"credit": judge, "constant": constant, "gain": judge - constant}[pick]
            out = np.full(len(sums), np.nan)
            np.divide(top, n, out=out, where=n > 0)
            return out

        return Stat(counts, value, items, needs)

    stats = {name: stat(name) for name in ("credit", "constant", "gain")}
    flawless = (share["judge"] == 1) & (asked > 0)
    stats["flawless"] = ratio(flawless, known, needs)
    first = (prefix(wrong == called, both) + 1)[(asked > 0) & ~flawless]
    return Divergence(
        **estimate_stats(stats, len(asked), resamples, rng), median=float(np.median(first)) if len(first) else None
    )


def prefix(right: BoolArray, both: BoolArray) -> FloatArray:
    """Counted steps before the first counted step that is not right, ``float64[V]``."""
    open_until = np.cumsum(both & ~right, axis=1) == 0
    return np.asarray((open_until & both).sum(axis=1), dtype=np.float64)
