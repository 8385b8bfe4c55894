"""A simulated trainee: which error is made in which step.

The trainee has an ability; a step fails the more easily the more ways there are to fail it, and then has one of its
errors. The physical consequences of an error replace what would have been done in later steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.tools.simulator.steps import FOLLOWS, NEVER_ALONE, STEPS

_BASE, _SLOPE = -1.76, 0.45


@dataclass(frozen=True)
class TraineeErrors:
    """The errors that a trainee will make.

    Attributes:
        errors: the id of the error made, by step id in rubric order; steps done well are absent.
        entailed: ids among them that the trainee did not choose but that follow from another error.
        ability: of the trainee, in standard deviations around the class's mean.
    """

    errors: Mapping[str, str] = field(default_factory=dict)
    entailed: frozenset[str] = frozenset()
    ability: float = 0.0

    def has(self, error_id: str) -> bool:
        """True if this error is made."""
        return self.errors.get(error_id.rpartition(".")[0]) == error_id


def with_consequences(*chosen: str, ability: float = 0.0) -> TraineeErrors:
    """A trainee who makes the ``chosen`` errors (ids, one a step at most) and what follows from them.

    The first in the rubric's order wins: one in a step that is spoilt already, or that would bring about what can no
    longer happen, is not made.

    Raises:
        KeyError: an id is unknown.
    """
    by_step: dict[str, str] = {}
    for error in chosen:
        step, _, name = error.partition(".")
        STEPS[step].errors[name]  # KeyError where there is no such error
        by_step[step] = error
    made: dict[str, str] = {}
    entailed: set[str] = set()
    for step in STEPS:
        if step not in by_step or step in made:
            continue
        following = [by_step[step]]
        for error in following:  # grows: what follows from an error has consequences of its own
            following += [later for later in FOLLOWS.get(error, ()) if later not in following]
        new = {error.rpartition(".")[0]: error for error in following}
        if all(made.get(place, error) == error for place, error in new.items()):
            made |= new
            entailed |= set(following[1:])
    return TraineeErrors({step: made[step] for step in STEPS if step in made}, frozenset(entailed), ability)


def draw_errors(ability: float, rng: np.random.Generator) -> TraineeErrors:
    """The errors of a trainee: each step fails with logistic(base + difficulty - slope x ability).

    A step that fails has one error; grave ones are rarer, and rarest with able trainees.
    """
    rubric, chosen = default_rubric(), []
    for name, step in STEPS.items():
        errors = [(f"{name}.{error}", points) for error, (points, _) in step.errors.items()]
        errors = [(error, points) for error, points in errors if error not in NEVER_ALONE]
        luck = rng.random()
        difficulty = 0.25 * (len(errors) - 3.2)
        share = np.array([points for _, points in errors]) / rubric.by_id[name].max_score
        weight = np.exp(-(2.2 + 0.8 * ability) * share)
        place = int(rng.choice(len(errors), p=weight / weight.sum()))
        if luck < expit(_BASE + difficulty - _SLOPE * ability):
            chosen.append(errors[place][0])
    return with_consequences(*chosen, ability=ability)
