"""The people: trainee, assistant, bystander. Bodies behind the patient, heads, arms and hands in front of them.

Those who only stand by breathe, shift their weight and look about, by the clock alone and whatever happens: a bystander
who reacts would be a cue.
"""

from __future__ import annotations

from math import hypot, pi, sin, sqrt

from siming_tasks.tools.simulator.canvas import Appearance, Color, Pen, Point, State, shade

_ARM = 41.0
"""Length of a bone of an arm."""
_FAR_FLOOR = 168.0
_HANDS = {"clipboard": (-9, 104, 9, 98), "folded": (-4, 114, 4, 112), "hips": (-19, 110, 19, 110)}
"""Both hands by pastime: x beside the body's middle, y."""
_GAZES = ((0.6, 0.4), (0.8, 0.5), (0.3, 0.6), (0.6, 0.5), (-0.1, 0.2), (0.7, 0.4), (0.2, 0.9))
_FINGERS = {4: ((-2, 7), (-5, -2, 2, 5), 2.6), 5: ((0, -10), (-5, -2, 2, 5), 2.8)}
"""Fingers by shape of the hand: y of their root and tip, x of each, width."""


def sway_step(time: float) -> float:
    """Time in half seconds: small motion is held that long, so that people at rest are not drawn anew every frame."""
    return time * 2 // 1 / 2


def at_rest(state: State, who: str, look: Appearance, time: float) -> State:
    """The state with the small motion of somebody who stands upright; ``time`` in held steps (``sway_step``)."""
    if state[f"{who}_seen"] < 0.5 or state[f"{who}_crouch"] > 0 or state[f"{who}_lean"]:
        return state
    phase = look.seed % 97 + (3.0 if who == "by" else 0.0)
    lean, bow = 2.4 * sin(2 * pi * time / 9 + phase), 0.7 * sin(2 * pi * time / 4 + phase)
    moved = {**state, f"{who}_lean": lean, f"{who}_bow": state[f"{who}_bow"] + bow}
    if who == "by":
        left, left_y, right, right_y = _HANDS[look.pastime]
        writes = look.pastime == "clipboard" and (time + look.seed % 11) % 11 < 3
        write = 1.5 * (time * 2 % 2) if writes else 0.0
        gx, gy = (0.1, 1.0) if writes else _GAZES[int(time / 3.5 + phase) % len(_GAZES)]
        x = state["by_x"]
        moved |= {"by_lx": x + left, "by_ly": left_y, "by_rx": x + right + write, "by_ry": right_y + write}
        moved |= {"by_gx": gx, "by_gy": gy}
    return moved


def draw_clipboard(pen: Pen, state: State, look: Appearance) -> None:
    """The bystander's score sheet, if that is the pastime."""
    if look.pastime == "clipboard" and state["by_seen"] > 0.5:
        x = state["by_x"]
        pen.box((x, 99), (10, 12), (70, 60, 55), -6)
        pen.box((x, 100), (8.5, 10), (240, 240, 240), -6)
        for y in (97, 101):
            pen.line([(x - 5, y), (x + 4, y - 1)], (150, 150, 150), 1)
        pen.box((x - 1, 87.5), (4, 1.6), (150, 150, 150), -6)


def _hip(state: State, who: str) -> Point:
    return state[f"{who}_x"], _FAR_FLOOR - 62 + 52 * state[f"{who}_crouch"]


def _chest(state: State, who: str, look: Appearance, time: float) -> Point:
    """Middle of the shoulders."""
    x, y = _hip(state, who)
    sway = look.sway * sin(2 * pi * look.beat * sway_step(time) + {"me": 0.0, "aide": 2.0, "by": 4.0}[who])
    lean = state[f"{who}_lean"]
    tall = sqrt(max(50.0**2 - lean * lean, 20.0**2)) if abs(lean) < 46 else 22.0
    return x + lean + sway, y - tall + state[f"{who}_bow"]


def head_of(state: State, who: str, look: Appearance, time: float) -> Point:
    """Centre of a person's head."""
    x, y = _chest(state, who, look, time)
    return x + 0.35 * state[f"{who}_lean"] + 3 * state[f"{who}_gx"], y - 22 + 0.22 * state[f"{who}_bow"]


def draw_body(pen: Pen, state: State, who: str, look: Appearance, time: float) -> None:
    """Legs and trunk of one person."""
    if state[f"{who}_seen"] < 0.5:
        return
    clothes, crouch, floor = look.clothes(who), state[f"{who}_crouch"], _FAR_FLOOR + 4
    (hip_x, hip_y), (x, y) = _hip(state, who), _chest(state, who, look, time)
    for side in (-1, 1):
        knee = (hip_x + side * (10 + 12 * crouch), hip_y + 31 - 20 * crouch)
        foot = hip_x + side * (10 + 2 * crouch)
        pen.line([(hip_x + side * 8, hip_y), knee, (foot, floor)], clothes.legs, 13)
        pen.oval((foot, floor + 1), (9, 4), (60, 60, 65))
    shoulders = [(x - 21, y), (x - 16, y - 6), (x + 16, y - 6), (x + 21, y)]
    trunk = [(hip_x - 17, hip_y + 4), *shoulders, (hip_x + 17, hip_y + 4)]
    pen.fill(trunk, clothes.top)
    pen.line([(x, y - 4), (hip_x, hip_y + 4), *trunk], shade(clothes.top, 0.76), 1)  # the seam in front, the outline


def draw_front(pen: Pen, state: State, who: str, look: Appearance, time: float) -> None:
    """Arms and head of one person."""
    if state[f"{who}_seen"] < 0.5:
        return
    clothes, chest = look.clothes(who), _chest(state, who, look, time)
    for side, hand in ((-1, "l"), (1, "r")):
        shoulder = (chest[0] + side * 18, chest[1] + 1)
        reach = (state[f"{who}_{hand}x"], state[f"{who}_{hand}y"])
        elbow = _elbow(shoulder, reach, side)
        pen.line([shoulder, elbow, reach], shade(clothes.top, 0.80), 12)
        pen.line([shoulder, elbow, reach], clothes.top, 10)
        dx, dy = elbow[0] - reach[0], elbow[1] - reach[1]
        far = hypot(dx, dy) or 1e-6
        pen.line([(reach[0] + dx / far * 9, reach[1] + dy / far * 9), reach], clothes.skin, 7)
    _draw_head(pen, state, who, look, time)


def _elbow(shoulder: Point, hand: Point, side: int) -> Point:
    """The elbow of a two-bone arm, bent outwards; a little longer than life rather than short of the patient."""
    dx, dy = hand[0] - shoulder[0], hand[1] - shoulder[1]
    far = hypot(dx, dy) or 1e-6
    bone = _ARM * (max(far, 2 * _ARM) / (2 * _ARM))
    out = sqrt(max(bone * bone - far * far / 4, 0.0))
    normal = (-dy / far, dx / far) if -dy / far * side >= 0 else (dy / far, -dx / far)
    return shoulder[0] + dx / 2 + normal[0] * out, shoulder[1] + dy / 2 + normal[1] * out


def _draw_head(pen: Pen, state: State, who: str, look: Appearance, time: float) -> None:
    clothes, (x, y) = look.clothes(who), head_of(state, who, look, time)
    gx, gy = state[f"{who}_gx"], state[f"{who}_gy"]
    pen.line([(x, y + 8), (x - 0.3 * state[f"{who}_lean"], y + 20)], clothes.skin, 9)
    pen.disc((x, y), 15, shade(clothes.skin))
    pen.disc((x, y), 14.2, clothes.skin)
    # Cap and mask are drawn on a turned ball: what faces the viewer moves with the gaze.
    fx, fy = x + 7 * gx, y + 5 * gy
    pen.oval((x + 2.5 * gx, y - 3 + 2.5 * gy), (15, 14.5), clothes.cap, 0, (180, 360))
    brim = y - 3.5 + 2.5 * gy
    pen.line([(x - 14 + 2.5 * gx, brim), (x + 14 + 2.5 * gx, brim)], shade(clothes.cap), 1.5)
    if state[f"{who}_bare"] < 0.5:
        half = 10 - 3.5 * abs(gx)
        chin = [(fx + half * 0.7, fy + 12), (fx - half * 0.7, fy + 12)]
        pen.fill([(fx - half, fy + 3), (fx + half, fy + 3), *chin], clothes.mask)
        pen.line([(fx - half, fy + 5.5), (fx + half, fy + 5.5)], shade(clothes.mask), 1)
    else:
        pen.oval((fx, fy + 7), (3.4, 1.6 + state[f"{who}_puff"]), (80, 80, 150))
    for side in (-1, 1):
        eye = (fx + side * (5 - 1.5 * abs(gx)), fy - 0.3)
        if abs(eye[0] - x) < 12.5:
            pen.disc(eye, 2.8, (245, 245, 245))
            pen.disc((eye[0] + 0.8 * gx, eye[1] + 0.4 * gy), 1.9, (40, 35, 30))


def draw_hands(pen: Pen, state: State, who: str, look: Appearance) -> None:
    """The hands of one person: resting, pointing, feeling, held up, at a mask, compressing."""
    if state[f"{who}_seen"] < 0.5:
        return
    skin, grip = look.clothes(who).skin, round(state[f"{who}_grip"])
    left, right = ((state[f"{who}_{hand}x"], state[f"{who}_{hand}y"]) for hand in "lr")
    if grip == 0:
        _draw_hand(pen, left, round(state[f"{who}_lshape"]), skin)
    if grip != 1:
        _draw_hand(pen, right, 0 if grip else round(state[f"{who}_rshape"]), skin)
    if grip == 4:  # one hand on the chest
        pen.rimmed(left, (9, 5), (8, 4.2), skin)
    elif grip:  # one on the other
        x, y = (left[0] + right[0]) / 2, max(left[1], right[1])
        pen.rimmed((x, y), (11, 5.5), (10, 4.7), skin)
        pen.rimmed((x, y - 6), (10.5, 5), (9.5, 4.2), skin)
        for way in (-6, -2, 2, 6):  # interlocked, lifted fingers
            pen.line([(x + way, y - 8), (x + way, y - 2)], shade(skin), 1)


def _draw_hand(pen: Pen, at: Point, shape: int, skin: Color) -> None:
    (x, y), edge = at, shade(skin)
    if shape == 1:  # two fingers reaching down
        pen.line([(x - 2, y - 8), (x - 2.5, y)], edge, 4)
        pen.line([(x + 2, y - 8), (x + 1.5, y)], skin, 4)
        pen.disc((x, y - 10), 5, skin)
    elif shape == 2:  # pointing to the left
        pen.line([(x, y), (x - 14, y - 3)], skin, 3.5)
        pen.disc((x, y), 5.5, skin)
    elif shape in _FINGERS:  # 4 flat, fingers spread; 5 stop: open palm held up
        (root, tip), ways, width = _FINGERS[shape]
        for way in ways:
            pen.line([(x, y + root), (x + way, y + tip)], skin, width)
        pen.disc((x, y + root), 5.5 if shape == 4 else 6, skin)
    elif shape == 6:  # at the mask: E-C grip
        for dx, dy in ((-20, 26), (-14, 27), (-8, 27)):  # three fingers along the jaw
            finger = [(x + 12, y + 4), (x + dx * 0.4, y + dy * 0.75), (x + dx, y + dy)]
            pen.line(finger, edge, 4)
            pen.line(finger, skin, 3)
        for dx, dy in ((-13, -3), (8, -8)):  # the C of thumb and index finger
            pen.line([(x + 14, y + 2), (x + dx, y + dy)], edge, 5)
            pen.line([(x + 14, y + 2), (x + dx, y + dy)], skin, 4)
        pen.disc((x + 15, y + 3), 7, skin)
    elif shape == 8:  # palm on top of the mask
        pen.oval((x, y - 6), (14, 8), edge)
        pen.oval((x, y - 7), (13, 6.8), skin)
    else:
        pen.disc((x, y), 6, edge)
        pen.disc((x, y), 5.2, skin)
