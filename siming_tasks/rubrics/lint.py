"""Warnings about a valid rubric: criteria that overlap, points that nobody can get, texts that say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from siming_tasks.common.errors import Problem
from siming_tasks.rubrics.load import line_of
from siming_tasks.rubrics.rubric import Place, Rubric, RubricStep, allowed_points

_BLANK = re.compile(r"(?i)^\W*(?:to ?do|tbd|tba|fixme|x+|n/?a|待定|同上|ditto)?\W*$")
_NO_PARTIAL = re.compile(
    r"(?i)\b(?:not available|not applicable|none|never|no partial|all or nothing|n/a)\b|无|不适用|没有"
)
_UNIT = r"\s*(?!(?:or|and|to|und|oder|bis)\b)(?P<unit>%|[^\W\d_]{1,12}(?:/[^\W\d_]{1,6})?)"
_NUMBER = r"\d{1,6}(?:[.,]\d{1,3})?"
_BETWEEN = re.compile(rf"(?P<low>{_NUMBER})\s*(?:-|–|−|~|～|to|bis|至|到)\s*(?P<high>{_NUMBER}){_UNIT}")
_BOUND = re.compile(
    r"(?i)(?P<word>at least|more than|over|above|>=|≥|>|至少|at most|less than|under|below|up to|<=|≤|<|不足)"
    rf"\s*(?P<number>{_NUMBER}){_UNIT}"
)
_LOWER = ("at least", "more than", "over", "above", ">=", "≥", ">", "至少")
_POINTS = re.compile(
    r"(?i)(?:\(\s*[-−–]\s*(\d{1,4}(?:[.,]\d)?)\s*\)|(?<![\d.,/-])(\d{1,4}(?:[.,]\d)?)\s*(?:points?\b|分))"
)


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
            for at, code, what, fix in (*_texts(step), *_overlaps(step), *_points(step), *_needs(step)):
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
    """Texts that say nothing, and texts that say the same."""
    texts: dict[Place, str] = {("name",): step.name, ("requirement",): step.requirement}
    criteria: dict[Place, str] = {("criteria", name): text for name, text in step.criteria.model_dump().items()}
    observed: dict[Place, str] = {("errors", i, "observable"): error.observable for i, error in enumerate(step.errors)}
    for place, text in {**texts, **criteria, **observed}.items():
        single = step.max_score <= step.score_increment and place == ("criteria", "partial")
        if _BLANK.match(text) and not (single and _NO_PARTIAL.search(text)):
            yield place, "text-empty", f"{text!r} says nothing.", "Write what an observer sees."
    for kind, group in (("criteria", criteria), ("errors", observed)):
        for (_, first), (place, second) in combinations(group.items(), 2):
            if _plain(first) == _plain(second) and not _BLANK.match(first):
                what = f"two {kind} say the same: {second[:60]!r}."
                yield place, f"{kind}-same", what, "Write what tells them apart, or delete one."


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _overlaps(step: RubricStep) -> Found:
    """Ranges of one unit in two criteria that have more than an end in common."""
    ranges = {name: stated_ranges(text) for name, text in step.criteria.model_dump().items()}
    for first, second in combinations(ranges, 2):
        for unit in ranges[first].keys() & ranges[second].keys():
            (low, high), (from_, to) = ranges[first][unit], ranges[second][unit]
            if max(low, from_) < min(high, to):
                both = " and ".join(
                    f"over {a:g}" if b == float("inf") else f"{a:g}-{b:g}" for a, b in ((low, high), (from_, to))
                )
                what = f"`{first}` and `{second}` overlap: {both} {unit}."
                yield ("criteria", second), "criteria-overlap", what, "Let one end where the other begins."


def stated_ranges(text: str) -> dict[str, tuple[float, float]]:
    """The range of each unit that a criterion names exactly once.

    Example:
        >>> stated_ranges("5-6 cm deep"), stated_ranges("less than 5 cm, 100-120/min, 30 s or 40-50 s, over 60 s")
        ({'cm': (5.0, 6.0)}, {'cm': (0.0, 5.0)})
    """
    ranges: dict[str, list[tuple[float, float]]] = {}
    for match in _BETWEEN.finditer(text):
        ranges.setdefault(match["unit"].casefold(), []).append((_value(match["low"]), _value(match["high"])))
    for match in _BOUND.finditer(_BETWEEN.sub(" ", text)):
        value = _value(match["number"])
        span = (value, float("inf")) if match["word"].casefold() in _LOWER else (0.0, value)
        ranges.setdefault(match["unit"].casefold(), []).append(span)
    return {unit: spans[0] for unit, spans in ranges.items() if len(spans) == 1 and spans[0][0] < spans[0][1]}


def _value(text: str) -> float:
    return float(text.replace(",", "."))


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
    """Points that no combination of errors leaves, and points in the criteria that the step does not have."""
    left = reachable(step)
    if step.errors and (missing := [f"{level:g}" for level in allowed_points(step) if level not in left]):
        shown = ", ".join(missing[:6]) + (", ..." if len(missing) > 6 else "")
        what = f"no combination of its errors leaves {shown} of {step.max_score:g} points."
        yield ("errors",), "points-unreachable", what, "Add an error for what costs that much, or correct a deduction."
    for name, text in step.criteria.model_dump().items():
        values = {_value(loss or points) for loss, points in _POINTS.findall(text)}
        for value in sorted(value for value in values if value > step.max_score):
            what = f"`{name}` speaks of {value:g} points; the step has {step.max_score:g}."
            yield ("criteria", name), "points-above", what, "Correct the text, or `max_score`."
    if step.max_score <= step.score_increment and not _NO_PARTIAL.search(step.criteria.partial):
        what = f"`partial` can never be given: there is nothing between 0 and {step.max_score:g}."
        fix = "Write `Not available: one-point item.`, or raise `max_score` (or state `score_increment: 0.5`)."
        yield ("criteria", "partial"), "partial-unreachable", what, fix


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
