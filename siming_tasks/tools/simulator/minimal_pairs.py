"""Counterfactual minimal pairs: two exams that differ in one act, and the difference of labels that follows.

*History* pairs: the act is in an earlier step; the frames of the target step's clip are the same in both
videos, its score is not (a shock with and without "clear!" before it). *Local* pairs: the execution of the
target step itself differs. Both videos get the same room, trainee, raters' luck and step times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from siming_tasks.rubrics import Rubric, default_rubric
from siming_tasks.tools.simulator.simulated_exam import Exam, draw_raters, examine
from siming_tasks.tools.simulator.trainee import TraineeErrors, draw_errors, with_consequences
from siming_tasks.tools.simulator.video import FULL, SHORT, perform

HISTORY: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("aed_08", ("aed_07.omitted",)),
    ("cpr_17", ("cpr_16.wrong_manoeuvre", "cpr_16.soft_tissue_or_mouth_closed")),
    ("aed_06", ("aed_05.omitted",)),
    ("cpr_09", ("cpr_05.omitted",)),
    ("aed_09", ("aed_08.omitted",)),
    ("cpr_18", ("cpr_14.large_miscount", "cpr_14.silent")),
    ("aed_08", ("aed_06.omitted",)),
    ("cpr_19", ("cpr_18.omitted",)),
    ("bmv_05", ("bmv_04.mostly_without_rise", "bmv_04.jab")),
    ("cpr_18", ("cpr_17.neither_effective", "cpr_17.not_watching_chest")),
)
"""Target step, and the earlier errors that fail the step it requires."""

LOCAL: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("cpr_11", ("cpr_11.mostly_shallow",)),
    ("aed_03", ("aed_03.one_misplaced",)),
    ("cpr_10", ("cpr_10.one_hand",)),
    ("bmv_03", ("bmv_03.mask_misplaced",)),
    ("cpr_12", ("cpr_12.far_out",)),
    ("aed_07", ("aed_07.contact_overlooked",)),
    ("cpr_05", ("cpr_05.wrong_site",)),
    ("cpr_13", ("cpr_13.hands_leave_chest",)),
    ("cpr_06", ("cpr_06.soft_surface",)),
    ("bmv_04", ("bmv_04.over_inflation",)),
)
"""Target step, and the errors made in it."""


@dataclass(frozen=True)
class MinimalPair:
    """Two exams that differ in one act; ``exams[0]`` is video a, ``exams[1]`` video b."""

    pair_id: str
    kind: str
    step_id: str
    changed: tuple[str, ...]
    exams: tuple[Exam, Exam]

    def slots(self, short: bool) -> dict[str, float]:
        """Seconds to give each step in both videos so that what follows happens at the same time."""
        both = [perform(exam.plan, pace=SHORT if short else FULL, seed=exam.look).lengths for exam in self.exams]
        return {step: max(lengths[step] for lengths in both) for step in both[0]}


def simulate_pairs(number: int, seed: int = 0, rubric: Rubric | None = None) -> tuple[MinimalPair, ...]:
    """Minimal pairs with their labels, history and local in turn; the recipes repeat with other trainees and looks.

    ``seed`` is that of trainees, raters, looks, and of which twin is video a. The recipes are the embedded rubric's.
    """
    rubric = rubric or default_rubric()
    raters = draw_raters(rubric, np.random.default_rng([seed, 1]))
    pairs = []
    for index in range(number):
        kind, recipes = (("history", HISTORY), ("local", LOCAL))[index % 2]
        target, errors = recipes[index // 2 % len(recipes)]
        rng = np.random.default_rng([seed, 5, index])
        base = _common_plan(rubric, draw_errors(rubric, rng), target)
        chosen = dict(base.errors)
        for error in errors:
            step = error.rpartition(".")[0]
            chosen[step] = (*chosen.get(step, ()), error)
        spoiled = with_consequences(rubric, chosen, base.ability)
        plans = (base, spoiled) if rng.random() < 0.5 else (spoiled, base)
        name = f"pair{index + 1:03d}"
        first, second = (
            examine(f"{name}{side}", plan, raters, seed=(seed, 100_000 + index), rubric=rubric)
            for side, plan in zip("ab", plans, strict=True)
        )
        pairs.append(MinimalPair(name, kind, target, errors, (first, second)))
    return tuple(pairs)


def _common_plan(rubric: Rubric, plan: TraineeErrors, target: str) -> TraineeErrors:
    """The plan without errors in the target step and all that it requires, nor errors that entail some there."""
    clean = [target]
    for step in clean:  # grows by what a step requires, directly or not
        clean += [required.id for required in rubric.by_id[step].requires if required.id not in clean]
    kept: dict[str, tuple[str, ...]] = {}
    for step, errors in plan.errors.items():
        for error in errors:
            alone = with_consequences(rubric, {step: (error,)})
            if not any(alone.errors[other] for other in clean):
                kept[step] = (*kept.get(step, ()), error)
    return with_consequences(rubric, kept, plan.ability)


def pair_row(pair: MinimalPair) -> dict[str, Any]:
    """The pair's line in ``pairs.jsonl``; ``direction`` is +1 if video b must score higher on the step, else -1."""
    first, second = ({step: truth.points for step, truth in exam.truth.items()} for exam in pair.exams)
    before, after = first[pair.step_id], second[pair.step_id]
    return {
        "pair_id": pair.pair_id,
        "kind": pair.kind,
        "video_a": pair.exams[0].video_id,
        "video_b": pair.exams[1].video_id,
        "changed_act": list(pair.changed),
        "step_id": pair.step_id,
        "direction": 1 if after > before else -1,
        "points": [before, after],
        "unchanged_steps": [step for step, points in first.items() if points == second[step]],
    }
