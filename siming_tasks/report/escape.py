"""Model text is data: cut to a bearable length, written so that no page takes it for markup or script."""

from __future__ import annotations

import json
from typing import Any

import orjson

from siming_tasks.metrics.estimate import plain

__all__ = ["HEAD", "TAIL", "cut", "script_json"]

HEAD, TAIL = 8_000, 4_000
"""Characters of a long reply that are kept from its beginning and its end."""


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
