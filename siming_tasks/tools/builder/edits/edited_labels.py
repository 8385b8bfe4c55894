"""Labels after an edit, as far as spans and the rubric's requirements decide them; the rest is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from siming_tasks.common.schema import Video
from siming_tasks.rubrics import Rubric

__all__ = ["OPERATIONS", "Edit", "Labels", "candidates", "labels_after"]

Operation = Literal["drop", "freeze", "swap"]

OPERATIONS: Mapping[Operation, str] = {
    "drop": "the step's seconds are cut out",
    "freeze": "the step's first picture stands still for its length",
    "swap": "the step is shown before the one that it requires",
}


@dataclass(frozen=True)
class Edit:
    """One operation on one exam.

    Attributes:
        operation: see :data:`OPERATIONS`.
        step: whose label it changes.
        before: of a swap, the required step, which the source shows right before it.
    """

    operation: Operation
    step: str
    before: str = ""


@dataclass(frozen=True)
class Labels:
    """The consensus after an edit.

    Attributes:
        points: of every step whose label is certain.
        unsure: steps whose label is not, and why.
    """

    points: Mapping[str, float]
    unsure: Mapping[str, str]

    def changed(self, video: Video) -> list[str]:
        """The certain steps whose points are other than in the source."""
        return [step for step, points in self.points.items() if points != video.step(step).consensus]


def candidates(video: Video, rubric: Rubric) -> dict[Operation, list[Edit]]:
    """The edits of an exam that change a label for certain, by operation.

    A step can be dropped or frozen that has points to lose and shares no second with another. Two steps can be swapped
    of which the second requires the first (``void`` or ``cap``), with nothing marked between them.
    """
    spans = {step.step_id: step.span for step in video.applicable if step.span}
    alone = [step for step in spans if not any(_overlap(spans[step], spans[other]) for other in spans if other != step)]
    gone = [step for step in alone if (video.step(step).consensus or 0) > 0]
    by_time = sorted(spans, key=lambda step: spans[step])
    neighbours = set(pairwise(by_time))
    swaps = [
        Edit("swap", step, requirement.id)
        for step in gone
        for requirement in rubric.by_id[step].requires
        if requirement.effect != "context" and requirement.id in alone and (requirement.id, step) in neighbours
    ]
    by_operation: dict[Operation, list[Edit]] = {
        "drop": [Edit("drop", step) for step in gone],
        "freeze": [Edit("freeze", step) for step in gone],
        "swap": swaps,
    }
    return {name: [edit for edit in edits if edit.step in labels_after(video, rubric, edit).changed(video)]
            for name, edits in by_operation.items()}  # fmt: skip


def labels_after(video: Video, rubric: Rubric, edit: Edit) -> Labels:
    """The labels of the edited exam.

    What was left out or came too early is worth what the rubric says: 0 points for a step that is not shown; ``void``
    or ``cap`` where a requirement is not met any more. Not certain are: the step that a swap shows too late, steps
    without a span (they may lie in the part that was changed), steps that have a changed one as their ``context``, and
    what requires a step that is not certain.
    """
    points: dict[str, float] = {}
    unsure: dict[str, str] = {}
    failed: set[str] = set()
    for step in rubric.steps:
        label = next((each for each in video.applicable if each.step_id == step.id), None)
        if label is None:
            continue
        if label.consensus is None:
            unsure[step.id] = "has no label"
        elif step.id == edit.before:
            unsure[step.id] = "is shown later than it should be"
        elif label.span is None:
            unsure[step.id] = "has no span"
        else:
            left = 0.0 if step.id == edit.step and edit.operation != "swap" else label.consensus
            why = ""
            for need in step.requires:
                missed = need.id in failed or (step.id == edit.step and need.id == edit.before)
                if missed and need.effect == "context":
                    why = f"has {need.id} as its context"
                elif missed:
                    left = min(left, need.cap if need.cap is not None else 0.0)
                elif need.id in unsure and need.effect != "context":
                    why = f"requires {need.id}, which is not certain"
            if why and left > 0:
                unsure[step.id] = why
            else:
                points[step.id] = left
                if left == 0 and label.consensus > 0:
                    failed.add(step.id)
    return Labels(points, unsure)


def _overlap(first: tuple[float, float], second: tuple[float, float]) -> bool:
    return first[0] < second[1] and second[0] < first[1]
