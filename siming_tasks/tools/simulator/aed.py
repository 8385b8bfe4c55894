"""The automated external defibrillator: what is done in its nine steps, right or wrong (described in :mod:`steps`)."""

from __future__ import annotations

import numpy as np

from siming_tasks.tools.simulator.choreography import Bad, Choreography
from siming_tasks.tools.simulator.compressions import DEPTH, PERIOD, compress, technique_of
from siming_tasks.tools.simulator.patient import AED_MODES, CM

_AT = (398.0, 150.0)
"""Place of the device: next to the head."""
_FAR = (128.0, 158.0)
"""Where it is out of reach."""
_PAD_1 = (317.0, 0.12)
"""Below the right collarbone: x and z on the chest."""
_PAD_2 = (296.0, 1.32)
"""Left side, below the armpit."""
_UPRIGHT = {"x": 160, "crouch": 0, "lean": 0, "bow": 0, "lx": 138, "rx": 182, "ly": 134, "ry": 134}
"""The assistant standing away from the patient."""


def defibrillate(s: Choreography) -> None:
    """All steps: the device is made ready while an assistant compresses, then analysis, shock and compressions."""
    # The device can analyse when it is on, its pads are on the patient and its connector is in.
    listens = not any(s.plan.has(name) for name in ("aed_01.omitted", "aed_03.omitted", "aed_04.omitted"))
    _power(s)
    since = s.now  # the assistant compresses from here on
    with s.step("aed_02") as bad:
        _bare_chest(s, bad)
    with s.step("aed_03") as bad:
        _pads(s, bad)
    with s.step("aed_04") as bad:
        _connect(s, bad, since)
    if not s.plan.has("aed_04.long_interruption"):
        _assist(s, since)
    _clear_for_analysis(s, listens)
    _follow_advice(s, listens)
    _clear_for_shock(s)
    _shock(s, listens)
    with s.step("aed_09") as bad:
        _resume(s, bad)


def _look_at_device(s: Choreography, gy: float = 0.6) -> tuple[float, float]:
    """Place of the device; the trainee looks there."""
    x, y = s.value("a_x"), s.value("a_y")
    s.me.look(0.7 if x > 300 else -1, gy)
    return x, y


def _power(s: Choreography) -> None:
    with s.step("aed_01") as bad:
        place = _FAR if bad("bad_placement") else _AT
        if s.aide.value("x") > 0:
            s.aide.walk(-60, 0.8)
        s.aide.put(seen=1, x=-60, lx=-44, rx=-20, ly=128, ry=128, gx=0.6, gy=0.4)
        s.put(a_seen=1, a_x=-32, a_y=126, o_seen=1, o_x=262, o_y=191)
        s.me.look(-1, 0)
        s.aide.start(2.0, x=196, lx=212, rx=236)
        s.move(2.0, a_x=224)
        s.me.start(0.9, x=345, lean=0, lx=329, rx=place[0], ry=place[1] - 8)
        s.move(0.9, a_x=place[0], a_y=place[1])
        s.aide.start(0.9, x=256, crouch=1, lx=285, ly=192, rx=291, ry=192, lean=30, bow=12, gx=0.2, gy=0.9)
        s.me.look(0.7 if place == _AT else -1, 0.6)
        if bad("omitted") or bad("late_power"):
            s.wait(1.2)
        else:
            _press_power(s)
        s.aide.put(grip=1)
        s.put(p_hx=288, p_hz=0.5)
        s.me.rest()


def _press_power(s: Choreography) -> None:
    s.me.reach(None, (s.value("a_x") + 12, s.value("a_y") - 9), 0.5, (0, 1))
    s.wait(0.2)
    s.put(a_mode=AED_MODES["idle"])
    s.log("me", "switches the AED on")
    s.say("aed", "Attach the pads.", 1.6, wait=0.4)


def _bare_chest(s: Choreography, bad: Bad) -> None:
    if s.value("p_cloth") > 0.3 or not bad("omitted"):
        s.put(p_wet=float(s.coin("wet chest", 0.5)))
    if bad("omitted"):
        return
    s.me.bend(-20, 14, look=(-0.9, 0.9))
    s.me.reach((300, 184), (318, 200), 0.5)
    s.start(0.6, p_cloth=1)
    s.put(p_flap=float(bad("partly_bare")))
    s.me.reach((286, 178), (322, 214), 0.6)
    if bad("no_skin_check"):
        s.me.look(0.8, 0, wait=0.3)
    else:
        for x in (276, 312, 290):
            s.me.reach((x, 190), None, 0.3, (4, 0))
        s.put(p_wet=0)
        s.me.say("Dry, no patches.", 1.3, wait=0.9)
    s.me.rest()


def _pads(s: Choreography, bad: Bad) -> None:
    first, second = _PAD_1, _PAD_2
    if bad("one_misplaced"):
        second = (262.0, 0.66)
    if bad("both_misplaced"):
        first, second = (318.0, 0.72), (306.0, 0.92)
    if bad("omitted"):
        s.me.look(0.5, 0.4, wait=1.5)
    else:
        s.put(a_curl=1)
        for pad, place in (("a_pad1", first), ("a_pad2", second)):
            x, y = _look_at_device(s, 0.7)
            s.me.reach(None, (x - 16, y + 6), 0.5)
            s.put(**{pad: 1, f"{pad}x": x - 16, f"{pad}y": y + 6, f"{pad}z": -1})
            s.wait(1.2)
            target = (place[0], 178 + 28 * place[1])
            s.me.bend(-16, 14, 0.8, look=(-0.7, 1))
            s.start(0.8, **{f"{pad}x": target[0], f"{pad}y": target[1]})
            s.me.reach(None, target, 0.8)
            s.put(**{f"{pad}z": place[1]})
            s.wait(0.4)
            s.me.bend(0, 0, 0.3)
    if s.plan.has("aed_01.late_power"):
        s.me.look(0.7, 0.6)
        _press_power(s)
    s.me.rest()


def _places_of_pads(s: Choreography) -> list[tuple[str, float, float]]:
    """Channel and place in the picture of each pad that is there."""
    pads = [pad for pad in ("a_pad1", "a_pad2") if s.value(pad) > 0.5]
    return [(pad, s.value(f"{pad}x"), 178 + 28 * s.value(f"{pad}z")) for pad in pads]


def _connect(s: Choreography, bad: Bad, since: float) -> None:
    if bad("long_interruption"):
        _assist(s, since)
        s.aide.rest(0.4)
    if not bad("omitted"):
        if not bad("poor_adhesion"):
            s.me.bend(-20, 14, look=(-0.8, 1))
            for _, x, y in _places_of_pads(s):
                s.me.reach((x - 6, y - 4), (x + 6, y - 4), 0.4, (4, 4))
                s.wait(0.3)
            s.put(a_curl=0)
            s.me.bend(0, 0, 0.3)
        if bad("late_connector"):
            s.me.rest(0.3)
            for _ in range(3):
                s.say("aed", "Plug in the connector.", 1.5)
                s.hold(1.5)
        x, y = _look_at_device(s, 0.8)
        s.me.reach(None, (x - 32, y + 12), 0.4)
        s.me.reach(None, (x - 14, y + 11), 0.4)
        s.put(a_plug=1)
        s.log("me", "plugs the connector in")
        s.wait(0.3)
    if bad("long_interruption"):
        s.hold(5)
    s.me.rest()


def _assist(s: Choreography, begin: float) -> None:
    """Proper compressions by the assistant from ``begin`` (seconds of the video) until now."""
    times = np.arange(begin, s.now, PERIOD / 12)
    depth = DEPTH * (0.5 - 0.5 * np.cos(2 * np.pi * (times - begin) / PERIOD))
    depth[-1] = 0.0
    s.trace("p_depth", times, depth)
    for channel, rest in (("aide_ly", 192), ("aide_ry", 192), ("aide_bow", 12)):
        s.trace(channel, times, rest + CM * depth)
    s.log("aide", f"compressed from {begin:.1f} s to {s.now:.1f} s")


def _step_back(s: Choreography) -> None:
    """The assistant lets go and stands up, away from the patient."""
    s.aide.put(grip=0)
    s.aide.move(0.9, **_UPRIGHT, gx=0.6, gy=0.6)


def _lay_hand(s: Choreography) -> None:
    """The assistant's hand on the patient's thigh."""
    s.aide.put(rshape=4)
    s.aide.move(0.5, rx=214.0, ry=184.0, lean=22, bow=46)


def _warn(s: Choreography, words: str, *, spoken: bool, looked: bool) -> None:
    """A warning by voice, by look and gesture, or by both."""
    x = s.me.value("x")
    if spoken:
        s.me.say(words, 1.6)
    if looked:
        s.me.look(1, 0.6, 0.2)
        s.me.reach((x - 34, 112), None, 0.4, (5, 0))
        s.me.move(0.5, gx=-0.3, gy=0.7, lx=x - 46, ly=120)
        s.me.move(0.5, gx=-1, gy=0.4, lx=x - 54, ly=112)
        s.wait(0.3)
    else:
        s.me.look(0.8, 0.6, wait=1.7)


def _clear_for_analysis(s: Choreography, listens: bool) -> None:
    with s.step("aed_05") as bad:
        if not bad("omitted"):
            _warn(s, "Stand clear!", spoken=not bad("gesture_only"), looked=not bad("voice_only"))
            _step_back(s)
        elif listens:
            s.aide.put(grip=0)
            s.aide.start(0.3, lx=280, rx=296, ly=192, ry=192)
        else:
            s.aide.rest()
        if listens:
            s.put(a_mode=AED_MODES["analysing"])
            s.say("aed", "Analysing. Do not touch.", 2.2)
            s.hold(1.6)
            if bad("brief_contact"):
                _lay_hand(s)
                s.wait(1.6)
                s.aide.move(0.4, rx=182, ry=134, lean=0, bow=0)
            s.hold(5.0)
        s.me.rest()
        if bad("omitted"):
            _step_back(s)


def _follow_advice(s: Choreography, listens: bool) -> None:
    with s.step("aed_06") as bad:
        x, y = _look_at_device(s)
        if bad("acts_too_early"):
            s.me.reach(None, (x + 12, y + 1), 0.4, (0, 1))
            for _ in range(3):
                s.me.move(0.2, ry=y - 6)
                s.me.move(0.2, ry=y + 1)
        else:
            s.wait(1.2)
        if listens:
            s.say("aed", "Shock advised. Charging.", 2.0, wait=1.6)
        s.wait(0.8)
        if bad("omitted"):
            s.me.look(-0.8, 0.8)
            s.me.say("No shock.", 1.3)
            s.me.bend(-28, 14)
            s.me.reach((290, 192), (296, 192), 0.5)
        elif not bad("result_not_signalled"):
            s.me.look(-0.8, 0.1)
            s.me.say("It advises a shock!", 1.4)
        s.wait(1.6)
        s.me.rest()


def _clear_for_shock(s: Choreography) -> None:
    with s.step("aed_07") as bad:
        if bad("oxygen_left"):
            s.wait(1.1)
        else:
            s.aide.put(rshape=0)
            s.aide.move(0.5, rx=262, ry=190, lean=34, bow=52)
            s.start(0.6, o_x=186, o_y=150)
            s.aide.move(0.6, rx=182, ry=134, lean=0, bow=0)
            s.put(o_seen=0)
        if bad("contact_overlooked"):
            _lay_hand(s)
        if not bad("omitted"):
            _warn(s, "Everybody clear!", spoken=not bad("visual_only"), looked=not bad("voice_only"))
        s.me.rest()


def _shock(s: Choreography, listens: bool) -> None:
    with s.step("aed_08") as bad:
        s.wait(0.3)
        x, y = _look_at_device(s)
        if listens:
            s.put(a_mode=AED_MODES["ready"])
            s.say("aed", "Press the button.", 1.6)
        s.wait(0.5)
        for _ in range(4 if bad("delayed") else 0):
            s.hold(2.5)
            if listens:
                s.say("aed", "Press the button.", 1.6)
        if bad("omitted"):
            s.wait(2.0)
        else:
            s.me.reach(None, (x + 12, y + 1), 0.35, (0, 1))
            s.wait(0.25)
            s.me.move(0.2, ry=y - 12)
            if listens:
                s.say("aed", "Shock delivered.", 1.3)
                s.log("aed", "delivers the shock")
                s.move(0.1, p_shake=4)
                s.move(0.15, p_shake=0)
        if listens:
            s.put(a_mode=AED_MODES["done"])
        s.wait(0.4)
        s.aide.start(0.5, **_UPRIGHT)
        s.me.rest(0.5)
        s.wait(0.3)


def _resume(s: Choreography, bad: Bad) -> None:
    if bad("omitted"):
        s.me.look(0.2, -0.2)
        s.hold(6)
        return
    if bad("delay_over_10s"):
        s.me.look(0.8, 0.4)
        s.hold(10.0)
    if bad("pulse_check_first"):
        s.me.look(0.2, 0.8)
        s.me.start(0.4, bow=20)
        s.me.reach(None, (347, 203), 0.5, (0, 1))
        s.hold(4)
        s.me.rest(0.3)
    if bad("aed_off_or_pads_removed"):
        for pad, x, y in _places_of_pads(s):
            s.me.bend(-16, 14, 0.3)
            s.me.reach(None, (x, y), 0.35)
            s.put(**{pad: 0})
            s.me.reach(None, (372, 160), 0.3)
        s.me.reach(None, (s.value("a_x") + 12, s.value("a_y") - 9), 0.3, (0, 1))
        s.put(a_mode=AED_MODES["off"])
    s.me.walk(302, 0.5)
    # The compressions go on until the slot ends: how many there are says nothing of the delay before them.
    least = 8 if s.pace.strokes >= 30 else 3
    compress(s, max(least, int((s.left - 1.0) / PERIOD)), technique_of(s, flawed=False))
    s.me.rest()
