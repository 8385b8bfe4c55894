"""The automated external defibrillator, steps 5 to 9: analysis, decision, clearing, shock, going on."""

from __future__ import annotations

from siming_tasks.tools.simulator.choreography import Choreography
from siming_tasks.tools.simulator.draw.devices import AED_MODES
from siming_tasks.tools.simulator.procedure.aed_setup import device_listens
from siming_tasks.tools.simulator.procedure.compressions import compress, technique_of

__all__ = ["analyse_and_shock"]

_LEG = (214.0, 184.0)


def analyse_and_shock(s: Choreography) -> None:
    """From the analysis to the first compressions after the shock."""
    _clear_for_analysis(s)
    _follow_advice(s)
    _clear_for_shock(s)
    _shock(s)
    _resume(s)


def _clear_for_analysis(s: Choreography) -> None:
    with s.step("aed_05") as bad:
        listens = device_listens(s)
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
                _touch(s, 1.6)
            s.hold(5.0)
        s.me.rest()
        if bad("omitted"):
            _step_back(s)


def _step_back(s: Choreography) -> None:
    """The assistant lets go and stands up, away from the patient."""
    s.aide.put(grip=0)
    s.aide.move(0.9, x=160, crouch=0, lean=0, bow=0, lx=138, rx=182, ly=134, ry=134, gx=0.6, gy=0.6)


def _touch(s: Choreography, seconds: float) -> None:
    """The assistant's hand on the patient's thigh for a while."""
    _lay_hand(s)
    s.wait(seconds)
    s.aide.move(0.4, rx=182, ry=134, lean=0, bow=0)


def _lay_hand(s: Choreography) -> None:
    s.aide.put(rshape=4)
    s.aide.move(0.5, rx=_LEG[0], ry=_LEG[1], lean=22, bow=46)


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
        s.me.look(0.8, 0.6)
        s.wait(1.7)


def _follow_advice(s: Choreography) -> None:
    with s.step("aed_06") as bad:
        listens = device_listens(s)
        x, y = s.value("a_x"), s.value("a_y")
        s.me.look(0.7 if x > 300 else -1, 0.6)
        if bad("acts_too_early"):
            s.me.reach(None, (x + 12, y + 1), 0.4, (0, 1))
            for _ in range(3):
                s.me.move(0.2, ry=y - 6)
                s.me.move(0.2, ry=y + 1)
        else:
            s.wait(1.2)
        if listens:
            s.say("aed", "Shock advised. Charging.", 2.0)
            s.wait(1.6)
            s.put(a_mode=AED_MODES["ready"])
        s.wait(0.8)
        if bad("omitted"):
            s.me.look(-0.8, 0.8)
            s.me.say("No shock.", 1.3)
            s.me.start(0.4, lean=-28, bow=14)
            s.me.reach((290, 192), (296, 192), 0.5)
            s.wait(1.6)
        else:
            if not bad("result_not_signalled"):
                s.me.look(-0.8, 0.1)
                s.me.say("It advises a shock!", 1.4)
            s.wait(1.6)
        s.me.rest()


def _clear_for_shock(s: Choreography) -> None:
    with s.step("aed_07") as bad:
        if not bad("oxygen_left"):
            s.aide.put(rshape=0)
            s.aide.move(0.5, rx=262, ry=190, lean=34, bow=52)
            s.start(0.6, o_x=186, o_y=150)
            s.aide.move(0.6, rx=182, ry=134, lean=0, bow=0)
            s.put(o_seen=0)
        else:
            s.wait(1.1)
        if bad("contact_overlooked"):
            _lay_hand(s)
        if not bad("omitted"):
            _warn(s, "Everybody clear!", spoken=not bad("visual_only"), looked=not bad("voice_only"))
            if bad("cleared_too_early"):
                s.me.rest(0.3)
                s.hold(1.5)
                s.aide.start(0.8, x=226, crouch=1, lx=214, rx=246, ly=160, ry=168, lean=8)
                s.hold(2.5)
        elif s.plan.has("aed_08.shock_in_contact") and not bad("contact_overlooked"):
            _lay_hand(s)
        s.me.rest()


def _shock(s: Choreography) -> None:
    with s.step("aed_08") as bad:
        x, y = s.value("a_x"), s.value("a_y")
        armed = s.value("a_mode") == AED_MODES["ready"]
        s.me.look(0.7 if x > 300 else -1, 0.6)
        if armed:
            s.say("aed", "Press the button.", 1.6)
        s.wait(0.5)
        if bad("delayed"):
            for _ in range(4):
                s.hold(2.8)
                if armed:
                    s.say("aed", "Press the button.", 1.6)
        if bad("omitted"):
            s.wait(2.0)
        else:
            for _ in range(3 if bad("repeated_press") else 1):
                s.me.reach(None, (x + 12, y + 1), 0.35, (0, 1))
                s.wait(0.25)
                s.me.move(0.2, ry=y - 12)
            if armed:
                s.say("aed", "Shock delivered.", 1.3)
                s.log("aed", "delivers the shock")
                s.move(0.1, p_shake=4)
                s.move(0.15, p_shake=0)
        if armed:
            s.put(a_mode=AED_MODES["done"])
        s.wait(0.4)
        s.aide.start(0.5, x=160, crouch=0, lean=0, bow=0, lx=138, rx=182, ly=134, ry=134)
        s.me.rest(0.5)
        s.wait(0.3)


def _resume(s: Choreography) -> None:
    with s.step("aed_09") as bad:
        if bad("omitted"):
            s.me.look(0.2, -0.2)
            s.hold(6)
            return
        if bad("delay_5_10s") or bad("delay_over_10s"):
            s.me.look(0.8, 0.4)
            s.hold(6.0 if bad("delay_5_10s") else 12)
        if bad("pulse_check_first"):
            s.me.look(0.2, 0.8)
            s.me.start(0.4, bow=20)
            s.me.reach(None, (347, 203), 0.5, (0, 1))
            s.hold(4)
            s.me.rest(0.3)
        if bad("aed_off_or_pads_removed"):
            _take_off(s)
        s.me.walk(302, 0.5)
        strokes = 15 if s.pace.strokes >= 30 else 3
        compress(s, s.me, strokes, technique_of(s, flawed=False), counted=True)
        s.me.rest()


def _take_off(s: Choreography) -> None:
    for number in (1, 2):
        if s.value(f"a_pad{number}") > 0.5:
            place = s.value(f"a_pad{number}x"), 178 + 28 * s.value(f"a_pad{number}z")
            s.me.start(0.3, lean=-16, bow=14)
            s.me.reach(None, place, 0.35)
            s.put(**{f"a_pad{number}": 0})
            s.me.reach(None, (372, 160), 0.3)
    x, y = s.value("a_x"), s.value("a_y")
    s.me.reach(None, (x + 12, y - 9), 0.3, (0, 1))
    s.put(a_mode=AED_MODES["off"])
