"""Model text is data: shown as what it is, cut to a bearable length, never able to act or to hide."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from siming_tasks.metrics.estimate import plain

__all__ = ["HEAD", "TAIL", "cut", "script_json", "visible"]

HEAD, TAIL = 8_000, 4_000
"""Characters of a long reply that are kept from its beginning and its end."""

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\ud800-\udfff]"
    "|[\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    r"""The text with every control, zero-width and direction-changing character spelled out (``⟦U+202E⟧``).

    Newlines and tabs stay; a carriage return before a newline is dropped.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _UNSEEN.sub(lambda found: f"⟦U+{ord(found.group()):04X}⟧", text.replace("\r\n", "\n"))


def cut(text: str) -> str:
    """At most :data:`HEAD` + :data:`TAIL` characters, saying how many are left out in between."""
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]}\n⟦{len(text) - HEAD - TAIL:,} characters left out⟧\n{text[-TAIL:]}"


def script_json(value: Any) -> str:
    """JSON that can stand in a script or a page: pure ASCII, and without a character that HTML gives a meaning to.

    NaN and infinity become null.
    """
    try:
        data = orjson.dumps(value)  # ten times as fast, but neither for half surrogate pairs nor as pure ASCII
        text = data.decode("ascii")
    except (TypeError, UnicodeDecodeError):
        text = json.dumps(plain(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
