"""A simulated trainee: which of the rubric's named errors will be made in which step.

The trainee has an ability; each step has a difficulty taken from its rubric data (more points and more ways to err make
a step harder). Errors that cannot happen together are never drawn together, and an error that physically entails others
(no compressions: nothing to see of their depth, either) brings them along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from siming_tasks.rubrics import Rubric

CONFLICTS: tuple[frozenset[str], ...] = tuple(
    frozenset(names.split())
    for names in (
        "cpr_01.no_look_around cpr_01.no_safe_signal",
        "cpr_02.one_side_only cpr_02.tap_or_call_missing",
        "cpr_02.weak_call cpr_02.tap_or_call_missing",
        "cpr_02.shakes_patient cpr_02.tap_or_call_missing",
        "cpr_02.one_side_only cpr_02.shakes_patient",
        "cpr_03.shout_only cpr_03.phone_or_aed_missing",
        "cpr_05.wrong_site cpr_05.both_sides",
        "cpr_09.slight_offset cpr_09.wrong_zone",
        "cpr_10.hands_not_stacked cpr_10.one_hand",
        "cpr_10.fingers_on_chest cpr_10.one_hand",
        "cpr_10.not_vertical cpr_10.elbows_bent",
        "cpr_11.some_shallow cpr_11.fading cpr_11.mostly_too_deep cpr_11.mostly_shallow",
        "cpr_12.slightly_out cpr_12.far_out",
        "cpr_12.uneven cpr_14.pause_inside_set",
        "cpr_13.occasional_lean cpr_13.constant_lean cpr_13.hands_leave_chest",
        "cpr_14.small_miscount cpr_14.large_miscount",
        "cpr_15.no_look cpr_15.blind_sweep",
        "cpr_16.too_little_tilt cpr_16.over_extension",
        "cpr_16.wrong_manoeuvre cpr_16.over_extension",
        "cpr_17.one_without_rise cpr_17.neither_effective cpr_17.wrong_number",
        "cpr_17.no_release_between cpr_17.neither_effective",
        "cpr_17.no_release_between cpr_17.wrong_number",
        "cpr_18.ratio_wrong_once cpr_18.ratio_wrong_repeatedly",
        "cpr_18.pause_10_15s cpr_18.pause_over_15s",
        "cpr_18.cycle_missing cpr_18.ratio_wrong_repeatedly",
        "cpr_18.cycle_missing cpr_18.order_reversed",
        "aed_03.slight_offset aed_03.one_misplaced aed_03.both_misplaced",
        "aed_03.swapped aed_03.both_misplaced",
        "aed_05.voice_only aed_05.gesture_only",
        "aed_07.voice_only aed_07.visual_only",
        "aed_09.delay_5_10s aed_09.delay_over_10s",
        "aed_09.delay_5_10s aed_09.pulse_check_first",
        "bmv_01.reservoir_not_filled bmv_01.oxygen_missing_or_low",
        "bmv_03.soft_tissue_grip bmv_03.pushes_down",
        "bmv_03.occasional_leak bmv_03.constant_leak",
        "bmv_04.some_without_rise bmv_04.mostly_without_rise",
        "bmv_04.over_inflation bmv_04.mostly_without_rise",
        "bmv_05.slightly_off_rate bmv_05.hyperventilation",
    )
)
"""Errors of which at most one can happen. ``omitted`` excludes all others of its step without being listed."""

ENTAILS: Mapping[str, tuple[str, ...]] = {
    "cpr_09.omitted": ("cpr_10.omitted", "cpr_11.omitted", "cpr_12.omitted", "cpr_13.omitted", "cpr_14.omitted"),
    "cpr_10.omitted": ("cpr_09.omitted",),
    "cpr_13.omitted": ("cpr_09.omitted",),
    "cpr_12.omitted": ("cpr_14.omitted",),
    "cpr_14.omitted": ("cpr_18.omitted",),
    "cpr_16.omitted": ("cpr_17.neither_effective",),
    "aed_01.omitted": ("aed_05.omitted", "aed_06.omitted", "aed_08.omitted"),
    "aed_03.omitted": ("aed_04.omitted",),
    "aed_04.omitted": ("aed_05.omitted", "aed_06.omitted", "aed_08.omitted"),
    "aed_07.contact_overlooked": ("aed_08.shock_in_contact",),
    "bmv_02.omitted": ("bmv_04.mostly_without_rise",),
    "bmv_03.omitted": ("bmv_04.mostly_without_rise",),
    "bmv_03.constant_leak": ("bmv_04.mostly_without_rise",),
    "bmv_04.omitted": ("bmv_05.omitted",),
}
"""What an error physically brings with it. A shock that is never given cannot be given in contact, and so on."""


@dataclass(frozen=True)
class TraineeErrors:
    """The errors that a trainee will make.

    Attributes:
        errors: ids of the errors made, by step id, in rubric order; every step of the rubric has an entry.
        entailed: ids among them that the trainee did not choose but that follow from another error.
        ability: of the trainee, in standard deviations around the class's mean.
    """

    errors: Mapping[str, tuple[str, ...]]
    entailed: frozenset[str] = field(default_factory=frozenset)
    ability: float = 0.0

    def has(self, error_id: str) -> bool:
        """True if this error is made."""
        return error_id in self.errors.get(error_id.rpartition(".")[0], ())


def with_consequences(rubric: Rubric, chosen: Mapping[str, tuple[str, ...]], ability: float = 0.0) -> TraineeErrors:
    """A plan from chosen errors and what they entail.

    The first named wins: an error that cannot happen together with those already made, itself or by what it entails,
    is not made. ``chosen`` has ids or names of errors by step id.

    Raises:
        KeyError: an id is unknown.
    """
    made: list[str] = []
    entailed: set[str] = set()
    for step, names in chosen.items():
        for name in names:
            first = rubric.by_id[step].error(name).id
            following = [first]
            for error in following:  # grows: what follows from an error has consequences of its own
                for consequence in ENTAILS.get(error, ()):
                    if consequence not in following and consequence.rpartition(".")[0] in rubric.by_id:
                        following.append(consequence)
            new = [error for error in following if error not in made]
            if not any(_conflict(error, other) for error in new for other in made):
                made += new
                entailed |= set(new) - {first}
    if "aed_08.shock_in_contact" in made and "aed_07.omitted" not in made and "aed_07.contact_overlooked" not in made:
        made.append("aed_07.contact_overlooked")  # somebody who cleared cannot but have overlooked the contact
        entailed.add("aed_07.contact_overlooked")
    errors = {step.id: tuple(error.id for error in step.errors if error.id in made) for step in rubric.steps}
    return TraineeErrors(errors, frozenset(entailed), ability)


def _conflict(first: str, second: str) -> bool:
    if first.rpartition(".")[0] == second.rpartition(".")[0] and ".omitted" in (first[-8:], second[-8:]):
        return first != second
    return first != second and any(first in group and second in group for group in CONFLICTS)


def draw_errors(rubric: Rubric, rng: np.random.Generator, *, base: float = -1.79, slope: float = 0.45) -> TraineeErrors:
    """A trainee's plan: ability ~ N(0, 1), each step fails with logistic(base + difficulty - slope * ability).

    A step that fails has one error, sometimes two or three; grave ones are rarer, and rarest with able trainees.
    """
    ability = float(rng.normal())
    chosen: dict[str, tuple[str, ...]] = {}
    for step in rubric.steps:
        difficulty = 0.25 * (len(step.errors) - 4.5)
        if step.errors and rng.random() < expit(base + difficulty - slope * ability):
            share = np.array([error.deduct / step.max_score for error in step.errors])
            weight = np.exp(-(2.2 + 0.8 * ability) * share)
            count = min(1 + int(rng.binomial(2, 0.12)), len(step.errors))
            picked = rng.choice(len(step.errors), size=count, replace=False, p=weight / weight.sum())
            chosen[step.id] = tuple(step.errors[index].id for index in picked)
    return with_consequences(rubric, chosen, ability)
