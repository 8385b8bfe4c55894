"""Counterfactual minimal pairs: two exams that differ in one act, and the difference of labels that follows.

*History* pairs: the act is in an earlier step; the frames of the target step's clip are the same in both
videos, its score is not (a shock with and without "clear!" before it). *Local* pairs: the execution of the
target step itself differs. Both videos get the same room, trainee, raters' luck and step times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.tools.simulator.simulated_exam import Exam, draw_raters, examine
from siming_tasks.tools.simulator.trainee import TraineeErrors, draw_errors, with_consequences
from siming_tasks.tools.simulator.video import FULL, SHORT, perform

HISTORY = (
    ("aed_08", "aed_07.omitted"),
    ("aed_06", "aed_05.omitted"),
    ("cpr_09", "cpr_05.omitted"),
    ("aed_09", "aed_08.omitted"),
    ("aed_08", "aed_06.omitted"),
    ("cpr_19", "cpr_18.omitted"),
)
"""Target step, and the earlier error that fails the step it requires."""

LOCAL = tuple(
    (error.partition(".")[0], error)
    for error in (
        "cpr_11.mostly_shallow", "aed_03.one_misplaced", "cpr_10.one_hand", "bmv_03.mask_misplaced", "cpr_12.far_out",
        "aed_07.contact_overlooked", "cpr_05.wrong_site", "cpr_13.hands_leave_chest", "cpr_06.soft_surface",
        "bmv_04.over_inflation",
    )
)  # fmt: skip
"""Target step, and the error made in it."""


@dataclass(frozen=True)
class MinimalPair:
    """Two exams that differ in one act; ``exams[0]`` is video a, ``exams[1]`` video b."""

    pair_id: str
    kind: str
    step_id: str
    changed: str
    exams: tuple[Exam, Exam]

    def slots(self, short: bool) -> dict[str, float]:
        """Seconds to give each step in both videos so that what follows happens at the same time."""
        both = [perform(exam.plan, pace=SHORT if short else FULL, seed=exam.look).lengths for exam in self.exams]
        return {step: max(lengths[step] for lengths in both) for step in both[0]}

    def row(self) -> dict[str, Any]:
        """The line in ``pairs.jsonl``; ``direction`` is +1 if video b must score higher on the step, else -1."""
        first, second = ({step: truth.points for step, truth in exam.truth.items()} for exam in self.exams)
        before, after = first[self.step_id], second[self.step_id]
        return {
            "pair_id": self.pair_id,
            "kind": self.kind,
            "video_a": self.exams[0].video_id,
            "video_b": self.exams[1].video_id,
            "changed_act": [self.changed],
            "step_id": self.step_id,
            "direction": 1 if after > before else -1,
            "points": [before, after],
            "unchanged_steps": [step for step, points in first.items() if points == second[step]],
        }


def simulate_pairs(number: int, seed: int) -> tuple[MinimalPair, ...]:
    """Minimal pairs with their labels, history and local in turn; the recipes repeat with other trainees and looks.

    ``seed`` is that of trainees, raters, looks, and decides which twin is video a.
    """
    raters, pairs = draw_raters(seed), []
    for index in range(number):
        kind, recipes = (("history", HISTORY), ("local", LOCAL))[index % 2]
        target, error = recipes[index // 2 % len(recipes)]
        rng = np.random.default_rng([seed, 5, index])
        base = _common_plan(draw_errors(float(rng.normal()), rng), target)
        spoilt = with_consequences(*base.errors.values(), error, ability=base.ability)
        plans = (base, spoilt) if rng.random() < 0.5 else (spoilt, base)
        name = f"pair{index + 1:03d}"
        first, second = (
            examine(name + side, plan, raters, seed=(seed, 100_000 + index))
            for side, plan in zip("ab", plans, strict=True)
        )
        pairs.append(MinimalPair(name, kind, target, error, (first, second)))
    return tuple(pairs)


def _common_plan(plan: TraineeErrors, target: str) -> TraineeErrors:
    """The plan without errors in the target step and all that it requires, nor errors that bring some about there."""
    by_id, clean = default_rubric().by_id, [target]
    for step in clean:  # grows by what a step requires, directly or not
        clean += [required.id for required in by_id[step].requires if required.id not in clean]
    chosen = set(plan.errors.values()) - plan.entailed
    kept = [error for error in chosen if not with_consequences(error).errors.keys() & set(clean)]
    return with_consequences(*kept, ability=plan.ability)
