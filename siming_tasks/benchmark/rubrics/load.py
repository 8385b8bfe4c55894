"""Rubric files in, checked rubrics out."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from siming_tasks.benchmark.rubrics.rubric import (
    Conflict,
    Conflicts,
    Criteria,
    Evidence,
    Place,
    Requirement,
    Rubric,
    RubricStep,
    Skill,
    StepError,
)
from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import DataError, Problem, RubricError, field_message
from siming_tasks.common.files import read_yaml, yaml_lines

MODELS: Mapping[str, type[BaseModel]] = {
    "skills": Skill,
    "steps": RubricStep,
    "criteria": Criteria,
    "errors": StepError,
    "requires": Requirement,
    "evidence": Evidence,
}
"""Models of the entries by their key; the file itself is a :class:`Rubric`."""

_FOLDER = Path(__file__).parent
DEFAULT_ID = "siming-default"
"""``rubric_id`` of the embedded rubric."""


def rubric_from(data: Any, source: str = "rubric", lines: Callable[[], Mapping[Place, int]] | None = None) -> Rubric:
    """A checked rubric from plain data.

    Args:
        data: the mapping in a rubric file.
        source: how error messages name its origin.
        lines: gives the line of each entry; asked only if something is wrong.

    Raises:
        RubricError: lists every fault with its place, e.g. ``rubric.yaml:41: skills.0.steps.3.max_score: ...``.
    """
    try:
        return Rubric.model_validate(data)
    except ValidationError as error:
        items = error.errors(include_url=False)
    deeper = {item["loc"][:depth] for item in items for depth in range(len(item["loc"]))}
    faults: list[Conflict] = []
    for item in items:
        if item["type"] == "too_short" and item["loc"] in deeper:
            continue  # a list whose entries are wrong
        cause = item.get("ctx", {}).get("error")
        faults += cause.found if isinstance(cause, Conflicts) else [Conflict(item["loc"], _what(item), _fix(item))]
    where = lines() if lines else {}
    problems = []
    for place, what, fix in faults:
        field = ".".join(map(str, place)) or None
        problems.append(Problem("rubric-invalid", f"{what}.", fix, source, line_of(place, where), field))
    raise RubricError.of(sorted(problems, key=lambda problem: problem.line or 0), shown=20) from None


def _what(item: Any) -> str:
    """A problem in pydantic's words, with the value that was found."""
    what, value = field_message(item), item.get("input")
    shown = item["type"] not in ("value_error", "missing", "extra_forbidden") and isinstance(value, str | int | float)
    return f"{what}, found {str(value)[:60]!r}" if shown else what


def line_of(place: Place, lines: Mapping[Place, int]) -> int | None:
    """The line of an entry, or of the nearest one around it."""
    return next((lines[place[:depth]] for depth in range(len(place), -1, -1) if place[:depth] in lines), None)


def _fix(item: Any) -> str:
    """Way out of a problem that pydantic found."""
    name, kind = str(item["loc"][-1]) if item["loc"] else "", item["type"]
    if kind == "missing":
        return f"Add it; {see('rubric')} lists what an entry has."
    if kind == "extra_forbidden":
        around = next((str(part) for part in reversed(item["loc"][:-1]) if part in MODELS), "")
        known = {field.alias or key for key, field in MODELS.get(around, Rubric).model_fields.items()}
        near = difflib.get_close_matches(name, known, 1)
        return f"Write `{near[0]}`, or delete it." if near else "Delete it, or correct its name."
    return "Correct that entry; siming_tasks/benchmark/rubrics/default.yaml is a complete example."


def load_rubric(path: str | Path) -> Rubric:
    """The checked rubric of a ``rubric.yaml``.

    Raises:
        RubricError: the file is missing, not YAML or not a rubric.
    """
    path = Path(path)
    try:
        data = read_yaml(path, Rubric)
    except DataError as error:
        raise RubricError(str(error)) from None
    return rubric_from(data, str(path), lambda: yaml_lines(path))


@cache
def default_rubric() -> Rubric:
    """The embedded rubric: 19 + 9 + 5 steps, 100 points, reconstructed from public guidelines (see its ``status``).

    Example:
        >>> from siming_tasks import default_rubric
        >>> rubric = default_rubric()
        >>> len(rubric.steps), rubric.max_score
        (33, 100.0)
    """
    return load_rubric(_FOLDER / "default.yaml")


@cache
def _translated() -> Mapping[str, Sequence[str]]:
    return dict(read_yaml(_FOLDER / "default_zh.yaml"))


def in_chinese(step: RubricStep) -> dict[str, str] | None:
    """``requirement``, ``full``, ``partial``, ``fail`` of a step in Chinese; None for a step of another rubric.

    Example:
        >>> in_chinese(default_rubric().by_id["cpr_04"])["fail"]
        '未判断呼吸。'
    """
    own = default_rubric().by_id.get(step.id)
    if own is None or (own.requirement, own.criteria) != (step.requirement, step.criteria):
        return None
    return dict(zip(("requirement", "full", "partial", "fail"), _translated()[step.id], strict=True))
