"""Findings about people's data, printed: what repeats is folded."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import groupby

from siming_tasks.cli.terminal import several
from siming_tasks.common.errors import Problem
from siming_tasks.common.redact import redact_paths
from siming_tasks.common.sanitize import one_line

__all__ = ["FOLDED", "counted", "folded", "show"]

FOLDED = 3
"""Findings of one kind that are printed in full."""
_SEVERITIES = ("error", "warning", "note")


def folded(problems: Iterable[Problem], most: int | None = FOLDED, way_out: str = "") -> Iterator[str]:
    """A line for each finding, kinds together in the order in which they come first.

    Args:
        problems: the findings.
        most: of one kind that are printed; the others are counted and the next few places named. None: all.
        way_out: how to see each, if there is a way.
    """
    kinds: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        kinds.setdefault((problem.severity, problem.code), []).append(problem)
    for (severity, code), found in kinds.items():
        shown = found if most is None or len(found) <= most else found[:most]
        yield from (f"{severity} [{code}] {problem}" for problem in shown)
        if rest := found[len(shown) :]:
            places = [place for place, _ in groupby(map(_place, rest)) if place]
            names = ", ".join(places[:3]) + (", ..." if len(places) > 3 else "")
            yield f"... and {len(rest)} more [{code}]{': ' * bool(names)}{names}{way_out}"


def _place(problem: Problem) -> str:
    file = one_line(redact_paths(problem.file)) if problem.file else ""
    return f"{file}:{problem.line}" if problem.file and problem.line else file


def counted(problems: Iterable[Problem]) -> str:
    """``2 errors, 1 warning``; notes are mentioned if there are any."""
    found: list[str] = [problem.severity for problem in problems]
    return ", ".join(several(found.count(name), name) for name in _SEVERITIES if name != "note" or name in found)


def show(problems: Iterable[Problem], most: int = 20) -> None:
    """Findings on stderr; long lists of one kind are cut."""
    for line in folded(problems, most):
        print(line, file=sys.stderr)
