"""Chest compressions as motion: place, depth, rate, release and hands of every single stroke."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from siming_tasks.tools.simulator.choreography import Choreography
from siming_tasks.tools.simulator.patient import CM

PERIOD = 60 / 110
"""Seconds per stroke at a proper rate."""
DEPTH = 5.5
"""Centimetres of a proper stroke."""
_PHASE = np.arange(1, 13) / 12
"""Keyframes of a stroke, as shares of its time."""
_PAUSE = 2.5
"""Seconds of a pause inside a set."""


@dataclass(frozen=True)
class Technique:
    """Compression technique of a person: ``has`` says if an error, by its id, is made; ``period`` in s a stroke."""

    has: Callable[[str], bool]
    period: float
    x: float


def technique_of(s: Choreography, flawed: bool = True) -> Technique:
    """The trainee's technique after the plan's errors of place, hands, depth, rate and recoil."""
    has = s.plan.has if flawed else (lambda _: False)
    x, period = 288.0, PERIOD  # the lower half of the breastbone
    if has("cpr_09.wrong_zone"):
        x = 318.0 if s.coin("zone") else 246.0
    if has("cpr_12.far_out"):
        pauses = has("cpr_14.pause_inside_set") or has("cpr_18.pause_over_15s")  # both would overrun the step's slot
        period = 0.70 if s.coin("slow") and not pauses else 0.39
    return Technique(has, period, x)


def compress(
    s: Choreography, strokes: int, how: Technique, *, counted: bool = True, pause_after: int | None = None
) -> None:
    """The kneeling trainee compresses ``strokes`` times; true seconds, whatever the pace: a stroke must stay countable.

    ``counted`` is counting aloud; after ``pause_after`` strokes there is a pause, hands on the chest.
    """
    has, y, number = how.has, 192.0, np.arange(strokes)
    one_hand, bent = has("cpr_10.one_hand"), has("cpr_10.elbows_bent")
    depth = 8.6 if has("cpr_11.mostly_too_deep") else 2.4 if has("cpr_11.mostly_shallow") else DEPTH
    floors = np.where(number < strokes - 1, min(2.2, 0.6 * depth) * has("cpr_13.constant_lean"), 0.0)
    periods = (
        how.period * np.where(number // 5 % 2, 1.45, 0.72) if has("cpr_12.uneven") else np.full(strokes, how.period)
    )
    lift = 11.0 if has("cpr_13.hands_leave_chest") else 0.0
    bow = 10.0 + 26.0 * bent  # shoulders too low for straight elbows
    lean = how.x + 34.0 * has("cpr_10.not_vertical") - s.me.value("x")
    right = (s.me.value("x") + 26, 160.0) if one_hand else (how.x + 3, y)
    s.me.put(lshape=0, rshape=0)
    s.me.move(0.4, lx=how.x - 3, ly=y, rx=right[0], ry=right[1], lean=lean, bow=bow, gx=0, gy=0.9)
    s.me.put(grip=4 if one_hand else 1)
    s.put(p_hx=how.x, p_hz=0.5)
    begin, floor = s.now, 0.0
    times, depths, lifts = [begin], [0.0], [0.0]
    shape, down = 0.5 - 0.5 * np.cos(2 * np.pi * _PHASE), _PHASE <= 0.5
    for place, (rest, period) in enumerate(zip(floors, periods, strict=True), 1):
        times += (s.now + _PHASE * period).tolist()
        depths += np.where(down, floor + (depth - floor) * shape, rest + (depth - rest) * shape).tolist()
        lifts += (lift * np.clip(1 - 4 * shape, 0, 1)).tolist()
        if counted:
            s.me.say(str(place), period, exact=True)
        floor = rest
        s.now += period
        if place == pause_after:
            times.append(s.now + _PAUSE * s.pace.clock)
            depths.append(floor)
            lifts.append(0.0)
            s.hold(_PAUSE)
    at, pressed, lifted = np.array(times), CM * np.array(depths), np.array(lifts)
    s.trace("p_depth", at, np.array(depths))
    for hand in ("me_ly",) if one_hand else ("me_ly", "me_ry"):
        s.trace(hand, at, y + pressed - lifted)
    # Straight arms carry the shoulders along; bent elbows take up part of the stroke.
    s.trace("me_bow", at, bow + (0.25 if bent else 1.0) * (pressed - lifted))
    s.log("me", f"compressed {strokes} times in {s.now - begin:.1f} s")
