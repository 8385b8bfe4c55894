"""The people: trainee, assistant, bystander. Bodies behind the patient, heads, arms and hands in front of them."""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot, pi, sin, sqrt

from siming_tasks.tools.simulator.draw.appearance import Appearance, Clothes
from siming_tasks.tools.simulator.draw.canvas import Pen, Point, shade

__all__ = ["draw_body", "draw_front", "head_of", "sway_step"]

_ARM = 41.0
_FAR_FLOOR = 168.0
State = Mapping[str, float]


def draw_body(pen: Pen, state: State, who: str, look: Appearance, time: float) -> None:
    """Legs and trunk of one person."""
    if state[f"{who}_seen"] < 0.5:
        return
    clothes = look.clothes(who)
    hip, chest = _hip(state, who), _chest(state, who, look, time)
    crouch = state[f"{who}_crouch"]
    floor = _FAR_FLOOR + 4
    for side in (-1, 1):
        start = (hip[0] + side * 8, hip[1])
        knee = (hip[0] + side * (10 + 12 * crouch), hip[1] + 31 - 20 * crouch)
        foot = (hip[0] + side * (10 + 2 * crouch), floor)
        pen.line([start, knee, foot], clothes.legs, 13)
        pen.oval((foot[0], floor + 1), (9, 4), (60, 60, 65))
    wide = 21.0
    trunk = [
        (chest[0], chest[1] - 4),
        (hip[0], hip[1] + 4),
        (hip[0] - 17, hip[1] + 4),
        (chest[0] - wide, chest[1]),
        (chest[0] - wide + 5, chest[1] - 6),
        (chest[0] + wide - 5, chest[1] - 6),
        (chest[0] + wide, chest[1]),
        (hip[0] + 17, hip[1] + 4),
    ]
    pen.fill(trunk[2:], clothes.top)
    pen.line(trunk, shade(clothes.top, 0.76), 1)  # the seam in front and the outline


def draw_front(pen: Pen, state: State, who: str, look: Appearance, time: float) -> None:
    """Arms and head of one person."""
    if state[f"{who}_seen"] < 0.5:
        return
    clothes = look.clothes(who)
    chest = _chest(state, who, look, time)
    for side, hand in ((-1, "l"), (1, "r")):
        shoulder = (chest[0] + side * 18, chest[1] + 1)
        target = (state[f"{who}_{hand}x"], state[f"{who}_{hand}y"])
        elbow, reach = _elbow(shoulder, target, side)
        pen.line([shoulder, elbow, reach], shade(clothes.top, 0.80), 12)
        pen.line([shoulder, elbow, reach], clothes.top, 10)
        wrist = _toward(reach, elbow, 9)
        pen.line([wrist, reach], clothes.skin, 7)
    _head(pen, state, who, clothes, head_of(state, who, look, time))


def head_of(state: State, who: str, look: Appearance, time: float) -> Point:
    """Centre of a person's head."""
    x, y = _chest(state, who, look, time)
    bow = state[f"{who}_bow"]
    return x + 0.35 * state[f"{who}_lean"] + 3 * state[f"{who}_gx"], y - 22 + 0.22 * bow


def sway_step(time: float) -> float:
    """Time in half seconds: small motion is held that long, so that people at rest are not drawn anew every frame."""
    return time * 2 // 1 / 2


def _hip(state: State, who: str) -> Point:
    crouch = state[f"{who}_crouch"]
    return state[f"{who}_x"], _FAR_FLOOR - 62 + 52 * crouch


def _chest(state: State, who: str, look: Appearance, time: float) -> Point:
    """Middle of the shoulders."""
    x, y = _hip(state, who)
    phase = {"me": 0.0, "aide": 2.0, "by": 4.0}[who]
    sway = look.sway * sin(2 * pi * look.beat * sway_step(time) + phase)
    lean = state[f"{who}_lean"]
    tall = sqrt(max(50.0**2 - lean * lean, 20.0**2)) if abs(lean) < 46 else 22.0
    return x + lean + sway, y - tall + state[f"{who}_bow"]


def _elbow(shoulder: Point, target: Point, side: int) -> tuple[Point, Point]:
    """The elbow of a two-bone arm, bent outwards, and the hand as far towards the target as it reaches."""
    dx, dy = target[0] - shoulder[0], target[1] - shoulder[1]
    far = hypot(dx, dy) or 1e-6
    stretch = max(far, 2 * _ARM) / (2 * _ARM)  # a little longer than life rather than short of the patient
    bone = _ARM * stretch
    out = sqrt(max(bone * bone - far * far / 4, 0.0))
    middle = (shoulder[0] + dx / 2, shoulder[1] + dy / 2)
    normal = (-dy / far, dx / far)
    if normal[0] * side < 0:
        normal = (-normal[0], -normal[1])
    return (middle[0] + normal[0] * out, middle[1] + normal[1] * out), target


def _toward(start: Point, end: Point, length: float) -> Point:
    dx, dy = end[0] - start[0], end[1] - start[1]
    far = hypot(dx, dy) or 1e-6
    return start[0] + dx / far * length, start[1] + dy / far * length


def _head(pen: Pen, state: State, who: str, clothes: Clothes, at: Point) -> None:
    x, y = at
    gx, gy = state[f"{who}_gx"], state[f"{who}_gy"]
    pen.line([(x, y + 8), (x - 0.3 * state[f"{who}_lean"], y + 20)], clothes.skin, 9)
    pen.disc((x, y), 15, shade(clothes.skin))
    pen.disc((x, y), 14.2, clothes.skin)
    # Cap and mask are drawn on a turned ball: what faces the viewer moves with the gaze.
    fx, fy = x + 7 * gx, y + 5 * gy
    pen.oval((x + 2.5 * gx, y - 3 + 2.5 * gy), (15, 14.5), clothes.cap, 0, (180, 360))
    pen.line(
        [(x - 14 + 2.5 * gx, y - 3.5 + 2.5 * gy), (x + 14 + 2.5 * gx, y - 3.5 + 2.5 * gy)], shade(clothes.cap), 1.5
    )
    if state[f"{who}_bare"] < 0.5:
        half = 10 - 3.5 * abs(gx)
        pen.fill(
            [(fx - half, fy + 3), (fx + half, fy + 3), (fx + half * 0.7, fy + 12), (fx - half * 0.7, fy + 12)],
            clothes.mask,
        )
        pen.line([(fx - half, fy + 5.5), (fx + half, fy + 5.5)], shade(clothes.mask), 1)
    else:
        pen.oval((fx, fy + 7), (3.4, 1.6 + state[f"{who}_puff"]), (80, 80, 150))
    for side in (-1, 1):
        eye = (fx + side * (5 - 1.5 * abs(gx)), fy - 0.3)
        if abs(eye[0] - x) < 12.5:
            pen.disc(eye, 2.8, (245, 245, 245))
            pen.disc((eye[0] + 0.8 * gx, eye[1] + 0.4 * gy), 1.9, (40, 35, 30))
