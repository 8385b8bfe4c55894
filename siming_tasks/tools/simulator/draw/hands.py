"""Hands: resting, pointing, feeling, held up, at a mask, compressing."""

from __future__ import annotations

from collections.abc import Mapping

from siming_tasks.tools.simulator.draw.appearance import Appearance
from siming_tasks.tools.simulator.draw.canvas import Color, Pen, Point, shade

__all__ = ["draw_hands"]

State = Mapping[str, float]


def draw_hands(pen: Pen, state: State, who: str, look: Appearance) -> None:
    """The hands of one person."""
    if state[f"{who}_seen"] < 0.5:
        return
    clothes = look.clothes(who)
    if state[f"{who}_grip"] >= 0.5:
        _compressing_hands(pen, state, who, clothes.skin)
    else:
        for hand in "lr":
            shape = round(state[f"{who}_{hand}shape"])
            _hand(pen, (state[f"{who}_{hand}x"], state[f"{who}_{hand}y"]), shape, clothes.skin)


def _hand(pen: Pen, at: Point, shape: int, skin: Color) -> None:
    x, y = at
    edge = shade(skin)
    if shape == 1:  # two fingers reaching down
        pen.line([(x - 2, y - 8), (x - 2.5, y)], edge, 4)
        pen.line([(x + 2, y - 8), (x + 1.5, y)], skin, 4)
        pen.disc((x, y - 10), 5, skin)
    elif shape in (2, 3):  # pointing to the left or to the right
        way = -1 if shape == 2 else 1
        pen.line([(x, y), (x + way * 14, y - 3)], skin, 3.5)
        pen.disc((x, y), 5.5, skin)
    elif shape == 4:  # flat, fingers spread
        for way in (-5, -2, 2, 5):
            pen.line([(x, y - 2), (x + way, y + 7)], skin, 2.6)
        pen.disc((x, y - 2), 5.5, skin)
    elif shape == 5:  # stop: open palm held up
        for way in (-5, -2, 2, 5):
            pen.line([(x, y), (x + way, y - 10)], skin, 2.8)
        pen.disc((x, y), 6, skin)
    elif shape in (6, 7, 8):
        _mask_grip(pen, at, shape, skin)
    else:
        pen.disc((x, y), 6, edge)
        pen.disc((x, y), 5.2, skin)


def _mask_grip(pen: Pen, at: Point, shape: int, skin: Color) -> None:
    """A hand at the mask: 6 E-C grip, 7 three fingers under the chin, 8 palm on top."""
    x, y = at
    edge = shade(skin)
    if shape == 8:
        pen.oval((x, y - 6), (14, 8), edge)
        pen.oval((x, y - 7), (13, 6.8), skin)
        return
    spread = ((-20, 26), (-14, 27), (-8, 27)) if shape == 6 else ((-30, 30), (-27, 35), (-24, 40))
    for dx, dy in spread:  # three fingers along the jaw, or deep in the soft parts
        pen.line([(x + 12, y + 4), (x + dx * 0.4, y + dy * 0.75), (x + dx, y + dy)], edge, 4)
        pen.line([(x + 12, y + 4), (x + dx * 0.4, y + dy * 0.75), (x + dx, y + dy)], skin, 3)
    for dx, dy in ((-13, -3), (8, -8)):  # the C of thumb and index finger
        pen.line([(x + 14, y + 2), (x + dx, y + dy)], edge, 5)
        pen.line([(x + 14, y + 2), (x + dx, y + dy)], skin, 4)
    pen.disc((x + 15, y + 3), 7, skin)


def _compressing_hands(pen: Pen, state: State, who: str, skin: Color) -> None:
    """Hands on the chest: 1 stacked, 2 side by side, 3 stacked with fingers on the ribs, 4 one hand."""
    grip = round(state[f"{who}_grip"])
    x = (state[f"{who}_lx"] + state[f"{who}_rx"]) / 2 if grip != 4 else state[f"{who}_lx"]
    y = max(state[f"{who}_ly"], state[f"{who}_ry"]) if grip != 4 else state[f"{who}_ly"]
    edge = shade(skin)
    if grip == 4:
        _hand(pen, (state[f"{who}_rx"], state[f"{who}_ry"]), 0, skin)
        pen.oval((x, y), (9, 5), edge)
        pen.oval((x, y - 0.8), (8, 4.2), skin)
        return
    if grip == 2:
        for side in (-1, 1):
            pen.oval((x + side * 9, y), (9, 5), edge)
            pen.oval((x + side * 9, y - 0.8), (8, 4.2), skin)
        return
    if grip == 3:
        for way in (-15, -8, 0, 8, 15):
            pen.line([(x + way * 0.5, y), (x + way, y + 9 - abs(way) * 0.15)], edge, 3.4)
            pen.line([(x + way * 0.5, y), (x + way, y + 8.5 - abs(way) * 0.15)], skin, 2.4)
    pen.oval((x, y), (11, 5.5), edge)
    pen.oval((x, y - 0.8), (10, 4.7), skin)
    pen.oval((x, y - 6), (10.5, 5), edge)
    pen.oval((x, y - 6.8), (9.5, 4.2), skin)
    if grip == 1:
        for way in (-6, -2, 2, 6):  # interlocked, lifted fingers
            pen.line([(x + way, y - 8), (x + way, y - 2)], edge, 1)
