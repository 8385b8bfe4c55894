"""Findings about people's data, printed."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable

from siming_tasks.errors import Problem

__all__ = ["show"]


def show(problems: Iterable[Problem], most: int = 20) -> None:
    """Findings on stderr; long lists of one kind are cut."""
    seen: Counter[str] = Counter()
    for problem in problems:
        seen[problem.code] += 1
        if seen[problem.code] <= most:
            print(f"{problem.severity} [{problem.code}] {problem}", file=sys.stderr)
    for code, count in seen.items():
        if count > most:
            print(f"... and {count - most} more [{code}]", file=sys.stderr)
