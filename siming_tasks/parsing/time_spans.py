"""Stretches of time as replies write them. What cannot be read is left out: nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from siming_tasks.parsing.lenient_json import Group, Scalar, Value
from siming_tasks.parsing.normalize import fold_value
from siming_tasks.parsing.step_matching import words
from siming_tasks.rubrics import RubricStep

__all__ = ["MAX_SPANS", "TimeSpans", "read_time_spans"]

TimeSpans = tuple[tuple[float, float], ...]
"""Parts of what is shown, (start, end) in seconds from its start, sorted; empty: the reply says that none does."""

MAX_SPANS = 64
"""Parts that one answer may name."""

_NOTHING = frozenset(("", "null", "none", "n/a"))
_TIME = (
    r"(?:(?P<{0}m>[0-9]{{1,3}}):(?=[0-9]{{2}}(?![0-9])))?"
    r"(?P<{0}s>[0-9]{{1,6}}(?:\.[0-9]{{1,20}})?)\s*(?:s|sec|secs|seconds?|秒)?"
)
_RANGE = re.compile(
    rf"(?:from\s+)?\[?\s*{_TIME.format('a')}\s*(?:-|–|—|~|to|until|,|至|到)\s*{_TIME.format('b')}\s*\]?", re.IGNORECASE
)
_MOMENT = re.compile(_TIME.format("a"), re.IGNORECASE)


def read_time_spans(value: Value, _: RubricStep | None = None) -> TimeSpans | None:
    """The parts of what is shown that a value names; None for what cannot be read, and for nothing said.

    Read are a list of pairs ``[[31.0, 46.5]]``, one pair ``[31.0, 46.5]``, texts such as ``"31.0-46.5 s"`` or
    ``"0:31 to 0:46"`` and objects with ``start`` and ``end``. A single moment, a part that ends before it begins and
    more than :data:`MAX_SPANS` parts are none.
    """
    if isinstance(value, Scalar):
        return _texts([value.text])
    if not isinstance(value, Group) or not value.closed or len(value.entries) > MAX_SPANS:
        return None
    inner = [item for _, item in value.entries]
    if not inner:
        return ()
    if value.bracket == "{":
        return _sorted([_named(value)])
    if len(inner) == 2 and all(isinstance(item, Scalar) and _moment(item.text) is not None for item in inner):
        return _sorted([_pair(inner)])
    if all(isinstance(item, Scalar) for item in inner):
        return _texts([item.text for item in inner if isinstance(item, Scalar)])
    parts = [(_named(item) if item.bracket == "{" else _pair([inner_value for _, inner_value in item.entries]))
             if isinstance(item, Group) and item.closed else None for item in inner]  # fmt: skip
    return _sorted(parts)


def _sorted(parts: Sequence[tuple[float, float] | None]) -> TimeSpans | None:
    known = sorted({part for part in parts if part is not None and part[0] <= part[1]})
    return tuple(known) if known and len(known) == len(set(parts)) else None


def _texts(texts: Sequence[str]) -> TimeSpans | None:
    """``"31.0-46.5 s"``, several in one text separated by semicolons or "and"."""
    written = [part for text in texts for part in re.split(r"[;；]|\band\b|(?<=[\]s])\s*,", fold_value(text)[:2000])]
    written = [part.strip() for part in written if part.strip() not in _NOTHING]
    if len(written) > MAX_SPANS:
        return None
    ranges = [_RANGE.fullmatch(part.strip("[]() ")) for part in written]
    return _sorted([_range(match) if match else None for match in ranges])


def _range(match: re.Match[str]) -> tuple[float, float]:
    start, end = (float(match[f"{side}s"]) + 60 * float(match[f"{side}m"] or 0) for side in "ab")
    return start, end


def _pair(items: Sequence[Value]) -> tuple[float, float] | None:
    moments = [_moment(item.text) if isinstance(item, Scalar) else None for item in items]
    start, end = moments if len(moments) == 2 else (None, None)
    return None if start is None or end is None else (start, end)


def _named(group: Group) -> tuple[float, float] | None:
    """``{"start": 31.0, "end": 46.5}``."""
    written = {words(key)[:1]: value for key, value in group.entries if key is not None}
    return _pair([written[side] for side in (("start",), ("end",)) if side in written])


def _moment(text: str) -> float | None:
    match = _MOMENT.fullmatch(fold_value(text))
    return float(match["as"]) + 60 * float(match["am"] or 0) if match else None
