"""Cardiopulmonary resuscitation, steps 1 to 8: before the first compression."""

from __future__ import annotations

import numpy as np

from siming_tasks.tools.simulator.choreography import Choreography

__all__ = ["at_neck", "before_compressions", "call_for_help"]


def before_compressions(s: Choreography) -> None:
    """Scene, responsiveness, help, breathing, pulse, position, chest, own position."""
    _scene_safety(s)
    _responsiveness(s)
    if not s.plan.has("cpr_03.late_activation"):
        call_for_help(s)
    if s.coin("pulse before breathing", 0.3):  # a legal order
        _pulse(s)
        _breathing(s)
    else:
        _breathing(s)
        _pulse(s)
    _supine(s)
    _expose_chest(s)
    _own_position(s)


def _scene_safety(s: Choreography) -> None:
    with s.step("cpr_01") as bad:
        s.me.look(0.7, 0.7)
        s.wait(0.6)
        if bad("omitted"):
            return
        if not bad("no_look_around"):
            for gx, gy in ((-1, 0), (-0.2, -0.8), (1, 0), (0.2, 0.9)):
                s.me.look(gx, gy)
                s.wait(0.75)
        if not bad("no_safe_signal"):
            s.me.look(0, 0.2)
            s.me.say("The scene is safe.", 1.8)
            x = s.me.value("x")
            s.me.reach((x - 38, 62), (x + 38, 62), 0.4, (5, 5))
            s.wait(1.2)
        s.me.rest()


def _responsiveness(s: Choreography) -> None:
    with s.step("cpr_02") as bad:
        s.me.walk(300, 1.3)
        s.me.kneel(0.7)
        if bad("omitted"):
            s.me.rest(0.2)
            return
        near = None if bad("one_side_only") else (334.0, 212.0)
        s.me.look(0.8, 0.9)
        s.me.start(0.4, lean=30, bow=18)
        s.me.reach((324, 184), near, 0.4, (4, 4))
        if bad("shakes_patient"):
            _shake(s)
        else:
            _tap(s, both=near is not None)
        if not bad("tap_or_call_missing"):
            _call(s, weak=bad("weak_call"), twice=not bad("one_side_only"))
        s.me.rest()


def _tap(s: Choreography, both: bool) -> None:
    for _ in range(3):
        hands = {"ly": 176.0, **({"ry": 204.0} if both else {})}
        s.me.move(0.14, **hands)
        s.me.move(0.14, ly=184, **({"ry": 212.0} if both else {}))


def _shake(s: Choreography) -> None:
    for way in (6, -6, 6, -6, 6, -6, 0):
        s.me.start(0.16, lx=324 + way, rx=334 + way)
        s.move(0.16, p_shake=way)


def _call(s: Choreography, weak: bool, twice: bool) -> None:
    for ear in (0, 1) if twice else (0,):
        if weak:
            s.me.look(0.3, 0.3)
            s.me.say("hello", 0.9)
            s.wait(0.9)
        else:
            s.me.move(0.35, lean=46, bow=40 + 8 * ear, gx=0.9, gy=0.9)
            s.me.say("HELLO! CAN YOU HEAR ME?" if ear == 0 else "WAKE UP!", 1.1)
            s.wait(1.1)


def call_for_help(s: Choreography) -> None:
    """Step 3; performed late if the plan says so."""
    with s.step("cpr_03") as bad:
        if bad("omitted"):
            return
        designated = not bad("nobody_designated") and not bad("shout_only")
        x = s.me.value("x")
        if designated:
            s.me.look(-1, -0.2)
            s.me.reach((x - 52, 92), None, 0.4, (2, 0))
        else:
            s.me.look(0, -0.6)
            s.wait(0.4)
        s.me.say("HELP!", 1.0)
        s.wait(1.2)
        if not bad("shout_only"):
            who = "You there:" if designated else "Somebody,"
            what = "call 120!" if bad("phone_or_aed_missing") else "call 120, get the AED!"
            s.me.say(f"{who} {what}", 2.2)
            s.wait(1.0)
            if designated:
                s.aide.look(1, 0.2)
                s.aide.say("OK!", 0.9)
            s.wait(1.2)
        else:
            s.me.say("HELP!", 1.0)
            s.wait(1.2)
        if designated:
            s.aide.look(-1, 0.2)
            s.aide.start(2.2, x=-60, lx=-82, rx=-38)
        s.me.rest()


def _breathing(s: Choreography) -> None:
    with s.step("cpr_04") as bad:
        if bad("omitted"):
            return
        away = bad("no_view_of_chest")
        s.me.start(0.5, lean=44, bow=26 if away else 44)
        s.me.look(1 if away else -1, -0.3 if away else 0.8)
        s.wait(0.5)
        s.hold(_check_seconds(s, "breathing", bad("timing")))
        s.me.say("Not breathing.", 1.2)
        s.wait(0.8)
        s.me.rest()


def _pulse(s: Choreography) -> None:
    with s.step("cpr_05") as bad:
        if bad("omitted"):
            return
        seconds = _check_seconds(s, "pulse", bad("timing"))
        site = "jaw" if bad("wrong_site") else "both" if bad("both_sides") else "neck"
        at_neck(s, site)
        if not bad("no_result_stated"):
            count = np.arange(1, max(2, int(seconds)))
            for number in count:
                s.me.say(f"{1000 + number}", seconds / len(count) * 0.9 * s.tick)
                s.hold(seconds / len(count))
            s.me.say("No pulse!", 1.3)
        else:
            s.hold(seconds)
        s.wait(0.8)
        s.me.rest()


def at_neck(s: Choreography, site: str) -> None:
    """Two fingers on the carotid groove (``neck``), on the ``jaw``, or on ``both`` sides of the neck."""
    s.me.look(0.6, 0.8)
    s.me.start(0.5, lean=34, bow=20)
    right = (372.0, 203.0) if site == "jaw" else (347.0, 203.0)
    s.me.reach((344, 186) if site == "both" else None, right, 0.5, (1, 1))


def _check_seconds(s: Choreography, name: str, wrong: bool) -> float:
    """A check of 5 to 10 s; wrongly timed it is far too short or too long."""
    if not wrong:
        return 6.0
    return 2.2 if s.coin(f"{name} too short", 0.6) else 13.5


def _supine(s: Choreography) -> None:
    with s.step("cpr_06") as bad:
        if bad("omitted"):
            return
        s.me.look(-0.8, 0.9)
        if bad("neck_unprotected"):
            s.me.start(0.5, lean=-14, bow=14)
            s.me.reach((246, 196), (318, 208), 0.5, (4, 4))
            for way in (5, -5, 4, 0):
                s.move(0.2, p_shake=way, p_twist=0.35 if way else 0.0)
        else:
            s.me.start(0.5, lean=0, bow=24)
            s.me.reach((246, 196), (346, 208), 0.5, (4, 4))
            s.move(0.8, p_twist=0.4 if bad("misaligned") else 0.0)
        if not bad("misaligned"):
            s.me.look(1, 0.8)
            s.me.start(0.4, lean=44, bow=22)
            s.me.reach(None, (388, 206), 0.4, (0, 0))
            s.move(0.4, p_pillow=0)
        s.me.rest()


def _expose_chest(s: Choreography) -> None:
    with s.step("cpr_07") as bad:
        if bad("omitted"):
            return
        s.me.look(0, 0.9)
        s.me.start(0.4, bow=14)
        s.me.reach((288, 192), (304, 192), 0.4)
        s.start(0.7, p_cloth=0.5)
        s.me.reach((276, 182), (312, 203), 0.7)
        s.me.rest()


def _own_position(s: Choreography) -> None:
    with s.step("cpr_08") as bad:
        if bad("omitted"):
            s.base_x = 248.0
        s.me.walk(s.base_x, 0.9)
        s.me.look(0, 0.9)
        s.wait(0.6)
