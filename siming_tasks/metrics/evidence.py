"""Agreement of the seconds that a judge names with those of the step: temporal IoU, pointing game, chance rows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from siming_tasks.common.schema import RESAMPLES
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.ratio_estimates import Stat, estimate_stats, ratio
from siming_tasks.metrics.resample import Clusters
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray

Span = tuple[float, float]
"""(start, end) in seconds."""

CHANCE = ("random", "middle", "prior")
"""A part of the claim's length anywhere, with equal chance; in the middle of the video; where the step usually is."""

CAVEAT = (
    "A right answer may rest on an earlier event, which the step's own seconds do not show: read the share of right "
    "answers with evidence elsewhere against that of wrong answers and against the chance rows."
)


@dataclass(frozen=True)
class Evidence:
    """Numbers of one run in a setting with evidence.

    Attributes:
        claimed: share of the answered steps with a span for which at least one part is named.
        iou: mean temporal IoU of the claim and the step's span, over the claims.
        hit: share of the claims whose pointed second (the middle of the longest part) lies in the step's span.
        half: share of the claims with an IoU of at least 1/2.
        chance: the same three for each of :data:`CHANCE`, over the same claims.
        elsewhere: share of the right answers with a claim not touching the step's span: right for a wrong reason.
        elsewhere_wrong: the same share of the wrong answers.
        caveat: what to bear in mind.
    """

    claimed: Estimate
    iou: Estimate
    hit: Estimate
    half: Estimate
    chance: Mapping[str, Mapping[str, Estimate]]
    elsewhere: Estimate
    elsewhere_wrong: Estimate
    caveat: str = field(default=CAVEAT, init=False)

    def claimed_alone(self, why: str) -> Evidence:
        """The same with nothing but ``claimed``, and why."""
        none = Estimate(None, reason=why)
        chances = {row: dict.fromkeys(values, none) for row, values in self.chance.items()}
        return Evidence(self.claimed, none, none, none, chances, none, none)


def merged(parts: Sequence[Span], duration: float) -> tuple[Span, ...]:
    """The parts within a video, those that overlap as one, in order."""
    union: list[Span] = []
    for start, end in sorted((max(0.0, a), min(duration, b)) for a, b in parts):
        if start > end:
            continue
        if union and start <= union[-1][1]:
            union[-1] = union[-1][0], max(union[-1][1], end)
        else:
            union.append((start, end))
    return tuple(union)


def iou(parts: Sequence[Span], span: Span) -> float:
    """Seconds in both / seconds in either, of parts that do not overlap; 0 if either has none.

    Example:
        >>> iou([(10, 20), (30, 40)], (15, 35))  # 10 s in both, 30 s in either
        0.3333333333333333
    """
    both = sum(max(0.0, min(end, span[1]) - max(start, span[0])) for start, end in parts)
    either = sum(end - start for start, end in parts) + span[1] - span[0] - both
    return both / either if either > 0 else 0.0


def pointed(parts: Sequence[Span]) -> float:
    """The second that a claim points at: the middle of its longest part (the first of equal ones)."""
    start, end = max(parts, key=lambda part: part[1] - part[0])
    return (start + end) / 2


def chance(length: float, span: Span, duration: float) -> tuple[float, float, float]:
    """Exact expectations of a part of this length that begins anywhere in the video with equal chance.

    They are the expected IoU, the chance that its middle lies in the span, and that of an IoU of at least 1/2.
    """
    length, true = min(length, duration), span[1] - span[0]
    room = duration - length
    if room <= 0:
        overlap = iou([(0, duration)], span)
        return overlap, float(span[0] <= duration / 2 <= span[1]), float(overlap >= 0.5)
    hit = max(0.0, min(span[1], duration - length / 2) - max(span[0], length / 2)) / room
    # The overlap rises with the beginning from span[0] - length, stays at its most, and falls to nothing at span[1].
    most, total = min(length, true), length + true
    corners = (span[0] - length, span[0] - length + most, span[1] - most, span[1])
    rise, flat, fall = ((max(0.0, a), min(room, b)) for a, b in itertools.pairwise(corners))
    area = max(0.0, flat[1] - flat[0]) * most / (total - most) if most else 0.0
    half = max(0.0, flat[1] - flat[0]) * (most / (total - most) >= 0.5) if most else 0.0
    enough = total / 3  # the overlap at which the IoU is 1/2
    for (a, b), low, high in (
        (rise, rise[0] - corners[0], rise[1] - corners[0]), (fall, corners[3] - fall[1], corners[3] - fall[0])
    ):  # fmt: skip
        if b > a:
            area += low - high + total * float(np.log((total - low) / (total - high)))
            half += max(0.0, high - max(low, enough))
    return area / room, hit, half / room


def prior_spans(spans: FloatArray, durations: FloatArray) -> FloatArray:
    """Usual place of each step: the mean share of the video before its start and end in the other videos, in seconds.

    From ``spans`` ``float64[V, S, 2]`` in seconds (NaN without one) and durations ``float64[V]``, the same shape; NaN
    where no other video has the step.
    """
    shares = spans / durations[:, None, None]
    known = ~np.isnan(shares)
    others = known.sum(axis=0) - known
    total = np.where(known, shares, 0).sum(axis=0) - np.where(known, shares, 0)
    mean = np.divide(total, others, out=np.full(shares.shape, np.nan), where=others > 0)
    priors: FloatArray = mean * durations[:, None, None]
    return priors


def evidence(
    claims: Mapping[tuple[int, int], Sequence[Span]],
    spans: FloatArray,
    durations: FloatArray,
    answered: BoolArray,
    right: BoolArray,
    *,
    clusters: Clusters | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Evidence:
    """The numbers of a run, with intervals from a bootstrap over clusters of videos.

    Args:
        claims: by row and column, the parts that the judge names, in seconds of the video; without any: none.
        spans: the steps' own, ``float64[V, S, 2]`` in seconds, NaN without one; such steps are left out.
        durations: of the videos, ``float64[V]``.
        answered: ``bool[V, S]``.
        right: the answer is that of the reference, ``bool[V, S]``.
        clusters: the number of each video's cluster, ``intp[V]``; None: each is its own.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    due = answered & ~np.isnan(spans).any(axis=2)
    usual = prior_spans(spans, durations)
    rows = ("judge", *CHANCE)
    got = {row: np.zeros((3, *due.shape)) for row in rows}
    claimed, touching, expected = (np.zeros_like(due) for _ in range(3))
    for (v, s), claim in claims.items():
        if not (due[v, s] and claim):
            continue
        duration = float(durations[v])
        parts = merged(claim, duration)
        claimed[v, s] = True
        span = float(spans[v, s, 0]), float(spans[v, s, 1])
        length = sum(end - start for start, end in parts)
        touching[v, s] = any(start <= span[1] and end >= span[0] for start, end in parts)
        got["judge"][:, v, s] = _values(parts, span)
        got["random"][:, v, s] = chance(length, span, duration)
        got["middle"][:, v, s] = _values([((duration - length) / 2, (duration + length) / 2)], span)
        expected[v, s] = not np.isnan(usual[v, s]).any()
        if expected[v, s]:
            got["prior"][:, v, s] = _values([(float(usual[v, s, 0]), float(usual[v, s, 1]))], span)
    stats: dict[tuple[str, str], Stat] = {}
    for row in rows:
        over = claimed & expected if row == "prior" else claimed
        for name, values in zip(("iou", "hit", "half"), got[row], strict=True):
            stats[row, name] = ratio(values * over, over, "No step has evidence.")
    away = claimed & ~touching
    stats["judge", "claimed"] = ratio(claimed, due, "No step with a span was answered.")
    stats["judge", "elsewhere"] = ratio(away & right, claimed & right, "No right answer has evidence.")
    stats["judge", "elsewhere_wrong"] = ratio(away & ~right, claimed & ~right, "No wrong answer has evidence.")
    estimates = estimate_stats(stats, np.arange(len(durations)) if clusters is None else clusters, resamples, seed)
    return Evidence(
        **{name: value for (row, name), value in estimates.items() if row == "judge"},
        chance={row: {name: estimates[row, name] for name in ("iou", "hit", "half")} for row in CHANCE},
    )


def _values(parts: Sequence[Span], span: Span) -> tuple[float, float, float]:
    if not parts:
        return 0.0, 0.0, 0.0
    overlap = iou(parts, span)
    return overlap, float(span[0] <= pointed(parts) <= span[1]), float(overlap >= 0.5)
