"""The reference points of a step out of its raters' points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from siming_tasks.common.errors import Problem
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.tools.builder.sheets.labels import LabelRow

__all__ = ["Decision", "decide", "origin_named"]


@dataclass(frozen=True)
class Decision:
    """Points per rater and step with the consensus filled in, how each consensus came about, what is left to decide.

    ``open`` lists the rows that somebody must adjudicate; it is empty when ``problems`` is.
    """

    scores: Mapping[tuple[str, str], dict[str, float | None]]
    origins: Mapping[str, int]
    problems: tuple[Problem, ...]
    open: tuple[LabelRow, ...]


_OF = "points of {}"


def origin_named(how: str, names: Mapping[str, str]) -> str:
    """Origin of a consensus, with a rater's name in the dataset in place of the sheet's."""
    return next((_OF.format(name) for rater, name in names.items() if how == _OF.format(rater)), how)


def decide(rows: Iterable[LabelRow], rule: str = "agree") -> Decision:
    """Fill in each step's consensus.

    A consensus that the sheet gives stands. Otherwise: the common points of at least two raters who agree; else what
    ``rule`` says. A sheet without any points at all is a dataset with withheld labels.

    Args:
        rows: label rows.
        rule: ``agree`` (disagreement is an error), ``mean`` (of all raters) or a rater's name (that rater's points).
    """
    rows = [row for row in rows if row.applicable]
    withheld = not any(row.scores for row in rows)
    scores: dict[tuple[str, str], dict[str, float | None]] = {}
    origins: Counter[str] = Counter()
    problems: list[Problem] = []
    undecided: list[LabelRow] = []
    for row in rows:
        value, origin = (None, "withheld") if withheld else _consensus(row, rule)
        if value is None and not withheld:
            undecided.append(row)
            problems.append(_undecided(row, rule))
        origins[origin] += 1
        scores[row.video, row.step_id] = {**row.scores, CONSENSUS: value}
    return Decision(scores, dict(origins), tuple(problems), tuple(undecided))


def _consensus(row: LabelRow, rule: str) -> tuple[float | None, str]:
    if CONSENSUS in row.scores:
        return row.scores[CONSENSUS], "given"
    points = list(row.scores.values())
    if len(points) > 1 and len(set(points)) == 1:
        return points[0], "raters agree"
    if rule == "mean" and points:
        return sum(points) / len(points), "mean of raters"
    if rule in row.scores:
        return row.scores[rule], _OF.format(rule)
    return None, "undecided"


def _undecided(row: LabelRow, rule: str) -> Problem:
    scores = ", ".join(f"{rater} {points:g}" for rater, points in row.scores.items())
    if not row.scores:
        fix = "Fill in points, or mark the step as not applicable."
        return row.problem("label-missing", "no rater gave points.", fix)
    if rule != "agree":
        return row.problem(
            "consensus-missing", f"no points of {rule!r} ({scores}).", "Fill in the consensus.", CONSENSUS
        )
    if len(row.scores) == 1:
        what = f"only one rater gave points ({scores})."
        return row.problem(
            "consensus-missing", what, f"Fill in the consensus, or --consensus {next(iter(row.scores))}."
        )
    fix = "Fill in the consensus column, or say --consensus mean or --consensus RATER."
    return row.problem("consensus-open", f"the raters differ ({scores}).", fix, CONSENSUS)
