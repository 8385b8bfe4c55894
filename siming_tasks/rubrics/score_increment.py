"""The score increment of a step: whole points, or whole and half points.

A rubric may state it (``score_increment: 0.5`` for the rubric, for a step). Where it does not, half points are taken
from what can be seen of them: a maximum, a deduction or a cap with a half in it, or criteria that speak of them
("-0.5 each").
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

__all__ = [
    "HALF", "HALF_POINTS_HINT", "WHOLE", "Points", "ScoreIncrement", "is_on_increment", "named",
    "visible_score_increment",
]  # fmt: skip

WHOLE, HALF = 1.0, 0.5
HALF_POINTS_HINT = (
    "If half points are meant, write `score_increment: 0.5` in the rubric (for all steps, or for this one)."
)
"""Way out of a message where a half point meets whole ones."""

_HALVES = re.compile(
    r"(?<![0-9.,])[0-9]{0,3}[.,]50?\s*-?\s*(?:(?:points?|pts?|marks?)\b|分)"  # 0.5 points, 1.5分
    r"|(?<![0-9.])[-\u2212\u2013][0-9]{0,2}[.,]50?(?=\s*(?:each\b|[)）,;]))"  # (-0.5), -0.5 each
    r"|\bhalf an? (?:point|mark)\b|半分",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def is_on_increment(points: float, score_increment: float) -> bool:
    """Test whether points are a multiple of the score increment.

    Example:
        >>> [is_on_increment(points, HALF) for points in (1.5, 1.25, float("nan"))], is_on_increment(1.5, WHOLE)
        ([True, False, False], False)
    """
    return float(points / score_increment).is_integer()


def named(score_increment: float) -> str:
    """``whole``, or ``whole and half``."""
    return "whole" if score_increment == WHOLE else "whole and half"


def visible_score_increment(numbers: Iterable[float], texts: Iterable[str]) -> float:
    """The score increment that a step shows by its points and its criteria.

    Example:
        >>> visible_score_increment([2, 1], ["(-1)"]), visible_score_increment([2.5], [])
        (1.0, 0.5)
        >>> visible_score_increment([2], ["Late: -0.5 each."])
        0.5
    """
    halves = not all(is_on_increment(number, WHOLE) for number in numbers) or any(map(_HALVES.search, texts))
    return HALF if halves else WHOLE


def _parse_number(value: Any) -> Any:
    """Text of a file as people read it: 010 is 10, and ``yes``, ``1:30`` and ``2,5`` are no numbers."""
    if isinstance(value, bool) or (isinstance(value, str) and not _NUMBER.fullmatch(value.strip())):
        shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value[:40]
        raise ValueError(f"`{shown}` is not a number; write points such as 2 or 2.5")
    return value


def _check_half_points(value: float) -> float:
    if not is_on_increment(value, HALF):
        raise ValueError(f"{value:g} is neither whole nor half points; write the scale in larger points")
    return value


def _check_increment(value: float) -> float:
    if value not in (WHOLE, HALF):
        raise ValueError(f"{value:g} is no score_increment; 1 (whole points) and 0.5 (half points) are")
    return value


Points = Annotated[float, BeforeValidator(_parse_number), AfterValidator(_check_half_points)]
"""A number of points, whole or half."""
ScoreIncrement = Annotated[float, BeforeValidator(_parse_number), AfterValidator(_check_increment)]
"""1 (whole points) or 0.5 (half points)."""
