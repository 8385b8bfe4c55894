"""The manikin on the floor, head to the right and its left side towards the viewer, with AED, bag and oxygen mask."""

from __future__ import annotations

from math import cos, exp, pi, sin

from siming_tasks.tools.simulator.canvas import Appearance, Pen, Point, State, shade

CM = 2.2
"""Picture pixels per centimetre of chest compression."""
AED_MODES = {"off": 0, "idle": 1, "analysing": 2, "ready": 3, "done": 4}
"""Values of the channel ``a_mode``."""

_OPEN = 0.9
"""From here on the shirt is off."""
_HIPS, _SHOULDERS, _FAR, _NEAR, _UNDER = 222.0, 334.0, 178.0, 206.0, 224.0
_ALONG = [_HIPS + (_SHOULDERS - _HIPS) * i / 10 for i in range(11)]
_AIR = (255, 250, 240)


def _on_chest(state: State, x: float, z: float) -> Point:
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


def _head(state: State) -> tuple[Point, float]:
    """Centre of the head and the direction of the nose in degrees (-90 is straight up)."""
    tilt, twist = state["p_tilt"], state["p_twist"]
    up = -102 + 34 * tilt - 10 * state["p_pillow"] + 3 * state["p_shake"]
    x = 368 + 3 * tilt + state["p_shake"] * 1.4
    return (x, 192 + 3 * max(tilt, 0.0) + 12 * twist - 9 * state["p_pillow"]), up


def _on_face(state: State, *places: tuple[float, float]) -> list[Point]:
    """Points of the face from degrees (0 the nose, positive towards the crown) and pixels from the head's centre."""
    (x, y), up = _head(state)
    turned = [((up + degrees) * pi / 180, radius) for degrees, radius in places]
    return [(x + radius * cos(angle), y + radius * sin(angle)) for angle, radius in turned]


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
    twist = state["p_twist"]
    for y, knee_up, foot in ((186, 26, (86, 186)), (204, 14, (76, 206))):
        knee = (152.0, y - knee_up * twist)
        ankle = (foot[0] + 24 * twist, foot[1] + 8 * twist)
        pen.line([(_HIPS + 4, y + 2), knee, ankle], shade(look.trousers, 0.8), 21)
        pen.line([(_HIPS + 4, y + 1), knee, ankle], look.trousers, 18)
        pen.oval((ankle[0] - 9, ankle[1] - 6), (7, 11), (50, 50, 60), -12)
    undressed = state["p_cloth"] > _OPEN
    if undressed:  # the shirt's near half, turned back on the floor
        pen.fill([(239, 214), (342, 205), (351, 219), (335, 230), (291, 234), (243, 230)], shade(look.shirt, 0.9))
    _draw_torso(pen, state, look)
    # The near arm: sleeved, or bare once the shirt lies open on the floor.
    shoulder, skin = 328 + state["p_shake"], look.skin
    if undressed:
        pen.line([(shoulder, 214), (306, 232), (272, 246)], shade(skin), 11)
        pen.line([(shoulder, 213), (305.5, 231), (272, 245)], skin, 9)
    else:
        pen.line([(shoulder, 214), (306, 232)], shade(look.shirt, 0.8), 15)
        pen.line([(shoulder, 213), (306, 231)], look.shirt, 12)
        pen.line([(304, 232), (272, 246)], shade(skin), 10)
        pen.line([(304, 231), (272, 245)], skin, 8)
    pen.disc((267, 247), 6, skin)
    _draw_face(pen, state, look)


def _draw_torso(pen: Pen, state: State, look: Appearance) -> None:
    def along(xs: list[float], z: float) -> list[Point]:
        return [_on_chest(state, x, z) for x in xs]

    bare, shake, shirt, skin = state["p_cloth"], state["p_shake"], look.shirt, look.skin
    near = along(_ALONG, 1.0)
    pen.fill(
        [*near, (_SHOULDERS + shake, _UNDER - 3), (_HIPS + shake, _UNDER)], shade(skin if bare > _OPEN else shirt, 0.85)
    )
    pen.fill([*along(_ALONG, 0.0), *near[::-1]], shirt)
    if bare > 0.05:
        low, high = 0.5 - 0.5 * min(bare, 1.0), 0.5 + 0.5 * min(bare, 1.0)
        if state["p_flap"] > 0.5:
            low = 0.42
        chest = _ALONG[2:] if bare > _OPEN else _ALONG[3:10]
        pen.fill([*along(chest, low), *along(chest[::-1], high)], skin)
        _draw_skin_marks(pen, state, look, low, high)
        pen.line(along(chest, low), shade(shirt, 0.7), 2)
        if bare <= _OPEN:
            pen.line(along(chest, high), shade(shirt, 0.7), 2)
    else:
        pen.line(along(_ALONG, 0.5), shade(shirt, 0.75), 1.5)
        for button in along(_ALONG[2:10:2], 0.54):
            pen.disc(button, 1.5, shade(shirt, 0.55))
    depth = state["p_depth"]
    if depth > 0.3:
        spot = _on_chest(state, state["p_hx"], state["p_hz"])
        pen.oval(spot, (13 + 1.3 * depth, 3 + 0.5 * depth), shade(skin if bare > 0.3 else shirt, 0.78))
    left, right = _HIPS - 8 + shake, _HIPS + 14 + shake
    pen.fill([(left, 178), (right, 178), (right, 221), (left, 222)], look.trousers)


def _draw_skin_marks(pen: Pen, state: State, look: Appearance, low: float, high: float) -> None:
    mark = shade(look.skin, 0.75)
    for z in (0.2, 0.8):
        if low < z < high:
            pen.disc(_on_chest(state, 308, z), 2, shade(look.skin, 0.6))
    pen.line([_on_chest(state, x, 0.5) for x in (278, 290, 305, 322)], mark, 1)
    for side in (-1, 1):
        if low < 0.5 + side * 0.34 < high:
            ribs = ((280, 0.05), (272, 0.2), (266, 0.34))
            pen.line([_on_chest(state, x, 0.5 + side * z) for x, z in ribs], mark, 1)
    if state["p_wet"] > 0.5:
        for x, z in ((268, 0.3), (284, 0.75), (315, 0.55), (326, 0.8), (256, 0.6)):
            if low < z < high:
                pen.oval(_on_chest(state, x, z), (3, 1.6), (235, 215, 180))


def _draw_face(pen: Pen, state: State, look: Appearance) -> None:
    center, up = _head(state)
    skin, edge, shake = look.skin, shade(look.skin), state["p_shake"]
    if state["p_pillow"] > 0.5:
        pen.oval((386, 213), (30, 9), (215, 200, 185))
        pen.oval((386, 211), (28, 7), (235, 222, 210))
    throat, crown, ear = _on_face(state, (-92, 14), (72, 6), (95, 1))
    pen.line([(334 + shake, 196), throat], edge, 20)
    pen.line([(334 + shake, 195), throat], skin, 17)
    pen.oval(center, (20.5, 18.5), edge, up + 90)
    pen.oval(center, (19.5, 17.5), skin, up + 90)
    pen.oval(crown, (15.5, 17), (60, 70, 85), up + 90, (-75, 110))
    pen.fill(_on_face(state, (-58, 17), (-72, 23), (-92, 17)), skin)  # the chin
    pen.fill(_on_face(state, (7, 17), (-2, 25.5), (-12, 17)), skin)  # the nose
    pen.line(_on_face(state, (7, 17), (-2, 25), (-12, 17.5)), edge, 1)
    gap = state["p_mouth"]
    pen.line(_on_face(state, (-33, 18.5), (-36, 11)), (70, 70, 140), 1.5 + 5 * gap)
    pen.line(_on_face(state, (24, 15), (32, 11)), (60, 60, 70), 2)
    pen.disc(ear, 3.2, edge)
    if state["p_leak"] > 0.5:
        for angle in (-60, -25, 5):
            pen.line(_on_face(state, (angle, 27), (angle + 4, 38)), _AIR, 2)
    if state["p_shield"] > 0.5:
        pen.fill(_on_face(state, (2, 20), (-20, 26), (-46, 22), (-40, 10), (-8, 12)), (235, 225, 205))


def draw_aed(pen: Pen, state: State, time: float) -> None:
    """The AED, its cable and its pads; ``time`` in seconds moves the lamp and the screen."""
    if state["a_seen"] < 0.5:
        return
    x, y, mode = state["a_x"], state["a_y"], round(state["a_mode"])
    pen.line([(x - 10, y - 15), (x - 10, y - 20), (x + 10, y - 20), (x + 10, y - 15)], (60, 60, 60), 3)
    pen.box((x, y), (22, 16), (60, 110, 60))
    pen.box((x, y), (20.5, 14.5), (90, 190, 235))
    pen.box((x - 6, y - 4), (11, 7.5), (45, 45, 45))
    _draw_screen(pen, x - 6, y - 4, mode, time)
    pen.disc((x + 12, y - 8), 3.2, (70, 220, 70) if mode else (110, 120, 110))
    blinks = mode == 3 and time * 2 % 1 < 0.5
    pen.disc((x + 12, y + 3), 5.4, (50, 60, 80))
    pen.disc((x + 12, y + 3), 4.4, (40, 120, 255) if blinks else (70, 90, 130))
    flash = [(x + 13, y - 0.5), (x + 9.5, y + 3.5), (x + 12, y + 3.5), (x + 11, y + 6.5), (x + 14.5, y + 2.5)]
    pen.fill(flash, (240, 240, 240))
    plugged = state["a_plug"] >= 0.5
    socket = (x - 12, y + 10)
    pen.box(socket, (4, 2.5), (40, 40, 40))
    end = socket if plugged else (x - 34, y + 12)
    pads = [number for number in (1, 2) if state[f"a_pad{number}"] >= 0.5]
    for number in pads:
        _draw_pad(pen, state, number, end)
    if any(state[f"a_pad{number}"] > 0.5 for number in pads):
        pen.box(end, (4.5, 3.2), (245, 245, 245) if plugged else (60, 60, 220))
        if plugged:
            pen.disc((x + 3, y + 10), 2, (70, 220, 70))


def _draw_screen(pen: Pen, x: float, y: float, mode: int, time: float) -> None:
    if mode == 2:
        wave = [(x - 10 + i * 2, y + 3.5 * sin(3.1 * i + 9 * (time * 6 // 1 / 6))) for i in range(11)]
        pen.line(wave, (90, 240, 90), 1)
    elif mode == 3:
        flash = [(x + 2, y - 7), (x - 4, y + 1), (x, y + 1), (x - 2, y + 7), (x + 4, y - 1), (x, y - 1)]
        pen.fill(flash, (60, 200, 255))
    elif mode in (1, 4):
        pen.box((x, y), (3, 5), (200, 200, 200))
        pen.disc((x, y - 5), 2, (200, 200, 200))


def _draw_pad(pen: Pen, state: State, number: int, cable_end: Point) -> None:
    x, y, z = (state[f"a_pad{number}{axis}"] for axis in "xyz")
    at = _on_chest(state, x, z) if z >= 0 else (x, y)  # z < 0: in the hand
    if z > 1:
        at = (at[0], at[1] - 2)
    sag = ((at[0] + cable_end[0]) / 2, max(at[1], cable_end[1]) + (4 if number == 1 else 10) - 22)
    cable = [
        tuple((1 - t) ** 2 * a + 2 * t * (1 - t) * b + t * t * c for a, b, c in zip(at, sag, cable_end, strict=True))
        for t in (i / 8 for i in range(9))
    ]
    pen.line([(x, y) for x, y in cable], (70, 70, 70), 1.6)
    wide, high = (9.5, 5.5) if z <= 1 else (10, 6)
    pen.box(at, (wide + 2.2, high + 2.2), (200, 130, 40) if number == 1 else (40, 130, 240), -8)
    pen.box(at, (wide, high), (248, 248, 248), -8)
    if state["a_curl"] > 0.5 and z >= 0:
        for side in (-1, 1):
            left, top = at[0] + side * wide, at[1] - high
            pen.fill([(left - side * 8, top), (left, top), (left - side, top + 8)], (150, 150, 150))
            pen.line([(left - side * 8, top), (left - side * 2, top - 7)], (190, 190, 190), 2.5)


def draw_oxygen_mask(pen: Pen, state: State) -> None:
    """A simple oxygen mask with its hose, lying somewhere."""
    if state["o_seen"] >= 0.5:
        x, y = state["o_x"], state["o_y"]
        pen.line([(x, y), (x - 20, y - 8), (x - 44, y - 18)], (150, 210, 120), 2)
        pen.oval((x, y), (11, 7), (160, 190, 140), -15)
        pen.oval((x, y), (9, 5.5), (215, 235, 205), -15)


def draw_bag(pen: Pen, state: State) -> None:
    """Mask, valve, bag, reservoir, hose and oxygen cylinder."""
    if state["b_seen"] < 0.5:
        return
    pen.box((464.0, 176.0), (8, 30), (90, 130, 70))
    pen.disc((464.0, 145.0), 8, (90, 130, 70))
    pen.box((463.0, 132.0), (3.5, 9), (240, 240, 240))
    pen.disc((463.0, 138.0 - 12 * state["b_flow"]), 2.4, (60, 60, 60))
    x, y, squeeze, bent = state["b_x"], state["b_y"], state["b_sq"], 40 * state["b_fault"]
    valve = (x + 5, y - 9)
    bag = (valve[0] + 22 - 0.2 * bent, valve[1] - 15 + 0.5 * bent)
    tail = (bag[0] + 20, bag[1] - 12)
    if state["b_tube"] > 0.5:
        pen.line([tail, (tail[0] + 14, tail[1] + 34), (452, 168), (460.0, 142.0)], (150, 220, 120), 2.5)
    pen.oval((tail[0] + 8, tail[1] - 5), (13, 2.0 + 6.5 * state["b_res"]), (190, 220, 225), -32)
    pen.line([valve, bag], (120, 120, 120), 6)
    pen.oval(bag, (19, 11.5 - 6.5 * squeeze), (120, 90, 30), -32)
    pen.oval(bag, (17.5, 10.2 - 6.2 * squeeze), (190, 150, 70), -32)
    pen.box(valve, (4.5, 4), (235, 235, 235), -32 + bent)
    pen.fill([(x - 15, y + 3), (x + 13, y + 5), (x + 8, y - 7), (x + 1, y - 8)], (215, 200, 150))
    pen.oval((x - 1, y + 4), (15, 4), (235, 225, 190), 6)
    if state["b_leak"] > 0.5:
        for lift in (-6, 0, 6):
            pen.line([(x - 18, y + lift), (x - 24, y + lift * 1.5 - 2), (x - 31, y + lift * 2)], _AIR, 2)
        ((nose_x, nose_y),) = _on_face(state, (0, 20))
        pen.line([(nose_x + 12, nose_y - 2), (nose_x + 20, nose_y - 8)], _AIR, 2)
