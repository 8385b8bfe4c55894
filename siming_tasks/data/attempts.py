"""Attempts at a step: the one of them that is the step's label and clip."""

from __future__ import annotations

from collections.abc import Sequence

from siming_tasks.common.schema import Attempt, AttemptRule


def deciding(attempts: Sequence[Attempt], rule: AttemptRule) -> Attempt:
    """The attempt that is the step's label.

    Args:
        attempts: in the order of time, at least one.
        rule: *worst* is the first wrong one, *best* the last right one; each is the last where there is none.

    Example:
        >>> tries = [Attempt(0, 1, True), Attempt(2, 3, False), Attempt(4, 5, True)]
        >>> [deciding(tries, rule).start for rule in ("first", "last", "best", "worst")]
        [0, 4, 4, 2]
    """
    if rule == "first":
        return attempts[0]
    wrong = [attempt for attempt in attempts if not attempt.correct]
    right = [attempt for attempt in attempts if attempt.correct]
    if rule == "worst" and wrong:
        return wrong[0]
    return right[-1] if rule == "best" and right else attempts[-1]
