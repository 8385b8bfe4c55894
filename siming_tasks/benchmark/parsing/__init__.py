"""Reading of raw replies: points or verdicts per step, or a named reason. It never raises, guesses or puts zeros.

The reader is imported when it is first used: most importers need the statuses alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from siming_tasks.benchmark.parsing.parsed_reply import MISSING, STATUSES, Parsed, format_answers

if TYPE_CHECKING:
    from siming_tasks.benchmark.parsing.reply import parse_reply

__all__ = ["MISSING", "STATUSES", "Parsed", "format_answers", "parse_reply"]


def __getattr__(name: str) -> Any:
    if name == "parse_reply":
        from siming_tasks.benchmark.parsing.reply import parse_reply

        return parse_reply
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
