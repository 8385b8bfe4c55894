"""The rubric as a sheet for physicians: plain text for a terminal, or an HTML page to print, one sheet per skill."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib import resources

from siming_tasks.common.sanitize import one_line, visible
from siming_tasks.rubrics import Rubric, RubricStep, Skill

__all__ = ["count_points", "render_rubric_html", "render_rubric_text"]

MAX_BOXES = 12
"""Points that get a box each; a longer scale gets a line to write on."""
_LABEL_WIDTH = 8


def count_points(points: float) -> str:
    """``1 point``, ``2.5 points``."""
    return f"{points:g} point{'' if points == 1 else 's'}"


def render_rubric_text(rubric: Rubric, skills: Sequence[str] = (), width: int = 100) -> str:
    """The rubric as plain text.

    Args:
        rubric: the rubric.
        skills: ids of the skills to show (default: all).
        width: characters of a line.
    """
    title = f"{one_line(rubric.title or rubric.rubric_id)} ({rubric.rubric_id}, version {one_line(rubric.version)})"
    lines = [f"{title}: {len(rubric.steps)} steps, {count_points(rubric.max_score)}"]
    for skill in _chosen_skills(rubric, skills):
        total = count_points(sum(step.max_score for step in skill.steps))
        name = " ".join(filter(None, (skill.name, skill.name_zh)))
        lines += ["", f"== {one_line(name)} ({skill.id}): {len(skill.steps)} steps, {total}"]
        for step in skill.steps:
            name = " ".join(filter(None, (step.name, step.name_zh)))
            marks = (", half points" if step.score_increment < 1 else "") + (", critical" if step.critical else "")
            lines += ["", f"{step.id}  {one_line(name)} ({count_points(step.max_score)}{marks})"]
            notes = [("", note) for note in _errors_and_requirements(step)]
            for label, text in [("", step.requirement), *_criteria(step), *notes]:
                lines += textwrap.wrap(
                    one_line(text),
                    width,
                    initial_indent=f"  {label:{_LABEL_WIDTH}}",
                    subsequent_indent=" " * (_LABEL_WIDTH + 2),
                    break_on_hyphens=False,
                )
    return "\n".join(lines) + "\n"


def render_rubric_html(rubric: Rubric, skills: Sequence[str] = ()) -> str:
    """The rubric as an HTML page that prints one sheet per skill; all text of the rubric is escaped.

    Args:
        rubric: the rubric.
        skills: ids of the skills to show (default: all).
    """
    from jinja2 import Environment

    sheets = []
    for skill in _chosen_skills(rubric, skills):
        steps = [
            {
                **{key: visible(getattr(step, key) or "") for key in ("id", "name", "name_zh", "requirement")},
                "critical": step.critical,
                "max": f"{step.max_score:g}",
                "criteria": [(points, visible(text)) for points, text in _criteria(step)],
                "notes": [visible(note) for note in _errors_and_requirements(step)],
                "levels": _levels(step),
            }
            for step in skill.steps
        ]
        total = sum(step.max_score for step in skill.steps)
        name, name_zh = visible(skill.name), visible(skill.name_zh or "")
        sheets.append({"name": name, "name_zh": name_zh, "steps": steps, "total": total})
    template = resources.files("siming_tasks.report") / "templates" / "rubric_sheet.html"
    return (
        Environment(autoescape=True)
        .from_string(template.read_text(encoding="utf-8"))
        .render(
            title=visible(rubric.title or rubric.rubric_id),
            id=rubric.rubric_id,
            version=visible(rubric.version),
            setting=visible(rubric.setting or ""),
            skills=sheets,
            count_points=count_points,
        )
    )


def _chosen_skills(rubric: Rubric, skills: Sequence[str]) -> list[Skill]:
    return [skill for skill in rubric.skills if not skills or skill.id in skills]


def _criteria(step: RubricStep) -> list[tuple[str, str]]:
    criteria = step.criteria
    return [(f"{step.max_score:g}", criteria.full), ("partial", criteria.partial), ("0", criteria.fail)]


def _errors_and_requirements(step: RubricStep) -> list[str]:
    """Named errors with their deductions, and what the step needs from earlier ones."""
    notes = [f"−{error.deduct:g}: {error.observable}" for error in step.errors]
    effects = {"void": "else 0", "context": "bear it in mind"}
    for requirement in step.requires:
        effect = effects.get(requirement.effect) or f"else at most {count_points(requirement.cap or 0)}"
        notes.append(f"Needs {requirement.id}: {effect}.")
    return notes


def _levels(step: RubricStep) -> list[str]:
    """Every score that the step can have; empty for a scale that is too long for boxes."""
    count = round(step.max_score / step.score_increment) + 1
    return [f"{level * step.score_increment:g}" for level in range(count)] if count <= MAX_BOXES else []
