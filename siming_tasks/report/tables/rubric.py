"""A rubric as physicians use it: a page per skill, for a terminal and for a printer."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib import resources

from siming_tasks.common.sanitize import one_line, visible
from siming_tasks.rubrics import Rubric, RubricStep, Skill

__all__ = ["printable", "sheet", "units"]

MAX_BOXES = 12
"""Points that get a box each; a longer scale gets a line to write on."""


def units(points: float) -> str:
    """``1 point``, ``2.5 points``."""
    return f"{points:g} point{'' if points == 1 else 's'}"


def _chosen(rubric: Rubric, skills: Sequence[str]) -> list[Skill]:
    return [skill for skill in rubric.skills if not skills or skill.id in skills]


def _criteria(step: RubricStep) -> list[tuple[str, str]]:
    said = step.criteria
    return [(f"{step.max_score:g}", said.full), ("partial", said.partial), ("0", said.fail)]


def _more(step: RubricStep) -> list[str]:
    """Named errors, and what the step needs from earlier ones."""
    lines = [f"−{error.deduct:g}: {error.observable}" for error in step.errors]
    effects = {"void": "else 0", "context": "bear it in mind"}
    for need in step.requires:
        effect = effects.get(need.effect) or f"else at most {units(need.cap or 0)}"
        lines.append(f"Needs {need.id}: {effect}.")
    return lines


def sheet(rubric: Rubric, skills: Sequence[str] = (), width: int = 100) -> str:
    """The rubric as plain text.

    Args:
        rubric: the rubric.
        skills: ids of the skills to show (default: all).
        width: characters of a line.
    """
    steps = len(rubric.steps)
    head = f"{one_line(rubric.title or rubric.rubric_id)} ({rubric.rubric_id}, version {one_line(rubric.version)}): "
    lines = [f"{head}{steps} steps, {units(rubric.max_score)}"]
    for skill in _chosen(rubric, skills):
        total = units(sum(step.max_score for step in skill.steps))
        name = " ".join(filter(None, (skill.name, skill.name_zh)))
        lines += ["", f"== {one_line(name)} ({skill.id}): {len(skill.steps)} steps, {total}"]
        for step in skill.steps:
            name = " ".join(filter(None, (step.name, step.name_zh)))
            marks = ", critical" if step.critical else ""
            halves = ", half points" if step.score_increment < 1 else ""
            lines += ["", f"{step.id}  {one_line(name)} ({units(step.max_score)}{halves}{marks})"]
            for label, text in [("", step.requirement), *_criteria(step), *(("", line) for line in _more(step))]:
                lines += textwrap.wrap(
                    one_line(text),
                    width,
                    initial_indent=f"  {label:8}",
                    subsequent_indent=" " * 10,
                    break_on_hyphens=False,
                )
    return "\n".join(lines) + "\n"


def printable(rubric: Rubric, skills: Sequence[str] = ()) -> str:
    """The rubric as an HTML page that prints one sheet per skill; all text of the rubric is escaped.

    Args:
        rubric: the rubric.
        skills: ids of the skills to show (default: all).
    """
    from jinja2 import Environment

    pages = []
    for skill in _chosen(rubric, skills):
        steps = [
            {
                **{key: visible(getattr(step, key) or "") for key in ("id", "name", "name_zh", "requirement")},
                "critical": step.critical,
                "max": f"{step.max_score:g}",
                "criteria": [(points, visible(text)) for points, text in _criteria(step)],
                "more": [visible(line) for line in _more(step)],
                "levels": _levels(step),
            }
            for step in skill.steps
        ]
        total = sum(step.max_score for step in skill.steps)
        pages.append(
            {"name": visible(skill.name), "name_zh": visible(skill.name_zh or ""), "steps": steps, "total": total}
        )
    page = resources.files("siming_tasks.report.tables").joinpath("rubric.html").read_text(encoding="utf-8")
    template = Environment(autoescape=True).from_string(page)
    return template.render(
        title=visible(rubric.title or rubric.rubric_id),
        id=rubric.rubric_id,
        version=visible(rubric.version),
        setting=visible(rubric.setting or ""),
        skills=pages,
        units=units,
    )


def _levels(step: RubricStep) -> list[str]:
    count = round(step.max_score / step.score_increment) + 1
    return [f"{level * step.score_increment:g}" for level in range(count)] if count <= MAX_BOXES else []
