"""Chest compressions in a clip: when, how deep, where, and whether the chest comes back and the hands stay on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from pixel_signals import FPS, head_course, vertical_shift
from scipy.signal import find_peaks

__all__ = ["Strokes", "strokes"]

Clip = NDArray[np.uint8]
CM = 2.2
HEAD = 1.22 * CM
"""Pixels that the head of somebody with straight arms goes down in a centimetre of the hands' way."""
EDGE = 0.64 * CM
"""Pixels that the near edge of the trunk goes down in a centimetre of depth."""


@dataclass(frozen=True)
class Strokes:
    """Compressions: times in s, depth and ``rest`` (what is left of it between strokes) in cm below the chest at rest.

    ``lift`` is the way of the hands in cm that is not the chest's; ``place`` is the x of the hands.
    """

    times: NDArray[np.float64] = field(default_factory=lambda: np.array([]))
    depth: float = 0.0
    rest: float = 0.0
    lift: float = 0.0
    place: float = 0.0


def strokes(clip: Clip) -> Strokes:
    """The compressions of a clip.

    The head goes up and down with straight arms, before a still wall: it tells times and the hands' way. How far the
    chest goes, and whether it comes back, is seen at the near edge of the trunk, below the hands.
    """
    down = head_course(clip) / HEAD
    if np.isfinite(down).sum() <= 10:
        return Strokes()
    down = np.where(np.isfinite(down), down, np.nanmin(down))
    peaks = _peaks(down)
    if len(peaks) < 2:
        return Strokes()
    rests = np.array([start + int(down[start:end].argmin()) for start, end in pairwise(peaks)])
    way = float(np.median(down[peaks[1:]] - down[rests]))
    place = _place(clip, peaks)
    pressed, rest = _chest(clip, place, peaks, rests)
    highest = float(np.percentile(down[peaks[1:]] - down[rests], 80))  # a short moment, not met by every frame
    lift = max(highest + rest - pressed, 0.0)
    return Strokes(peaks / FPS, pressed if lift > 2.5 else way + rest, rest, lift, place)


def _peaks(down: NDArray[np.float64]) -> NDArray[np.int64]:
    """Frames in which the head is lowest."""
    peaks, properties = find_peaks(np.r_[down[0], down, down[-1]], prominence=0.7, plateau_size=(None, 5))
    peaks -= 1
    if len(peaks):
        peaks = peaks[properties["prominences"] > 0.4 * np.median(properties["prominences"])]
    while len(peaks) > 3 and peaks[1] - peaks[0] > 1.5 * np.median(np.diff(peaks)):
        peaks = peaks[1:]  # bending down to find the place is not a stroke
    if len(peaks) > 2:
        gap = int(np.median(np.diff(peaks)))
        if down[peaks[0]] - down[max(peaks[0] - gap, 0) : peaks[0]].min(initial=np.inf) < 1:
            peaks = peaks[1:]  # nor is a rest in that posture
    return np.asarray(peaks, np.int64)


def _place(clip: Clip, peaks: NDArray[np.int64]) -> float:
    """Place along the body (x) where the chest looks different when pressed and when released."""
    between = [(start + end) // 2 for start, end in pairwise(peaks)]
    pressed, released = (np.median(clip[at, 191:212, 205:345], axis=0) for at in (peaks, between))
    change = np.convolve(np.abs(pressed - released).mean(2).sum(0), np.ones(9) / 9, "same")
    change[change < change.max() / 2] = 0
    return 205 + float((change * np.arange(140)).sum() / change.sum())


def _chest(clip: Clip, place: float, peaks: NDArray[np.int64], rests: NDArray[np.int64]) -> tuple[float, float]:
    """Depth (cm) pressed and between strokes where the edge goes deepest, against the clip's untouched beginning."""
    best = 0.0, 0.0
    for x in range(round(place) - 12, round(place) + 13, 6):
        left = min(max(x, 245), 312) - 7  # free of trousers and the patient's arm
        course = vertical_shift(clip, (left, 203, left + 14, 214), 16) / EDGE
        best = max(best, (float(np.median(course[peaks])), float(np.median(course[rests]))))
    return best
