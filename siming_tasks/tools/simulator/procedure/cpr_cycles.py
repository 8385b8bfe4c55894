"""Cardiopulmonary resuscitation, steps 9 to 19: compressions, airway, breaths, cycles, reassessment."""

from __future__ import annotations

from siming_tasks.tools.simulator.choreography import Choreography
from siming_tasks.tools.simulator.procedure.compressions import Technique, compress, technique_of
from siming_tasks.tools.simulator.procedure.cpr_assessment import at_neck, call_for_help

__all__ = ["compressions_and_breaths"]

_SET = ("cpr_10", "cpr_11", "cpr_12", "cpr_13", "cpr_14")


def compressions_and_breaths(s: Choreography) -> None:
    """The first set, the airway, two breaths, the following cycle, the reassessment."""
    how = technique_of(s)
    with s.step("cpr_09", *_SET) as bad:
        _first_set(s, how, bad("cpr_09.omitted"))
    if s.plan.has("cpr_03.late_activation"):
        call_for_help(s)
    _mouth(s)
    _airway(s)
    _breaths(s)
    found_again = _cycles(s, how)
    # Whether the place is found again shows at the start of the second set, so hand placement is judged until then.
    s.spans["cpr_09"] = (s.spans["cpr_09"][0], max(s.spans["cpr_09"][1], s.whole(found_again)))
    _reassess(s)


def _first_set(s: Choreography, how: Technique, none: bool) -> None:
    has = s.plan.has
    if none:
        s.me.look(0.5, 0.3)
        s.wait(4)
        s.me.rest()
        return
    _locate(s, how)
    strokes = s.pace.strokes
    if has("cpr_14.small_miscount"):
        strokes += -max(1, strokes // 15) if s.coin("fewer") else max(1, strokes // 15)
    if has("cpr_14.large_miscount"):
        strokes = strokes * 2 // 3 if s.coin("fewer") else strokes * 4 // 3
    counted = not has("cpr_14.silent")
    if has("cpr_12.omitted"):
        compress(s, s.me, 3, how, counted=counted)
        s.me.rest()
        s.wait(3)
        compress(s, s.me, 2, how, counted=counted)
    elif has("cpr_14.omitted"):
        compress(s, s.me, max(2, strokes // 4), how, counted=counted)
    else:
        compress(
            s, s.me, strokes, how, counted=counted, pause_after=strokes // 2 if has("cpr_14.pause_inside_set") else None
        )
    s.me.rest()


def _locate(s: Choreography, how: Technique) -> None:
    """Feel for the lower half of the sternum: a finger along the rib edge, then the heel of the hand."""
    s.me.look(0, 1)
    s.me.start(0.4, lean=how.x - s.me.value("x"), bow=18)
    s.me.reach(None, (how.x - 26, 200), 0.5, (0, 1))
    s.me.reach(None, (how.x - 6, 194), 0.6, (0, 1))
    s.wait(0.3)


def _mouth(s: Choreography) -> None:
    with s.step("cpr_15") as bad:
        if bad("omitted"):
            return
        debris = s.coin("something in the mouth", 0.4) and not bad("blind_sweep") and not bad("no_look")
        s.put(p_debris=float(debris))
        s.me.look(-1 if bad("no_look") else 0.8, -0.3 if bad("no_look") else 1)
        s.me.start(0.4, lean=40, bow=22)
        s.me.reach((352, 206), (392, 184), 0.5)
        s.move(0.4, p_mouth=1)
        s.wait(0.8)
        if debris or bad("blind_sweep") or bad("no_look"):
            s.me.reach(None, (366, 172), 0.4, (0, 1))
            s.me.move(0.25, rx=361)
            s.me.move(0.25, rx=366)
            s.put(p_debris=0)
            s.me.reach(None, (392, 172), 0.3, (0, 1))
        s.move(0.3, p_mouth=0.1)
        s.me.rest()


def _airway(s: Choreography) -> None:
    with s.step("cpr_16") as bad:
        s.me.look(0.7, 1)
        if not bad("omitted"):
            s.me.start(0.4, lean=40, bow=20)
            tilt = 0.3 if bad("too_little_tilt") else 2.0 if bad("over_extension") else 1.0
            chin = (344.0, 208.0) if bad("soft_tissue_or_mouth_closed") else (357.0, 203.0)
            mouth = 0.0 if bad("soft_tissue_or_mouth_closed") else 0.25
            if bad("wrong_manoeuvre"):  # one hand lifts the neck
                s.me.reach((344, 214), None, 0.5, (4, 0))
                s.start(0.8, p_tilt=tilt, p_mouth=mouth)
                s.me.move(0.8, ly=204)
            else:
                s.me.reach(chin, (393, 182), 0.5, (1, 4))
                s.start(0.8, p_tilt=tilt, p_mouth=mouth)
                s.me.move(0.8, ly=chin[1] - 3, rx=396, ry=187)
            s.wait(0.5)
        s.start(0.3, p_mouth=0.2)
        s.me.start(0.3, lean=40, bow=20, gx=0.7, gy=1)
        s.me.reach((356, 204), (394, 184), 0.4, (1, 4))


def _breaths(s: Choreography) -> None:
    with s.step("cpr_17") as bad:
        if not bad("omitted"):
            number = (1 if s.coin("one breath") else 3) if bad("wrong_number") else 2
            for breath in range(number):
                rise = 0.5 if bad("leak") else 1.0
                if bad("neither_effective") or (bad("one_without_rise") and breath == 1):
                    rise = 0.0
                _breath(
                    s,
                    rise=1.5 * rise if bad("too_fast_or_hard") else rise,
                    seconds=0.3 if bad("too_fast_or_hard") else 1.0,
                    watch=not bad("not_watching_chest"),
                    leak=bad("leak"),
                    held=bad("no_release_between") and breath == 0,
                )
                if breath == 0 and s.plan.has("cpr_16.position_lost"):
                    s.move(0.3, p_tilt=0.05)
        _leave_head(s)


def _breath(s: Choreography, *, rise: float, seconds: float, watch: bool, leak: bool, held: bool) -> None:
    """Seal, blow, come up, watch the chest fall."""
    tilt = s.value("p_tilt")
    s.put(p_shield=1)
    s.me.put(bare=1)
    s.me.look(0.5, 1)
    nose = (398.0, 182.0) if leak else (374.0 + 7 * tilt, 171.0 + 3 * tilt)
    s.me.start(0.4, lean=44, bow=44)
    s.me.reach((352, 207), nose, 0.4, (1, 4 if leak else 1))
    s.me.start(0.2, bow=52)
    s.me.put(puff=1.5)
    s.put(p_leak=float(leak))
    s.start(seconds * s.tick, p_rise=rise)
    s.hold(seconds)
    s.put(p_leak=0)
    s.me.put(puff=0)
    if held:
        s.hold(0.5)
        return
    s.me.look(-1 if watch else 1, 0.7 if watch else -0.5)
    s.me.start(0.3, bow=32, lean=40)
    s.start(0.9 * s.tick, p_rise=0)
    s.hold(1.1)


def _leave_head(s: Choreography) -> None:
    s.start(0.3, p_tilt=0, p_rise=0, p_mouth=0.1)
    s.put(p_shield=0)
    s.me.put(bare=0)
    s.me.rest()


def _cycles(s: Choreography, how: Technique) -> float:
    """The cycle after the first; returns when the place on the chest has been found again and used."""
    longest = 0.0
    with s.step("cpr_18") as bad:
        if bad("omitted"):
            s.me.look(0.4, 0.3)
            s.hold(5)
            s.me.rest()
            return s.now
        if bad("pause_10_15s") or bad("pause_over_15s"):
            s.hold(10.5 if bad("pause_10_15s") else 16.5)
        if bad("order_reversed"):
            _two_breaths(s, 2)
        wrong = bad("ratio_wrong_once") or bad("ratio_wrong_repeatedly")
        for cycle in range(2 if bad("ratio_wrong_repeatedly") else 1):
            if cycle == 0 and not s.plan.has("cpr_09.no_relocation"):
                _locate(s, how)
            begin = s.now
            share = 0.3 if bad("cycle_missing") else 0.5 if wrong else 1.0
            compress(s, s.me, max(2, round(s.pace.strokes * share)), how)
            longest = longest or begin + 2.5
            s.me.rest()
            if bad("cycle_missing"):
                s.wait(4)
            elif not bad("order_reversed"):
                _two_breaths(s, 1 if bad("ratio_wrong_repeatedly") else 2)
    return min(longest, s.now)


def _two_breaths(s: Choreography, number: int) -> None:
    s.me.start(0.4, lean=40, bow=20, gx=0.7, gy=1)
    s.start(0.6, p_tilt=1)
    s.me.reach((356, 204), (394, 184), 0.5, (1, 4))
    for _ in range(number):
        _breath(s, rise=1.0, seconds=1.0, watch=True, leak=False, held=False)
    _leave_head(s)


def _reassess(s: Choreography) -> None:
    with s.step("cpr_19") as bad:
        if bad("omitted"):
            return
        at_neck(s, "neck")
        s.me.start(0.4, lean=42, bow=40)
        s.me.look(1 if bad("one_sign_only") else -1, -0.3 if bad("one_sign_only") else 0.8)
        s.hold(12.5 if bad("over_10s") else 5.5)
        if not bad("no_statement"):
            s.me.look(0, 0)
            s.me.say("No pulse, go on!", 1.4)
            s.wait(1.0)
        s.me.rest()
