"""A reader of almost-JSON that keeps what a repaired parse throws away.

Whether an answer may be believed depends on things that JSON libraries and repairers do not report: a key written
twice, a number cut off by the end of the text, two values where one belongs. So this reader repairs nothing. It makes
one pass over the text, without recursion or backtracking, and returns the brackets it met with their entries in order,
each value as it was written; what it cannot place becomes ``BAD``, what the end of the text cut off becomes ``CUT``.

It accepts: text around the JSON, comments, single, typographic and full-width quotes, unquoted keys and words,
trailing and missing commas, Chinese punctuation, unescaped quotes inside a string, unclosed and surplus brackets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

__all__ = ["Broken", "Group", "Scalar", "Value", "read"]

MAX_DEPTH = 64
"""Brackets nested deeper than this are skipped: no answer lies there, and walking the result stays shallow."""

_QUOTES = {'"': '"', "'": "'", "`": "`", "“": '”“"', "”": '”“"', "‘": "’‘'", "’": "’‘'", "＂": "＂"}
_STOP = r"{}\[\]｛｝［］:：,，、;；\"“”＂"
_TOKEN = re.compile(
    rf"""
      (?P<skip>   \s+ | //[^\n]* | \#[^\n]* | /\*.*?(?:\*/|\Z) | \\ )
    | (?P<open>   [{{\[｛［] )
    | (?P<close>  [}}\]｝］] )
    | (?P<colon>  [:：] )
    | (?P<comma>  [,，、;；] )
    | (?P<quote>  [{"".join(_QUOTES)}] )
    | (?P<bare>   (?: (?! // | /\* | \s\# ) [^\n{_STOP}] )+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_OPEN = re.compile(r"[{\[｛［]")
_SHAPE = {"｛": "{", "［": "[", "}": "{", "｝": "{", "]": "[", "］": "["}
_NUMBER = re.compile(r"[-+]?[0-9０-９.]+\Z")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)

# A quote ends a string only where JSON can go on after it; the others are quotes that the model forgot to escape.
_NEXT = r"""\s*(?: \Z | [}\]｝］] | // | /\* | \# | \n\s*["'“‘`]
              | [,，;；]\s*(?: \Z | ["'“‘`＂{}\[\]｛｝［］/\#] | [-+.0-9０-９] | [^\W\d][\w\ -]{0,63}[:：]
                             | (?i:true|false|null|none|nan)\b ) %s )"""
_AFTER_VALUE = re.compile(_NEXT % "", re.VERBOSE)
_AFTER_KEY = re.compile(_NEXT % "| [:：]", re.VERBOSE)


class Broken(Enum):
    """A value that is not there: not placeable (``BAD``) or cut off by the end of the text (``CUT``)."""

    BAD = "bad"
    CUT = "cut"


@dataclass(frozen=True)
class Scalar:
    """A word, number or string as written, without its quotes; ``quoted`` tells ``"true"`` from ``true``."""

    text: str
    quoted: bool


@dataclass(eq=False)
class Group:
    """A bracket: ``{`` or ``[``, its span in the text, and its entries in order, with None for "no key".

    ``closed``: its own closing bracket was seen. ``odd``: something in it had to be marked ``BAD``.
    """

    bracket: str
    start: int
    end: int = -1
    closed: bool = False
    odd: bool = False
    entries: list[tuple[str | None, Value]] = field(default_factory=list)


Value = Scalar | Group | Broken
_COLON = object()


def read(text: str) -> list[Group]:
    """The outermost brackets of ``text``, in order. Linear in ``len(text)``; never raises."""
    roots: list[Group] = []
    stack: list[tuple[Group, list[object]]] = []
    skipped = position = 0
    while position < len(text):
        if not stack:
            found = _OPEN.search(text, position)
            if found is None:
                break
            position = found.end()
            stack.append((Group(_SHAPE.get(found[0], found[0]), found.start()), []))
            continue
        group, parts = stack[-1]
        token = _TOKEN.match(text, position)
        assert token is not None  # every character begins one of the alternatives
        position, kind = token.end(), token.lastgroup
        if kind == "open":
            if len(stack) < MAX_DEPTH and not skipped:
                stack.append((Group(_SHAPE.get(token[0], token[0]), token.start()), []))
            else:
                skipped += 1
        elif kind == "close":
            if skipped:
                skipped -= 1
            else:
                _close(stack, roots, _SHAPE[token[0]], position)
        elif kind == "quote":
            value_place = bool(parts) and parts[-1] is _COLON
            scalar, position = _string(text, token.start(), value_place)
            if not skipped:
                parts.append(scalar)
        elif skipped or kind == "skip":
            continue
        elif kind == "bare":
            parts.append(Scalar(token[0].strip(), quoted=False))
        elif kind == "comma":
            _flush(group, parts)
        elif kind == "colon":
            _colon(group, parts)
    if stack:
        _cut_last(stack[-1][1])
        while stack:
            _pop(stack, roots, len(text))
    return roots


def _string(text: str, start: int, value_place: bool) -> tuple[Scalar | Broken, int]:
    """The string whose opening quote is at ``start``, and where reading goes on."""
    closers = _QUOTES[text[start]]
    after = _AFTER_VALUE if value_place else _AFTER_KEY
    position = start + 1
    for mark in re.compile(rf"\\.|[{closers}]", re.DOTALL).finditer(text, position):
        if mark[0][0] != "\\" and after.match(text, mark.end()):
            return Scalar(_unescape(text[position : mark.start()]), quoted=True), mark.end()
    return Broken.CUT, len(text)


def _unescape(raw: str) -> str:
    """JSON escapes resolved; a text too long to be a key or an answer stays as it is."""
    if "\\" not in raw or len(raw) > 256:
        return raw
    return _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else {"n": "\n", "t": "\t"}.get(m[2], m[2]), raw)


def _colon(group: Group, parts: list[object]) -> None:
    """Take in a colon; ``"a": 1 "b":`` begins a new entry although the comma is missing."""
    if len(parts) > 1 and isinstance(parts[-1], Scalar) and parts[-2] is not _COLON:
        key = parts.pop()
        _flush(group, parts)
        parts.append(key)
    parts.append(_COLON)


def _flush(group: Group, parts: list[object]) -> None:
    """Turn what stands between two delimiters into entries: ``key : value``, ``value``, or what remains of neither."""
    key: str | None = None
    rest = parts[:]
    parts.clear()
    if len(rest) > 1 and isinstance(rest[0], Scalar) and rest[1] is _COLON:
        key, rest = rest[0].text, rest[2:]
    if len(rest) == 1 and isinstance(rest[0], Scalar | Group | Broken):
        if key is None and group.bracket == "{" and _continues(group, rest[0]):
            group.entries[-1] = (group.entries[-1][0], Broken.BAD)
            group.odd = True
        group.entries.append((key, rest[0]))
    elif key is not None or rest:
        group.odd = True
        group.entries.append((key, Broken.CUT if Broken.CUT in rest else Broken.BAD))
        group.entries.extend((None, part) for part in rest if isinstance(part, Group))


def _continues(group: Group, value: object) -> bool:
    """Whether a stray number is the rest of the number before it: ``"a": 1,5`` is not 1."""
    last = group.entries[-1][1] if group.entries else None
    return all(isinstance(part, Scalar) and _NUMBER.match(part.text) is not None for part in (last, value))


def _cut_last(parts: list[object]) -> None:
    """Mark what the end of the text leaves unsure: an unquoted word may go on, a colon promises a value."""
    if parts and isinstance(parts[-1], Scalar) and not parts[-1].quoted:
        parts[-1] = Broken.CUT
    elif parts and parts[-1] is _COLON:
        parts.append(Broken.CUT)


def _close(stack: list[tuple[Group, list[object]]], roots: list[Group], bracket: str, end: int) -> None:
    """Close the innermost bracket of this shape and drop the unclosed ones inside it; ignore a surplus one."""
    if all(group.bracket != bracket for group, _ in stack):  # at most MAX_DEPTH steps
        return
    while stack[-1][0].bracket != bracket:
        _pop(stack, roots, end)
    stack[-1][0].closed = True
    _pop(stack, roots, end)


def _pop(stack: list[tuple[Group, list[object]]], roots: list[Group], end: int) -> None:
    group, parts = stack.pop()
    _flush(group, parts)
    group.end = end
    if stack:
        stack[-1][1].append(group)
        stack[-1][0].odd |= group.odd or not group.closed
    else:
        roots.append(group)
