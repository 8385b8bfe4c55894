"""Bag-mask ventilation: the device, the airway, the seal, the breaths, the rate."""

from __future__ import annotations

from collections.abc import Callable

from siming_tasks.tools.simulator.choreography import Choreography

__all__ = ["ventilate"]

_HEAD_X = 432.0
_SIDE_X = 322.0
_EC, _SOFT, _PALM = 6.0, 7.0, 8.0
"""Hand shapes: E-C grip, three fingers under the chin, palm on top of the mask."""


def ventilate(s: Choreography) -> None:
    """The whole skill, for a patient who has a pulse again but does not breathe."""
    _prepare(s)
    _airway(s)
    with s.step("bmv_03") as seal:
        on = _seal(s, seal)
    _breaths(s, seal, on)
    # A leak shows only when the bag is squeezed, so the seal is judged until the end of these breaths.
    s.spans["bmv_03"] = (s.spans["bmv_03"][0], s.spans["bmv_04"][1])
    _rate(s, on)


def _prepare(s: Choreography) -> None:
    with s.step("bmv_01") as bad:
        s.by.say("Pulse is back, no breathing.", 2.0)
        s.start(1.2, a_x=352 if s.value("a_x") > 300 else s.value("a_x"))
        s.me.walk(_HEAD_X, 1.3)
        s.put(b_seen=1, b_x=404, b_y=152, b_tube=0, b_res=0.1, b_flow=0, b_fault=0, b_size=1)
        if bad("wrong_mask"):
            s.put(b_size=0.55 if s.coin("small mask") else 1.5)
        if bad("faulty_assembly"):
            s.put(b_fault=1)
        s.me.look(-0.6, 0.8)
        s.me.reach((404, 150), (430, 128), 0.5)
        if bad("omitted"):
            s.me.rest()
            return
        if not bad("no_function_check"):
            for _ in range(2):
                s.move(0.35, b_sq=0.9)
                s.move(0.35, b_sq=0)
        if not (bad("oxygen_missing_or_low") and s.coin("no hose")):
            s.me.look(0.8, 0.4)
            s.me.reach(None, (458, 142), 0.4)
            s.put(b_tube=1)
            s.move(0.6, b_flow=0.15 if bad("oxygen_missing_or_low") else 0.9)
            if not bad("reservoir_not_filled"):
                s.move(0.8, b_res=1)
        s.me.rest()


def _airway(s: Choreography) -> None:
    with s.step("bmv_02") as bad:
        s.start(0.4, b_x=412, b_y=160)
        if bad("not_at_head"):
            s.me.walk(_SIDE_X, 1.0)
        s.me.look(0.6 if bad("not_at_head") else -0.6, 0.9)
        if not bad("omitted"):
            lean = 22 if bad("not_at_head") else -24
            s.me.start(0.5, lean=lean, bow=20)
            s.me.reach((362, 206), (390, 200), 0.5, (1, 1))
            s.start(0.7, p_tilt=0.3 if bad("too_little_tilt") else 1.0)
            s.me.move(0.7, ly=202, ry=198)
            s.wait(0.5)
        s.me.rest()


def _seal(s: Choreography, bad: Callable[[str], bool]) -> bool:
    """Put the mask on; returns whether air can reach the chest."""
    tilt = s.value("p_tilt")
    face = (362.0 + 10 * tilt, 171.0 + 3 * tilt)
    if bad("mask_misplaced"):
        face = (face[0] + 17, face[1] + 2)
    if bad("omitted"):
        face = (face[0] - 2, face[1] - 13)
    side = s.plan.has("bmv_02.not_at_head")
    s.me.look(0.6 if side else -0.6, 0.9)
    s.me.start(0.5, lean=20 if side else -14, bow=10)
    s.start(0.6, b_x=face[0], b_y=face[1])
    shape, hand = _EC, (face[0], face[1])
    if bad("soft_tissue_grip"):
        shape = _SOFT
    elif bad("pushes_down"):
        shape = _PALM
        s.start(0.9, b_y=face[1] + 3)
    elif bad("omitted"):
        shape, hand = 0.0, (face[0] + 62, 166.0)
    s.me.reach(hand, (face[0] + 31, face[1] - 27), 0.7, (shape, 0))
    s.wait(0.6)
    return not (bad("omitted") or bad("constant_leak") or s.plan.has("bmv_02.omitted"))


def _squeeze(s: Choreography, rise: float, *, seconds: float = 1.0, leak: bool = False, hold: float = 0.0) -> None:
    """One squeeze; the chest rises with it and falls afterwards, at the latest to ``hold``."""
    x, y = s.value("b_x"), s.value("b_y")
    full = 0.95 if rise > 1.3 else 0.7
    s.put(b_leak=float(leak))
    s.start(seconds * s.tick, b_sq=full, p_rise=rise, p_belly=max(0.0, rise - 1))
    s.me.start(seconds * s.tick, rx=x + 26, ry=y - 20)
    s.hold(seconds)
    s.put(b_leak=0)
    s.start(0.5 * s.tick, b_sq=0)
    s.me.start(0.5 * s.tick, rx=x + 31, ry=y - 27)
    s.start(1.0 * s.tick, p_rise=max(hold, 0.0), p_belly=0)


def _watch(s: Choreography, watching: bool) -> None:
    s.me.look(-1 if watching and s.me.value("x") > 360 else -0.8 if watching else 0.9, 0.7 if watching else -0.5)


def _breaths(s: Choreography, seal: Callable[[str], bool], on: bool) -> None:
    with s.step("bmv_04") as bad:
        if bad("omitted"):
            s.hold(6)
            return
        _watch(s, not bad("not_watching_chest"))
        s.wait(0.4)
        for breath in range(3):
            rise = 1.0 if on else 0.0
            if bad("some_without_rise") and breath == 1:
                rise = 0.0
            if bad("mostly_without_rise") and breath != 1:
                rise = 0.0
            if bad("over_inflation") and rise:
                rise = 1.9
            leak = seal("constant_leak") or (seal("occasional_leak") and breath == 1)
            if leak and rise and not seal("constant_leak"):
                rise *= 0.5
            seconds = 0.3 if bad("jab") else 1.0
            early = bad("no_exhalation") and breath < 2
            _squeeze(s, rise, seconds=seconds, leak=leak, hold=0.75 * rise if early else 0.0)
            s.hold(1.2 if early else 5.0 - seconds)


def _rate(s: Choreography, on: bool) -> None:
    with s.step("bmv_05") as bad:
        _watch(s, not bad("no_monitoring"))
        if bad("omitted"):
            s.me.rest()
            s.hold(9)
        else:
            every = 5.2
            if bad("slightly_off_rate"):
                every = 4.1 if s.coin("fast", 0.7) else 7.0
            if bad("hyperventilation"):
                every = 1.9
            for _ in range(round(11 / every)):
                _squeeze(s, 1.0 if on else 0.0)
                s.hold(every - 1.0)
            s.me.rest()
        s.wait(0.3)
