"""The manikin on the floor: head to the right, its left side towards the viewer."""

from __future__ import annotations

from collections.abc import Mapping
from math import cos, exp, pi, sin

from siming_tasks.tools.simulator.draw.appearance import Appearance
from siming_tasks.tools.simulator.draw.canvas import Pen, Point, shade

__all__ = ["CM", "chest_surface", "draw_patient", "draw_shadow", "face_point"]

CM = 2.2
"""Picture pixels per centimetre of chest compression."""

_OPEN = 0.9
"""From here on the shirt is off."""
_HIPS, _SHOULDERS, _FAR, _NEAR, _UNDER = 222.0, 334.0, 178.0, 206.0, 224.0
_ALONG = [_HIPS + (_SHOULDERS - _HIPS) * i / 10 for i in range(11)]
State = Mapping[str, float]


def chest_surface(state: State, x: float, z: float) -> Point:
    """Place of a chest spot in the picture: ``x`` along the body, ``z`` from 0 (far edge) to 1 (near edge)."""
    y = _FAR + (_NEAR - _FAR) * z
    if state["p_rise"]:
        y -= 7.5 * state["p_rise"] * exp(-(((x - 298) / 30) ** 2))
    if state["p_belly"]:
        y -= 7.0 * state["p_belly"] * exp(-(((x - 246) / 16) ** 2))
    if state["p_depth"]:
        along, across = (x - state["p_hx"]) / 20, (z - state["p_hz"]) / 0.75
        y += CM * state["p_depth"] * exp(-along * along - across * across)
    return x + state["p_shake"], y


def face_point(state: State, degrees: float, radius: float = 19.0) -> Point:
    """A point of the face: 0 degrees the nose, positive towards the crown."""
    center, up = _head(state)
    angle = (up + degrees) * pi / 180
    return center[0] + radius * cos(angle), center[1] + radius * sin(angle)


def draw_shadow(pen: Pen, state: State, look: Appearance) -> None:
    """The patient's shadow on the floor; nobody's feet come near it."""
    if state["p_soft"] < 0.5:
        pen.oval((230, 222), (200, 12), shade(look.floor, 0.82))


def draw_patient(pen: Pen, state: State, look: Appearance) -> None:
    """The patient with clothing, without devices, on a mattress if the ground is soft."""
    if state["p_soft"] >= 0.5:
        pen.fill([(40, 172), (428, 172), (440, 236), (30, 236)], (225, 215, 205))
        pen.fill([(30, 236), (440, 236), (440, 252), (30, 252)], (190, 175, 160))
        for x in range(60, 430, 40):
            pen.line([(x, 176), (x - 4, 234)], (212, 200, 190), 1)
    _legs(pen, state, look)
    if state["p_cloth"] > _OPEN:  # the shirt's near half, turned back on the floor
        pen.fill([(239, 214), (342, 205), (351, 219), (335, 230), (291, 234), (243, 230)], shade(look.shirt, 0.9))
    _torso(pen, state, look)
    _arm(pen, state, look)
    _face(pen, state, look)


def _legs(pen: Pen, state: State, look: Appearance) -> None:
    twist = state["p_twist"]
    for y, knee_up, foot in ((186, 26, (86, 186)), (204, 14, (76, 206))):
        knee = (152.0, y - knee_up * twist)
        ankle = (foot[0] + 24 * twist, foot[1] + 8 * twist)
        pen.line([(_HIPS + 4, y + 2), knee, ankle], shade(look.trousers, 0.8), 21)
        pen.line([(_HIPS + 4, y + 1), knee, ankle], look.trousers, 18)
        pen.oval((ankle[0] - 9, ankle[1] - 6), (7, 11), (50, 50, 60), -12)


def _torso(pen: Pen, state: State, look: Appearance) -> None:
    xs = _ALONG
    bare, flap = state["p_cloth"], state["p_flap"]
    near = [chest_surface(state, x, 1.0) for x in xs]
    shirt, skin = look.shirt, look.skin
    side = skin if bare > _OPEN else shirt
    shake = state["p_shake"]
    pen.fill([*near, (_SHOULDERS + shake, _UNDER - 3), (_HIPS + shake, _UNDER)], shade(side, 0.85))
    far = [chest_surface(state, x, 0.0) for x in xs]
    pen.fill([*far, *near[::-1]], shirt)
    if bare > 0.05:
        low, high = 0.5 - 0.5 * min(bare, 1.0), 0.5 + 0.5 * min(bare, 1.0)
        if flap > 0.5:
            low = 0.42
        chest = xs[2:] if bare > _OPEN else xs[3:10]
        outline = [chest_surface(state, x, low) for x in chest]
        outline += [chest_surface(state, x, high) for x in chest[::-1]]
        pen.fill(outline, skin)
        _skin_marks(pen, state, look, low, high)
        pen.line([chest_surface(state, x, low) for x in chest], shade(shirt, 0.7), 2)
        if bare <= _OPEN:
            pen.line([chest_surface(state, x, high) for x in chest], shade(shirt, 0.7), 2)
    else:
        pen.line([chest_surface(state, x, 0.5) for x in xs], shade(shirt, 0.75), 1.5)
        for x in xs[2:10:2]:
            pen.disc(chest_surface(state, x, 0.54), 1.5, shade(shirt, 0.55))
    depth = state["p_depth"]
    if depth > 0.3:
        spot = chest_surface(state, state["p_hx"], state["p_hz"])
        pen.oval(spot, (13 + 1.3 * depth, 3 + 0.5 * depth), shade(skin if bare > 0.3 else shirt, 0.78))
    pen.fill(
        [(_HIPS - 8 + shake, 178), (_HIPS + 14 + shake, 178), (_HIPS + 14 + shake, 221), (_HIPS - 8 + shake, 222)],
        look.trousers,
    )


def _skin_marks(pen: Pen, state: State, look: Appearance, low: float, high: float) -> None:
    mark = shade(look.skin, 0.75)
    for z in (0.2, 0.8):
        if low < z < high:
            pen.disc(chest_surface(state, 308, z), 2, shade(look.skin, 0.6))
    pen.line([chest_surface(state, x, 0.5) for x in (278, 290, 305, 322)], mark, 1)
    for side in (-1, 1):
        rib = [chest_surface(state, x, 0.5 + side * z) for x, z in ((280, 0.05), (272, 0.2), (266, 0.34))]
        if low < 0.5 + side * 0.34 < high:
            pen.line(rib, mark, 1)
    if state["p_wet"] > 0.5:
        for x, z in ((268, 0.3), (284, 0.75), (315, 0.55), (326, 0.8), (256, 0.6)):
            if low < z < high:
                pen.oval(chest_surface(state, x, z), (3, 1.6), (235, 215, 180))


def _arm(pen: Pen, state: State, look: Appearance) -> None:
    """The near arm: sleeved, or bare once the shirt lies open on the floor."""
    shoulder, skin = 328 + state["p_shake"], look.skin
    if state["p_cloth"] > _OPEN:
        pen.line([(shoulder, 214), (306, 232), (272, 246)], shade(skin), 11)
        pen.line([(shoulder, 213), (305.5, 231), (272, 245)], skin, 9)
    else:
        pen.line([(shoulder, 214), (306, 232)], shade(look.shirt, 0.8), 15)
        pen.line([(shoulder, 213), (306, 231)], look.shirt, 12)
        pen.line([(304, 232), (272, 246)], shade(skin), 10)
        pen.line([(304, 231), (272, 245)], skin, 8)
    pen.disc((267, 247), 6, skin)


def _head(state: State) -> tuple[Point, float]:
    """Centre of the head and the direction of the nose in degrees (-90 is straight up)."""
    tilt, twist = state["p_tilt"], state["p_twist"]
    pillow = 9 * state["p_pillow"]
    up = -102 + 34 * tilt - 10 * state["p_pillow"] + 3 * state["p_shake"]
    x = 368 + 3 * tilt + state["p_shake"] * 1.4
    return (x, 192 + 3 * max(tilt, 0.0) + 12 * twist - pillow), up


def _face(pen: Pen, state: State, look: Appearance) -> None:
    center, up = _head(state)
    skin, edge = look.skin, shade(look.skin)
    if state["p_pillow"] > 0.5:
        pen.oval((386, 213), (30, 9), (215, 200, 185))
        pen.oval((386, 211), (28, 7), (235, 222, 210))
    throat = face_point(state, -92, 14)
    pen.line([(334 + state["p_shake"], 196), throat], edge, 20)
    pen.line([(334 + state["p_shake"], 195), throat], skin, 17)
    pen.oval(center, (20.5, 18.5), edge, up + 90)
    pen.oval(center, (19.5, 17.5), skin, up + 90)
    crown = face_point(state, 72, 6)
    pen.oval(crown, (15.5, 17), (60, 70, 85), up + 90, (-75, 110))
    pen.fill([face_point(state, -58, 17), face_point(state, -72, 23), face_point(state, -92, 17)], skin)
    pen.fill([face_point(state, 7, 17), face_point(state, -2, 25.5), face_point(state, -12, 17)], skin)
    pen.line([face_point(state, 7, 17), face_point(state, -2, 25), face_point(state, -12, 17.5)], edge, 1)
    gap = state["p_mouth"]
    pen.line([face_point(state, -33, 18.5), face_point(state, -36, 11)], (70, 70, 140), 1.5 + 5 * gap)
    pen.line([face_point(state, 24, 15), face_point(state, 32, 11)], (60, 60, 70), 2)
    pen.disc(face_point(state, 95, 1), 3.2, edge)
    if state["p_debris"] > 0.5 and gap > 0.4:
        pen.disc(face_point(state, -34, 15.5), 2.4, (60, 150, 90))
    if state["p_leak"] > 0.5:
        for angle in (-60, -25, 5):
            pen.line([face_point(state, angle, 27), face_point(state, angle + 4, 38)], (255, 250, 240), 2)
    if state["p_shield"] > 0.5:
        pen.fill(
            [face_point(state, a, r) for a, r in ((2, 20), (-20, 26), (-46, 22), (-40, 10), (-8, 12))], (235, 225, 205)
        )
