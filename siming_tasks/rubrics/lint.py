"""Warnings about a valid rubric: texts and names that say the same, points that nobody can get, idle requirements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from siming_tasks.common.errors import Problem
from siming_tasks.rubrics.load import line_of
from siming_tasks.rubrics.rubric import Place, Rubric, RubricStep, allowed_points


def lint_rubric(rubric: Rubric, source: str, lines: Mapping[Place, int] | None = None) -> list[Problem]:
    """Warnings about a checked rubric, in the order of the file.

    Args:
        rubric: the rubric.
        source: how the warnings call its file.
        lines: the line of each entry (:func:`siming_tasks.common.files.yaml_lines`).
    """
    findings: list[tuple[Place, str, str, str]] = [*_names(rubric)]
    for s, skill in enumerate(rubric.skills):
        for n, step in enumerate(skill.steps):
            place: Place = ("skills", s, "steps", n)
            for at, code, what, fix in (*_texts(step), *_points(step), *_needs(step)):
                findings.append(((*place, *at), code, f"step {step.id!r}: {what}", fix))
    where = lines or {}
    problems = [
        Problem(code, what, fix, source, line_of(place, where), ".".join(map(str, place)), severity="warning")
        for place, code, what, fix in findings
    ]
    return sorted(problems, key=lambda problem: problem.line or 0)


Found = Iterator[tuple[Place, str, str, str]]
"""Findings: place below the step, code, problem, way out."""


def _texts(step: RubricStep) -> Found:
    """Criteria, and errors, that say the same."""
    criteria: dict[Place, str] = {("criteria", name): text for name, text in step.criteria.model_dump().items()}
    observed: dict[Place, str] = {("errors", i, "observable"): error.observable for i, error in enumerate(step.errors)}
    for kind, group in (("criteria", criteria), ("errors", observed)):
        for (_, first), (place, second) in combinations(group.items(), 2):
            if _plain(first) == _plain(second):
                what = f"two {kind} say the same: {second[:60]!r}."
                yield place, f"{kind}-same", what, "Write what tells them apart, or delete one."


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def reachable(step: RubricStep) -> set[float]:
    """The points that remain after some of the step's errors, each at most once.

    Example:
        >>> from siming_tasks.rubrics import default_rubric
        >>> sorted(reachable(default_rubric().by_id["cpr_01"]))
        [0.0, 1.0, 2.0]
    """
    lost = {0.0}
    for error in step.errors:
        lost |= {min(step.max_score, cost + error.deduct) for cost in lost}
    return {step.max_score - cost for cost in lost}


def _points(step: RubricStep) -> Found:
    """Points that no combination of errors leaves."""
    left = reachable(step)
    if step.errors and (missing := [f"{level:g}" for level in allowed_points(step) if level not in left]):
        shown = ", ".join(missing[:6]) + (", ..." if len(missing) > 6 else "")
        what = f"no combination of its errors leaves {shown} of {step.max_score:g} points."
        yield ("errors",), "points-unreachable", what, "Add an error for what costs that much, or correct a deduction."


def _needs(step: RubricStep) -> Found:
    seen: set[str] = set()
    for index, need in enumerate(step.requires):
        place: Place = ("requires", index)
        if need.id in seen:
            yield place, "requires-twice", f"requires {need.id!r} twice.", "Keep the stricter one."
        seen.add(need.id)
        if need.cap is not None and need.cap >= step.max_score:
            what = f"a cap of {need.cap:g} of {step.max_score:g} points changes nothing."
            yield (*place, "cap"), "cap-idle", what, "Lower it, or write `effect: context`."


def _names(rubric: Rubric) -> Found:
    """Names that are one after folding, errors under another step's id, translations of some steps only."""
    yield from _same_names("skill", ((("skills", s, "name"), skill.name) for s, skill in enumerate(rubric.skills)))
    without: list[tuple[Place, str]] = []
    steps = 0
    for s, skill in enumerate(rubric.skills):
        place: Place = ("skills", s, "steps")
        yield from _same_names("step", (((*place, n, "name"), step.name) for n, step in enumerate(skill.steps)))
        for n, step in enumerate(skill.steps):
            steps += 1
            without += [] if step.name_zh else [((*place, n), step.id)]
            for e, error in enumerate(step.errors):
                owner = error.id.rpartition(".")[0]
                if owner != step.id and owner in rubric.by_id:
                    what = f"error {error.id!r} stands in step {step.id!r}."
                    yield (*place, n, "errors", e, "id"), "error-elsewhere", what, "Move it there, or rename it."
    if without and len(without) < steps:
        what = f"{len(without)} of {steps} steps lack `name_zh`, the first is {without[0][1]!r}."
        yield without[0][0], "name-untranslated", what, "Translate all names or none."


def _same_names(kind: str, names: Iterable[tuple[Place, str]]) -> Found:
    first: dict[str, str] = {}
    for place, name in names:
        if (known := first.get(_plain(name) or name)) is not None:
            yield place, "name-twice", f"two {kind}s have one name: {known!r} and {name!r}.", "Rename one."
        first.setdefault(_plain(name) or name, name)
