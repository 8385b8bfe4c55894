"""Rubric files in, checked rubrics out."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from siming_tasks.errors import DataError, Problem, RubricError
from siming_tasks.files import read_yaml
from siming_tasks.rubrics.model import Rubric

__all__ = ["DEFAULT_ID", "default_rubric", "load_rubric", "rubric_from"]

DEFAULT_ID = "siming-default"
"""``rubric_id`` of the embedded rubric."""


def rubric_from(data: Any, source: str = "rubric") -> Rubric:
    """A checked rubric from plain data.

    Args:
        data: the mapping that a rubric file holds.
        source: how error messages name its origin.

    Raises:
        RubricError: lists every fault with its place, e.g. ``rubric.yaml: skills.0.steps.3.max_score: ...``.
    """
    try:
        return Rubric.model_validate(data)
    except ValidationError as error:
        items = error.errors(include_url=False)
        deeper = {item["loc"][:depth] for item in items for depth in range(len(item["loc"]))}
        problems = [
            Problem(
                code="rubric-invalid",
                file=source,
                field=".".join(map(str, item["loc"])) or None,
                what=item["msg"].removeprefix("Value error, ") + _found(item) + ".",
                fix="Mend that entry; siming_tasks/rubrics/default.yaml is a complete example.",
            )
            for item in items
            if item["loc"] not in deeper  # a list whose entries are wrong is also called too short
        ]
        raise RubricError.of(problems) from None


def _found(item: Any) -> str:
    """What stood there, where pydantic's words do not say."""
    value, shown = item.get("input"), item["type"] not in ("value_error", "missing", "extra_forbidden")
    return f", found {str(value)[:60]!r}" if shown and isinstance(value, str | int | float) else ""


def load_rubric(path: str | Path) -> Rubric:
    """The checked rubric of a ``rubric.yaml``.

    Raises:
        RubricError: the file is missing, not YAML or not a rubric.
    """
    try:
        data = read_yaml(Path(path), Rubric)
    except DataError as error:
        raise RubricError(str(error)) from None
    return rubric_from(data, str(path))


@cache
def default_rubric() -> Rubric:
    """The embedded rubric: 19 + 9 + 5 steps, 100 points, reconstructed from public guidelines (see its ``status``)."""
    with resources.as_file(resources.files("siming_tasks.rubrics") / "default.yaml") as path:
        return load_rubric(path)
