"""Whether points are on the step's scale, by what stands beside them: a maximum, a range, a sum, a percentage."""

from __future__ import annotations

import re
from collections.abc import Sequence

from siming_tasks.parsing.keys import Key
from siming_tasks.parsing.lenient_json import Group, Scalar, Value
from siming_tasks.parsing.values import last_number
from siming_tasks.rubrics import RubricStep

_POINTS = re.compile(r"\s*(?:points?|pts?|marks?|分|)\s*", re.IGNORECASE)

__all__ = ["off_scale", "scale_of"]


def off_scale(group: Group, keys: Sequence[Key], points: float, maximum: float) -> str | None:
    """The reason why ``points``, read in this object, are not points out of ``maximum``; None if they are."""
    for key, (_, value) in zip(keys, group.entries, strict=True):
        said = _number(value)
        if key.family.name in ("maximum", "scale"):
            if said is None and not _blank(value):
                return "ambiguous"
            if said not in (None, maximum):
                return "off_scale"
        elif key.family.name == "unit":
            if not isinstance(value, Scalar) or not _POINTS.fullmatch(value.text):
                return "ambiguous"
        elif key.family.name == "total":
            if said not in (None, points, maximum):
                return "ambiguous"
        elif key.family.name == "percent" and said is not None:
            share = 100 * points / maximum
            if min(abs(said - share), abs(100 * said - share)) > 1:
                return "ambiguous"
    return None


def scale_of(group: Group, keys: Sequence[Key], steps: Sequence[RubricStep]) -> float | None:
    """The maximum that an object says holds for all steps in it; None if it says none, or the maximum of their sum."""
    for key, (_, value) in zip(keys, group.entries, strict=True):
        if key.family.name not in ("maximum", "scale") or isinstance(value, Group):
            continue
        said = _number(value)
        if said is not None and said != sum(step.max_score for step in steps):
            return said
    return None


def _number(value: Value) -> float | None:
    return last_number(value.text) if isinstance(value, Scalar) else None


def _blank(value: Value) -> bool:
    return isinstance(value, Scalar) and value.text.strip().casefold() in ("", "null", "none", "n/a")
