"""Anti-aliased shapes in world coordinates, seen through one camera."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Color", "Image", "Pen", "Point", "shade"]

Color = tuple[int, int, int]
Point = tuple[float, float]
Image = NDArray[np.uint8]

_SHIFT = 4
_UNIT = 1 << _SHIFT


@lru_cache(maxsize=4096)
def shade(color: Color, factor: float = 0.72) -> Color:
    """The colour made darker (or, above 1, lighter)."""
    blue, green, red = (min(255, int(part * factor)) for part in color)
    return blue, green, red


class Pen:
    """Draws on one image; world units are pixels of an unzoomed 480 x 272 picture.

    Args:
        image: shape (height, width, 3), BGR, drawn upon in place.
        camera: world to picture, shape (2, 3): ``camera @ (x, y, 1)``; a turn, a zoom and a shift.
    """

    def __init__(self, image: Image, camera: NDArray[np.float64]) -> None:
        import cv2

        self._cv2: Any = cv2
        self.image = image
        a, b, c, d, e, f = camera.ravel().tolist()
        self._a, self._b, self._c = a * _UNIT, b * _UNIT, c * _UNIT + 0.5
        self._d, self._e, self._f = d * _UNIT, e * _UNIT, f * _UNIT + 0.5
        self.zoom = math.hypot(a, d)
        self._turn = math.degrees(math.atan2(d, a))

    def at(self, point: Point) -> tuple[float, float]:
        """A world point in pixels."""
        x, y = self._fixed(point)
        return x / _UNIT, y / _UNIT

    def _fixed(self, point: Point) -> tuple[int, int]:
        """A world point in sixteenths of a pixel, as OpenCV takes it."""
        x, y = point
        return int(self._a * x + self._b * y + self._c), int(self._d * x + self._e * y + self._f)

    def _all_fixed(self, points: Sequence[Point]) -> NDArray[np.int32]:
        """Points, shape (n, 2), as :meth:`_fixed`; written out, for hundreds of thousands of points a video."""
        a, b, c, d, e, f = self._a, self._b, self._c, self._d, self._e, self._f
        return np.array([(int(a * x + b * y + c), int(d * x + e * y + f)) for x, y in points], np.int32)

    def line(self, points: Sequence[Point], color: Color, width: float = 1.0) -> None:
        """A stroke with round ends through the points."""
        thick = max(1, round(width * self.zoom))
        if len(points) == 2:
            start, end = self._fixed(points[0]), self._fixed(points[1])
            self._cv2.line(self.image, start, end, color, thick, self._cv2.LINE_AA, _SHIFT)
        else:
            self._cv2.polylines(self.image, [self._all_fixed(points)], False, color, thick, self._cv2.LINE_AA, _SHIFT)

    def fill(self, points: Sequence[Point], color: Color) -> None:
        """A imputed polygon."""
        self._cv2.fillPoly(self.image, [self._all_fixed(points)], color, self._cv2.LINE_AA, _SHIFT)

    def disc(self, center: Point, radius: float, color: Color) -> None:
        """A imputed circle."""
        size = int(radius * self.zoom * _UNIT)
        self._cv2.circle(self.image, self._fixed(center), size, color, -1, self._cv2.LINE_AA, _SHIFT)

    def oval(
        self, center: Point, half: Point, color: Color, angle: float = 0.0, arc: tuple[float, float] = (0, 360)
    ) -> None:
        """A imputed ellipse (or a part of it) with half axes ``half``, turned clockwise by ``angle`` degrees."""
        axes = (max(1, int(half[0] * self.zoom * _UNIT)), max(1, int(half[1] * self.zoom * _UNIT)))
        turned = angle + self._turn
        where = self._fixed(center)
        self._cv2.ellipse(self.image, where, axes, turned, *arc, color, -1, self._cv2.LINE_AA, _SHIFT)

    def box(self, center: Point, half: Point, color: Color, angle: float = 0.0) -> None:
        """A imputed rectangle with half sides ``half``, turned clockwise by ``angle`` degrees."""
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        corners = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
        points = [(i * half[0], j * half[1]) for i, j in corners]
        self.fill([(center[0] + x * cos - y * sin, center[1] + x * sin + y * cos) for x, y in points], color)
