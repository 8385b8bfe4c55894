"""What a cell says, and the table around it: estimates, differences, p-values and shares as Markdown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from siming_tasks.common.sanitize import one_line

if TYPE_CHECKING:  # tables of words need no arrays
    from siming_tasks.metrics.estimate import Estimate
    from siming_tasks.metrics.proportion import Proportion

__all__ = ["counted", "key", "percent", "plain_value", "pvalue", "short", "signed", "table"]

UNDEFINED = "0.000* is undefined, printed as zero."
_STARRED = re.compile(r"\d\*")
_PIPE = re.compile(r"(?<!\\)((?:\\\\)*)\|")  # after an even number of backslashes


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: Collection[int] = (0,)) -> list[str]:
    """Lines of a Markdown table; a ``|`` in a cell is escaped unless it is already.

    Args:
        head: of the columns.
        rows: as many cells each.
        left: positions of the columns of text; the others are numbers.
    """
    rule = [":--" if index in left else "--:" for index in range(len(head))]
    return ["| " + " | ".join(map(_cell, line)) + " |" for line in [head, rule, *rows]]


def key(rows: Iterable[Sequence[str]]) -> list[str]:
    """What stands below a table in which a number has a ``*``; nothing for others."""
    return ["", UNDEFINED] if any(_STARRED.search(cell) for row in rows for cell in row) else []


def _cell(text: str) -> str:
    return _PIPE.sub(r"\1\|", one_line(text))


def plain_value(value: float | None, digits: int = 3) -> str:
    """A number without a negative zero; ``-`` for none."""
    if value is None:
        return "-"
    text = f"{value:.{digits}f}"
    return text if float(text) else text.removeprefix("-")


def short(estimate: Estimate | None, digits: int = 3) -> str:
    """The value alone; ``*`` marks an undefined one."""
    return "-" if estimate is None else plain_value(estimate.value, digits) + "*" * estimate.undefined


def signed(estimate: Estimate, digits: int = 3, *, interval: bool = True) -> str:
    """A difference: with its sign and, if there is one, its interval."""
    if estimate.value is None:
        return "-"
    text = f"{estimate.value:+.{digits}f}" + "*" * estimate.undefined
    if not interval or estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{estimate.low:+.{digits}f}, {estimate.high:+.{digits}f}]"


def pvalue(p: float | None) -> str:
    """``.021``; ``<.001``; ``-`` for none."""
    return "-" if p is None else "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def percent(estimate: Estimate) -> str:
    """A share as a percentage with its interval."""
    if estimate.value is None:
        return "-"
    spread = "" if estimate.low is None or estimate.high is None else f" [{estimate.low:.1%}, {estimate.high:.1%}]"
    return f"{estimate.value:.2%}{spread}"


def counted(found: Proportion) -> str:
    """A share with its interval and what it was counted from."""
    if found.value is None:
        return "- (0)"
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}] ({found.count}/{found.n})"
