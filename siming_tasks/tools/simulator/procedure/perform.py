"""The whole exam from plan to performance."""

from __future__ import annotations

from collections.abc import Mapping

from siming_tasks.tools.simulator.choreography import Choreography
from siming_tasks.tools.simulator.performance import Pace, Performance
from siming_tasks.tools.simulator.procedure.aed_setup import prepare_device
from siming_tasks.tools.simulator.procedure.aed_shock import analyse_and_shock
from siming_tasks.tools.simulator.procedure.bag_mask import ventilate
from siming_tasks.tools.simulator.procedure.cpr_assessment import before_compressions
from siming_tasks.tools.simulator.procedure.cpr_cycles import compressions_and_breaths
from siming_tasks.tools.simulator.trainee import TraineeErrors

__all__ = ["FULL", "SHORT", "perform"]

FULL = Pace(time=0.78)
"""About 170 s an exam, like the real ones."""
SHORT = Pace(time=0.13, clock=0.13, strokes=6)
"""Half a minute an exam: six strokes stand for thirty and everything but the strokes runs fast. For tests."""


def perform(
    plan: TraineeErrors, *, pace: Pace = FULL, fps: int = 10, seed: int = 0, slots: Mapping[str, float] | None = None
) -> Performance:
    """Play an exam of the embedded rubric's 33 steps.

    Args:
        plan: which errors are made.
        pace: :data:`FULL` or :data:`SHORT`.
        fps: spans fall on frames of this rate.
        seed: decides between harmless variants (tempo, legal orders, a wet chest...).
        slots: least seconds of a step's span, by step id.
    """
    quick = Choreography(plan, pace, fps, seed)
    tempo = pace.time * (0.95 + 0.12 * quick.coin("hurried") + 0.06 * quick.coin("slow hands"))
    s = Choreography(plan, Pace(tempo, pace.clock, pace.strokes), fps, seed, slots)
    s.me.put(seen=1, x=176, lx=154, rx=198)
    s.aide.put(seen=1, x=112, lx=90, rx=134, gx=0.5, gy=0.4)
    s.by.put(seen=1, x=48, lx=26, rx=70, gx=0.6, gy=0.4)
    s.put(p_soft=float(plan.has("cpr_06.soft_surface")))
    before_compressions(s)
    compressions_and_breaths(s)
    prepare_device(s)
    analyse_and_shock(s)
    ventilate(s)
    return s.finish()
