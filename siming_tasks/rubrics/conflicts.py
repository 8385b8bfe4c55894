"""Contradictions between the entries of a rubric: all of them at once, also in a file that has other faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from siming_tasks.common.files import MAX_NUMBER
from siming_tasks.rubrics.score_increment import WHOLE, is_on_increment

__all__ = ["Conflict", "Place", "conflicts"]

Place = tuple[str | int, ...]
"""Keys and positions down to an entry: ``("skills", 0, "steps", 2, "id")``."""


@dataclass(frozen=True)
class Conflict:
    """A fault between entries: where the second of them is, what is wrong, how to fix it."""

    place: Place
    what: str
    fix: str


def conflicts(data: Any) -> Iterator[Conflict]:
    """All conflicts of a rubric's plain data; entries of a wrong type are passed over.

    Args:
        data: what a rubric file holds, or the dump of a rubric.
    """
    skills = list(_entries(data, "skills", ()))
    steps = [entry for place, skill in skills for entry in _entries(skill, "steps", place)]
    errors = [entry for place, step in steps for entry in _entries(step, "errors", place)]
    for kind, entries in (("skill id", skills), ("step id", steps), ("error id", errors)):
        yield from _twice(kind, entries)
    yield from _alike(steps)
    yield from _requirements(steps)
    sources = data.get("sources") if isinstance(data, Mapping) else None
    for place, step in steps:
        yield from _costs(place, step, data)
        for at, fact in _entries(step, "facts", place):
            if fact.get("source") not in (sources if isinstance(sources, Mapping) else {}):
                what = f"step {step.get('id')!r} cites source {fact.get('source')!r}, which `sources` lacks"
                yield Conflict((*at, "source"), what, "Add it there, or correct the name.")


def _entries(owner: Any, key: str, place: Place) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """The entries of a list that are mappings, with their places."""
    entries = owner.get(key) if isinstance(owner, Mapping) else None
    for index, entry in enumerate(entries if isinstance(entries, list | tuple) else ()):
        if isinstance(entry, Mapping):
            yield (*place, key, index), entry


def _twice(kind: str, entries: list[tuple[Place, Mapping[str, Any]]]) -> Iterator[Conflict]:
    seen: set[str] = set()
    for place, entry in entries:
        name = entry.get("id")
        if isinstance(name, str):
            if name in seen:
                yield Conflict((*place, "id"), f"{kind} {name!r} appears twice", "Rename one.")
            seen.add(name)


def _alike(steps: list[tuple[Place, Mapping[str, Any]]]) -> Iterator[Conflict]:
    first: dict[str, str] = {}
    for place, step in steps:
        if isinstance(name := step.get("id"), str):
            known = first.setdefault(name.casefold().replace("-", "_"), name)
            if known != name:
                what = f"step ids {[known, name]!r} differ only in case or dashes; replies could not be told apart"
                yield Conflict((*place, "id"), what, "Rename one.")


def _requirements(steps: list[tuple[Place, Mapping[str, Any]]]) -> Iterator[Conflict]:
    names = [step.get("id") for _, step in steps]
    needs = {
        str(step.get("id")): [str(need.get("id")) for _, need in _entries(step, "requires", place)]
        for place, step in steps
    }
    earlier: set[Any] = set()
    for place, step in steps:
        name = step.get("id")
        for at, need in _entries(step, "requires", place):
            target = need.get("id")
            if not isinstance(target, str) or target in earlier:
                continue
            what = f"step {name!r} requires {target!r}, which is "
            if target not in names:
                yield Conflict((*at, "id"), f"{what}no step of this rubric", "Correct the id, or delete the entry.")
                continue
            circle = _circle(str(name), needs)
            what += "a later step or itself" + (f" (a circle: {' → '.join(circle)})" if circle else "")
            yield Conflict((*at, "id"), what, "Only what was done before can be required: name an earlier step.")
        if isinstance(name, str):
            earlier.add(name)


def _circle(start: str, needs: Mapping[str, list[str]]) -> list[str]:
    """The way along requirements from a step back to itself, if there is one."""
    ways = [[start]]
    seen = {start}
    while ways:
        way = ways.pop(0)
        for target in needs.get(way[-1], []):
            if target == start:
                return [*way, start]
            if target in needs and target not in seen:
                seen.add(target)
                ways.append([*way, target])
    return []


def _costs(place: Place, step: Mapping[str, Any], data: Any) -> Iterator[Conflict]:
    """Deductions above the maximum, and half points where whole ones are stated."""
    most = _number(step.get("max_score"))
    points = [((*place, "max_score"), "max_score", most)]
    for at, error in _entries(step, "errors", place):
        cost = _number(error.get("deduct"))
        points.append(((*at, "deduct"), f"the deduction of {error.get('id')!r}", cost))
        if most is not None and cost is not None and cost > most > 0:
            what = f"error {error.get('id')!r} deducts {cost:g} of {most:g} points"
            yield Conflict((*at, "deduct"), what, "Deduct at most `max_score`.")
    points += [((*at, "cap"), "a cap", _number(need.get("cap"))) for at, need in _entries(step, "requires", place)]
    stated = step.get("score_increment", step.get("stated_score_increment")) or (
        data.get("score_increment") if isinstance(data, Mapping) else None
    )
    for at, name, value in points if _number(stated) == WHOLE else ():
        if value is not None and not is_on_increment(value, WHOLE):
            what = f"score_increment is {WHOLE:g}, but {name} is {value:g}; state `score_increment: 0.5` for this step"
            yield Conflict(at, what, "Or write whole points.")


def _number(value: Any) -> float | None:
    """A number, also one that is still text, as a file has it; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(str(value)) > MAX_NUMBER:
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if abs(number) < 1e9 else None
