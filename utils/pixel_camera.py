"""The camera of a simulated exam, recovered from its picture: turn from the floor's edge, scale from the wall clock."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["find_camera", "rectify"]

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
    gray = np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), np.uint8)
    circles = cv2.HoughCircles(gray[:90], cv2.HOUGH_GRADIENT, 1, 40, param1=120, param2=14, minRadius=14, maxRadius=20)
    if circles is None:
        raise ValueError("no wall clock found")
    # The clock is white with a dark rim: take the candidate with the lightest face.
    candidates = [(float(x), float(y), float(r)) for x, y, r in circles[0]]
    x, y, _ = max(candidates, key=lambda c: _face(gray, c) - abs(c[0] - 308) / 2)
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
