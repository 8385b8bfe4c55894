"""Agreement of the errors that a judge names with those that the labels state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from siming_tasks.common.schema import RESAMPLES
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.ratio_estimates import estimate_stats, ratio
from siming_tasks.metrics.resample import Clusters
from siming_tasks.metrics.score_matrix import BoolArray

NO_LABELS = "The labels state the errors of no answered step (`errors` of a step in videos.jsonl)."
_NONE_NAMED = "The judge names no error of a step whose errors the labels state."
_NONE_STATED = "The labels state no error of any answered step."


@dataclass(frozen=True)
class NamedErrors:
    """Numbers of one run in a task with named errors.

    Attributes:
        listed: share of the answered steps for which errors are named, or said to be none.
        reasoned: share of the answered steps with a reason.
        precision: named errors that the labels state / named errors (micro-average over steps and kinds of error).
        recall: the same / errors that the labels state.
        f1: harmonic mean of the two.
        exact: share of the steps for which exactly the stated errors are named.
    """

    listed: Estimate
    reasoned: Estimate
    precision: Estimate
    recall: Estimate
    f1: Estimate
    exact: Estimate


def named_errors(
    named: Mapping[tuple[int, int], frozenset[str]],
    stated: Mapping[tuple[int, int], frozenset[str]],
    reasoned: BoolArray,
    answered: BoolArray,
    *,
    clusters: Clusters | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> NamedErrors:
    """The numbers of a run, with intervals from a bootstrap over clusters of videos.

    Agreement rests on the answered steps whose errors the labels state. An answer that lists no errors counts as one
    that names none: leaving the list out on hard steps wins nothing.

    Args:
        named: by row and column, the ids of the errors that the judge names; absent where it lists none.
        stated: by row and column, those of the labels; absent where the labels do not state them.
        reasoned: where the judge gives a reason, ``bool[V, S]``.
        answered: where it answers, ``bool[V, S]``.
        clusters: the number of each video's cluster, ``intp[V]``; None: each is its own.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Example:
        >>> import numpy as np
        >>> yes = np.ones((1, 2), dtype=bool)
        >>> stated = {(0, 0): frozenset("ab"), (0, 1): frozenset()}
        >>> found = named_errors({(0, 0): frozenset("ac"), (0, 1): frozenset()}, stated, ~yes, yes)
        >>> found.precision.value, found.recall.value, found.exact.value, found.reasoned.value
        (0.5, 0.5, 0.5, 0.0)
    """
    listed, judged, exact = (np.zeros_like(answered) for _ in range(3))
    both, by_judge, by_labels = (np.zeros(answered.shape) for _ in range(3))
    for cell in named:
        listed[cell] = True
    for cell, errors in stated.items():
        if answered[cell]:
            own = named.get(cell, frozenset())
            judged[cell], exact[cell] = True, cell in named and own == errors
            both[cell], by_judge[cell], by_labels[cell] = len(own & errors), len(own), len(errors)
    unlabelled = "" if judged.any() else NO_LABELS
    stats = {
        "listed": ratio(listed & answered, answered, "No step was answered."),
        "reasoned": ratio(reasoned & answered, answered, "No step was answered."),
        "precision": ratio(both, by_judge, unlabelled or _NONE_NAMED),
        "recall": ratio(both, by_labels, unlabelled or _NONE_STATED),
        "f1": ratio(2 * both, by_judge + by_labels, unlabelled or f"{_NONE_STATED} {_NONE_NAMED}"),
        "exact": ratio(exact, judged, unlabelled),
    }
    return NamedErrors(
        **estimate_stats(stats, np.arange(len(answered)) if clusters is None else clusters, resamples, seed)
    )
