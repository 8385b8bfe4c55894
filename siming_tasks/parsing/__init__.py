"""From a raw reply to points or verdicts per step, or a named failure: nothing raised, nothing guessed, no zeros.

The names below are imported when they are first used (PEP 562): who asks needs the words of an answer, not its grammar.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from siming_tasks.parsing.model import MISSING, STATUSES, Parsed
    from siming_tasks.parsing.reply import parse_reply
    from siming_tasks.parsing.write import format_answers

__all__ = ["MISSING", "STATUSES", "Parsed", "format_answers", "parse_reply"]

_HOME = {
    **dict.fromkeys(("MISSING", "STATUSES", "Parsed"), "model"),
    "parse_reply": "reply",
    "format_answers": "write",
}
"""The module in which each public name lives."""


def __getattr__(name: str) -> Any:
    """A public name, imported now and kept: this is not asked for it again."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    return found


def __dir__() -> list[str]:
    return [*__all__]
