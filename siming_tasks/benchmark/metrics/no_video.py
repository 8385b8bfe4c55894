"""No-video baselines: constants, what each step usually gets, also within stated columns, shuffles, a stop-watch.

A judge that agrees no better than the best of them has shown nothing. What needs labels takes those of other clusters
alone, so that none of them knows the exam that it judges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.benchmark.metrics.catalogue import labels_of, statistic
from siming_tasks.benchmark.metrics.classification import ratio
from siming_tasks.benchmark.metrics.correlation import average_ranks
from siming_tasks.benchmark.metrics.jackknife import Jackknifed, cluster_numbers, jackknifed, wrong_steps
from siming_tasks.benchmark.metrics.reasons import Reason
from siming_tasks.benchmark.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.benchmark.metrics.thresholds import NOISE
from siming_tasks.common.choices import LabelMapping

TREES, LEAF, MOST_CELLS = 200, 5, 10_000
"""Trees of the clock, the fewest steps in a leaf, and the most steps that it learns from."""
LEAST_CLUSTERS, MOST_VALUES, LEAK = 3, 20, 0.9
"""Clusters that a value of a column must be in for a prior within it, most such values, and the area under the ROC
curve above which a column is a label in disguise."""


def always_correct(matrix: ScoreMatrix) -> FloatArray:
    """Full points (or "correct") for every step."""
    return np.broadcast_to(matrix.max_score if matrix.answer == "score" else 0.0, matrix.asked.shape)


def always_failed(matrix: ScoreMatrix) -> FloatArray:
    """No points (or "wrong") for any step."""
    return np.broadcast_to(0.0 if matrix.answer == "score" else 1.0, matrix.asked.shape)


def step_prior(matrix: ScoreMatrix, *, within: Sequence[str] = ()) -> FloatArray:
    """Points that each step usually gets, from the labels of the other clusters.

    Steps are ordered by their mean share of points in the other clusters, and the k-th of S steps is given the
    (k - 1/2) / S quantile of all shares there: matching the spread of the labels is what makes its kappa large.

    Args:
        matrix: the questions and their labels.
        within: the group of each video, V names: only labels of the same group are known.
    """
    known, steps = matrix.counted, len(matrix.step_ids)
    share = np.where(known, matrix.reference / matrix.max_score, 0.0)
    levels, level = np.unique(share, return_inverse=True)
    pairs = list(zip(within or [""] * len(share), matrix.clusters, strict=True))
    names = sorted(set(pairs))
    place = {pair: number for number, pair in enumerate(names)}
    code = np.array([place[pair] for pair in pairs], np.intp)
    held = np.zeros((len(names), steps, len(levels)))  # labels of each cluster
    video, step = np.nonzero(known)
    np.add.at(held, (code[video], step, level.reshape(share.shape)[video, step]), 1.0)
    of_group: dict[str, FloatArray] = {}
    for (group, _), own in zip(names, held, strict=True):
        of_group[group] = of_group.get(group, 0.0) + own
    given, middles = np.full((len(names), steps), np.nan), (np.arange(steps) + 0.5) / steps
    for number, (group, _) in enumerate(names):
        others = of_group[group] - held[number]
        sizes = others.sum(axis=1)
        if sizes.any():
            # unknown steps rank last; one rounding, so that three thirds are one whole
            usual = np.where(sizes > 0, ratio(others @ levels, sizes), np.inf).round(9)
            reached = np.searchsorted(np.cumsum(others.sum(axis=0)), middles * sizes.sum() - 1e-9)
            given[number, np.argsort(usual, kind="stable")] = levels[reached]
    return _answers(matrix, given[code])


def prior_within(matrix: ScoreMatrix, column: str) -> FloatArray:
    """The step prior among the other clusters with the same value of a column, such as the site or the year.

    Values with fewer than :data:`LEAST_CLUSTERS` clusters have the step prior. Of a student it knows the labels of the
    student's other performances, though they are of the same cluster.
    """
    plain, values = step_prior(matrix), _columns(matrix)[column]
    if column == "student":
        performances = matrix.columns.get("performance", matrix.video_ids)
        own = step_prior(replace(matrix, clusters=performances, unit="performance"), within=values)
        return np.where(np.isnan(own) | (np.array(values) == "")[:, None], plain, own)
    within = np.isin(values, _frequent(matrix, column))[:, None]
    return np.where(within, step_prior(matrix, within=values), plain)


def _columns(matrix: ScoreMatrix) -> dict[str, tuple[str, ...]]:
    """Values of what the data state of each video, by column."""
    return ({"site": matrix.sites} if matrix.sites else {}) | dict(matrix.columns)


def _frequent(matrix: ScoreMatrix, column: str) -> list[str]:
    """Values of a column that are in enough clusters; none if these are not 2 to 20."""
    pairs = {*zip(_columns(matrix)[column], matrix.clusters, strict=True)}
    often = Counter(value for value, _ in pairs)
    values = sorted(value for value in often if often[value] >= LEAST_CLUSTERS)
    return values if 2 <= len(values) <= MOST_VALUES else []


def used_and_leaking_columns(matrix: ScoreMatrix) -> tuple[list[str], dict[str, float]]:
    """Columns within which there is a prior; and those that are labels in disguise, with the area of their prior.

    A column is left out if how often a step goes wrong in the other clusters with the same value tells what goes wrong
    with an area under the ROC curve above :data:`LEAK`, and the same without the column does not.
    """
    used, leaks = [], dict[str, float]()
    usual = _area(matrix, ("",) * len(matrix.video_ids))
    for column, values in _columns(matrix).items():
        named = Counter(value for value in values if value)
        if column == "student" and max(named.values(), default=0) > 1 and len(named) > 1:
            used.append(column)
        elif column not in ("student", "performance") and _frequent(matrix, column):
            area = _area(matrix, values)
            if area > LEAK >= usual:
                leaks[column] = area
            else:
                used.append(column)
    return used, leaks


def _area(matrix: ScoreMatrix, values: Sequence[str]) -> float:
    """Area under the ROC curve of how often a step is wrong in the other clusters with the same value."""
    known, wrong = matrix.counted, matrix.reference_wrong & matrix.counted
    value = np.unique(np.asarray(values), return_inverse=True)[1]
    pair = np.unique(np.stack([value, cluster_numbers(matrix)], axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    sums: list[FloatArray] = []
    for cells in (wrong, known):
        of_value, of_pair = (np.zeros((int(code.max()) + 1, cells.shape[1])) for code in (value, pair))
        np.add.at(of_value, value, cells)
        np.add.at(of_pair, pair, cells)
        sums.append(of_value[value] - of_pair[pair])
    rate = ratio(*sums)
    there = known & ~np.isnan(rate)
    ranks, bad = average_ranks(rate[there].round(9)), wrong[there]
    ones, zeros = int(bad.sum()), int((~bad).sum())
    return float((ranks[bad].sum() - ones * (ones + 1) / 2) / (ones * zeros)) if ones and zeros else 0.5


def clock(matrix: ScoreMatrix) -> FloatArray:
    """Points by the seconds of steps, of the pauses around them and of the video, learnt from the other clusters.

    Each tree is grown on half of the clusters, and a cluster is judged by the trees that were grown without it. The
    same trees judge the other clusters, each by those that were grown without it too: a step that is above k of the n
    steps there is given the k-th of their n labels in order. Clusters are drawn in the order of their seconds, so that
    neither names nor the order of the rows decide.
    """
    share = np.where(matrix.counted, matrix.reference / matrix.max_score, np.nan)
    share = share if matrix.answer == "score" else np.where(np.isnan(share), np.nan, share >= 1)
    given, order, cluster = np.full(share.shape, np.nan), *_order(matrix, share)
    seconds, share, number = _seconds(matrix)[order], share[order], int(cluster.max(initial=-1)) + 1
    video, step = np.nonzero(~np.isnan(share))
    rng = np.random.default_rng(0)
    if len(video) > MOST_CELLS:  # steps of thousands of exams teach it no more
        kept = np.sort(rng.choice(len(video), MOST_CELLS, replace=False))
        video, step = video[kept], step[kept]
    drawn = np.array([rng.permutation(number) < number // 2 for _ in range(TREES)])
    labels, of = share[video, step], cluster[video]
    guess, mine = _trees(seconds, labels, (video, step), drawn, cluster)
    away = (~drawn[:, of]).astype(np.float64)
    for own in range(number):
        without, here = (~drawn[:, own]).astype(np.float64), cluster == own
        times = without @ away
        seen = (of != own) & (times > 0)
        if seen.any():
            theirs = np.sort(ratio(without @ (guess * away), times)[seen].round(9))
            above = np.searchsorted(theirs, mine[here].round(9))
            given[order[here]] = np.sort(labels[seen])[np.maximum(above, 1) - 1]
    return _answers(matrix, given)


def _order(matrix: ScoreMatrix, share: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Videos in the order of their clusters by seconds, then labels, and the number of each's cluster."""
    content = np.hstack([_seconds(matrix).reshape(len(share), -1), np.nan_to_num(share, nan=-1.0)])
    place = np.unique(content, axis=0, return_inverse=True)[1].reshape(-1)
    groups = cluster_numbers(matrix)
    held = sorted(range(matrix.n_clusters), key=lambda group: sorted(place[groups == group]))
    number = np.argsort(held)[groups]
    order = np.lexsort([place, number])
    return order, number[order]


def _trees(
    seconds: FloatArray,
    labels: FloatArray,
    cells: tuple[NDArray[np.intp], NDArray[np.intp]],
    drawn: BoolArray,
    cluster: NDArray[np.intp],
) -> tuple[FloatArray, FloatArray]:
    """Guesses of trees, each taught by the clusters ``drawn`` for it, at the cells with a label, ``float[T, cells]``.

    At every step also the mean guess of those that do not know its cluster, ``float[V, S]``.
    """
    from sklearn.tree import ExtraTreeRegressor

    guess, sums, times = np.zeros((len(drawn), len(labels))), np.zeros(seconds.shape[:2]), np.zeros(seconds.shape[:2])
    for number, clusters in enumerate(drawn):
        taught, steps = clusters[cluster[cells[0]]], seconds.shape[1]
        if not taught.any():
            clusters[:] = True  # nobody asks a tree that knows no label
            continue
        held, sizes = np.zeros((2, steps))
        np.add.at(held, cells[1][taught], labels[taught])
        np.add.at(sizes, cells[1][taught], 1.0)
        usual = np.broadcast_to(np.where(sizes > 0, ratio(held, sizes), 1.0)[:, None], (*sums.shape, 1))
        rows = np.concatenate([seconds, usual], axis=2)
        tree = ExtraTreeRegressor(min_samples_leaf=LEAF, max_features=0.6, random_state=number)
        said = tree.fit(rows[cells][taught], labels[taught]).predict(rows.reshape(-1, rows.shape[2]))
        said = said.reshape(sums.shape)
        guess[number], unknown = said[cells], ~clusters[cluster][:, None]
        sums, times = sums + said * unknown, times + unknown
    return guess, ratio(sums, times)


def _seconds(matrix: ScoreMatrix) -> FloatArray:
    """Features of the clock, ``float[V, S, 6]``: length, start, end, pauses before and after, seconds of the video."""
    nothing = np.full((*matrix.asked.shape, 2), np.nan)
    start, end = np.moveaxis(nothing if matrix.spans is None else np.round(matrix.spans, 1), 2, 0)
    durations = np.full(len(start), np.nan) if matrix.durations is None else matrix.durations
    length = np.broadcast_to(np.round(durations, 1)[:, None], start.shape)
    before, after = np.full(start.shape, np.nan), np.full(start.shape, np.nan)
    order = np.argsort(np.where(np.isnan(start), np.inf, start), axis=1, kind="stable")
    first, last = (np.take_along_axis(side, order, axis=1) for side in (start, end))
    pause = first[:, 1:] - last[:, :-1]
    np.put_along_axis(before, order[:, 1:], pause, axis=1)
    np.put_along_axis(after, order[:, :-1], pause, axis=1)
    features: FloatArray = np.nan_to_num(np.stack([end - start, start, end, before, after, length], axis=2), nan=-1e6)
    return features


def _answers(matrix: ScoreMatrix, share: FloatArray) -> FloatArray:
    """Points, or verdicts, of shares of the points."""
    points: FloatArray = (share * matrix.max_score).round(9)
    return points if matrix.answer == "score" else np.where(np.isnan(share), np.nan, share < 1)


JUDGES: Mapping[str, tuple[Callable[[ScoreMatrix], FloatArray], str]] = {
    "always-correct": (always_correct, 'full points (or "correct") for every step'),
    "always-failed": (always_failed, 'no points (or "wrong") for any step'),
    "step-prior": (step_prior, "what each step usually gets in the other videos"),
    "clock": (clock, "what the seconds of steps, pauses and video tell, learnt from the other videos"),
}
"""Judges that need no run and no stated column: their answers to the questions of a matrix, and a description."""
WITHIN = "step-prior-within-"
"""Names of the priors within a stated column begin with this."""
CONSTANT = ("always-correct", "always-failed")
"""Judges that learn nothing."""
SHUFFLED = "shuffled-answers"
"""Name of the judge's own answers, given to other videos of the same site."""


def no_video_baselines(matrix: ScoreMatrix) -> dict[str, ScoreMatrix]:
    """Answers of every judge that can judge these data, with full points (or "correct") where one knows nothing."""
    timed = matrix.spans is not None or matrix.durations is not None
    made = {name: judge(matrix) for name, (judge, _) in JUDGES.items() if timed or name != "clock"}
    made |= {f"{WITHIN}{column}": prior_within(matrix, column) for column in used_and_leaking_columns(matrix)[0]}
    judges = {name: matrix.predicting(answers) for name, answers in made.items()}
    return {name: judge.imputed() for name, judge in judges.items() if judge.answered.any()}


def shuffled_answers(matrix: ScoreMatrix, key: str, mapping: LabelMapping = "absolute") -> Jackknifed | None:
    """A metric of a judge's own answers, exchanged between videos within each step and site: in exact expectation.

    The expected counts of a step at a site are the product of its margins over its size. None for the correlations of
    totals, which are 0 in expectation.
    """
    if key in ("plcc", "srcc"):
        return None
    k, known = 4 if key == "qwk" else 2, matrix.counted & matrix.answered
    sides = labels_of(matrix, mapping) if key == "qwk" else (matrix.reference_wrong, matrix.predicted_wrong)
    groups = cluster_numbers(matrix)
    sites, site = np.unique(np.asarray(matrix.sites or [""] * len(known)), return_inverse=True)
    whole, without = np.zeros(k * k), np.zeros((matrix.n_clusters, k * k))
    for here in range(len(sites)):
        rows = site == here
        own, place = np.unique(groups[rows], return_inverse=True)  # the clusters that have a video at this site
        held = [_margins(side[rows], known[rows], k, place, len(own)) for side in sides]
        expected = _expected(*(side.sum(axis=0, keepdims=True) for side in held))[0]
        whole, without = whole + expected, without + expected
        without[own] += _expected(*(side.sum(axis=0) - side for side in held)) - expected
    function = statistic(key, mapping).function  # type: ignore[attr-defined]
    without[np.abs(without) < NOISE] = 0.0  # a rest of rounding is no count
    value, rests = float(function(whole)), np.asarray(known.any(axis=1))
    how = {"range": (-1.0, 1.0), "scale": "logit", "errors": wrong_steps(matrix)}
    return jackknifed(matrix, value, function(without), rests, groups, why=Reason.NOT_SHUFFLED, **how)


def _margins(side: NDArray[Any], known: BoolArray, k: int, groups: NDArray[np.intp], number: int) -> FloatArray:
    """Counts of each label in each step of each group of videos, ``float[G, S, k]``."""
    held = np.zeros((number, known.shape[1], k))
    video, step = np.nonzero(known)
    np.add.at(held, (groups[video], step, side[video, step].astype(np.int64)), 1.0)
    return held


def _expected(reference: FloatArray, predicted: FloatArray) -> FloatArray:
    """Expected confusion counts of shuffled steps, from margins ``float[G, S, k]`` to ``float[G, k * k]``."""
    size = np.maximum(reference.sum(axis=2, keepdims=True), 1)
    counts: FloatArray = np.einsum("gsi,gsj->gij", reference / size, predicted)
    return counts.reshape(len(reference), -1)
