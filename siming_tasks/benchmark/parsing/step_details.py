"""Details that a reply states with its answers, by step: which seconds they rest on, which errors were seen, why."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from siming_tasks.benchmark.parsing.json_answers import STEP_KEYS
from siming_tasks.benchmark.parsing.json_values import Group, Value
from siming_tasks.benchmark.parsing.steps import StepNames, fold, key_name, words
from siming_tasks.benchmark.rubrics import RubricStep


@dataclass(frozen=True)
class StepDetail:
    """One kind of detail."""

    # words of which a JSON key has at least one where the detail stands under it (``evidence``, ``依据``)
    keys: frozenset[str]
    # the value as written and its step, to what it says; None where it cannot be read. It must be hashable
    read: Callable[[Value, RubricStep], Any]


def read_step_details(groups: Iterable[Group], names: StepNames, detail: StepDetail) -> dict[str, Any]:
    """Step id to what a reply's detail of it says, for the asked steps that have one which can be read.

    It is in the object of its step's answer (``{"cpr_01": {"score": 1, "evidence": ...}}``) or apart (``"evidence":
    {"cpr_01": ...}``). As of answers, that of a later object counts; two different ones in one object do not count.
    """
    found: dict[str, Any] = {}
    for group in groups:
        stated: dict[str, set[Any]] = {}
        for name, said in _stated(group, names.steps[0] if len(names.steps) == 1 else None, names, detail):
            stated.setdefault(name, set()).add(said)
        found |= {name: values.pop() if len(values) == 1 else None for name, values in stated.items()}
    return {name: value for name, value in found.items() if value is not None}


def _stated(group: Group, step: RubricStep | None, names: StepNames, detail: StepDetail) -> Iterator[tuple[str, Any]]:
    """Step ids and what a group under the key of ``step`` says; None: under no step's."""
    for key, value in group.entries:
        if isinstance(value, str) and key is not None and key_name(key) in STEP_KEYS:
            step = names.find(value)
    for key, value in group.entries:
        owner = names.find(key) if key is not None else None
        if key is not None and detail.keys & {*words(key)} and owner is None:
            apart = value.entries if isinstance(value, Group) else ()
            owners = [(named, inner) for name, inner in apart if name and (named := names.find(name)) is not None]
            for named, written in owners or ([(step, value)] if step is not None else []):
                yield named.id, detail.read(written, named)
        elif isinstance(value, Group):
            yield from _stated(value, owner or step, names, detail)


TimeSpans = tuple[tuple[float, float], ...]
"""Parts of what is shown, (start, end) in seconds from its start, sorted; empty: the reply says that none does."""

MAX_SPANS = 64  # parts that one answer may name

_TIME = (
    r"(?:(?P<{0}m>[0-9]{{1,3}}):(?=[0-9]{{2}}(?![0-9])))?"
    r"(?P<{0}s>[0-9]{{1,6}}(?:\.[0-9]{{1,20}})?)\s{{0,9}}(?:s|sec|secs|seconds?|秒)?"
)
_RANGE = re.compile(
    rf"\[?\s{{0,9}}{_TIME.format('a')}\s{{0,9}}(?:-|–|—|~|to|until|,|至|到)\s{{0,9}}{_TIME.format('b')}\s{{0,9}}\]?",
    re.IGNORECASE,
)


def read_time_spans(value: Value, _: RubricStep | None = None) -> TimeSpans | None:
    """The parts of what is shown that a value names; None for what cannot be read, and for nothing said.

    Read are pairs ``[[31.0, 46.5]]``, one pair, texts such as ``"0:31 to 0:46"`` and objects with ``start`` and
    ``end``. A single moment, a part that ends before it begins and more than :data:`MAX_SPANS` parts do not count.
    """
    items: Sequence[Value] = [value]
    if isinstance(value, Group) and _span(value) is None:
        items = [item for _, item in value.entries]
        if not value.closed or len(items) > MAX_SPANS or value.bracket == "{":
            return None
        if not items:
            return ()
    parts = [_span(item) for item in items]
    known = sorted({part for part in parts if part is not None and part[0] <= part[1]})
    return tuple(known) if known and len(known) == len(set(parts)) else None


def _span(value: Value) -> tuple[float, float] | None:
    """``[31.0, 46.5]``, ``{"start": 31.0, "end": 46.5}`` or ``"31.0-46.5 s"``."""
    if isinstance(value, Group):
        named = {words(key)[:1]: item for key, item in value.entries if key is not None}
        ends = (
            [item for _, item in value.entries] if value.bracket == "[" else [named.get((k,)) for k in ("start", "end")]
        )
        if not value.closed or len(ends) != 2 or not all(isinstance(end, str) for end in ends):
            return None
        value = f"{ends[0]}-{ends[1]}"
    match = _RANGE.fullmatch(fold(value)[:100].strip("[]() ")) if value is not None else None
    if match is None:
        return None
    start, end = (float(match[f"{side}s"]) + 60 * float(match[f"{side}m"] or 0) for side in "ab")
    return start, end
