"""Appearance of a video, which says nothing about the exam, and the pen that draws through its camera."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Color = tuple[int, int, int]
Point = tuple[float, float]
Image = NDArray[np.uint8]
State = Mapping[str, float]
"""Every channel's value at one moment."""

WIDTH, HEIGHT = 480, 272
_SHIFT = 4
_UNIT = 1 << _SHIFT


@dataclass(frozen=True)
class Clothes:
    """Colours (BGR) of one person."""

    top: Color
    legs: Color
    cap: Color
    mask: Color
    skin: Color


@dataclass(frozen=True)
class Appearance:
    """The appearance of one video.

    Attributes:
        camera: world to picture, shape (2, 3).
        light: factor on the background's brightness.
        furniture: pieces in the room.
        shirt, trousers, skin: the manikin's.
        sway: amplitude of small body motion in pixels; ``beat`` its frequency in Hz.
        grain: amplitude of a fixed sensor pattern, in grey levels.
        pastime: what the bystander's hands do.
        seed: of the room's details.
    """

    camera: NDArray[np.float64]
    light: float
    floor: Color
    wall: Color
    furniture: tuple[str, ...]
    trainee: Clothes
    aide: Clothes
    bystander: Clothes
    shirt: Color
    trousers: Color
    skin: Color
    sway: float
    beat: float
    grain: float
    pastime: str
    seed: int

    def clothes(self, who: str) -> Clothes:
        """The clothes of ``me``, ``aide`` or ``by``."""
        return {"me": self.trainee, "aide": self.aide, "by": self.bystander}[who]


# No clothes are brown, beige, salmon or brick: at a glance those are bare skin. Walls are darker than white clothes, no
# floor has a skin's hue.
_SKINS: tuple[Color, ...] = ((170, 195, 235), (140, 170, 215), (110, 145, 195), (80, 110, 160))
_TOPS: tuple[Color, ...] = ((247, 246, 243), (205, 160, 90), (145, 170, 85), (185, 122, 168), (125, 95, 45))
_SHIRTS: tuple[Color, ...] = ((160, 90, 60), (60, 30, 135), (80, 120, 70), (100, 95, 95), (130, 75, 120))
_LEGS: tuple[Color, ...] = ((90, 70, 55), (75, 70, 70), (120, 95, 60), (75, 85, 60))
_CAPS: tuple[Color, ...] = ((190, 150, 70), (120, 165, 75), (200, 140, 170), (75, 40, 170))
_FLOORS: tuple[Color, ...] = ((185, 185, 180), (160, 180, 160), (195, 182, 165), (176, 182, 184), (165, 160, 158))
_WALLS: tuple[Color, ...] = ((206, 212, 214), (214, 205, 190), (196, 210, 204), (210, 202, 212))
_ROOM = ("cabinet", "window", "poster", "door", "plant", "curtain")


def draw_appearance(seed: int) -> Appearance:
    """Draw the appearance that belongs to a seed.

    There is no mirror image among them: the patient's left and right would change places, and with them the right
    places for the pads.
    """
    rng = np.random.default_rng([seed, 7])
    manikin = int(rng.integers(2))
    others = tuple(color for number, color in enumerate(_SKINS) if number != manikin)  # hands show on the chest

    def pick(colors: tuple[Color, ...]) -> Color:
        return colors[int(rng.integers(len(colors)))]

    light = float(rng.uniform(0.82, 1.02))
    tops = rng.permutation(len(_TOPS))
    caps = rng.permutation(len(_CAPS))

    def clothes(number: int) -> Clothes:
        return Clothes(_TOPS[tops[number]], pick(_LEGS), _CAPS[caps[number]], (225, 205, 165), pick(others))

    turn = np.radians(rng.uniform(-2.5, 2.5))
    zoom = rng.uniform(0.95, 1.04)
    squeeze = rng.uniform(0.96, 1.04)  # a little more or less from above
    cos, sin = zoom * np.cos(turn), zoom * np.sin(turn)
    linear = np.array([[cos, -sin * squeeze], [sin, cos * squeeze]])
    center = np.array([WIDTH / 2, HEIGHT / 2])
    shift = center - linear @ (center + rng.uniform((10, -2), (18, 6)))  # the patient's head is the busier side
    # The arguments are drawn in this order; another one would change every video.
    return Appearance(
        camera=np.column_stack([linear, shift]),
        light=light,
        floor=pick(_FLOORS),
        wall=pick(_WALLS),
        furniture=tuple(rng.choice(_ROOM, size=3, replace=False).tolist()),
        trainee=clothes(0),
        aide=clothes(1),
        bystander=clothes(2),
        shirt=pick(_SHIRTS),
        trousers=pick(_LEGS),
        skin=_SKINS[manikin],
        sway=float(rng.uniform(0.2, 0.8)),
        beat=float(rng.uniform(0.15, 0.35)),
        grain=float(rng.uniform(0, 1.5)),
        pastime=("clipboard", "folded", "hips")[int(rng.integers(3))],
        seed=seed,
    )


@lru_cache(maxsize=4096)
def shade(color: Color, factor: float = 0.72) -> Color:
    """The colour made darker (or, above 1, lighter)."""
    blue, green, red = (min(255, int(part * factor)) for part in color)
    return blue, green, red


class Pen:
    """Draws anti-aliased shapes on one image; world units are pixels of an unzoomed 480 x 272 picture.

    Args:
        image: shape (height, width, 3), BGR, drawn upon in place.
        camera: world to picture, shape (2, 3): ``camera @ (x, y, 1)``; a turn, a zoom and a shift.
    """

    def __init__(self, image: Image, camera: NDArray[np.float64]) -> None:
        import cv2

        self._cv2: Any = cv2
        self.image = image
        a, b, c, d, e, f = camera.ravel().tolist()
        # OpenCV takes sixteenths of a pixel.
        self._world = (a * _UNIT, b * _UNIT, c * _UNIT + 0.5, d * _UNIT, e * _UNIT, f * _UNIT + 0.5)
        self.zoom = math.hypot(a, d)
        self._turn = math.degrees(math.atan2(d, a))

    def at(self, point: Point) -> tuple[float, float]:
        """A world point in pixels."""
        ((x, y),) = self._fixed([point])
        return x / _UNIT, y / _UNIT

    def _fixed(self, points: Sequence[Point]) -> list[tuple[int, int]]:
        # Plain numbers: for the few points of a shape they are faster than an array, and a video has 100,000s.
        a, b, c, d, e, f = self._world
        return [(int(a * x + b * y + c), int(d * x + e * y + f)) for x, y in points]

    def line(self, points: Sequence[Point], color: Color, width: float = 1.0) -> None:
        """A stroke with round ends through the points."""
        thick, fixed = max(1, round(width * self.zoom)), self._fixed(points)
        if len(points) == 2:
            self._cv2.line(self.image, *fixed, color, thick, self._cv2.LINE_AA, _SHIFT)
        else:
            outline = [np.array(fixed, np.int32)]
            self._cv2.polylines(self.image, outline, False, color, thick, self._cv2.LINE_AA, _SHIFT)

    def fill(self, points: Sequence[Point], color: Color) -> None:
        """A filled polygon."""
        outline = [np.array(self._fixed(points), np.int32)]
        self._cv2.fillPoly(self.image, outline, color, self._cv2.LINE_AA, _SHIFT)

    def disc(self, center: Point, radius: float, color: Color) -> None:
        """A filled circle."""
        size = int(radius * self.zoom * _UNIT)
        self._cv2.circle(self.image, *self._fixed([center]), size, color, -1, self._cv2.LINE_AA, _SHIFT)

    def oval(
        self, center: Point, half: Point, color: Color, angle: float = 0.0, arc: tuple[float, float] = (0, 360)
    ) -> None:
        """A filled ellipse (or a part of it) with half axes ``half``, turned clockwise by ``angle`` degrees."""
        axes = (max(1, int(half[0] * self.zoom * _UNIT)), max(1, int(half[1] * self.zoom * _UNIT)))
        shape = (*self._fixed([center]), axes, angle + self._turn, *arc)
        self._cv2.ellipse(self.image, *shape, color, -1, self._cv2.LINE_AA, _SHIFT)

    def box(self, center: Point, half: Point, color: Color, angle: float = 0.0) -> None:
        """A filled rectangle with half sides ``half``, turned clockwise by ``angle`` degrees."""
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        points = [(i * half[0], j * half[1]) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
        self.fill([(center[0] + x * cos - y * sin, center[1] + x * sin + y * cos) for x, y in points], color)

    def rimmed(self, center: Point, outer: Point, inner: Point, color: Color) -> None:
        """An ellipse with a darker rim, light falling from above."""
        self.oval(center, outer, shade(color))
        self.oval((center[0], center[1] - 0.8), inner, color)
