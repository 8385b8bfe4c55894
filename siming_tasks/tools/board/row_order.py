"""The order of a board's rows: by values that leaving answers out cannot raise."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from siming_tasks.analysis.comparison import capped_values
from siming_tasks.analysis.paired_tests import answered_difference, paired_difference
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.alignment import ComparisonEntry, align
from siming_tasks.metrics.catalogue import CATALOGUE, COVERAGE, headline
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import COMPARABLE, NOISE
from siming_tasks.options import Options
from siming_tasks.tasks import TASKS
from siming_tasks.tools.board.admission import AdmittedSubmission

__all__ = ["board_ranks", "sort_keys"]


def sort_keys(rows: Sequence[AdmittedSubmission], options: Options) -> list[tuple[bool, float, float]]:
    """Sort key of each row: whether it can be compared, then the imputed headline of its first setting, settled.

    A row is not above another that answered as much unless it is ahead on the items that both answered
    (:func:`siming_tasks.analysis.comparison.capped_values`); of equal ones the first is that with more answers.
    """
    first = [next(name for name in TASKS if name in row.settings) for row in rows]
    places: list[tuple[bool, float, float]] = [(True, 0.0, 0.0)] * len(rows)
    for setting in dict.fromkeys(first):
        mine = [k for k, name in enumerate(first) if name == setting]
        metric = headline(TASKS[setting].answer)
        sign = CATALOGUE[metric].sign
        evaluations = [rows[k].settings[setting] for k in mine]
        value = np.array([_value(result["imputed"][metric], sign) for result in evaluations])
        tallies = [
            Tally.of(rows[k].run.score_matrix(setting, options.rater), options.mapping, options.positive, [metric])
            for k in mine
        ]
        holds = np.ones((len(mine), len(mine)), dtype=np.bool_)
        for a, b in np.argwhere(value[:, None] > value[None, :]).tolist():
            holds[a, b] = _lead_holds(tallies[a], tallies[b], metric, sign)
        for k, result, rank in zip(mine, evaluations, capped_values(value, holds).tolist(), strict=True):
            coverage = result["metrics"][COVERAGE]["value"] or 0.0
            rests_on = result["metrics"][metric]["coverage"] or 0.0
            weak = result["metrics"][metric]["value"] is None or rests_on < COMPARABLE
            places[k] = weak, -rank, -coverage
    return places


def board_ranks(rows: Sequence[AdmittedSubmission], places: Sequence[tuple[bool, float, float]], setting: str,
          apart: Collection[int] = ()) -> list[int | None]:  # fmt: skip
    """Rank of each row in a setting, 1 = best, equal ones share the better; None for what cannot be compared.

    Args:
        rows: of the board.
        places: of :func:`sort_keys`.
        setting: that the board is ordered by; rows whose first setting is another have no rank.
        apart: places of rows that were made under other conditions than most.
    """
    first = [next(name for name in TASKS if name in row.settings) for row in rows]
    fit = [k for k, (weak, _, _) in enumerate(places) if not weak and first[k] == setting and k not in apart]
    ranks: list[int | None] = [None] * len(rows)
    for k in fit:
        ranks[k] = 1 + sum(places[other][1] < places[k][1] - NOISE for other in fit)
    return ranks


def _value(estimate: Mapping[str, Any], sign: float) -> float:
    """Larger is better; without a value last of all."""
    return float("-inf") if estimate["value"] is None or estimate["undefined"] else sign * float(estimate["value"])


def _lead_holds(a: Tally, b: Tally, metric: str, sign: float) -> bool:
    """Test that a lead of ``a`` over ``b`` is one of its answers too, over what both were asked."""
    if not (a.panel.asked & ~a.panel.answered).any():
        return True  # it left nothing out
    runs = ComparisonEntry("a", a.panel), ComparisonEntry("b", b.panel)
    try:
        sides = [Tally.of(run.panel, a.mapping, a.positive, [metric]) for run in align(runs, ("videos", "steps"))]
    except DataError:  # nothing in common: other conditions, which the findings say
        return True
    imputed = paired_difference(sides[0].imputed(), sides[1].imputed())
    return answered_difference(sides[0], sides[1], imputed).holds(metric, sign)
