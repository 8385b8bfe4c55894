"""What every diagnosis looks at: one panel as labels, the two physicians beside it, and estimates that share resamples.

Labels are those of the answer: 0..3 for points, 0 (wrong) and 1 (correct) for verdicts. With two labels the weights of
kappa do not matter, so one formula serves both.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from siming_tasks.errors import DataError
from siming_tasks.metrics.agreement.kappa import confusion, qwk
from siming_tasks.metrics.agreement.labels import LabelMapping, ordinal_labels
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.panel import BoolArray, FloatArray, Panel
from siming_tasks.metrics.resample import bootstrap, intervals, observed
from siming_tasks.metrics.summary import TRUSTED

__all__ = ["Frame", "Stat", "difference", "estimates", "frame_of", "kappa_stat", "ratio"]

Labels = NDArray[np.int8]
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, eq=False)
class Frame:
    """Labels of the reference, the judge and (if given) the two physicians, ``int8[V, S]``; -1 is no label.

    ``truth`` and ``said`` are known for the same steps: asked, with a reference, answered. ``best`` is the label of a
    fully correct step. ``points`` are the two physicians' points, ``raters`` their labels; ``rated`` marks steps that
    both rated and ``disputed`` those to which they gave different points.
    """

    panel: Panel
    truth: Labels
    said: Labels
    best: int
    points: tuple[FloatArray, FloatArray] | None
    raters: tuple[Labels, Labels] | None
    rated: BoolArray
    disputed: BoolArray

    @property
    def both(self) -> BoolArray:
        """Steps that count: asked, with a reference, answered."""
        known: BoolArray = self.truth >= 0
        return known

    @property
    def failed_truth(self) -> BoolArray:
        """Steps with the lowest label by the reference."""
        failed: BoolArray = self.truth == 0
        return failed

    @property
    def failed_said(self) -> BoolArray:
        """Steps with the lowest label by the judge."""
        failed: BoolArray = self.said == 0
        return failed


def frame_of(
    panel: Panel,
    rater_a: FloatArray | None = None,
    rater_b: FloatArray | None = None,
    mapping: LabelMapping = "absolute",
) -> Frame:
    """Arrange a panel and its physicians' points (``float[V, S]`` in the panel's order, NaN = not rated).

    Videos are sorted by id, so that no result depends on how rows arrived.

    Raises:
        DataError: only one rater is given, or its shape is not the panel's.
    """
    if (rater_a is None) != (rater_b is None):
        raise DataError("Diagnostics compare two physicians: give both raters or neither.")
    order = np.array(sorted(range(len(panel.video_ids)), key=panel.video_ids.__getitem__), dtype=np.intp)
    panel = panel.videos(order)
    both = panel.counted & panel.answered
    points: tuple[FloatArray, FloatArray] | None = None
    if rater_a is not None and rater_b is not None:
        for rater in (rater_a, rater_b):
            if np.shape(rater) != panel.reference.shape:
                raise DataError(f"A rater has shape {np.shape(rater)}, not {panel.reference.shape} (videos, steps).")
        points = np.asarray(rater_a, np.float64)[order], np.asarray(rater_b, np.float64)[order]

    def labels(values: FloatArray, keep: BoolArray) -> Labels:
        if panel.answer == "score":
            return ordinal_labels(np.where(keep, values, np.nan), panel.max_score, mapping)
        return np.where(keep, values >= panel.max_score, -1).astype(np.int8)

    if panel.answer == "score":
        said = labels(panel.predicted, both)
    else:
        said = np.where(both, panel.predicted == 0, -1).astype(np.int8)
    rated, disputed, raters = np.zeros_like(both), np.zeros_like(both), None
    if points:
        a, b = points
        rated = panel.counted & ~np.isnan(a) & ~np.isnan(b)
        disputed = rated & (a != b)
        raters = labels(a, rated), labels(b, rated)
    return Frame(
        panel=panel,
        truth=labels(panel.reference, both),
        said=said,
        best=3 if panel.answer == "score" else 1,
        points=points,
        raters=raters,
        rated=rated,
        disputed=disputed,
    )


@dataclass(frozen=True, eq=False)
class Stat:
    """A number as a formula of counts that add up over videos.

    Attributes:
        counts: ``float64[V, C]``.
        formula: sums ``float64[B, C]`` to values ``float64[B]``, NaN where undefined.
        items: how many steps (or videos) it rests on.
        needs: what is missing when there is nothing to rest on, as a sentence.
    """

    counts: FloatArray
    formula: Callable[[FloatArray], FloatArray]
    items: int
    needs: str = "No step to rest on."


def estimates(stats: Mapping[K, Stat], videos: int, resamples: int, rng: np.random.Generator) -> dict[K, Estimate]:
    """Every statistic with the standard error and percentile interval of one shared bootstrap over videos."""
    counts = np.concatenate([stat.counts for stat in stats.values()], axis=1)  # one product for all statistics
    ends = np.cumsum([stat.counts.shape[1] for stat in stats.values()])[:-1]

    def compute(weights: FloatArray) -> dict[K, FloatArray]:
        parts = np.split(weights @ counts, ends, axis=1)
        return {key: stat.formula(part) for (key, stat), part in zip(stats.items(), parts, strict=True)}

    values = observed(compute, videos)
    spread: dict[K, list[float]] = {}
    if videos > 1 and resamples > 0:
        drawn = bootstrap(compute, videos, resamples=resamples, seed=int(rng.integers(2**63)))
        table = np.stack(list(drawn.values()))
        columns = np.concatenate([intervals(table), np.isnan(table).mean(axis=1)[:, None]], axis=1)
        spread = dict(zip(drawn, columns.tolist(), strict=True))
    return {key: _estimate(stat, values[key], spread.get(key)) for key, stat in stats.items()}


def ratio(numerator: NDArray[np.generic], denominator: NDArray[np.generic], needs: str = "No step to rest on.") -> Stat:
    """Share of marked steps: sums of two ``[V, S]`` (or ``[V]``) arrays over each other."""
    parts = [np.asarray(part, np.float64).reshape(len(part), -1).sum(axis=1) for part in (numerator, denominator)]
    return Stat(np.stack(parts, axis=1), _share, int(np.count_nonzero(denominator)), needs)


def difference(first: Stat, second: Stat) -> Stat:
    """``first - second``, undefined where either is."""
    cut = first.counts.shape[1]
    return Stat(
        np.concatenate([first.counts, second.counts], axis=1),
        lambda sums: first.formula(sums[:, :cut]) - second.formula(sums[:, cut:]),
        min(first.items, second.items),
        first.needs if not first.items else second.needs,
    )


def kappa_stat(one: Labels, other: Labels, where: BoolArray | None = None, needs: str = "No step to rest on.") -> Stat:
    """Quadratic weighted kappa of two sets of labels, over the steps in ``where``."""
    if where is not None:
        one, other = np.where(where, one, -1).astype(np.int8), np.where(where, other, -1).astype(np.int8)
    counts = confusion(one, other)
    return Stat(counts, qwk, int(counts.sum()), needs)


def _share(sums: FloatArray) -> FloatArray:
    out = np.full(len(sums), np.nan)
    np.divide(sums[:, 0], sums[:, 1], out=out, where=sums[:, 1] > 0)
    return out


def _estimate(stat: Stat, value: float, spread: Sequence[float] | None) -> Estimate:
    """``spread``: standard error, both ends of the interval, share of undefined resamples."""
    videos = int(stat.counts.any(axis=1).sum())
    if not stat.items:
        return Estimate(None, reason=stat.needs)
    if np.isnan(value):
        return Estimate(0.0, n_videos=videos, n_items=stat.items, undefined=True, reason="0/0 in these data.")
    if spread is None:
        return Estimate(value, n_videos=videos, n_items=stat.items)
    stderr, low, high, share = spread
    flags = ("few-videos",) * (videos < TRUSTED) + ("undefined-replicates",) * (share > 0.01)
    return Estimate(value, stderr, low, high, videos, stat.items, undefined_share=share, flags=flags)
