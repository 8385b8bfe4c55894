"""Chest compressions as motion: depth, rate, release and hands of every single stroke."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siming_tasks.tools.simulator.actor import Actor
from siming_tasks.tools.simulator.choreography import Choreography
from siming_tasks.tools.simulator.draw.patient import CM

__all__ = ["Technique", "compress", "technique_of"]

PERIOD = 60 / 110
"""Seconds per stroke at a proper rate."""
DEPTH = 5.5
"""Centimetres of a proper stroke."""

_SAMPLES = 12


@dataclass(frozen=True)
class Technique:
    """Compression technique of a person.

    Attributes:
        x, z: place on the chest (288, 0.5: lower half of the sternum, midline).
        grip: drawing of the hands (1 stacked, 2 side by side, 3 fingers on the ribs, 4 one hand).
        slant: pixels by which the shoulders are beside the hands.
        bent: pixels by which the shoulders are too low for straight elbows.
        lift: pixels by which the hands leave the chest between strokes.
        jab: short jerky strokes.
        press_share: part of a stroke spent pressing rather than releasing.
        depths: depth of each stroke in cm for a number of strokes.
        floors: depth that remains after each stroke.
        periods: seconds of each stroke.
    """

    depths: Callable[[int], NDArray[np.float64]]
    floors: Callable[[int], NDArray[np.float64]]
    periods: Callable[[int], NDArray[np.float64]]
    x: float = 288.0
    z: float = 0.5
    grip: int = 1
    slant: float = 0.0
    bent: float = 0.0
    lift: float = 0.0
    jab: bool = False
    press_share: float = 0.5


def technique_of(stage: Choreography, flawed: bool = True) -> Technique:
    """The trainee's technique after the plan's errors of the hand, depth, rate and recoil steps."""
    has = stage.plan.has if flawed else (lambda _: False)
    x, z = 288.0, 0.5
    if has("cpr_09.slight_offset"):
        x, z = (302.0, 0.62) if stage.coin("offset") else (274.0, 0.62)
    if has("cpr_09.wrong_zone"):
        x, z = (318.0, 0.5) if stage.coin("zone") else (246.0, 0.5)
    grip = 2 if has("cpr_10.hands_not_stacked") else 3 if has("cpr_10.fingers_on_chest") else 1
    return Technique(
        depths=lambda n: _depths(has, n),
        floors=lambda n: _floors(has, n),
        periods=lambda n: _periods(has, n, stage),
        x=x,
        z=z,
        grip=4 if has("cpr_10.one_hand") else grip,
        slant=34.0 if has("cpr_10.not_vertical") else 0.0,
        bent=26.0 if has("cpr_10.elbows_bent") else 0.0,
        lift=11.0 if has("cpr_13.hands_leave_chest") else 0.0,
        jab=has("cpr_10.jabbing"),
        press_share=0.8 if has("cpr_13.unequal_timing") else 0.5,
    )


def compress(
    stage: Choreography,
    who: Actor,
    strokes: int,
    how: Technique,
    *,
    counted: bool = True,
    pause_after: int | None = None,
    pause: float = 2.5,
) -> None:
    """Compress ``strokes`` times, from now on; true seconds, whatever the pace (a stroke must stay countable).

    Args:
        stage: where.
        who: compresses; kneeling.
        strokes: how many.
        how: technique.
        counted: count aloud.
        pause_after: stop for ``pause`` seconds after this many strokes, hands on the chest.
        pause: seconds.
    """
    _take_position(stage, who, how)
    begin = stage.now
    times, depths, lifts = [stage.now], [0.0], [0.0]
    floor = 0.0
    series = zip(how.depths(strokes), how.floors(strokes), how.periods(strokes), strict=True)
    for number, (depth, rest, period) in enumerate(series, 1):
        shape, phase = _stroke(how)
        times += (stage.now + phase * period).tolist()
        down = phase <= phase[int(np.argmax(shape))]
        depths += np.where(down, floor + (depth - floor) * shape, rest + (depth - rest) * shape).tolist()
        lifts += (how.lift * np.clip(1 - 4 * shape, 0, 1)).tolist()
        if counted:
            stage.say(who.who, str(number), period, exact=True)
        floor = rest
        stage.now += period
        if number == pause_after:
            times.append(stage.now + pause * stage.pace.clock)
            depths.append(floor)
            lifts.append(0.0)
            stage.hold(pause)
    _write(stage, who, how, np.array(times), np.array(depths), np.array(lifts))
    stage.log(who.who, f"compressed {strokes} times in {stage.now - begin:.1f} s")


def _take_position(stage: Choreography, who: Actor, how: Technique) -> None:
    lean = how.x + how.slant - who.value("x")
    y = 178 + 28 * how.z
    who.put(lshape=0, rshape=0)
    right = (who.value("x") + 26, 160.0) if how.grip == 4 else (how.x + 3, y)
    who.move(0.4, lx=how.x - 3, ly=y, rx=right[0], ry=right[1], lean=lean, bow=_bow(how), gx=0, gy=0.9)
    who.put(grip=how.grip)
    stage.put(p_hx=how.x, p_hz=how.z)


def _bow(how: Technique) -> float:
    return 10.0 + 14.0 * (how.z - 0.5) + how.bent


def _stroke(how: Technique) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Depth (0 to 1) over the phase of one stroke, phases in (0, 1]."""
    phase = np.arange(1, _SAMPLES + 1) / _SAMPLES
    if how.jab:
        return np.interp(phase, [0, 0.17, 0.34, 0.42, 0.5, 1], [0, 1, 0.05, 0.18, 0, 0]), phase
    half = how.press_share
    if half > 0.5:  # pressed down long, released late
        return np.interp(phase, [0, 0.17, half, 1], [0, 1, 1, 0]), phase
    return 0.5 - 0.5 * np.cos(2 * np.pi * phase), phase


def _write(
    stage: Choreography,
    who: Actor,
    how: Technique,
    times: NDArray[np.float64],
    depths: NDArray[np.float64],
    lifts: NDArray[np.float64],
) -> None:
    y = 178 + 28 * how.z + CM * depths - lifts
    stage.trace("p_depth", times, depths)
    stage.trace(f"{who.who}_ly", times, y)
    if how.grip != 4:
        stage.trace(f"{who.who}_ry", times, y)
    # Straight arms carry the shoulders along; bent elbows take up part of the stroke.
    share = 0.25 if how.bent else 1.0
    stage.trace(f"{who.who}_bow", times, _bow(how) + share * (CM * depths - lifts))


def _depths(has: Callable[[str], bool], n: int) -> NDArray[np.float64]:
    depths = np.full(n, DEPTH)
    if has("cpr_11.some_shallow"):
        depths[1::4] = 2.5
    if has("cpr_11.fading"):
        depths = np.linspace(DEPTH, 2.4, n)
    if has("cpr_11.mostly_too_deep"):
        depths[:] = 8.6
    if has("cpr_11.mostly_shallow"):
        depths[:] = 2.4
    if has("cpr_11.omitted"):
        depths[:] = 0.0
    return depths


def _floors(has: Callable[[str], bool], n: int) -> NDArray[np.float64]:
    floors = np.zeros(n)
    if has("cpr_13.occasional_lean"):
        floors[1::3] = 2.0
    if has("cpr_13.constant_lean"):
        floors[:] = 2.2
    floors[-1] = 0.0
    return np.minimum(floors, 0.6 * _depths(has, n))


def _periods(has: Callable[[str], bool], n: int, stage: Choreography) -> NDArray[np.float64]:
    period = PERIOD
    if has("cpr_12.slightly_out"):
        period = 0.635 if stage.coin("slow") else 0.480
    if has("cpr_12.far_out"):
        period = 0.82 if stage.coin("slow") else 0.39
    periods = np.full(n, period)
    if has("cpr_12.uneven"):
        periods = period * np.where(np.arange(n) // 5 % 2, 1.65, 0.72)
    return periods
