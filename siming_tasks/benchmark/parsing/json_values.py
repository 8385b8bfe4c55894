"""JSON as models write it: every object in a text, forgiving what does not change its meaning.

Forgiven are comments, trailing and missing commas, single quotes, words without quotes, unescaped quotes inside a
string, fences and a missing end. One pass over the text, in linear time; it never fails.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

BROKEN = None
"""A value that is cut off or has two parts (``"a" or "b"``, ``1,5``)."""

GAP = "\x03"
"""In the place of what is left out of a long reply: it ends whatever is open."""

_DEEPEST = 16  # groups within each other
_OPENING = re.compile(r"""\{(?=\s*(?:\\?["'“{}\[]|\w[\w .-]{0,60}\s*:|//|/\*|\Z))|\[(?=\s{0,99}\{)""")
"""Beginning of an object or a list of objects: a list of bare values is never an answer, ``\\boxed{4}`` is none."""
_TOKEN = re.compile(
    r"""(?P<gap> \x03 )
      | (?P<blank> \s+ | \\ (?=[{}\[\]_]) | ```\w* | // [^\n]* | (?<![^\s,]) \# [^\n]*
                 | /\* .*? (?: \*/ | (?=\x03) | \Z ) )
      | (?P<mark> [{}\[\]:,] | (?<=["'”0-9}\]]) [：，] )
      | (?P<quote> ["'“] )
      | (?P<word> (?: [^\x03\s{}\[\]:,"/`\\：，] | (?<!["'”0-9}\]]) [：，] | \\(?![{}\[\]_]) | /(?![/*]) | `(?!``) )+ )
      | (?P<other> . )""",
    re.VERBOSE | re.DOTALL,
)
_ENDS = {mark: re.compile(rf"\\.|[{end}\x03]", re.DOTALL) for mark, end in zip("\"'“", "\"'”", strict=True)}
_AFTER_STRING = re.compile(
    r"""(?<=["'”]) \s* (?: \\?[}\]:：] | \x03 | \Z | ``` | //|/\* | \#
              | [,，] \s* (?: [\]}\[{"'“] | -?[0-9] | \w+\s*: | //|/\* | \# | \Z | (?:[tT]rue|[fF]alse|null|None)\b ) )
      | (?<=["'”]) [^\S\n]* \n \s* ["'“]""",
    re.VERBOSE,
)


class Quoted(str):
    """A string that stood in quotes."""


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
    """The outermost objects and lists of objects of a text, in order.

    One that is never closed goes up to the end, or to a :data:`GAP`.
    """
    found: list[Group] = []
    position = 0
    while (opening := _OPENING.search(text, position)) is not None:
        found.append(_Reader(text, opening.start()).read())
        position = found[-1].end
    return found


@dataclass
class _Open:
    """A group that is being read: the key whose value is due, and the parts of that value or of the next key."""

    group: Group
    key: str | None = None
    parts: list[Value] = field(default_factory=list)

    def end_entry(self) -> None:
        """Add what was read since the last comma to the group."""
        entries, parts, key = self.group.entries, self.parts, self.key
        is_word = bool(parts) and isinstance(parts[0], str) and not isinstance(parts[0], Quoted)
        if key is None and is_word and entries and entries[-1][0] is not None:
            entries[-1] = (entries[-1][0], BROKEN)  # the rest of `1,5`
        if key is not None or parts:
            entries.append((key, _joined(parts)))
        self.key, self.parts = None, []

    def colon(self) -> None:
        """Take what stands before a colon as a key; the comma before the key may have been left out."""
        if self.group.bracket == "[" or not self.parts or not isinstance(self.parts[-1], str):
            self.parts.append(BROKEN)
            return
        if self.key is None:
            name = _joined(self.parts)
        else:
            name = self.parts.pop()
            self.end_entry()
        self.key, self.parts = name if isinstance(name, str) else "", []


class _Reader:
    """Reader of one outermost group."""

    def __init__(self, text: str, start: int) -> None:
        self.text, self.position = text, start
        self.stack: list[_Open] = []

    def read(self) -> Group:
        """The group, up to the end of the text where it is never closed."""
        while self.position < len(self.text):
            token = _TOKEN.match(self.text, self.position)
            assert token is not None  # any character is a token
            kind, written = token.lastgroup, token[0]
            if kind == "gap":
                break
            self.position = token.end()
            parts = self.stack[-1].parts if self.stack else []
            if kind == "mark":
                if (whole := self._mark(written)) is not None:
                    return whole
            elif kind == "quote" and (written == '"' or not parts):
                parts.append(self._string(written))
            elif kind != "blank":
                parts.append(written)
        parts = self.stack[-1].parts
        if parts and isinstance(parts[-1], str) and not isinstance(parts[-1], Quoted):
            parts[-1] = BROKEN  # an unquoted word may have gone on
        while self.stack:
            root = self._pop()
        return root

    def _string(self, quote: str) -> Value:
        """A string; it ends at a quote behind which JSON can go on."""
        start = self.position
        for mark in _ENDS[quote].finditer(self.text, start):
            if mark[0] == GAP:
                self.position = mark.start()
                return BROKEN
            if len(mark[0]) == 1 and _AFTER_STRING.match(self.text, mark.end()):
                self.position = mark.end()
                return Quoted(_unescaped(self.text[start : mark.start()]))
        self.position = len(self.text)
        return BROKEN

    def _mark(self, mark: str) -> Group | None:
        """A bracket, colon or comma; returns the outermost group when it is closed."""
        if mark in "{[":
            if len(self.stack) == _DEEPEST:  # nothing that means anything
                self.position = len(self.text)
                return None
            self.stack.append(_Open(Group(mark, start=self.position - 1)))
        elif mark in ",，":
            self.stack[-1].end_entry()
        elif mark in ":：":
            self.stack[-1].colon()
        else:
            # A closing bracket closes what was left open inside; one of a shape that is not open, the innermost group.
            shape = "{" if mark == "}" else "["
            if any(opened.group.bracket == shape for opened in self.stack):
                while self.stack[-1].group.bracket != shape:
                    self._pop()
            group = self._pop()
            group.closed = True
            return None if self.stack else group
        return None

    def _pop(self) -> Group:
        """Take the innermost group from the stack and make it a part of the next."""
        opened = self.stack.pop()
        opened.end_entry()
        group = opened.group
        group.end = self.position
        if self.stack:
            self.stack[-1].parts.append(group)
        return group


def _joined(parts: list[Value]) -> Value:
    """One value of its parts: words are joined, anything else must stand alone."""
    if len(parts) == 1:
        return parts[0]
    words = [part for part in parts if isinstance(part, str) and not isinstance(part, Quoted)]
    return " ".join(words) if words and len(words) == len(parts) else BROKEN


def _unescaped(raw: str) -> str:
    if "\\" not in raw:
        return raw
    try:
        return str(json.loads(f'"{raw}"', strict=False))
    except ValueError:  # these escapes are not JSON's
        return raw.replace("\\", "")
