"""Which points a step can earn."""

from __future__ import annotations

from siming_tasks.rubrics.rubric import RubricStep

__all__ = ["allowed_points"]


def allowed_points(step: RubricStep) -> tuple[float, ...]:
    """All points that a physician may give, ascending from 0 to the step's maximum, in steps of its score_increment.

    Example:
        >>> from siming_tasks.rubrics import default_rubric
        >>> allowed_points(default_rubric().by_id["cpr_01"])
        (0.0, 1.0, 2.0)
    """
    return tuple(step.score_increment * count for count in range(round(step.max_score / step.score_increment) + 1))
