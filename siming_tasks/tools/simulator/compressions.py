"""Chest compressions as motion: depth, rate, release and hands of every single stroke."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siming_tasks.tools.simulator.choreography import Choreography
from siming_tasks.tools.simulator.patient import CM

PERIOD = 60 / 110
"""Seconds per stroke at a proper rate."""
DEPTH = 5.5
"""Centimetres of a proper stroke."""
_SAMPLES = 12
"""Keyframes of a stroke."""
_PAUSE = 2.5
"""Seconds of a pause inside a set."""


@dataclass(frozen=True)
class Technique:
    """Compression technique of a person.

    Attributes:
        has: if an error, by its id, is made; decides depth, floor and rhythm of the strokes.
        period: seconds of a stroke.
        x: place on the chest (288: lower half of the sternum).
        grip: drawing of the hands (1 stacked, 4 one hand).
        slant: pixels by which the shoulders are beside the hands.
        bent: pixels by which the shoulders are too low for straight elbows.
    """

    has: Callable[[str], bool]
    period: float
    x: float
    grip: int
    slant: float
    bent: float

    def strokes(self, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Depths in cm, depths that remain afterwards, and seconds of ``n`` strokes, each of shape (n,)."""
        depths, floors, periods = np.full(n, DEPTH), np.zeros(n), np.full(n, self.period)
        for error, depth in (("mostly_too_deep", 8.6), ("mostly_shallow", 2.4)):
            if self.has(f"cpr_11.{error}"):
                depths[:] = depth
        if self.has("cpr_13.constant_lean"):
            floors[:-1] = 2.2
        if self.has("cpr_12.uneven"):
            periods = self.period * np.where(np.arange(n) // 5 % 2, 1.45, 0.72)
        return depths, np.minimum(floors, 0.6 * depths), periods


def technique_of(s: Choreography, flawed: bool = True) -> Technique:
    """The trainee's technique after the plan's errors of the hand, depth, rate and recoil steps."""
    has = s.plan.has if flawed else (lambda _: False)
    x, period = 288.0, PERIOD
    if has("cpr_09.wrong_zone"):
        x = 318.0 if s.coin("zone") else 246.0
    if has("cpr_12.far_out"):
        pauses = has("cpr_14.pause_inside_set") or has("cpr_18.pause_over_15s")  # both would overrun the step's slot
        period = 0.70 if s.coin("slow") and not pauses else 0.39
    slant, bent = 34.0 * has("cpr_10.not_vertical"), 26.0 * has("cpr_10.elbows_bent")
    return Technique(has, period, x, 4 if has("cpr_10.one_hand") else 1, slant, bent)


def compress(
    s: Choreography, strokes: int, how: Technique, *, counted: bool = True, pause_after: int | None = None
) -> None:
    """The kneeling trainee compresses ``strokes`` times; true seconds, whatever the pace: a stroke must stay countable.

    ``counted`` is counting aloud; after ``pause_after`` strokes there is a pause, hands on the chest.
    """
    here, y, bow = s.me.value("x"), 192.0, 10.0 + how.bent
    right = (here + 26, 160.0) if how.grip == 4 else (how.x + 3, y)
    s.me.put(lshape=0, rshape=0)
    lean = how.x + how.slant - here
    s.me.move(0.4, lx=how.x - 3, ly=y, rx=right[0], ry=right[1], lean=lean, bow=bow, gx=0, gy=0.9)
    s.me.put(grip=how.grip)
    s.put(p_hx=how.x, p_hz=0.5)
    begin, floor = s.now, 0.0
    times, depths, lifts = [begin], [0.0], [0.0]
    phase = np.arange(1, _SAMPLES + 1) / _SAMPLES
    shape, down = 0.5 - 0.5 * np.cos(2 * np.pi * phase), phase <= 0.5
    lift = 11.0 if how.has("cpr_13.hands_leave_chest") else 0.0
    for number, (depth, rest, period) in enumerate(zip(*how.strokes(strokes), strict=True), 1):
        times += (s.now + phase * period).tolist()
        depths += np.where(down, floor + (depth - floor) * shape, rest + (depth - rest) * shape).tolist()
        lifts += (lift * np.clip(1 - 4 * shape, 0, 1)).tolist()
        if counted:
            s.me.say(str(number), period, exact=True)
        floor = rest
        s.now += period
        if number == pause_after:
            times.append(s.now + _PAUSE * s.pace.clock)
            depths.append(floor)
            lifts.append(0.0)
            s.hold(_PAUSE)
    at, pressed, lifted = np.array(times), CM * np.array(depths), np.array(lifts)
    s.trace("p_depth", at, np.array(depths))
    for hand in ("me_ly", "me_ry")[: 1 if how.grip == 4 else 2]:
        s.trace(hand, at, y + pressed - lifted)
    # Straight arms carry the shoulders along; bent elbows take up part of the stroke.
    s.trace("me_bow", at, bow + (0.25 if how.bent else 1.0) * (pressed - lifted))
    s.log("me", f"compressed {strokes} times in {s.now - begin:.1f} s")
