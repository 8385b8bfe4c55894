"""A reader of almost-JSON that keeps what a repaired parse throws away.

Whether an answer may be believed depends on things that JSON libraries and repairers do not report: a key written
twice, a number cut off by the end of the text, two values where one belongs. So this reader repairs nothing. It makes
one pass over the text, without recursion, and returns the brackets it met with their entries in order, each value as
it was written; what it cannot place becomes ``BAD``, what the end of the text cut off becomes ``CUT``.

It accepts text around the JSON, comments, single, typographic and full-width quotes, unquoted keys and words, trailing
commas, missing commas where a new key shows them, Chinese punctuation, unescaped quotes inside a string, and unclosed
and surplus brackets.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

MAX_DEPTH = 64  # brackets nested deeper are skipped: no answer lies there, and walking the result stays shallow
MAX_ESCAPED = 256  # longer strings are neither keys nor answers; their escapes stay as they are
_CLOSERS = {'"': '"', "'": "'", "`": "`", "＂": "＂", "“": '”“"', "”": '”“"', "‘": "’‘'", "’": "’‘'"}
_STOP = r"{}\[\]｛｝［］:：,，、;；\"“”＂\n"
_TOKEN = re.compile(
    rf"""
      (?P<skip>   \s+ | //[^\n]* | \#[^\n]* | /\*.*?(?:\*/|\Z) | \\ )
    | (?P<open>   [{{\[｛［] )
    | (?P<close>  [}}\]｝］] )
    | (?P<colon>  [:：] )
    | (?P<comma>  [,，、;；] | ```\w* )
    | (?P<quote>  [{"".join(_CLOSERS)}] )
    | (?P<bare>   (?: (?! // | /\* | \s\# ) [^{_STOP}] )+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_OPEN = re.compile(r"(?P<open>[{\[｛［])")
_SHAPE = {"{": "{", "[": "[", "｛": "{", "［": "[", "}": "{", "]": "[", "｝": "{", "］": "["}
_NUMBER = re.compile(r"[-+]?[0-9０-９.]+")
_MARK = {quote: re.compile(rf"\\.|[{closers}]", re.DOTALL) for quote, closers in _CLOSERS.items()}
_OVER_END = re.compile(r"""[}｝]\s*[,，;；]?\s*(?:[{｛]|["'“][^"'”]{1,80}["'”]\s*[:：])""")
_SPACE = re.compile(r"\s*")
_NEXT_ENTRY = re.compile(
    r"""\s*(?: \Z | ["'“‘`＂{}\[\]｛｝［］/\#] | [-+.0-9０-９] | [^\W\d][\w\ -]{0,63}[:：]
             | (?:true|false|null|none|nan|infinity)\b )""",
    re.VERBOSE | re.IGNORECASE,
)


class Broken(Enum):
    """A value that is not there: not placeable (``BAD``) or cut off by the end of the text (``CUT``)."""

    BAD = "bad"
    CUT = "cut"


@dataclass(frozen=True)
class Scalar:
    """A word, number or string as written, without its quotes."""

    text: str
    quoted: bool


@dataclass(eq=False)
class Group:
    """A bracket: ``{`` or ``[``, its span, and its entries in order; their key is None if they have none."""

    bracket: str
    start: int
    end: int = -1
    closed: bool = False  # its own closing bracket was seen
    odd: bool = False  # something in it is unclosed or had to be marked ``BAD``
    torn: bool = False  # a string in it runs over the end of a bracket: what follows may belong to another object
    entries: list[tuple[str | None, Value]] = field(default_factory=list)

    @property
    def keyed(self) -> bool:
        """Test whether any entry has a key."""
        return any(key is not None for key, _ in self.entries)

    @property
    def groups(self) -> list[Group]:
        """The brackets directly inside, in order."""
        return [value for _, value in self.entries if isinstance(value, Group)]


Value = Scalar | Group | Broken
_COLON = ":"  # stands between key and value among the parts of an entry
_Part = Scalar | Group | Broken | str


def read(text: str) -> list[Group]:
    """The outermost brackets of ``text`` that hold anything, in order. Linear in ``len(text)``; never raises."""
    reader = _Reader(text)
    reader.run()
    return reader.roots


class _Reader:
    """The open brackets, innermost last, each with the parts met since its last comma."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.roots: list[Group] = []
        self._stack: list[tuple[Group, list[_Part]]] = []
        self._open: Counter[str] = Counter()
        self._skipped = 0

    def run(self) -> None:
        text, position = self.text, 0
        while position < len(text):
            token = (_TOKEN.match if self._stack else _OPEN.search)(text, position)
            if token is None:  # no further bracket: inside of one, every character begins a token
                break
            kind, position = token.lastgroup, token.end()
            parts = self._stack[-1][1] if self._stack else []
            if kind == "open":
                if self._skipped or len(self._stack) == MAX_DEPTH:
                    self._skipped += 1
                    continue
                shape = _SHAPE[token[0]]
                self._open[shape] += 1
                self._stack.append((Group(shape, token.start()), []))
            elif kind == "close":
                self._close(_SHAPE[token[0]], position)
            elif kind == "quote":
                string, position = self._string(token.start(), key_place=not parts or parts[-1] is not _COLON)
                if not self._skipped:
                    parts.append(string)
            elif self._skipped:
                continue
            elif kind == "bare":
                parts.append(Scalar(token[0].strip(), quoted=False))
            elif kind == "comma":
                self._flush()
            elif kind == "colon":
                if len(parts) > 1 and isinstance(parts[-1], Scalar) and parts[-2] is not _COLON:
                    # In `"a": 1 "b":` a new entry begins although the comma is missing.
                    key = parts.pop()
                    self._flush()
                    parts.append(key)
                parts.append(_COLON)
        self._end()

    def _close(self, shape: str, end: int) -> None:
        """Close the innermost bracket of this shape and give up the unclosed ones inside it.

        A closing bracket of a shape that is not open closes nothing, but the value before it is complete.
        """
        if self._skipped:
            self._skipped -= 1
        elif not self._open[shape]:
            self._flush()
        else:
            while self._stack[-1][0].bracket != shape:
                self._pop(end, closed=False)
            self._pop(end, closed=True)

    def _pop(self, end: int, *, closed: bool) -> None:
        self._flush()
        group, _ = self._stack.pop()
        self._open[group.bracket] -= 1
        group.end, group.closed = end, closed
        group.odd |= not closed
        if self._stack:
            parent, parts = self._stack[-1]
            parent.odd |= group.odd
            parts.append(group)
        elif group.entries or not closed or group.bracket == "{":
            self.roots.append(group)

    def _end(self) -> None:
        """At the end of the text an unquoted word may have gone on, and a colon promised a value."""
        parts = self._stack[-1][1] if self._stack else []
        if parts and isinstance(last := parts[-1], Scalar) and not last.quoted:
            # Unless ")" stands where "}" belongs.
            whole = last.text.endswith((")", "）")) and not {"(", "（"} & {*last.text}
            parts[-1] = Scalar(last.text[:-1].strip(), quoted=False) if whole else Broken.CUT
        elif parts and parts[-1] is _COLON:
            parts.append(Broken.CUT)
        while self._stack:
            self._pop(len(self.text), closed=False)

    def _string(self, start: int, *, key_place: bool) -> tuple[Scalar | Broken, int]:
        """The string whose opening quote is at ``start``, and where reading goes on."""
        for mark in _MARK[self.text[start]].finditer(self.text, start + 1):
            if mark[0][0] == "\\" or not self._ends_string(mark.end(), key_place):
                continue
            if _OVER_END.search(self.text, start, mark.start()):
                for group, _ in self._stack:
                    group.torn = True
            raw = self.text[start + 1 : mark.start()]
            if "\\" in raw and len(raw) <= MAX_ESCAPED:
                try:
                    raw = str(json.loads(f'"{raw}"', strict=False))
                except ValueError:  # these escapes are not JSON's
                    raw = raw.replace("\\", "")
            return Scalar(raw, quoted=True), mark.end()
        return Broken.CUT, len(self.text)

    def _ends_string(self, position: int, key_place: bool) -> bool:
        """Test whether JSON can go on here; if not, the quote before is one that the model forgot to escape."""
        text = self.text
        after = _SPACE.match(text, position).end()  # type: ignore[union-attr]
        if after == len(text) or text[after] in "}]｝］#":
            return True
        if text[after] in ":：":
            return key_place
        if text[after] in ",，、;；":
            return _NEXT_ENTRY.match(text, after + 1) is not None
        if text[after] in _CLOSERS:
            return "\n" in text[position:after]
        return text.startswith(("//", "/*"), after)

    def _flush(self) -> None:
        """Turn the parts between two commas into an entry: key and value, a value, or what remains of neither."""
        group, parts = self._stack[-1]
        key, rest = None, parts[:]
        parts.clear()
        if len(rest) > 1 and isinstance(rest[0], Scalar) and rest[1] is _COLON:
            key, rest = rest[0].text, rest[2:]
        if len(rest) == 1 and not isinstance(rest[0], str):
            if key is None and group.entries and group.entries[-1][0] is not None:
                # A number without a key is the rest of the number before it: `"a": 1,5` is not 1.
                pair = (group.entries[-1][1], rest[0])
                if all(isinstance(part, Scalar) and _NUMBER.fullmatch(part.text) for part in pair):
                    group.entries[-1] = (group.entries[-1][0], Broken.BAD)
                    group.odd = True
            group.entries.append((key, rest[0]))
        elif key is not None or rest:
            group.odd = True
            group.entries.append((key, Broken.CUT if Broken.CUT in rest else Broken.BAD))
            group.entries.extend((None, part) for part in rest if isinstance(part, Group))
