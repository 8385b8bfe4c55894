"""Warnings about a valid rubric: texts and names that say the same, and points that nobody can get."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from siming_tasks.benchmark.rubrics.load import line_of
from siming_tasks.benchmark.rubrics.rubric import Place, Rubric, RubricStep, allowed_points
from siming_tasks.common.errors import Problem
from siming_tasks.common.printed_value import counted

Found = Iterator[tuple[Place, str, str, str]]
"""Findings: place, code, problem, way out."""


def lint_rubric(rubric: Rubric, source: str, lines: Mapping[Place, int] | None = None) -> list[Problem]:
    """Warnings about a checked rubric, in the order of the file.

    Args:
        rubric: the rubric.
        source: how the warnings call its file.
        lines: the line of each entry (:func:`siming_tasks.common.files.yaml_lines`).
    """
    where = lines or {}
    problems = [
        Problem(code, what, fix, source, line_of(place, where), ".".join(map(str, place)), severity="warning")
        for place, code, what, fix in _findings(rubric)
    ]
    return sorted(problems, key=lambda problem: problem.line or 0)


def _findings(rubric: Rubric) -> Found:
    yield from _alike("name", "skill names", {("skills", s, "name"): one.name for s, one in enumerate(rubric.skills)})
    for s, skill in enumerate(rubric.skills):
        steps: dict[Place, RubricStep] = {("skills", s, "steps", n): step for n, step in enumerate(skill.steps)}
        yield from _alike("name", "step names", {(*place, "name"): step.name for place, step in steps.items()})
        for place, step in steps.items():
            criteria = step.criteria.model_dump().items()
            yield from _alike("criteria", "criteria", {(*place, "criteria", name): text for name, text in criteria})
            errors = enumerate(step.errors)
            yield from _alike(
                "errors", "errors", {(*place, "errors", e, "observable"): x.observable for e, x in errors}
            )
            left = reachable(step)
            if step.errors and (missing := [f"{level:g}" for level in allowed_points(step) if level not in left]):
                what = f"step {step.id!r}: no combination of its errors leaves {', '.join(missing[:6])} of "
                what += f"{counted(step.max_score, 'point')}."
                fix = "Add an error for what costs that much, or correct a deduction."
                yield (*place, "errors"), "points-unreachable", what, fix


def reachable(step: RubricStep) -> set[float]:
    """The points that remain after some of the step's errors, each at most once.

    Example:
        >>> from siming_tasks.benchmark.rubrics import default_rubric
        >>> sorted(reachable(default_rubric().by_id["cpr_01"]))
        [0.0, 1.0, 2.0]
    """
    lost = {0.0}
    for error in step.errors:
        lost |= {min(step.max_score, cost + error.deduct) for cost in lost}
    return {step.max_score - cost for cost in lost}


def _alike(code: str, kind: str, texts: Mapping[Place, str]) -> Found:
    """Texts that are one but for case, blanks and punctuation."""
    first: dict[str, str] = {}
    for place, text in texts.items():
        plain = " ".join(re.findall(r"\w+", text.casefold())) or text
        if plain in first:
            what = f"two {kind} say the same: {first[plain][:60]!r} and {text[:60]!r}."
            yield place, f"{code}-same", what, "Write what tells them apart, or delete one."
        first.setdefault(plain, text)
