"""Details that a reply states beside its answers, by step: which seconds they rest on, which errors were seen, why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from siming_tasks.parsing.keys import key_of
from siming_tasks.parsing.lenient_json import Group, Scalar, Value
from siming_tasks.parsing.step_matching import StepNames, words
from siming_tasks.rubrics import RubricStep

__all__ = ["StepDetail", "read_step_details"]


@dataclass(frozen=True)
class StepDetail:
    """One kind of detail.

    Attributes:
        keys: words of which a JSON key has at least one where the detail stands under it (``evidence``, ``依据``).
        read: the value as written and its step, to what it says; None where it cannot be read. It must be hashable.
    """

    keys: frozenset[str]
    read: Callable[[Value, RubricStep], Any]


def read_step_details(groups: Iterable[Group], names: StepNames, detail: StepDetail) -> dict[str, Any]:
    """Step id to what a reply's detail of it says, for the asked steps that have one which can be read.

    A detail stands in the object of its step's answer (``{"cpr_01": {"score": 1, "evidence": ...}}``) or in an object
    of its own by step (``"evidence": {"cpr_01": ...}``). Two different details of one step are none.
    """
    stated: dict[str, set[Any]] = {}
    only = names.steps[0] if len(names.steps) == 1 else None

    def walk(group: Group, step: RubricStep | None) -> None:
        if group.torn:
            return
        for key, value in group.entries:
            if isinstance(value, Scalar) and key is not None and key_of(key).family.name == "step":
                step = names.exact(value.text) or step
        for key, value in group.entries:
            if key is not None and detail.keys & set(words(key)):
                alone = [(step, value)] if step is not None else []
                for owner, written in _by_step(value, names) or alone:
                    stated.setdefault(owner.id, set()).add(detail.read(written, owner))
            elif isinstance(value, Group):
                walk(value, (names.find(key) if key is not None else None) or step)

    for group in groups:
        walk(group, only)
    single = {step_id: next(iter(values)) for step_id, values in stated.items() if len(values) == 1}
    return {step_id: value for step_id, value in single.items() if value is not None}


def _by_step(value: Value, names: StepNames) -> list[tuple[RubricStep, Value]]:
    if not isinstance(value, Group) or value.bracket != "{":
        return []
    owners = ((names.exact(key) if key is not None else None, inner) for key, inner in value.entries)
    return list({step.id: (step, inner) for step, inner in owners if step is not None}.values())
