"""Agreement of the errors that a judge names with those that the labels state: which errors, of which kind, and why.

An error belongs to a step (``cpr_11.mostly_shallow``); its *kind* is its name without the step (``mostly_shallow``),
which several steps may share. The kinds of a rubric are a closed list of reasons why a step is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.schema import RESAMPLES
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.ratio_estimates import Stat, estimate_stats, nominal_kappa_stat, ratio
from siming_tasks.metrics.resample import Clusters
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray

Named = Mapping[tuple[int, int], frozenset[str]]
"""Ids of errors by row (video) and column (step)."""

NO_LABELS = "The labels state the errors of no answered step (`errors` of a step in videos.jsonl)."
_NONE_NAMED = "The judge names no error of a step whose errors the labels state."
_NONE_STATED = "The labels state no error of any answered step."
_NEVER_BOTH = "There is no step to which both give an error."

AGREEMENT = ("precision", "recall", "f1", "macro_f1", "exact", "kappa", "reason_kappa")
"""Numbers of agreement that a judge and the baselines beside it have."""


@dataclass(frozen=True)
class KindAgreement:
    """Agreement on one kind of error: how often labels state it, the judge names it, and both do, with the averages."""

    stated: int
    named: int
    both: int
    precision: Estimate
    recall: Estimate
    f1: Estimate


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
        macro_f1: mean of F1 over the kinds that labels or judge give at all.
        kappa: Cohen's kappa of the kinds given to a step, "none" among them; several kinds are a category of their own.
        reason_kappa: the same over the steps to which both give an error: do they agree *why* it is wrong?
        kinds: by kind, in the order of how often the labels state it.
        baselines: by judge who saw no video, the numbers of :data:`AGREEMENT`.
        unlisted: asked steps whose labels state an error that the rubric does not list: nobody could name it, so that
            they are left out.
    """

    listed: Estimate
    reasoned: Estimate
    precision: Estimate
    recall: Estimate
    f1: Estimate
    exact: Estimate
    macro_f1: Estimate
    kappa: Estimate
    reason_kappa: Estimate
    kinds: Mapping[str, KindAgreement] = field(default_factory=dict)
    baselines: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    unlisted: int = 0


def named_errors(
    named: Named,
    stated: Named,
    reasoned: BoolArray,
    answered: BoolArray,
    *,
    errors: Sequence[Collection[str]] = (),
    clusters: Clusters | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> NamedErrors:
    """The numbers of a run, with intervals from a bootstrap over clusters of videos.

    Agreement rests on the answered steps whose errors the labels state. An answer that lists no errors counts as one
    that names none: leaving the list out on hard steps wins nothing.

    Args:
        named: the errors that the judge names; absent where it lists none.
        stated: those of the labels; absent where the labels do not state them.
        reasoned: where the judge gives a reason, ``bool[V, S]``.
        answered: where it answers, ``bool[V, S]``.
        errors: by column, the ids of the step's errors, for the baselines; empty: there are no baselines.
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
    clusters = np.arange(len(answered)) if clusters is None else clusters
    stated = {cell: ids for cell, ids in stated.items() if answered[cell]}
    listed = np.zeros_like(answered)
    for cell in named:
        listed[cell] = True
    judges = {"": named, **(_without_video(stated, answered.shape, errors, clusters) if errors else {})}
    often = Counter(kind_of(error) for ids in stated.values() for error in ids)
    given = often.keys() | {kind_of(error) for cell in stated for error in named.get(cell, ())}
    order = sorted(given, key=lambda kind: (-often[kind], kind))
    stats: dict[tuple[str, str], Stat] = {
        ("", "listed"): ratio(listed & answered, answered, "No step was answered."),
        ("", "reasoned"): ratio(reasoned & answered, answered, "No step was answered."),
    }
    for judge, said in judges.items():
        stats |= {(judge, name): stat for name, stat in _agreement(said, stated, answered, order).items()}
    values = estimate_stats(stats, clusters, resamples, seed)
    counts = {kind: stats["", f"f1 {kind}"].counts.sum(axis=0) for kind in order}
    own: dict[str, Any] = {name: values["", name] for name in ("listed", "reasoned", *AGREEMENT)}
    return NamedErrors(
        **own,
        kinds={
            kind: KindAgreement(
                stated=round(counts[kind][2]),
                named=round(counts[kind][1]),
                both=round(counts[kind][0]),
                **{name: values["", f"{name} {kind}"] for name in ("precision", "recall", "f1")},
            )
            for kind in order
        },
        baselines={judge: {name: values[judge, name] for name in AGREEMENT} for judge in judges if judge},
    )


def kind_of(error: str) -> str:
    """The kind of an error: its id without the step."""
    return error.rpartition(".")[2]


def _agreement(said: Named, stated: Named, answered: BoolArray, kinds: Sequence[str]) -> dict[str, Stat]:
    """The numbers of :data:`AGREEMENT` as formulas of counts, and precision, recall and F1 of each kind."""
    judged, exact, why = (np.zeros_like(answered) for _ in range(3))
    steps = np.zeros((3, *answered.shape))  # errors that both, the judge, and the labels give, by video and step
    by_kind = np.zeros((3, len(answered), len(kinds)))  # the same by video and kind
    column = {kind: place for place, kind in enumerate(kinds)}
    codes = np.zeros((2, *answered.shape), dtype=np.intp)
    categories: dict[tuple[str, ...], int] = {}
    for cell, labels in stated.items():
        own = said.get(cell, frozenset())
        judged[cell], exact[cell], why[cell] = True, cell in said and own == labels, bool(own and labels)
        for side, ids in enumerate((own & labels, own, labels)):
            steps[side][cell] = len(ids)
            for error in ids:
                if kind_of(error) in column:  # a baseline may name a kind that neither labels nor judge ever give
                    by_kind[side, cell[0], column[kind_of(error)]] += 1
        for side, ids in enumerate((labels, own)):
            category = tuple(sorted(map(kind_of, ids)))
            codes[side][cell] = categories.setdefault(category, len(categories))
    both, by_judge, by_labels = steps
    needs = "" if judged.any() else NO_LABELS
    stats = {
        "precision": ratio(both, by_judge, needs or _NONE_NAMED),
        "recall": ratio(both, by_labels, needs or _NONE_STATED),
        "f1": ratio(2 * both, by_judge + by_labels, needs or f"{_NONE_STATED} {_NONE_NAMED}"),
        "exact": ratio(exact, judged, needs),
        "macro_f1": Stat(
            np.concatenate(list(by_kind), axis=1), _macro_f1, int(judged.sum()) if kinds else 0, needs or _NONE_STATED
        ),
        "kappa": nominal_kappa_stat(codes[0], codes[1], judged, needs),
        "reason_kappa": nominal_kappa_stat(codes[0], codes[1], why, needs or _NEVER_BOTH),
    }
    for kind, place in column.items():
        hits, claims, truth = by_kind[:, :, place]
        stats[f"precision {kind}"] = ratio(hits, claims, "The judge never names it.")
        stats[f"recall {kind}"] = ratio(hits, truth, "The labels never state it.")
        counts = np.stack([hits, claims, truth], axis=1)
        stats[f"f1 {kind}"] = Stat(counts, _macro_f1, round(truth.sum() + claims.sum()))
    return stats


def _macro_f1(sums: FloatArray) -> FloatArray:
    """Mean F1 over the kinds that are given at all; ``sums[B, 3K]``: given by both, by the judge, by the labels."""
    both, by_judge, by_labels = np.split(sums, 3, axis=1)
    given = by_judge + by_labels
    each = np.divide(2 * both, given, out=np.zeros_like(both), where=given > 0)
    number = (given > 0).sum(axis=1)
    mean: FloatArray = np.divide(each.sum(axis=1), number, out=np.full(len(sums), np.nan), where=number > 0)
    return mean


def _without_video(
    stated: Named, shape: tuple[int, ...], errors: Sequence[Collection[str]], clusters: Clusters
) -> dict[str, Named]:
    """Errors named by judges that see no video, for the steps whose errors are known.

    ``none`` names none, ``every`` all that the rubric lists for the step. ``usual`` names those that pay: a step's
    errors that the labels of the *other* clusters state so often that naming them raises F1 there. ``usual_kind`` does
    so by kind alone, whatever the step: few labels tell more about seven kinds than about seven kinds of each step.
    """
    places = [(step, error) for step, ids in enumerate(errors) for error in sorted(ids)]
    known, made = (np.zeros((shape[0], len(places))) for _ in range(2))
    for place, (step, error) in enumerate(places):
        for row in range(shape[0]):
            if (row, step) in stated:
                known[row, place], made[row, place] = 1, error in stated[row, step]
    kinds = np.unique([kind_of(error) for _, error in places], return_inverse=True)[1]

    def usual(group: NDArray[np.intp]) -> dict[tuple[int, int], frozenset[str]]:
        """Named errors by cell; errors of one ``group`` (a number for each of ``places``) are named or not together."""
        said: dict[tuple[int, int], frozenset[str]] = {}
        for cluster in np.unique(clusters):
            others = clusters != cluster
            times, among = (np.bincount(group, side[others].sum(axis=0)) for side in (made, known))
            rate = np.divide(times, among, out=np.zeros_like(times), where=among > 0)
            best_first = np.argsort(-rate, kind="stable")
            f1 = 2 * np.cumsum(times[best_first]) / np.maximum(np.cumsum(among[best_first]) + times.sum(), 1)
            pays = (rate >= rate[best_first[np.argmax(f1)]]) & (rate > 0)
            names: dict[int, set[str]] = {}
            for (step, error), number in zip(places, group, strict=True):
                names.setdefault(step, set()).update([error] if pays[number] else [])
            said |= {cell: frozenset(names.get(cell[1], ())) for cell in stated if clusters[cell[0]] == cluster}
        return said

    return {
        "none": dict.fromkeys(stated, frozenset()),
        "every": {cell: frozenset(errors[cell[1]]) for cell in stated},
        **({"usual": usual(np.arange(len(places))), "usual_kind": usual(kinds)} if places else {}),
    }
