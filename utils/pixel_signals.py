"""Signals from decoded frames of simulated exams by classical image processing; clips as seen by the standard camera.

The reader knows the layout of the drawn scene but not a video's camera, light or clothes: everything is measured
against the same clip. Nothing here is fitted to data.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks

FPS = 10
LAST = slice(-8, None)
"""The end of a clip, when hands have gone back."""
MASK = (225, 205, 165)


def activity(frames: NDArray[np.uint8], box: tuple[int, int, int, int]) -> float:
    """Greatest share of a box (x0, y0, x1, y1) that differs from the first frame."""
    x0, y0, x1, y1 = box
    part = frames[:, y0:y1, x0:x1].astype(np.int16)
    changed = np.abs(part - part[0]).max(3) > 28
    return float(changed.mean((1, 2)).max())


def moved(frames: NDArray[np.uint8], box: tuple[int, int, int, int], share: float = 0.2) -> bool:
    """True if a good part of the box changes at any time."""
    return activity(frames, box) > share


def color(frames: NDArray[np.uint8], box: tuple[int, int, int, int]) -> NDArray[np.float64]:
    """Median colour (BGR) of a box over time and place."""
    x0, y0, x1, y1 = box
    return np.asarray(np.median(frames[:, y0:y1, x0:x1].reshape(-1, 3), axis=0), np.float64)


def far(first: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Greatest difference of two colours over the channels."""
    return float(np.abs(first - other).max())


def vertical_shift(frames: NDArray[np.uint8], box: tuple[int, int, int, int], reach: int) -> NDArray[np.float64]:
    """Shift (pixels, down positive) of the first frame's content of a box in each frame."""
    x0, y0, x1, y1 = box
    template = frames[0, y0:y1, x0:x1]
    shifts = []
    for frame in frames:
        match = cv2.matchTemplate(frame[y0 - reach : y1 + reach, x0:x1], template, cv2.TM_SQDIFF)[:, 0]
        k = int(match.argmin())
        fine = 0.0
        if 0 < k < len(match) - 1:
            a, b, c = match[k - 1], match[k], match[k + 1]
            fine = 0.5 * (a - c) / max(a - 2 * b + c, 1e-6)
        shifts.append(k + fine - reach)
    return np.array(shifts)


def head_course(
    frames: NDArray[np.uint8], box: tuple[int, int, int, int] = (205, 40, 385, 165), axis: int = 1, still: bool = False
) -> NDArray[np.float64]:
    """Position (pixels; axis 0: x, 1: y) of the face mask in a box in each frame; NaN where it is not seen.

    All masks in these drawings have one colour; what has that colour nearly all the time, or in a large area at first,
    is furniture, unless the head is known to be ``still``.
    """
    x0, y0, x1, y1 = box
    mask = (np.abs(frames[:, y0:y1, x0:x1].astype(np.int16) - np.array(MASK)) < 17).all(3)
    if not still:
        mask &= mask.mean(0) < 0.85
        for x, y, wide, high, area in cv2.connectedComponentsWithStats(mask[0].astype(np.uint8))[2][1:]:
            if area > 300:
                mask[:, y : y + high, x : x + wide] = False
    size = mask.sum((1, 2))
    places = np.arange(y0, y1)[None, :, None] if axis else np.arange(x0, x1)[None, None, :]
    return np.where(size >= 35, (mask * places).sum((1, 2)) / np.maximum(size, 1), np.nan)


def chest_rises(
    frames: NDArray[np.uint8], box: tuple[int, int, int, int] = (290, 199, 312, 219)
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Times (s), heights (pixels) and durations (s) of the chest's rises: motion of a piece of the trunk's near edge.

    The duration is that of the middle half of the way up, doubled.
    """
    up = -vertical_shift(frames, box, 17)
    up -= max(np.percentile(up, 20), 0.0)  # the clip begins at rest; what seems lower is an arm before the edge
    peaks, _ = find_peaks(np.r_[0, up, 0], prominence=1.6, plateau_size=1)
    peaks = peaks[up[peaks - 1] > 1.6] - 1
    seconds = []
    for peak in peaks:
        low, high = (peak - int(np.argmax(up[peak::-1] < share * up[peak])) for share in (0.25, 0.75))
        seconds.append(2 * (high - low) / FPS)
    return peaks / FPS, up[peaks], np.array(seconds)


def device(clip: NDArray[np.uint8]) -> tuple[float, float] | None:
    """Centre of the AED's yellow case; None where there is none."""
    blue, green, red = np.median(clip[::3], axis=0).transpose(2, 0, 1)
    yellow = (red - blue > 80) & (green - blue > 50) & (red > green + 15)
    yellow[:, 440:] = yellow[:115] = yellow[180:] = False
    ys, xs = np.nonzero(yellow)
    if len(xs) < 60:
        return None
    (left, right), (top, bottom) = np.percentile(xs, (2, 98)), np.percentile(ys, (2, 98))
    return float(left + right) / 2, float(top + bottom) / 2


def gaze(clip: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Shift (pixels) of the trainee's face to the right of the cap in each frame; NaN where it is not seen.

    The cap's colour is taken above the face mask at the end of the clip, where the trainee has come up.
    """
    x, y = (float(head_course(clip, (200, 82, 420, 165), axis)[-1]) for axis in (0, 1))
    turned = np.full(len(clip), np.nan)
    if not np.isfinite(x):
        return turned
    cap = color(clip[-1:], (round(x) - 6, round(y) - 24, round(x) + 7, round(y) - 18))
    for k, frame in enumerate(clip):
        like = (np.abs(frame[40:215, 200:420].astype(np.int16) - cap).max(2) < 16).astype(np.uint8)
        _, labels, stats, centers = cv2.connectedComponentsWithStats(like)
        best = 1 + int(stats[1:, cv2.CC_STAT_AREA].argmax()) if len(stats) > 1 else 0
        if not best or stats[best, cv2.CC_STAT_AREA] < 120:
            continue
        bottom = 40 + int(np.nonzero(labels == best)[0].max())
        middle = 200 + centers[best][0]
        at = round(middle)
        face = cv2.cvtColor(frame[bottom + 1 : bottom + 11, at - 11 : at + 12], cv2.COLOR_BGR2GRAY).astype(np.float64)
        dark = np.clip(0.55 * np.median(face) - face, 0, None)  # the eyes
        if dark.sum() > 60:
            turned[k] = at - 11 + (dark * np.arange(23)).sum() / dark.sum() - middle
    return turned
