"""How far the physicians of a data set agree, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from siming_tasks.analysis.inter_rater.raters import RaterTable, rater_table
from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.results.score_matrix import labels_of
from siming_tasks.tasks import benchmark_task

__all__ = ["rater_tables"]


def rater_tables(
    dataset: Dataset, options: Options | None = None, names: Sequence[str] | None = None
) -> list[RaterTable]:
    """The inter-rater table of every pair of physicians, in the order of their names; empty with fewer than two.

    Args:
        dataset: with labels before adjudication.
        options: label mapping, resamples and seed.
        names: only these raters, at least two.

    Raises:
        DataError: there is no such rater, or no step was scored by both of a pair that was asked for.
    """
    options = options or Options()
    for name in names or ():
        if name not in dataset.raters:
            raise DataError(f"{dataset.name} has no rater {name!r}; it has {', '.join(dataset.raters) or 'none'}.")
    setting = benchmark_task("full", "score").name
    labels = {name: labels_of(dataset, setting, name) for name in (*(names or dataset.physicians), CONSENSUS)}
    pairs = list(combinations(names or dataset.physicians, 2))
    if names is None and len(pairs) > 1:
        pairs = [(a, b) for a, b in pairs if (labels[a].counted & labels[b].counted).any()]
    drawn = {"resamples": options.resamples, "seed": options.seed}
    return [
        rater_table(labels[a], labels[b], labels[CONSENSUS], names=(a, b), mapping=options.mapping, **drawn)
        for a, b in pairs
    ]
