"""Which points a step can earn."""

from __future__ import annotations

from siming_tasks.rubrics.model import RubricStep

__all__ = ["allowed_points"]


def allowed_points(step: RubricStep) -> tuple[float, ...]:
    """All points that a physician may give, ascending from 0 to the step's maximum (which always is one of them).

    Example:
        >>> from siming_tasks.rubrics import default_rubric
        >>> allowed_points(default_rubric().by_id["cpr_01"])
        (0.0, 1.0, 2.0)
    """
    grain = float(getattr(step, "grain", None) or 1.0)
    below = [grain * count for count in range(int(step.max_score / grain) + 1)]
    return tuple(dict.fromkeys([*below, float(step.max_score)]))
