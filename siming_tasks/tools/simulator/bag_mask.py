"""Bag-mask ventilation: the device, the airway, the seal, the breaths, the rate (described in :mod:`steps`)."""

from __future__ import annotations

from siming_tasks.tools.simulator.choreography import Choreography

_EC, _PALM = 6.0, 8.0
"""Hand shapes: E-C grip, palm on top of the mask."""


def ventilate(s: Choreography) -> None:
    """The whole skill, for a patient who has a pulse again but does not breathe."""
    _prepare(s)
    side = s.plan.has("bmv_02.not_at_head")
    with s.step("bmv_02") as bad:
        s.start(0.4, b_x=412, b_y=160)
        if side:
            s.me.walk(322.0, 1.0)
        s.me.look(0.6 if side else -0.6, 0.9)
        if not bad("omitted"):
            s.me.bend(22 if side else -24, 20, 0.5)
            s.me.reach((362, 206), (390, 200), 0.5, (1, 1))
            s.start(0.7, p_tilt=0.3 if bad("too_little_tilt") else 1.0)
            s.me.move(0.7, ly=202, ry=198)
            s.wait(0.5)
        s.me.rest()
    _seal(s, side)
    # Air reaches the chest if nothing stands in its way.
    rise = float(not any(s.plan.has(name) for name in ("bmv_03.omitted", "bmv_03.constant_leak", "bmv_02.omitted")))
    _breaths(s, rise)
    # A leak shows only when the bag is squeezed, so the seal is judged until the end of these breaths.
    s.spans["bmv_03"] = (s.spans["bmv_03"][0], s.spans["bmv_04"][1])
    _rate(s, rise)


def _prepare(s: Choreography) -> None:
    with s.step("bmv_01") as bad:
        s.by.say("Pulse is back, no breathing.", 2.0)
        s.start(1.2, a_x=352 if s.value("a_x") > 300 else s.value("a_x"))
        s.me.walk(432.0, 1.3)
        s.put(b_seen=1, b_x=404, b_y=152, b_tube=0, b_res=0.1, b_flow=0, b_fault=float(bad("faulty_assembly")))
        s.me.look(-0.6, 0.8)
        s.me.reach((404, 150), (430, 128), 0.5)
        if not bad("omitted"):
            for _ in range(2):
                s.move(0.35, b_sq=0.9)
                s.move(0.35, b_sq=0)
            if not bad("oxygen_missing_or_low"):
                s.me.look(0.8, 0.4)
                s.me.reach(None, (458, 142), 0.4)
                s.put(b_tube=1)
                s.move(0.6, b_flow=0.9)
                if not bad("reservoir_not_filled"):
                    s.move(0.8, b_res=1)
        s.me.rest()


def _seal(s: Choreography, side: bool) -> None:
    """The mask on the face."""
    with s.step("bmv_03") as bad:
        tilt = s.value("p_tilt")
        x, y = 362.0 + 10 * tilt, 171.0 + 3 * tilt
        if bad("mask_misplaced"):
            x, y = x + 17, y + 2
        if bad("omitted"):
            x, y = x - 2, y - 13
        s.me.bend(20 if side else -14, 10, 0.5, look=(0.6 if side else -0.6, 0.9))
        s.start(0.6, b_x=x, b_y=y)
        shape, hand = _EC, (x, y)
        if bad("pushes_down"):
            shape = _PALM
            s.start(0.9, b_y=y + 3)
        elif bad("omitted"):
            shape, hand = 0.0, (x + 62, 166.0)
        s.me.reach(hand, (x + 31, y - 27), 0.7, (shape, 0))
        s.wait(0.6)


def _watch(s: Choreography, watching: bool) -> None:
    """Look at the chest, or away from it."""
    s.me.look(-1 if watching and s.me.value("x") > 360 else -0.8 if watching else 0.9, 0.7 if watching else -0.5)


def _squeeze(s: Choreography, rise: float, *, leak: bool = False) -> None:
    """One squeeze of a second; the chest rises with it and falls afterwards."""
    x, y = s.value("b_x"), s.value("b_y")
    s.put(b_leak=float(leak))
    s.start(s.tick, b_sq=0.95 if rise > 1.3 else 0.7, p_rise=rise, p_belly=max(0.0, rise - 1))
    s.me.start(s.tick, rx=x + 26, ry=y - 20)
    s.hold(1.0)
    s.put(b_leak=0)
    s.start(0.5 * s.tick, b_sq=0)
    s.me.start(0.5 * s.tick, rx=x + 31, ry=y - 27)
    s.start(s.tick, p_rise=0, p_belly=0)


def _breaths(s: Choreography, rise: float) -> None:
    with s.step("bmv_04") as bad:
        if bad("omitted"):
            s.hold(6)
            return
        _watch(s, not bad("not_watching_chest"))
        s.wait(0.4)
        rise *= 0.0 if bad("mostly_without_rise") else 1.9 if bad("over_inflation") else 1.0
        for _ in range(3):
            _squeeze(s, rise, leak=s.plan.has("bmv_03.constant_leak"))
            s.hold(4.0)


def _rate(s: Choreography, rise: float) -> None:
    with s.step("bmv_05") as bad:
        _watch(s, not bad("no_monitoring"))
        if bad("omitted"):
            s.me.rest()
            s.hold(9)
        else:
            every = 1.9 if bad("hyperventilation") else 5.2
            for _ in range(round(11 / every)):
                _squeeze(s, rise)
                s.hold(every - 1.0)
            s.me.rest()
        s.wait(0.3)
