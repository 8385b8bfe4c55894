"""Cardiopulmonary resuscitation: what is done in its 19 steps, right or wrong (described in :mod:`steps`)."""

from __future__ import annotations

from siming_tasks.tools.simulator.choreography import Bad, Choreography
from siming_tasks.tools.simulator.compressions import Technique, compress, technique_of


def resuscitate(s: Choreography) -> None:
    """All steps in the order of the plan: before the first compression, the first set, airway, breaths, cycles."""
    _scene_safety(s)
    _responsiveness(s)
    checks = [("cpr_04", _breathing), ("cpr_05", _pulse)]
    if s.coin("pulse before breathing", 0.3):  # a legal order
        checks.reverse()
    for step, script in (("cpr_03", _call_for_help), *checks, ("cpr_06", _lay_straight), ("cpr_07", _expose_chest)):
        s.act(step, script)
    with s.step("cpr_08") as bad:
        s.me.walk(248.0 if bad("omitted") else 290.0, 0.9)
        s.me.look(0, 0.9, wait=0.6)
    how = technique_of(s)
    _first_set(s, how)
    s.act("cpr_15", _clear_mouth)
    _airway(s)
    _breaths(s)
    _cycles(s, how)
    s.act("cpr_19", _reassess)


def _scene_safety(s: Choreography) -> None:
    with s.step("cpr_01") as bad:
        s.me.look(0.7, 0.7, wait=0.6)
        if bad("omitted"):
            return
        if not bad("no_look_around"):
            for gx, gy in ((-1, 0), (-0.2, -0.8), (1, 0), (0.2, 0.9)):
                s.me.look(gx, gy, wait=0.75)
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
        s.me.move(0.7, crouch=1, lx=284, ly=166, rx=316, ry=166, lean=0, bow=0)
        if bad("omitted"):
            s.me.rest(0.2)
            return
        s.me.bend(30, 18, look=(0.8, 0.9))
        s.me.reach((324, 184), (334, 212), 0.4, (4, 4))
        for _ in range(3):
            s.me.move(0.14, ly=176, ry=204)
            s.me.move(0.14, ly=184, ry=212)
        for ear in () if bad("tap_or_call_missing") else (0, 1):
            if bad("weak_call"):
                s.me.look(0.3, 0.3)
                s.me.say("hello", 0.9, wait=0.9)
            else:
                s.me.move(0.35, lean=46, bow=40 + 8 * ear, gx=0.9, gy=0.9)
                s.me.say("HELLO! CAN YOU HEAR ME?" if ear == 0 else "WAKE UP!", 1.1, wait=1.1)
        s.me.rest()


def _call_for_help(s: Choreography, bad: Bad) -> None:
    designated = not bad("nobody_designated") and not bad("shout_only")
    if designated:
        s.me.look(-1, -0.2)
        s.me.reach((s.me.value("x") - 52, 92), None, 0.4, (2, 0))
    else:
        s.me.look(0, -0.6, wait=0.4)
    s.me.say("HELP!", 1.0, wait=1.2)
    if bad("shout_only"):
        s.me.say("HELP!", 1.0)
    else:
        who = "You there:" if designated else "Somebody,"
        what = "call 120!" if bad("phone_or_aed_missing") else "call 120, get the AED!"
        s.me.say(f"{who} {what}", 2.2, wait=1.0)
        if designated:
            s.aide.look(1, 0.2)
            s.aide.say("OK!", 0.9)
    s.wait(1.2)
    if designated:
        s.aide.look(-1, 0.2)
        s.aide.start(2.2, x=-60, lx=-82, rx=-38)


def _check_seconds(s: Choreography, name: str, wrong: bool) -> float:
    """A check of 5 to 10 s; wrongly timed it is far too short or too long."""
    return 6.0 if not wrong else 2.2 if s.coin(f"{name} too short", 0.6) else 10.4


def _breathing(s: Choreography, bad: Bad) -> None:
    away = bad("no_view_of_chest")
    s.me.bend(44, 26 if away else 44, 0.5, look=(1, -0.3) if away else (-1, 0.8))
    s.wait(0.5)
    s.hold(_check_seconds(s, "breathing", bad("timing")))
    s.me.say("Not breathing.", 1.2, wait=0.8)


def _at_neck(s: Choreography, x: float = 347.0) -> None:
    """Two fingers on the carotid groove."""
    s.me.bend(34, 20, 0.5, look=(0.6, 0.8))
    s.me.reach(None, (x, 203.0), 0.5, (1, 1))


def _pulse(s: Choreography, bad: Bad) -> None:
    seconds = _check_seconds(s, "pulse", bad("timing"))
    _at_neck(s, 372.0 if bad("wrong_site") else 347.0)  # the jaw
    if bad("no_result_stated"):
        s.hold(seconds)
    else:
        last = max(2, int(seconds)) - 1
        for number in range(1, last + 1):
            s.me.say(f"{1000 + number}", seconds / last * 0.9 * s.tick)
            s.hold(seconds / last)
        s.me.say("No pulse!", 1.3)
    s.wait(0.8)


def _lay_straight(s: Choreography, bad: Bad) -> None:
    s.me.bend(0, 24, 0.5, look=(-0.8, 0.9))
    s.me.reach((246, 196), (346, 208), 0.5, (4, 4))
    s.move(0.8, p_twist=0.4 if bad("misaligned") else 0.0)
    if not bad("misaligned"):
        s.me.bend(44, 22, look=(1, 0.8))
        s.me.reach(None, (388, 206), 0.4, (0, 0))
        s.move(0.4, p_pillow=0)


def _expose_chest(s: Choreography, _: Bad) -> None:
    s.me.look(0, 0.9)
    s.me.start(0.4, bow=14)
    s.me.reach((288, 192), (304, 192), 0.4)
    s.start(0.7, p_cloth=0.5)
    s.me.reach((276, 182), (312, 203), 0.7)


def _locate(s: Choreography, how: Technique) -> None:
    """Feel for the lower half of the sternum: a finger along the rib edge, then the heel of the hand."""
    s.me.bend(how.x - s.me.value("x"), 18, look=(0, 1))
    s.me.reach(None, (how.x - 26, 200), 0.5, (0, 1))
    s.me.reach(None, (how.x - 6, 194), 0.6, (0, 1))
    s.wait(0.9)


def _first_set(s: Choreography, how: Technique) -> None:
    with s.step("cpr_09", "cpr_10", "cpr_11", "cpr_12", "cpr_13", "cpr_14") as bad:
        if bad("cpr_09.omitted"):
            s.me.look(0.5, 0.3, wait=4)
            s.me.rest()
            return
        _locate(s, how)
        strokes = s.pace.strokes
        if bad("cpr_14.large_miscount"):  # fewer where each takes long, for the set's slot
            fewer = s.coin("fewer") or how.period > 0.6 or bad("cpr_12.uneven")
            strokes = strokes * 2 // 3 if fewer else strokes * 6 // 5
        pause_after = strokes // 2 if bad("cpr_14.pause_inside_set") else None
        compress(s, strokes, how, counted=not bad("cpr_14.silent"), pause_after=pause_after)
        s.me.rest()


def _clear_mouth(s: Choreography, bad: Bad) -> None:
    s.me.bend(40, 22, look=(-1, -0.3) if bad("no_look") else (0.8, 1))
    s.me.reach((352, 206), (392, 184), 0.5)
    s.move(0.4, p_mouth=1)
    s.wait(0.8)
    if bad("blind_sweep") or bad("no_look"):
        s.me.reach(None, (366, 172), 0.4, (0, 1))
        s.me.move(0.25, rx=361)
        s.me.move(0.25, rx=366)
        s.me.reach(None, (392, 172), 0.3, (0, 1))
    s.move(0.3, p_mouth=0.1)


def _hands_at_head(s: Choreography, seconds: float) -> None:
    s.me.reach((356, 204), (394, 184), seconds, (1, 4))


def _airway(s: Choreography) -> None:
    with s.step("cpr_16") as bad:
        if bad("omitted"):
            s.me.look(0.7, 1)
        else:
            s.me.bend(40, 20, look=(0.7, 1))
            tilt = 0.3 if bad("too_little_tilt") else 2.0 if bad("over_extension") else 1.0
            if bad("wrong_manoeuvre"):  # lifts the neck with one hand
                s.me.reach((344, 214), None, 0.5, (4, 0))
            else:
                s.me.reach((357, 203), (393, 182), 0.5, (1, 4))
            s.start(0.8, p_tilt=tilt, p_mouth=0.25)
            s.me.move(0.8, **({"ly": 204} if bad("wrong_manoeuvre") else {"ly": 200, "rx": 396, "ry": 187}))
            s.wait(0.5)
        s.start(0.3, p_mouth=0.2)
        s.me.start(0.3, lean=40, bow=20, gx=0.7, gy=1)
        _hands_at_head(s, 0.4)


def _breaths(s: Choreography) -> None:
    with s.step("cpr_17") as bad:
        number = (1 if s.coin("one breath") else 3) if bad("wrong_number") else 2
        rise = 0.5 if bad("leak") else 0.0 if bad("neither_effective") else 1.0
        for _ in range(0 if bad("omitted") else number):
            _breath(s, rise, watch=not bad("not_watching_chest"), leak=bad("leak"))
        _leave_head(s)


def _breath(s: Choreography, rise: float = 1.0, *, watch: bool = True, leak: bool = False) -> None:
    """Seal, blow, come up, watch the chest fall."""
    tilt = s.value("p_tilt")
    s.put(p_shield=1)
    s.me.put(bare=1)
    s.me.bend(44, 44, look=(0.5, 1))
    nose = (398.0, 182.0) if leak else (374.0 + 7 * tilt, 171.0 + 3 * tilt)
    s.me.reach((352, 207), nose, 0.4, (1, 4 if leak else 1))
    s.me.start(0.2, bow=52)
    s.me.put(puff=1.5)
    s.put(p_leak=float(leak))
    s.start(s.tick, p_rise=rise)
    s.hold(1.0)
    s.put(p_leak=0)
    s.me.put(puff=0)
    s.me.bend(40, 32, 0.3, look=(-1, 0.7) if watch else (1, -0.5))
    s.start(0.9 * s.tick, p_rise=0)
    s.hold(1.1)


def _leave_head(s: Choreography) -> None:
    s.start(0.3, p_tilt=0, p_rise=0, p_mouth=0.1)
    s.put(p_shield=0)
    s.me.put(bare=0)
    s.me.rest()


def _cycles(s: Choreography, how: Technique) -> None:
    """The cycle after the first."""

    def breathe(number: int) -> None:
        s.me.start(0.4, lean=40, bow=20, gx=0.7, gy=1)
        s.start(0.6, p_tilt=1)
        _hands_at_head(s, 0.5)
        for _ in range(number):
            _breath(s)
        _leave_head(s)

    with s.step("cpr_18") as bad:
        if bad("omitted"):
            s.me.look(0.4, 0.3)
            s.hold(5)
            s.me.rest()
            return
        if bad("pause_over_15s"):
            s.hold(14.6)  # until the place is found and pressed, 2 s more
        if bad("order_reversed"):
            breathe(2)
        wrong = bad("ratio_wrong_repeatedly")
        for _ in range(2 if wrong else 1):
            _locate(s, how)
            compress(s, max(2, s.pace.strokes // 2) if wrong else s.pace.strokes, how)
            s.me.rest()
            if not bad("order_reversed"):
                breathe(1 if wrong else 2)


def _reassess(s: Choreography, bad: Bad) -> None:
    _at_neck(s)
    s.me.bend(42, 40, look=(1, -0.3) if bad("one_sign_only") else (-1, 0.8))
    s.hold(10.5 if bad("over_10s") else 5.5)
    if not bad("no_statement"):
        s.me.look(0, 0)
        s.me.say("No pulse, go on!", 1.4, wait=1.0)
