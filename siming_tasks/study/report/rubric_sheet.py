"""The rubric as an HTML page to print, one sheet per skill."""

from __future__ import annotations

from collections.abc import Sequence

from siming_tasks.benchmark.rubrics import Rubric, RubricStep
from siming_tasks.common.errors import DataError
from siming_tasks.common.printed_value import counted

MAX_BOXES = 12
"""Points that get a box each; a longer scale gets a line to write on."""


def render_rubric_html(rubric: Rubric, skills: Sequence[str] = ()) -> str:
    """The rubric as an HTML page that prints one sheet per skill (of these ids); all its text is escaped.

    Raises:
        DataError: there is no such skill.
    """
    from siming_tasks.study.report.formatting import templates

    known = [skill.id for skill in rubric.skills]
    if unknown := [skill for skill in skills if skill not in known]:
        raise DataError(f"Skill {unknown[0]!r} is not in the rubric; it has {', '.join(known)}.")
    chosen = [skill for skill in rubric.skills if not skills or skill.id in skills]
    how = {"levels": _levels, "notes": _notes}
    return templates().get_template("rubric_sheet.html").render(rubric=rubric, skills=chosen, **how)


def _levels(step: RubricStep) -> list[str]:
    """The points of a step that get a box each."""
    count = round(step.max_score / step.score_increment) + 1
    return [f"{level * step.score_increment:g}" for level in range(count)] if count <= MAX_BOXES else []


def _notes(step: RubricStep) -> list[str]:
    """Named errors with their deductions, and what the step needs from earlier ones."""
    notes = [f"−{error.deduct:g}: {error.observable}" for error in step.errors]
    for requirement in step.requires:
        if requirement.effect == "context":
            notes.append(f"Depends on {requirement.id} (context only).")
        else:
            most = "0" if requirement.effect == "void" else f"at most {counted(requirement.cap or 0, 'point')}"
            notes.append(f"Needs {requirement.id}; otherwise {most}.")
    return notes
