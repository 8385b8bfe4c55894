"""JSON Lines from strangers: bounded, line by line, with every fault named."""

from __future__ import annotations

import json
import math
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import Problem
from siming_tasks.common.files import NOT_UTF8, open_regular

MAX_LINE = 4_000_000  # longest line in bytes. A row of 33 steps has about 5,000; a longer line is another kind of file.
MAX_ERRORS = 1_000
"""Errors after which a file is left: it is another kind of file, and the first ones say so."""
MAX_DEPTH, MAX_VALUES = 50, 100_000
"""Levels of a line, and values in it: a row of 33 steps has 5 levels and some hundred values."""


def read_jsonl(
    path: Path, found: list[Problem], name: str | None = None, max_line: int = MAX_LINE, *, strict: bool = True
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file, one by one, each with its line (from 1).

    A byte-order mark, CRLF and empty lines are accepted. Reading stops at the first line over ``max_line`` bytes, so
    that a file without newlines costs no memory, and after :data:`MAX_ERRORS` errors.

    Args:
        path: the file.
        found: bad lines are added to it. Errors that the caller adds meanwhile count, too.
        name: of the file, for problems.
        max_line: longest line, in bytes.
        strict: refuse repeated keys, NaN, infinite numbers, half surrogates and more than :data:`MAX_VALUES` values.
            lmms-eval's own logs may contain them: NaN reads as None.

    Raises:
        OSError: the file cannot be opened, or is not a regular file.
    """
    name = name or path.name
    errors, known, number = 0, len(found), 0
    with open_regular(path) as stream:
        while line := stream.readline(max_line + 1):
            number += 1
            if len(line) > max_line:
                what = f"this line has more than {max_line:,} bytes."
                fix = "Write one JSON object per line; the rest of the file was not read."
                found.append(Problem("line-too-long", what, fix, name, number))
                return
            if number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
                found.append(Problem("encoding", "the file is UTF-16.", "Save it as UTF-8.", name, number))
                return
            if not line.replace(BOM_UTF8, b"").strip(b" \t\r\n"):  # part of a mark is not blank: it is a damaged line
                continue
            try:
                row = parse_object(line.decode("utf-8-sig" if number == 1 else "utf-8"), strict)
            except UnicodeDecodeError:
                found.append(Problem("encoding", *NOT_UTF8, name, number))
            except (ValueError, RecursionError) as error:
                what = f"not a JSON object: {'nested too deeply' if isinstance(error, RecursionError) else error}."
                found.append(Problem("not-json", what, "Write one JSON object per line.", name, number))
            else:
                yield number, row
            errors, known = errors + sum(each.severity == "error" for each in found[known:]), len(found)
            if errors >= MAX_ERRORS:
                what = f"{errors:,} errors; the rest of the file was not read."
                found.append(Problem("too-many-errors", what, "Correct those first.", name, number))
                return


def parse_object(text: str, strict: bool = True) -> dict[str, Any]:
    """One JSON object; if ``strict``, without repeated keys, NaN, infinite numbers, half surrogates and many values.

    Raises:
        ValueError: with the reason, no full stop.
        RecursionError: nested beyond reason.
    """
    try:
        value = json.loads(text, **(_STRICT if strict else _LENIENT))
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
        raise ValueError(f"{error.msg} at {at}") from None
    if strict and "\\u" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("a \\u escape is half of a surrogate pair") from None
    if not isinstance(value, dict):
        raise ValueError(f"found {type(value).__name__}")
    level: list[Any] = [value]
    values = 0
    for _ in range(MAX_DEPTH):
        inner = [one for node in level for one in (node.values() if isinstance(node, dict) else node)]
        level, values = [one for one in inner if isinstance(one, dict | list)], values + len(inner)
        if strict and values > MAX_VALUES:
            raise ValueError(f"more than {MAX_VALUES:,} values")
        if not level:
            return value
    raise ValueError("nested too deeply")


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Keys and values as a dict; ValueError for a key that appears twice."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {max(names, key=names.count)[:64]!r} appears twice")
    return mapping


def _whole(text: str) -> int:
    """A whole number; one beyond 64 bits, which nothing here means and other readers refuse, is refused."""
    if len(text) > 20:
        raise ValueError(f"a number of {len(text):,} digits")
    return int(text)


def _finite(text: str) -> float:
    """A number; neither NaN or infinity in words nor one that is too large for a float."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is not a finite number")
    return number


_STRICT: dict[str, Any] = {
    "object_pairs_hook": _unique_pairs,
    "parse_constant": _finite,
    "parse_int": _whole,
    "parse_float": _finite,
}
_LENIENT: dict[str, Any] = {"parse_constant": lambda text: None, "parse_int": _whole}
