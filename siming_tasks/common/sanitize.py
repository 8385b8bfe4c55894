"""Text from strangers for people to read: it can neither act nor hide, whatever shows it."""

from __future__ import annotations

import re
import unicodedata
from typing import TypeGuard

MAX_LINE = 2_000  # characters of a message's line: a key of a megabyte in somebody's file is named by its beginning

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff]"
    "|[\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_FORMULA = re.compile("^'*[=+\\-@\t\r\uff0b\uff0d\uff1d\uff20]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_PLAIN = r"\[[-+]?\d[\d.]*(?: %)?, [-+]?\d[\d.]*(?: %)?\](?![\[(:])|<(?= [\d.])"
"""Text that is not markup: an interval, and a less-than sign before a number."""
_MARKDOWN = re.compile(
    rf"({_PLAIN})|" r"([\\`*\[\]<>#|~&!$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^[+=-](?=\s)|^\d+(?=[.)]\s))"
)


def visible(text: str) -> str:
    r"""Copy text with every control, zero-width and direction-changing character spelled out (``⟦U+202E⟧``).

    Newlines and tabs stay; a carriage return before a newline is dropped.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _UNSEEN.sub(lambda match: f"⟦U+{ord(match.group()):04X}⟧", text.replace("\r\n", "\n"))


def well_formed(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON can write and no encoding can, by U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_well_formed(text: str) -> bool:
    """True if UTF-8 can write a text: no name of a file that is not UTF-8 reaches Python as one."""
    return well_formed(text) == text


def one_line(text: object, most: int = MAX_LINE) -> str:
    r"""Put the :func:`visible` text on one line of at most ``most`` characters.

    Example:
        >>> one_line("a\nb\x1b[31m"), one_line("long" * 9, 8)
        ('a b⟦U+001B⟧[31m', 'longlon…')
    """
    shown = visible(" ".join(str(text)[: 4 * most].splitlines()))
    return shown if len(shown) <= most else shown[: most - 1] + "…"


_BLANK = frozenset("\u2800\ufffc\U0001d159\U00013441\U00013442\U00016fe4")
"""Signs that draw nothing, besides Unicode's default-ignorable code points (``_UNSEEN`` has them all)."""
_ALIKE = {ord(sign): one for one, signs in {
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe58\uff70\u30fc",
    ".": "\u00b7\u0387\u2022\u2027\u2219\u22c5\u3002\u30fb",
    "'": "\u2018\u2019\u02bc\u2032",
}.items() for sign in signs}  # fmt: skip
"""Hyphens, dots and apostrophes that Unicode's compatibility form (NFKC) keeps apart."""
_MOST_MARKS = 2
"""Marks on one letter of a name: Vietnamese and Thai have two."""


def shown_name(name: object) -> str:
    r"""A name (of a model, sender, rater, student, run) as it is shown: two that look alike are equal.

    Composed (NFC), with single spaces; what cannot be seen, a mark without a letter or on one of another script, and a
    third mark on one letter are spelled out.

    Example:
        >>> shown_name("Zoe\u0308  Li"), shown_name("ac\u200bme"), shown_name("x" + 3 * "\u0331")[-8:]
        ('Zoë Li', 'ac⟦U+200B⟧me', '⟦U+0331⟧')
    """
    text = " ".join(unicodedata.normalize("NFC", well_formed(str(name)[: 4 * MAX_LINE])).split())
    if text.isascii() and text.isprintable():
        return text
    shown, marks, script = [], _MOST_MARKS, ""
    for character in text:
        kind, begins = unicodedata.category(character), unicodedata.name(character, "").partition(" ")[0]
        marks = marks + (kind != "Mc") if kind[0] == "M" else _MOST_MARKS * character.isspace()
        foreign = kind[0] == "M" and begins not in ("COMBINING", script)
        unseen = kind[0] == "C" or bool(_UNSEEN.match(character)) or character in _BLANK
        unseen = unseen or foreign or marks > _MOST_MARKS
        script = "" if unseen else script if kind[0] == "M" else begins
        shown.append(f"⟦U+{ord(character):04X}⟧" if unseen else character)
    return "".join(shown)


def alike(name: str) -> str:
    r"""A name without the differences that people overlook: two names of which it is the same are one.

    Capitals, width, spaces, kinds of hyphens, dots and apostrophes, and what cannot be seen are such differences;
    letters of another script that look the same are not.

    Example:
        >>> alike("T01") == alike("t 01"), alike("Ｌi‐1") == alike("li-1"), alike("1.1") == alike("11")
        (True, True, False)
        >>> alike("Li Wei\u180b") == alike("Li Wei\U000e0100") == alike("li wei")
        True
    """
    seen = "".join(character for character in _UNSEEN.sub("", name) if character not in _BLANK).translate(_ALIKE)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
    return "".join(folded.translate(_ALIKE).split())


def literal(text: object) -> str:
    r"""Escape text for Markdown, on one line.

    Example:
        >>> literal("a|b <img> rater_a"), literal("# *x*")
        ('a\\|b \\<img\\> rater_a', '\\# \\*x\\*')
        >>> print(literal("0.6 [0.5, 0.7], p < 0.001, [0.5, 0.7](x)"))
        0.6 [0.5, 0.7], p < 0.001, \[0.5, 0.7\](x)
    """

    def escaped(match: re.Match[str]) -> str:
        return match[0] if match[1] else f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}"

    return _MARKDOWN.sub(escaped, one_line(text))


def cell(value: object) -> str:
    """Write a cell that people open in a spreadsheet: what would be a formula there begins with an apostrophe.

    Numbers stay as they are. :func:`cell_text` is the way back.

    Example:
        >>> cell("=1+1"), cell("-2"), cell("exam-7"), cell_text(cell("'=x"))
        ("'=1+1", '-2', 'exam-7', "'=x")
    """
    text = str(value)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def cell_text(text: str) -> str:
    """Read the text that :func:`cell` was made of."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def is_number(value: object) -> TypeGuard[float]:
    """True for a JSON number; true and false are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool)
