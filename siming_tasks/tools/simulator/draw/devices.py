"""The AED with its pads and cable, the bag and mask with oxygen, and the oxygen mask."""

from __future__ import annotations

from collections.abc import Mapping
from math import sin

from siming_tasks.tools.simulator.draw.canvas import Color, Pen, Point
from siming_tasks.tools.simulator.draw.patient import chest_surface, face_point

__all__ = ["AED_MODES", "draw_aed", "draw_bag", "draw_oxygen_mask"]

AED_MODES = {"off": 0, "idle": 1, "analysing": 2, "ready": 3, "done": 4}
"""Values of the channel ``a_mode``."""

State = Mapping[str, float]
_PAD_EDGES: tuple[Color, Color] = ((200, 130, 40), (40, 130, 240))


def draw_aed(pen: Pen, state: State, time: float) -> None:
    """The AED, its cable and its pads."""
    if state["a_seen"] < 0.5:
        return
    x, y, mode = state["a_x"], state["a_y"], round(state["a_mode"])
    pen.line([(x - 10, y - 15), (x - 10, y - 20), (x + 10, y - 20), (x + 10, y - 15)], (60, 60, 60), 3)
    pen.box((x, y), (22, 16), (60, 110, 60))
    pen.box((x, y), (20.5, 14.5), (90, 190, 235))
    pen.box((x - 6, y - 4), (11, 7.5), (45, 45, 45))
    _screen(pen, (x - 6, y - 4), mode, time)
    pen.disc((x + 12, y - 8), 3.2, (70, 220, 70) if mode else (110, 120, 110))
    blink = time * 2 % 1 < 0.5
    pen.disc((x + 12, y + 3), 5.4, (50, 60, 80))
    pen.disc((x + 12, y + 3), 4.4, (40, 120, 255) if mode == 3 and blink else (70, 90, 130))
    pen.fill(
        [(x + 13, y - 0.5), (x + 9.5, y + 3.5), (x + 12, y + 3.5), (x + 11, y + 6.5), (x + 14.5, y + 2.5)],
        (240, 240, 240),
    )
    plugged = state["a_plug"] >= 0.5
    socket = (x - 12, y + 10)
    pen.box(socket, (4, 2.5), (40, 40, 40))
    end = socket if plugged else (x - 34, y + 12)
    for number in (1, 2):
        _pad(pen, state, number, end)
    if state["a_pad1"] > 0.5 or state["a_pad2"] > 0.5:
        pen.box(end, (4.5, 3.2), (245, 245, 245) if plugged else (60, 60, 220))
        if plugged:
            pen.disc((x + 3, y + 10), 2, (70, 220, 70))


def _screen(pen: Pen, at: Point, mode: int, time: float) -> None:
    x, y = at
    if mode == 2:
        wave = [(x - 10 + i * 2, y + 3.5 * sin(3.1 * i + 9 * (time * 6 // 1 / 6))) for i in range(11)]
        pen.line(wave, (90, 240, 90), 1)
    elif mode == 3:
        pen.fill(
            [(x + 2, y - 7), (x - 4, y + 1), (x, y + 1), (x - 2, y + 7), (x + 4, y - 1), (x, y - 1)], (60, 200, 255)
        )
    elif mode in (1, 4):
        pen.box((x, y), (3, 5), (200, 200, 200))
        pen.disc((x, y - 5), 2, (200, 200, 200))


def _pad(pen: Pen, state: State, number: int, cable_end: Point) -> None:
    on = state[f"a_pad{number}"]
    if on < 0.5:
        return
    x, y, z = state[f"a_pad{number}x"], state[f"a_pad{number}y"], state[f"a_pad{number}z"]
    at = chest_surface(state, x, z) if z >= 0 else (x, y)  # z < 0: in the hand
    if z > 1:
        at = (at[0], at[1] - 2)
    sag = ((at[0] + cable_end[0]) / 2, max(at[1], cable_end[1]) + (4 if number == 1 else 10) - 22)
    curve = [
        tuple((1 - t) ** 2 * a + 2 * t * (1 - t) * b + t * t * c for a, b, c in zip(at, sag, cable_end, strict=True))
        for t in (i / 8 for i in range(9))
    ]
    pen.line([(float(point[0]), float(point[1])) for point in curve], (70, 70, 70), 1.6)
    half = (9.5, 5.5) if z <= 1 else (10, 6)
    pen.box(at, (half[0] + 2.2, half[1] + 2.2), _PAD_EDGES[number - 1], -8)
    pen.box(at, half, (248, 248, 248), -8)
    if state["a_curl"] > 0.5 and z >= 0:
        for side in (-1, 1):
            corner = (at[0] + side * half[0], at[1] - half[1])
            pen.fill([(corner[0] - side * 8, corner[1]), corner, (corner[0] - side, corner[1] + 8)], (150, 150, 150))
            pen.line([(corner[0] - side * 8, corner[1]), (corner[0] - side * 2, corner[1] - 7)], (190, 190, 190), 2.5)


def draw_oxygen_mask(pen: Pen, state: State) -> None:
    """A simple oxygen mask with its hose, lying somewhere."""
    if state["o_seen"] < 0.5:
        return
    at = (state["o_x"], state["o_y"])
    pen.line([at, (at[0] - 20, at[1] - 8), (at[0] - 44, at[1] - 18)], (150, 210, 120), 2)
    pen.oval(at, (11, 7), (160, 190, 140), -15)
    pen.oval(at, (9, 5.5), (215, 235, 205), -15)


def draw_bag(pen: Pen, state: State) -> None:
    """Mask, valve, bag, reservoir, hose and oxygen cylinder."""
    if state["b_seen"] < 0.5:
        return
    cylinder = (464.0, 176.0)
    flow = state["b_flow"]
    pen.box(cylinder, (8, 30), (90, 130, 70))
    pen.disc((cylinder[0], cylinder[1] - 31), 8, (90, 130, 70))
    pen.box((cylinder[0] - 1, cylinder[1] - 44), (3.5, 9), (240, 240, 240))
    pen.disc((cylinder[0] - 1, cylinder[1] - 38 - 12 * flow), 2.4, (60, 60, 60))
    x, y = state["b_x"], state["b_y"]
    bent = 40 * state["b_fault"]
    valve = (x + 5, y - 9)
    bag = (valve[0] + 22 - 0.2 * bent, valve[1] - 15 + 0.5 * bent)
    squeeze = state["b_sq"]
    full = state["b_res"]
    tail = (bag[0] + 20, bag[1] - 12)
    if state["b_tube"] > 0.5:
        pen.line(
            [tail, (tail[0] + 14, tail[1] + 34), (452, 168), (cylinder[0] - 4, cylinder[1] - 34)], (150, 220, 120), 2.5
        )
    pen.oval((tail[0] + 8, tail[1] - 5), (13, 2.0 + 6.5 * full), (190, 220, 225), -32)
    pen.line([valve, bag], (120, 120, 120), 6)
    pen.oval(bag, (19, 11.5 - 6.5 * squeeze), (120, 90, 30), -32)
    pen.oval(bag, (17.5, 10.2 - 6.2 * squeeze), (190, 150, 70), -32)
    pen.box(valve, (4.5, 4), (235, 235, 235), -32 + bent)
    size = state["b_size"]
    pen.fill([(x - 15 * size, y + 3), (x + 13 * size, y + 5), (x + 8, y - 7), (x + 1, y - 8)], (215, 200, 150))
    pen.oval((x - 1, y + 4), (15 * size, 4 * size), (235, 225, 190), 6)
    if state["b_leak"] > 0.5:
        nose = face_point(state, 0, 20)
        for lift in (-6, 0, 6):
            pen.line([(x - 18, y + lift), (x - 24, y + lift * 1.5 - 2), (x - 31, y + lift * 2)], (255, 250, 240), 2)
        pen.line([(nose[0] + 12, nose[1] - 2), (nose[0] + 20, nose[1] - 8)], (255, 250, 240), 2)
