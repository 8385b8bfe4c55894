"""The rubric as an HTML page to print, one sheet per skill."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from siming_tasks.common.errors import DataError
from siming_tasks.common.sanitize import visible
from siming_tasks.rubrics import Rubric, RubricStep, Skill

MAX_BOXES = 12
"""Points that get a box each; a longer scale gets a line to write on."""


def count_points(points: float) -> str:
    """``1 point``, ``2.5 points``."""
    return f"{points:g} point{'' if points == 1 else 's'}"


def render_rubric_html(rubric: Rubric, skills: Sequence[str] = ()) -> str:
    """The rubric as an HTML page that prints one sheet per skill (of these ids); all its text is escaped."""
    from jinja2 import Environment

    sheets = []
    for skill, total in _chosen_skills(rubric, skills):
        steps = []
        for step in skill.steps:
            count = round(step.max_score / step.score_increment) + 1
            levels = range(count) if count <= MAX_BOXES else ()
            steps.append({
                **{key: visible(getattr(step, key) or "") for key in ("id", "name", "name_zh", "requirement")},
                "critical": step.critical,
                "max": f"{step.max_score:g}",
                "criteria": [(points, visible(text)) for points, text in _criteria(step)],
                "notes": [visible(note) for note in _errors_and_requirements(step)],
                "levels": [f"{level * step.score_increment:g}" for level in levels],
            })  # fmt: skip
        name, name_zh = visible(skill.name), visible(skill.name_zh or "")
        sheets.append({"name": name, "name_zh": name_zh, "steps": steps, "total": total})
    template = resources.files("siming_tasks.report") / "templates" / "rubric_sheet.html"
    page = Environment(autoescape=True).from_string(template.read_text(encoding="utf-8"))
    return page.render(
        title=visible(rubric.title or rubric.rubric_id),
        id=rubric.rubric_id,
        version=visible(rubric.version),
        setting=visible(rubric.setting or ""),
        skills=sheets,
        count_points=count_points,
    )


def _chosen_skills(rubric: Rubric, skills: Sequence[str]) -> list[tuple[Skill, float]]:
    """The skills to show, each with the sum of its points (DataError: there is no such skill)."""
    known = [skill.id for skill in rubric.skills]
    if unknown := [skill for skill in skills if skill not in known]:
        raise DataError(f"Skill {unknown[0]!r} is not in the rubric; it has {', '.join(known)}.")
    chosen = [skill for skill in rubric.skills if not skills or skill.id in skills]
    return [(skill, sum(step.max_score for step in skill.steps)) for skill in chosen]


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
