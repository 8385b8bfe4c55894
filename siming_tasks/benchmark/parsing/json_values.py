"""JSON as models write it: every object in a text, forgiving what does not change its meaning.

Comments, trailing and missing commas, single quotes, words without quotes, unescaped quotes inside a string, fences and
a missing end are forgiven. One pass over the text, in linear time; it never fails.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

BROKEN = None  # a value that is cut off or has two parts (`"a" or "b"`, `1,5`)
GAP = "\x03"  # in the place of what is left out of a long reply: it ends whatever is open
_DEEPEST = 16  # groups within each other
_OPENING = re.compile(r"""\{(?=\s*(?:\\?["'“{}\[]|\w[\w .-]{0,60}\s*:|//|/\*|\Z))|\[(?=\s{0,99}\{)""")
"""Beginning of an object or a list of objects: a list of bare values is never an answer, nor is ``\\boxed{4}``."""
_TOKEN = re.compile(
    r"""(?P<blank> \s+ | \\ (?=[{}\[\]_]) | ```\w* | // [^\n]* | (?<![^\s,]) \# [^\n]* | /\* .*? (?: \*/ | \Z ) )
      | (?P<mark> [{}\[\]:,] | (?<=["'”0-9}\]]) [：，] )
      | (?P<quote> ["'“] )
      | (?P<word> (?: [^\s{}\[\]:,"/`\\：，] | (?<!["'”0-9}\]]) [：，] | \\(?![{}\[\]_]) | /(?![/*]) | `(?!``) )+ )
      | (?P<other> . )""",
    re.VERBOSE | re.DOTALL,
)
_ENDS = {mark: re.compile(rf"\\.|{end}", re.DOTALL) for mark, end in zip("\"'“", "\"'”", strict=True)}
_AFTER_STRING = re.compile(
    r"""(?<=["'”]) \s* (?: \\?[}\]:：] | \Z | ``` | //|/\* | \#
              | [,，] \s* (?: [\]}\[{"'“] | -?[0-9] | \w+\s*: | //|/\* | \# | \Z | (?:[tT]rue|[fF]alse|null|None)\b ) )
      | (?<=["'”]) [^\S\n]* \n \s* ["'“]""",
    re.VERBOSE,
)
_PART = re.compile(f"[^{GAP}]+")


class Quoted(str):
    """A string that was in quotes."""


@dataclass
class Group:
    """An object or a list: its values in order, with their keys (None where there is none)."""

    bracket: str  # "{" or "["
    entries: list[tuple[str | None, Value]] = field(default_factory=list)
    closed: bool = False  # its closing bracket was read
    start: int = 0  # where it begins in the text
    end: int = 0


Value = Group | str | None
"""A value: a group, the text of a string, number or word, or :data:`BROKEN`."""


def read_json(text: str) -> list[Group]:
    """The outermost objects and lists of objects of a text, in order; one never closed goes up to its end or a gap."""
    found: list[Group] = []
    for part in _PART.finditer(text):
        position, end = part.span()
        while (opening := _OPENING.search(text, position, end)) is not None:
            found.append(_read_group(text, opening.start(), end))
            position = found[-1].end
    return found


@dataclass
class _Open(Group):
    """A group that is being read: the key whose value is due, and the parts of that value or of the next key."""

    key: str | None = None
    parts: list[Value] = field(default_factory=list)

    def end_entry(self) -> None:
        """Add what was read since the last comma to the group."""
        entries, parts, key = self.entries, self.parts, self.key
        if key is None and parts and type(parts[0]) is str and entries and entries[-1][0] is not None:
            entries[-1] = (entries[-1][0], BROKEN)  # the rest of `1,5`
        if key is not None or parts:
            entries.append((key, _joined(parts)))
        self.key, self.parts = None, []

    def colon(self) -> None:
        """Read the text before a colon as a key; the comma before the key may have been left out."""
        name = self.parts.pop() if self.parts and self.key is not None else _joined(self.parts)
        if not isinstance(name, str):
            self.parts.append(BROKEN)
            return
        if self.key is not None:
            self.end_entry()
        self.key, self.parts = name, []


def _read_group(text: str, position: int, end: int) -> Group:
    """The outermost group that begins at a position, up to the end where it is never closed."""
    stack, kind = list[_Open](), None
    while position < end:
        token = _TOKEN.match(text, position, end)
        assert token is not None  # any character is a token
        kind, written, position = token.lastgroup, token[0], token.end()
        if kind == "quote":
            value, position = _read_string(text, position, end, written)
            stack[-1].parts.append(value)
        elif kind in ("word", "other"):
            stack[-1].parts.append(written)
        elif kind == "mark" and written in "{[":
            stack.append(_Open(written, start=token.start()))
            if len(stack) > _DEEPEST:  # nothing that means anything
                position = end
        elif kind == "mark" and written in "}]":  # of whatever shape
            group = _close(stack, position, True)
            if not stack:
                return group
        elif kind == "mark":
            stack[-1].end_entry() if written in ",，" else stack[-1].colon()
    if kind in ("word", "other"):
        stack[-1].parts[-1] = BROKEN  # it may have gone on
    while stack:
        group = _close(stack, position, False)
    return group


def _read_string(text: str, start: int, end: int, quote: str) -> tuple[Value, int]:
    """A string and its end: a quote behind which JSON can go on."""
    for mark in _ENDS[quote].finditer(text, start, end):
        if len(mark[0]) == 1 and _AFTER_STRING.match(text, mark.end(), end):
            raw = text[start : mark.start()]
            try:
                return Quoted(json.loads(f'"{raw}"', strict=False)), mark.end()
            except ValueError:  # these escapes are not JSON's
                return Quoted(raw.replace("\\", "")), mark.end()
    return BROKEN, end


def _close(stack: list[_Open], end: int, closed: bool) -> Group:
    """End the innermost group and make it a part of the next."""
    group = stack.pop()
    group.end_entry()
    group.closed, group.end = closed, end
    if stack:
        stack[-1].parts.append(group)
    return group


def _joined(parts: list[Value]) -> Value:
    """One value of its parts: words are joined, anything else must stand alone."""
    if len(parts) == 1:
        return parts[0]
    return " ".join(map(str, parts)) if parts and all(type(part) is str for part in parts) else BROKEN
