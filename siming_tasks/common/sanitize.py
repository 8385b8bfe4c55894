"""Text from strangers for people to read: it can neither act nor hide, whatever shows it."""

from __future__ import annotations

import re
import unicodedata

MAX_LINE = 2_000  # characters of a message's line: a key of a megabyte in somebody's file is named by its beginning

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff]"
    "|[\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_FORMULA = re.compile("^'*[=+\\-@\t\r\uff0b\uff0d\uff1d\uff20]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_MARKDOWN = re.compile(r"([\\`*\[\]<>#|~&!$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^[+=-](?=\s)|^\d+(?=[.)]\s))")


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


def one_line(text: object, most: int = MAX_LINE) -> str:
    r"""Put the :func:`visible` text on one line of at most ``most`` characters.

    Example:
        >>> one_line("a\nb\x1b[31m"), one_line("long" * 9, 8)
        ('a b⟦U+001B⟧[31m', 'longlon…')
    """
    shown = visible(" ".join(str(text)[: 4 * most].splitlines()))
    return shown if len(shown) <= most else shown[: most - 1] + "…"


_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc") | {*map(chr, range(0xFE00, 0xFE10))}
"""Characters that draw nothing although their kind is that of letters, marks or signs."""
_MOST_MARKS = 2
"""Marks on one letter of a name: Vietnamese and Thai have two."""


def shown_name(name: object) -> str:
    r"""A name (of a model, sender, rater, student, run) as it is shown: two that look alike are equal.

    Composed (NFC), with single spaces; what cannot be seen, a mark without a letter and a third mark on one letter are
    spelled out.

    Example:
        >>> shown_name("Zoe\u0308  Li"), shown_name("ac\u200bme"), shown_name("x" + 3 * "\u0331")[-8:]
        ('Zoë Li', 'ac⟦U+200B⟧me', '⟦U+0331⟧')
    """
    text = " ".join(unicodedata.normalize("NFC", well_formed(str(name)[: 4 * MAX_LINE])).split())
    if text.isascii() and text.isprintable():
        return text
    shown, marks = [], _MOST_MARKS
    for character in text:
        kind = unicodedata.category(character)
        marks = marks + 1 if kind in ("Mn", "Me") else _MOST_MARKS * character.isspace()
        unseen = kind[0] == "C" or character in _BLANK or marks > _MOST_MARKS
        shown.append(f"⟦U+{ord(character):04X}⟧" if unseen else character)
    return "".join(shown)


def check_name(name: str) -> str:
    """A name that stands in a data set, if it is as it is shown (ValueError: it is not; names the first difference)."""
    if (shown := shown_name(name)) == name:
        return name
    odd = re.search(r"⟦(U\+[0-9A-F]+)⟧", shown)
    why = f"holds {odd[1]}, which cannot be seen" if odd else "has spaces to spare or is not composed (Unicode's NFC)"
    raise ValueError(f"the name {shown!r} {why}; write it again by hand")


def literal(text: object) -> str:
    r"""Escape text for Markdown, on one line.

    Example:
        >>> literal("a|b <img> rater_a"), literal("# *x*")
        ('a\\|b \\<img\\> rater_a', '\\# \\*x\\*')
    """
    return _MARKDOWN.sub(lambda match: f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}", one_line(text))


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
