"""The room behind the exam: drawn once per video."""

from __future__ import annotations

import numpy as np

from siming_tasks.tools.simulator.draw.appearance import HEIGHT, WIDTH, Appearance
from siming_tasks.tools.simulator.draw.canvas import Image, Pen, shade

__all__ = ["CLOCK", "draw_room"]

CLOCK = (318.0, 30.0)
"""Where the wall clock hangs; its hand moves, so it is drawn with the frame."""

_EDGE = 112.0


def draw_room(look: Appearance) -> Image:
    """The empty room, shape (272, 480, 3), BGR."""
    image = np.empty((HEIGHT, WIDTH, 3), np.uint8)
    image[:] = look.wall
    pen = Pen(image, look.camera)
    pen.fill([(-80, _EDGE), (560, _EDGE), (560, 380), (-80, 380)], look.floor)
    pen.line([(-80, _EDGE), (560, _EDGE)], shade(look.wall, 0.75), 3)
    rng = np.random.default_rng([look.seed, 8])
    for x in range(-60, 560, 60):
        pen.line([(x, _EDGE), (240 + (x - 240) * 1.7, 330)], shade(look.floor, 0.95), 1)
    for place, piece in zip((95.0, 215.0, 425.0), look.furniture, strict=False):
        _piece(pen, piece, place + float(rng.uniform(-10, 10)), look)
    pen.disc(CLOCK, 17, (70, 70, 70))
    pen.disc(CLOCK, 15, (250, 250, 250))
    for hour in range(12):
        way = np.radians(hour * 30)
        at = (CLOCK[0] + 12.5 * np.sin(way), CLOCK[1] - 12.5 * np.cos(way))
        pen.disc(at, 0.9, (90, 90, 90))
    return _lit(image, look, rng)


def _piece(pen: Pen, piece: str, x: float, look: Appearance) -> None:
    if piece == "cabinet":
        pen.box((x, 78), (30, 38), (150, 170, 190))
        pen.line([(x, 42), (x, 114)], (110, 130, 150), 1.5)
        pen.disc((x - 5, 78), 2, (80, 90, 100))
        pen.disc((x + 5, 78), 2, (80, 90, 100))
    elif piece == "window":
        pen.box((x, 50), (32, 30), (170, 175, 175))
        pen.box((x, 50), (29, 27), (240, 225, 190))
        pen.line([(x, 23), (x, 77)], (170, 175, 175), 2.5)
    elif piece == "poster":
        pen.box((x, 50), (20, 26), (210, 200, 230))
        pen.line([(x - 12, 40), (x + 12, 40)], (120, 110, 160), 2)
        pen.disc((x, 56), 8, (160, 140, 200))
    elif piece == "door":
        pen.box((x, 62), (24, 52), (120, 150, 180))
        pen.disc((x + 17, 66), 2.5, (60, 90, 110))
    elif piece == "plant":
        pen.fill([(x - 9, 96), (x + 9, 96), (x + 6, 116), (x - 6, 116)], (80, 110, 160))
        for lean in (-14, -7, 0, 7, 14):
            pen.line([(x, 96), (x + lean, 66 + abs(lean))], (80, 140, 70), 4)
    elif piece == "curtain":
        for fold in range(6):
            pen.box((x - 25 + fold * 10, 60), (4.5, 52), shade((200, 205, 170), 0.92 + 0.03 * (fold % 3)))


def _lit(image: Image, look: Appearance, rng: np.random.Generator) -> Image:
    """Light falling from one side, and a fixed sensor pattern."""
    side = rng.uniform(-0.10, 0.10)
    ramp = look.light * (1 + side * np.linspace(-1, 1, WIDTH))[None, :, None]
    grain = rng.normal(0, look.grain, (HEIGHT, WIDTH, 1))
    return np.clip(image * ramp + grain, 0, 255).astype(np.uint8)
