"""Length of each step's span in an exam at full pace, drawn before the trainee does anything.

A span that is as long as what happens in it tells the label to whoever reads its length: an omitted step is short, a
delay is long. Here every step gets a slot, whose seconds depend on the step and the exam's look alone; what is left of
it when the act is over passes in stillness, so that length, end and the video's duration tell nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

SLOTS: Mapping[str, float] = {
    "cpr_01": 4.5, "cpr_02": 5.5, "cpr_03": 3.4, "cpr_04": 11.9, "cpr_05": 11.9, "cpr_06": 2.2, "cpr_07": 1.3,
    "cpr_08": 1.3, "cpr_14": 23.3, "cpr_15": 2.9, "cpr_16": 1.8, "cpr_17": 7.7, "cpr_18": 38.8, "cpr_19": 12.1,
    "aed_01": 4.2, "aed_02": 2.7, "aed_03": 5.8, "aed_04": 7.8, "aed_05": 11.0, "aed_06": 4.9, "aed_07": 5.6,
    "aed_08": 13.6, "aed_09": 15.5, "bmv_01": 4.3, "bmv_02": 2.5, "bmv_03": 1.2, "bmv_04": 15.5, "bmv_05": 14.4,
}  # fmt: skip
"""Least seconds of a slot: what the longest single error makes of the step, at the slowest tempo. The first set of
compressions, on which six steps are judged, stands under the last of them."""
_SPREAD = 0.02
"""A slot is up to this share longer."""
BEFORE_THE_ACT = ("aed_07", "aed_08")
"""Steps that wait first and act then (the device charges), since a shock follows at once on what clears for it."""


def draw_slots(seed: int) -> dict[str, float]:
    """Seconds of the slot of each step, in tenths; ``seed`` is that of the exam's look."""
    longer = np.random.default_rng([seed, 9]).uniform(1.0, 1.0 + _SPREAD, len(SLOTS))
    return {step: round(float(seconds), 1) for step, seconds in zip(SLOTS, longer * list(SLOTS.values()), strict=True)}
