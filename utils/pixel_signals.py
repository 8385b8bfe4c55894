"""A small non-learned reader of simulated exams: signals from decoded frames by classical image processing.

It knows the layout of the drawn scene but not a video's camera, light or colours: the camera is recovered from the wall
clock and the floor's edge, everything else is measured against the same video. Nothing here is fitted to data.
"""

from __future__ import annotations

from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks

FPS = 10
MASK = (225, 205, 165)
CM = 2.2
CLOCK, RIM = (318.0, 30.0), 17.65
EDGE = 109.0
"""Upper side of the skirting, which is the strongest edge."""


def rectify(frames: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Frames (T, 272, 480, 3) as seen by the standard camera: turn from the floor's edge, scale from the clock."""
    camera = find_camera(np.median(frames[:: max(1, len(frames) // 9)], axis=0).astype(np.uint8))
    inverse = cv2.invertAffineTransform(camera)
    return np.stack([cv2.warpAffine(frame, inverse, (480, 272), flags=cv2.INTER_LINEAR) for frame in frames])


def find_camera(image: NDArray[np.uint8]) -> NDArray[np.float64]:
    """World to picture, shape (2, 3), from the clock's circle and the line between wall and floor."""
    gray = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    circles = cv2.HoughCircles(gray[:90], cv2.HOUGH_GRADIENT, 1, 40, param1=120, param2=14, minRadius=14, maxRadius=20)
    if circles is None:
        raise ValueError("no wall clock found")
    # The clock is white with a dark rim: take the candidate with the lightest face.
    found = [tuple(map(float, circle)) for circle in circles[0]]
    x, y, _ = max(found, key=lambda c: _face(gray, c) - abs(c[0] - 308) / 2)
    slope, offset = _floor_edge(image)
    turn = np.arctan(slope)
    zoom = _rim(gray, x, y) / RIM
    down = (slope * x + offset - y) * np.cos(turn) / (EDGE - CLOCK[1])  # vertical scale from clock to floor
    cos, sin = np.cos(turn), np.sin(turn)
    linear = np.array([[zoom * cos, -down * sin], [zoom * sin, down * cos]])
    return np.column_stack([linear, np.array([x, y]) - linear @ np.array(CLOCK)])


def _face(gray: NDArray[np.uint8], circle: tuple[float, float, float]) -> float:
    x, y, _ = (round(part) for part in circle)
    return float(gray[max(y - 7, 0) : y + 8, max(x - 7, 0) : x + 8].mean())


def _rim(gray: NDArray[np.uint8], x: float, y: float) -> float:
    """Outer radius of the clock's dark rim in pixels, to a fraction: where the mean over all angles rises most."""
    angles, radii = np.linspace(0, 2 * np.pi, 180, endpoint=False), np.arange(12, 24, 0.25)
    xs = (x + np.outer(radii, np.cos(angles))).astype(np.float32)
    ys = (y + np.outer(radii, np.sin(angles))).astype(np.float32)
    ring = np.median(cv2.remap(gray, xs, ys, cv2.INTER_LINEAR), axis=1).astype(np.float64)
    low = int(ring.argmin())
    half = (ring[low] + np.median(ring[low + 12 :])) / 2
    after = np.arange(low, len(radii))
    k = int(after[ring[low:] > half][0])
    return float(radii[k - 1] + 0.25 * (half - ring[k - 1]) / max(ring[k] - ring[k - 1], 1e-6))


def _floor_edge(image: NDArray[np.uint8]) -> tuple[float, float]:
    """Slope and offset of the wall's lower edge: a robust line through the strongest edge of each column."""
    gray = cv2.GaussianBlur(image, (3, 3), 0).astype(np.float64)
    step = np.abs(gray[6:] - gray[:-6]).sum(2)[70:150]
    xs, ys = np.arange(480), step.argmax(0) + 73.0
    best, line = -1, (0.0, 0.0)
    for left in range(0, 240, 6):
        for right in range(left + 160, 480, 12):
            slope = (ys[right] - ys[left]) / (right - left)
            if abs(slope) < 0.06:
                hits = np.abs(ys - ys[left] - slope * (xs - left)) < 1.3
                if hits.sum() > best:
                    best, line = int(hits.sum()), tuple(np.polyfit(xs[hits], ys[hits], 1))
    return float(line[0]), float(line[1])


def activity(frames: NDArray[np.uint8], box: tuple[int, int, int, int]) -> float:
    """Greatest share of a box (x0, y0, x1, y1) that differs from the first frame."""
    x0, y0, x1, y1 = box
    part = frames[:, y0:y1, x0:x1].astype(np.int16)
    changed = np.abs(part - part[0]).max(3) > 28
    return float(changed.mean((1, 2)).max())


def color(frames: NDArray[np.uint8], box: tuple[int, int, int, int]) -> NDArray[np.float64]:
    """Median colour (BGR) of a box over time and place."""
    x0, y0, x1, y1 = box
    return np.median(frames[:, y0:y1, x0:x1].reshape(-1, 3), axis=0)


def vertical_shift(frames: NDArray[np.uint8], box: tuple[int, int, int, int], reach: int) -> NDArray[np.float64]:
    """How far (pixels, down positive) the first frame's content of a box has moved in each frame."""
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


def stroke_place(frames: NDArray[np.uint8], peaks: NDArray[np.int64]) -> float:
    """Where along the body (x) the chest looks different when pressed and when released."""
    rests = [(one + other) // 2 for one, other in pairwise(peaks)]
    pressed, released = (np.median(frames[at, 191:212, 205:345], axis=0) for at in (peaks, rests))
    change = np.convolve(np.abs(pressed - released).mean(2).sum(0), np.ones(9) / 9, "same")
    change[change < change.max() / 2] = 0
    return 205 + float((change * np.arange(140)).sum() / change.sum())


def strokes(frames: NDArray[np.uint8]) -> dict[str, NDArray[np.float64] | float]:
    """Compressions: times (s), depths (cm), depth left between strokes (cm), place (x), lift of the hands (cm).

    The head goes up and down with straight arms, before a still wall: it is followed, not the hands.
    """
    none = {"times": np.array([]), "depths": np.array([]), "rests": np.array([]), "place": 0.0, "lift": 0.0}
    down = head_course(frames) / (1.22 * CM)
    if np.isfinite(down).sum() <= 10:
        return none
    down = np.where(np.isfinite(down), down, np.nanmin(down))
    peaks, found = find_peaks(np.r_[down[0], down, down[-1]], prominence=0.7, plateau_size=(None, 5))
    peaks -= 1
    strong = found["prominences"] > 0.4 * np.median(found["prominences"]) if len(peaks) else []
    peaks = peaks[strong]
    while len(peaks) > 3 and peaks[1] - peaks[0] > 1.5 * np.median(np.diff(peaks)):
        peaks = peaks[1:]  # bending down to find the place is not a stroke
    if len(peaks) < 2:
        return none
    gap = int(np.median(np.diff(peaks)))
    if len(peaks) > 2 and down[peaks[0]] - down[max(peaks[0] - gap, 0) : peaks[0]].min(initial=np.inf) < 1:
        peaks = peaks[1:]  # nor is a rest in that posture
    rests = np.array([down[one:other].min() for one, other in pairwise(peaks)])
    before = down[max(peaks[0] - gap, 0) : peaks[0] + 1].min()
    depths = down[peaks] - np.r_[before, rests]
    return {
        "times": peaks / FPS,
        "depths": depths,
        "rests": rests - before,
        "place": stroke_place(frames, peaks),
        "lift": before - float(np.median(rests)),
    }


def head_course(
    frames: NDArray[np.uint8], box: tuple[int, int, int, int] = (205, 40, 385, 165), axis: int = 1
) -> NDArray[np.float64]:
    """Position (pixels; axis 0: x, 1: y) of the face mask in a box in each frame; NaN where it is not seen.

    All masks in these drawings have one colour; what has that colour nearly all the time is furniture.
    """
    x0, y0, x1, y1 = box
    mask = (np.abs(frames[:, y0:y1, x0:x1].astype(np.int16) - np.array(MASK)) < 17).all(3)
    if axis:
        mask &= mask.mean(0) < 0.85
    size = mask.sum((1, 2))
    places = np.arange(y0, y1)[None, :, None] if axis else np.arange(x0, x1)[None, None, :]
    return np.where(size >= 35, (mask * places).sum((1, 2)) / np.maximum(size, 1), np.nan)


def chest_rises(
    frames: NDArray[np.uint8], box: tuple[int, int, int, int] = (290, 199, 312, 219)
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times (s) and heights (pixels) of the chest's rises: the motion of a piece of the near edge of the trunk."""
    up = -vertical_shift(frames, box, 17)
    up -= np.percentile(up, 20)
    peaks, _ = find_peaks(np.r_[0, up, 0], prominence=2.2, plateau_size=1)
    keep = up[peaks - 1] > 2.2
    return (peaks[keep] - 1) / FPS, up[peaks[keep] - 1]
