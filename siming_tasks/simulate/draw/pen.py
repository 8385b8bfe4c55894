"""Anti-aliased shapes in world coordinates, seen through one camera."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Color", "Image", "Pen", "Point"]

Color = tuple[int, int, int]
Point = tuple[float, float]
Image = NDArray[np.uint8]

_SHIFT = 4
_UNIT = 1 << _SHIFT


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
        self._a, self._b, self._c, self._d, self._e, self._f = camera.ravel().tolist()
        self.zoom = float(np.hypot(self._a, self._d))
        self._turn = float(np.degrees(np.arctan2(self._d, self._a)))

    def at(self, point: Point) -> tuple[float, float]:
        """A world point in pixels."""
        x, y = point
        return self._a * x + self._b * y + self._c, self._d * x + self._e * y + self._f

    def _fixed(self, point: Point) -> tuple[int, int]:
        x, y = point
        return (
            int((self._a * x + self._b * y + self._c) * _UNIT + 0.5),
            int((self._d * x + self._e * y + self._f) * _UNIT + 0.5),
        )

    def line(self, points: Sequence[Point], color: Color, width: float = 1.0) -> None:
        """A stroke with round ends through the points."""
        thick = max(1, round(width * self.zoom))
        fixed = [self._fixed(point) for point in points]
        for start, end in zip(fixed, fixed[1:], strict=False):
            self._cv2.line(self.image, start, end, color, thick, self._cv2.LINE_AA, _SHIFT)

    def fill(self, points: Sequence[Point], color: Color) -> None:
        """A filled polygon."""
        fixed = np.array([self._fixed(point) for point in points], np.int32)
        self._cv2.fillPoly(self.image, [fixed], color, self._cv2.LINE_AA, _SHIFT)

    def disc(self, center: Point, radius: float, color: Color) -> None:
        """A filled circle."""
        size = int(radius * self.zoom * _UNIT)
        self._cv2.circle(self.image, self._fixed(center), size, color, -1, self._cv2.LINE_AA, _SHIFT)

    def oval(
        self, center: Point, half: Point, color: Color, angle: float = 0.0, arc: tuple[float, float] = (0, 360)
    ) -> None:
        """A filled ellipse (or a part of it) with half axes ``half``, turned clockwise by ``angle`` degrees."""
        axes = (max(1, int(half[0] * self.zoom * _UNIT)), max(1, int(half[1] * self.zoom * _UNIT)))
        turned = angle + self._turn
        where = self._fixed(center)
        self._cv2.ellipse(self.image, where, axes, turned, *arc, color, -1, self._cv2.LINE_AA, _SHIFT)

    def box(self, center: Point, half: Point, color: Color, angle: float = 0.0) -> None:
        """A filled rectangle with half sides ``half``, turned clockwise by ``angle`` degrees."""
        cos, sin = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        corners = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
        points = [(i * half[0], j * half[1]) for i, j in corners]
        self.fill([(center[0] + x * cos - y * sin, center[1] + x * sin + y * cos) for x, y in points], color)
