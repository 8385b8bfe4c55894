"""Repeats: several runs of one model over the same exams, their spread and the model's agreement with itself.

A judge cannot agree with physicians better than its own noise allows, and one that agrees with itself perfectly may be
perfectly wrong: answers at temperature 0, or from a cache, agree with themselves by construction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from siming_tasks.benchmark.metrics.catalogue import CATALOGUE, select, statistic
from siming_tasks.benchmark.metrics.estimate import Estimate, Rows
from siming_tasks.benchmark.metrics.jackknife import jackknife, mean
from siming_tasks.benchmark.metrics.score_matrix import ScoreMatrix
from siming_tasks.common.choices import LabelMapping
from siming_tasks.common.errors import DataError
from siming_tasks.study.analysis.pairs import added, aligned, as_points, kappa, same_answer, side_by_side
from siming_tasks.study.analysis.tables import TableText, table_row

TABLES: Mapping[str, TableText] = {
    "repeats": TableText(
        "Repeats",
        "Mean and standard deviation of a model's metrics against {reference} over its runs, a missing answer as full "
        "points or correct, the mean's interval with the variance between runs; and the runs against each other, on "
        "the steps that both answered (all pairs added up).",
        {key: CATALOGUE[key].label for key in select(compared=True)}
        | {"same": "same answer", "kappa": "kappa with itself"},
    )
}


def repeats(runs: Sequence[ScoreMatrix], *, mapping: LabelMapping = "absolute") -> Rows:
    """Table ``repeats``: rows ``mean`` and ``sd`` of every metric over the runs, and ``with itself``.

    Over the videos and steps that all runs were asked about. The variance of the mean is that over the exams'
    clusters plus the variance between runs over their number; the standard deviation has no interval.

    Raises:
        DataError: fewer than two runs, different kinds of answers, or no step in common.
    """
    if len(runs) < 2:
        raise DataError("Repeats need two runs of one model or more.")
    panels = aligned(*runs)
    rows = Rows()
    for key in select(panels[0].answer, compared=True):
        found = [jackknife(statistic(key, mapping), panel.imputed()) for panel in panels]
        undefined = [each.why for each in found if np.isnan(each.value)]
        sd = float(np.std([each.value for each in found], ddof=1))
        of_mean = replace(mean(found), further=sd**2 / len(runs))
        why = undefined[0] if undefined else f"Over {len(runs)} runs of the same exams: no interval."
        own = Estimate(None if undefined else sd, n=int(found[0].videos.sum()), why=why)
        rows += [of_mean.estimate().at("repeats", "mean", key), own.at("repeats", "sd", key)]
    return Rows(rows) + _with_itself(panels, mapping)


def _with_itself(panels: Sequence[ScoreMatrix], mapping: LabelMapping) -> Rows:
    """Share of equal answers and kappa, over all pairs of runs and the steps that both answered."""
    pairs = [side_by_side(a, as_points(a), as_points(b)) for a, b in combinations(panels, 2)]
    nothing = "No two runs answered the same step."
    statistics = {"same": same_answer(nothing), "kappa": kappa(mapping, nothing=nothing)}
    found = {key: jackknife(added(each, pairs), panels[0]) for key, each in statistics.items()}
    return table_row("repeats", "with itself", found)
