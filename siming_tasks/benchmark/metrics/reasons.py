"""Reasons why a number or its interval is not there, and flags of numbers: closed sets.

:mod:`siming_tasks.study.words` has the sentence for each.
"""

from __future__ import annotations

from enum import Enum


class _Code(str, Enum):
    """A word that is itself in files and when it is printed."""

    def __str__(self) -> str:
        return str(self.value)


class Reason(_Code):
    """Reason why an estimate has no value or no interval. An analysis may give a sentence of its own instead."""

    # a value, but no interval
    FEW_CLUSTERS = "few-clusters"
    UNEVEN_CLUSTERS = "uneven-clusters"
    UNDEFINED_WITHOUT_ONE = "undefined-without-one"
    PERFECT_CORRELATION = "perfect-correlation"
    NO_VARIATION = "no-variation"
    # no value
    UNDEFINED = "undefined"
    NOTHING_ANSWERED = "nothing-answered"
    NOT_ASKED = "not-asked"
    ONE_LABEL = "one-label"
    ONE_CLASS = "one-class"
    NONE_CALLED_WRONG = "none-called-wrong"
    NONE_CALLED_CORRECT = "none-called-correct"
    NONE_WRONG = "none-wrong"
    NONE_CORRECT = "none-correct"
    NONE_WRONG_OR_CALLED_SO = "none-wrong-or-called-so"
    NONE_CORRECT_OR_CALLED_SO = "none-correct-or-called-so"
    FEW_TOTALS = "few-totals"
    EQUAL_REFERENCE_TOTALS = "equal-reference-totals"
    EQUAL_JUDGE_TOTALS = "equal-judge-totals"
    EQUAL_TOTALS = "equal-totals"
    LEARNT = "learnt"
    SAME_TOTAL_BY_DESIGN = "same-total-by-design"
    NOT_SHUFFLED = "not-shuffled"
    NO_SPAN_ANSWERED = "no-span-answered"
    NO_PART_NAMED = "no-part-named"
    NO_ERROR_NAMED = "no-error-named"


class Flag(_Code):
    """Limits of an estimate."""

    FEW_VIDEOS = "few-videos"
    FEW_CLUSTERS = "few-clusters"
    FEW_ERRORS = "few-errors"
    NOT_COMPARABLE = "not-comparable"
    THESE_SITES = "these-sites"
    THESE_STUDENTS = "these-students"
    THESE_PERFORMANCES = "these-performances"
