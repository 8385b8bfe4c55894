"""Characters of a reply in one form: full width made plain, invisible ones removed, outer decoration removed."""

from __future__ import annotations

import re

__all__ = ["fold_name", "fold_value", "strip_invisible"]

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0x2212: 0x2D}
_ZERO_WIDTH = dict.fromkeys([0xAD, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF, 0xFE0E, 0xFE0F])
_NO_WIDTH = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff\ufe0e\ufe0f]")
_CONTROLS = [*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0)]
_ORDER = [0x61C, 0x180E, *range(0x202A, 0x202F), *range(0x2065, 0x2070)]
_UNSEEN = _ZERO_WIDTH | dict.fromkeys([*_CONTROLS, *_ORDER])
_OUTER = " \t\r\n*_`'\"“”‘’。.!"


def fold_name(text: str, *, fold: bool = True) -> str:
    """A name in one form: full-width characters made plain, control and formatting characters removed, lower case."""
    text = text.translate(_WIDE).translate(_UNSEEN).strip(_OUTER)
    return text.casefold() if fold else text


def fold_value(text: str, outer: str = _OUTER) -> str:
    """A value in one form: as :func:`fold_name`, but marks that change the reading order stay and spoil it."""
    return text.translate(_WIDE).translate(_ZERO_WIDTH).strip(outer).casefold()


def strip_invisible(text: str) -> str:
    """The text without the characters that have no width."""
    return _NO_WIDTH.sub("", text)
