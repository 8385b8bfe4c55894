"""Random appearance of a video: camera, light, clothes and room, which say nothing about the exam."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siming_tasks.tools.simulator.draw.canvas import Color

__all__ = ["HEIGHT", "WIDTH", "Appearance", "Clothes", "draw_appearance"]

WIDTH, HEIGHT = 480, 272


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
        floor, wall: their colours.
        furniture: which pieces stand in the room.
        trainee, aide, bystander: their clothes.
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
_PASTIMES = ("clipboard", "folded", "hips")
_ROOM = ("cabinet", "window", "poster", "door", "plant", "curtain")


def draw_appearance(seed: int) -> Appearance:
    """Draw the appearance that belongs to a seed.

    There is no mirror image among them: the patient's left and right would change places, and with them the right
    places for the pads.
    """
    rng = np.random.default_rng([seed, 7])
    manikin = int(rng.integers(2))
    others = [color for number, color in enumerate(_SKINS) if number != manikin]  # hands show on the chest

    def pick(colors: tuple[Color, ...]) -> Color:
        return colors[int(rng.integers(len(colors)))]

    light = float(rng.uniform(0.82, 1.02))
    tops = rng.permutation(len(_TOPS))
    caps = rng.permutation(len(_CAPS))

    def clothes(number: int) -> Clothes:
        return Clothes(_TOPS[tops[number]], pick(_LEGS), _CAPS[caps[number]], (225, 205, 165), pick(tuple(others)))

    turn = np.radians(rng.uniform(-2.5, 2.5))
    zoom = rng.uniform(0.95, 1.04)
    squeeze = rng.uniform(0.96, 1.04)  # a little more or less from above
    cos, sin = zoom * np.cos(turn), zoom * np.sin(turn)
    linear = np.array([[cos, -sin * squeeze], [sin, cos * squeeze]])
    center = np.array([WIDTH / 2, HEIGHT / 2])
    shift = center - linear @ (center + rng.uniform((10, -2), (18, 6)))  # the patient's head is the busier side
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
        pastime=_PASTIMES[int(rng.integers(len(_PASTIMES)))],
        seed=seed,
    )
