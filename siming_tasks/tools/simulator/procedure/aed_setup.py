"""The automated external defibrillator, steps 1 to 4: power, chest, pads, connector; an assistant compresses."""

from __future__ import annotations

import numpy as np

from siming_tasks.tools.simulator.choreography import Choreography
from siming_tasks.tools.simulator.draw.devices import AED_MODES
from siming_tasks.tools.simulator.draw.patient import CM
from siming_tasks.tools.simulator.procedure.compressions import DEPTH, PERIOD

__all__ = ["AED_AT", "device_listens", "prepare_device"]

AED_AT = (398.0, 150.0)
"""Where the device belongs: beside the head."""
FAR_AED = (128.0, 158.0)
"""Where it is out of reach."""
PAD_1 = (317.0, 0.12)
"""Below the right collarbone: x and z on the chest."""
PAD_2 = (296.0, 1.32)
"""Left side, below the armpit."""


def device_listens(s: Choreography) -> bool:
    """Say if the device can analyse: it is on, its pads are on the patient and its connector is in."""
    return not any(s.plan.has(name) for name in ("aed_01.omitted", "aed_03.omitted", "aed_04.omitted"))


def prepare_device(s: Choreography) -> None:
    """The device arrives and is made ready; ends with an assistant compressing unless the plan stops it."""
    since = _power(s)
    _bare_chest(s)
    _pads(s)
    _connect(s, since)


def _power(s: Choreography) -> float:
    """Returns when the assistant's compressions begin."""
    with s.step("aed_01") as bad:
        place = FAR_AED if bad("bad_placement") else AED_AT
        if s.aide.value("x") > 0:
            s.aide.walk(-60, 0.8)
        s.aide.put(seen=1, x=-60, lx=-44, rx=-20, ly=128, ry=128, gx=0.6, gy=0.4)
        s.put(a_seen=1, a_x=-32, a_y=126, o_seen=1, o_x=262, o_y=191)
        s.me.look(-1, 0)
        s.aide.start(2.0, x=196, lx=212, rx=236)
        s.start(2.0, a_x=224)
        s.wait(2.0)
        s.me.start(0.9, x=345, lean=0, lx=329)
        s.me.start(0.9, rx=place[0], ry=place[1] - 8)
        s.move(0.9, a_x=place[0], a_y=place[1])
        s.aide.start(0.9, x=256, crouch=1, lx=285, ly=192, rx=291, ry=192, lean=30, bow=12, gx=0.2, gy=0.9)
        s.me.look(0.7 if place == AED_AT else -1, 0.6)
        if bad("omitted") or bad("late_power"):
            s.wait(1.2)
        else:
            _press_power(s)
        s.aide.put(grip=1)
        s.put(p_hx=288, p_hz=0.5)
        s.me.rest()
    return s.now


def _press_power(s: Choreography) -> None:
    x, y = s.value("a_x"), s.value("a_y")
    s.me.reach(None, (x + 12, y - 9), 0.5, (0, 1))
    s.wait(0.2)
    s.put(a_mode=AED_MODES["idle"])
    s.log("me", "switches the AED on")
    s.say("aed", "Attach the pads.", 1.6)
    s.wait(0.4)


def _bare_chest(s: Choreography) -> None:
    with s.step("aed_02") as bad:
        wet = s.coin("wet chest", 0.5)
        if s.value("p_cloth") > 0.3 or not bad("omitted"):
            s.put(p_wet=float(wet))
        if bad("omitted"):
            return
        s.me.look(-0.9, 0.9)
        s.me.start(0.4, lean=-20, bow=14)
        s.me.reach((300, 184), (318, 200), 0.5)
        s.start(0.6, p_cloth=1)
        if bad("partly_bare"):
            s.put(p_flap=1)
        s.me.reach((286, 178), (322, 214), 0.6)
        if not bad("no_skin_check"):
            for x in (276, 312, 290):
                s.me.reach((x, 190), None, 0.3, (4, 0))
            s.put(p_wet=0)
            s.me.say("Dry, no patches.", 1.3)
            s.wait(0.9)
        else:
            s.me.look(0.8, 0)
            s.wait(0.3)
        s.me.rest()


def _pads(s: Choreography) -> None:
    with s.step("aed_03") as bad:
        if bad("omitted"):
            s.me.look(0.5, 0.4)
            s.wait(1.5)
        else:
            first, second = PAD_1, PAD_2
            if bad("slight_offset"):
                second = (276.0, 1.16)
            if bad("one_misplaced"):
                second = (262.0, 0.66)
            if bad("both_misplaced"):
                first, second = (318.0, 0.72), (306.0, 0.92)
            if bad("swapped"):
                first, second = second, first
            s.put(a_curl=1)
            for number, place in ((1, first), (2, second)):
                _stick(s, number, place)
        if s.plan.has("aed_01.late_power") and not s.plan.has("aed_01.omitted"):
            s.me.look(0.7, 0.6)
            _press_power(s)
        s.me.rest()


def _stick(s: Choreography, number: int, place: tuple[float, float]) -> None:
    x, y = s.value("a_x"), s.value("a_y")
    hand = (x - 16, y + 6)
    s.me.look(0.7 if x > 300 else -1, 0.7)
    s.me.reach(None, hand, 0.5)
    s.put(**{f"a_pad{number}": 1, f"a_pad{number}x": hand[0], f"a_pad{number}y": hand[1], f"a_pad{number}z": -1})
    s.wait(1.2)
    target = (place[0], 178 + 28 * place[1])
    s.me.look(-0.7, 1)
    s.me.start(0.8, lean=-16, bow=14)
    s.start(0.8, **{f"a_pad{number}x": target[0], f"a_pad{number}y": target[1]})
    s.me.reach(None, target, 0.8)
    s.put(**{f"a_pad{number}z": place[1]})
    s.wait(0.4)
    s.me.start(0.3, lean=0, bow=0)


def _connect(s: Choreography, since: float) -> None:
    with s.step("aed_04") as bad:
        stopped = bad("long_interruption")
        if stopped:
            assist(s, since, s.now)
            s.aide.rest(0.4)
        if not bad("omitted"):
            if not bad("poor_adhesion"):
                s.me.look(-0.8, 1)
                s.me.start(0.4, lean=-20, bow=14)
                for number in (1, 2):
                    if s.value(f"a_pad{number}") > 0.5:
                        target = s.value(f"a_pad{number}x"), 178 + 28 * s.value(f"a_pad{number}z") - 4
                        s.me.reach((target[0] - 6, target[1]), (target[0] + 6, target[1]), 0.4, (4, 4))
                        s.wait(0.3)
                s.put(a_curl=0)
                s.me.start(0.3, lean=0, bow=0)
            if bad("late_connector"):
                s.me.rest(0.3)
                for _ in range(3):
                    s.say("aed", "Plug in the connector.", 1.5)
                    s.hold(2.0)
            x, y = s.value("a_x"), s.value("a_y")
            s.me.look(0.7 if x > 300 else -1, 0.8)
            s.me.reach(None, (x - 32, y + 12), 0.4)
            s.me.reach(None, (x - 14, y + 11), 0.4)
            s.put(a_plug=1)
            s.log("me", "plugs the connector in")
            s.wait(0.3)
        if stopped:
            s.hold(5)
        s.me.rest()
    if not stopped:
        assist(s, since, s.now)


def assist(s: Choreography, begin: float, end: float) -> None:
    """Proper compressions by the assistant from ``begin`` until ``end`` (seconds of the video)."""
    times = np.arange(begin, end, PERIOD / 12)
    depth = DEPTH * (0.5 - 0.5 * np.cos(2 * np.pi * (times - begin) / PERIOD))
    depth[-1] = 0.0
    s.trace("p_depth", times, depth)
    for hand in ("aide_ly", "aide_ry"):
        s.trace(hand, times, 192 + CM * depth)
    s.trace("aide_bow", times, 12 + CM * depth)
    s.log("aide", f"compressed from {begin:.1f} s to {end:.1f} s")
