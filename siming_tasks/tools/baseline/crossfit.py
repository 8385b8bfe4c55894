"""Cross-fitting: every video is judged by heads that saw neither it nor anything of its group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.data import Dataset
from siming_tasks.data.minimal_pairs import minimal_pairs_of
from siming_tasks.tools.baseline.heads import STRENGTHS, head

__all__ = ["StepJudgments", "cross_fitted", "folds_of", "groups_of"]


@dataclass(frozen=True)
class StepJudgments:
    """Answers of the heads of one step for every video.

    Attributes:
        points: the median of what is likely, NaN where nothing could be trained.
        wrong: whether points below the maximum are likelier than the maximum, which is when the median lies there.
        constant: how many folds have one label only, which is then what they say.
        untrained: how many have no label at all.
        unchosen: how many have too few to choose the strength of their penalty, and take the default.
        strengths: of the others and of these, fold by fold.
    """

    points: NDArray[np.float64]
    wrong: NDArray[np.bool_]
    constant: int
    untrained: int
    unchosen: int = 0
    strengths: tuple[float, ...] = ()


def groups_of(dataset: Dataset, digests: Mapping[str, str], group: str | None) -> NDArray[np.int64]:
    """The group of every video: what is in one group is never on both sides of a fold.

    One group are videos with the same file, counterfactual minimal_pairs, and those that share what ``group`` names.

    Args:
        dataset: the exams.
        digests: of every video's file.
        group: ``student``, ``site`` or None.

    Raises:
        DataError: a video does not say its student or site; or as :func:`siming_tasks.data.minimal_pairs.read_pairs`.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = {video.video_id: place for place, video in enumerate(dataset.videos)}
    tied = [(place, f"file {digests[name]}") for name, place in number.items()]
    tied += [
        (number[name], f"minimal_pairs {place}")
        for place, pair in enumerate(minimal_pairs_of(dataset))
        for name in pair
    ]
    for video in dataset.videos if group else ():
        value = video.site if group == "site" else video.extra.get(str(group))
        if value is None or value == "":
            fix = f"Add it to videos.jsonl, or leave --group {group} out."
            raise DataError(f"{dataset.root / 'videos.jsonl'}: video {video.video_id!r} has no `{group}`. {fix}")
        tied.append((number[video.video_id], f"{group} {value}"))
    names = {name: len(number) + place for place, name in enumerate(dict.fromkeys(name for _, name in tied))}
    rows, columns = [place for place, _ in tied], [names[name] for _, name in tied]
    size = len(number) + len(names)
    _, component = connected_components(
        coo_array((np.ones(len(rows)), (rows, columns)), shape=(size, size)), directed=False
    )
    return np.asarray(component[: len(number)], np.int64)


def folds_of(groups: Sequence[int] | NDArray[np.int64], folds: int) -> NDArray[np.int64]:
    """The fold of every video, 0 .. folds - 1.

    Raises:
        OptionsError: there are fewer groups than folds.
    """
    from sklearn.model_selection import GroupKFold

    count = len(set(np.asarray(groups).tolist()))
    if not 2 <= folds <= count:
        fix = "Give fewer." if count >= 2 else "Cross-fitting needs at least two."
        raise OptionsError(f"--folds {folds}: there are {count} groups of videos that can be kept apart. {fix}")
    fold = np.zeros(len(groups), np.int64)
    for number, (_, held_out) in enumerate(GroupKFold(folds).split(np.zeros(len(groups)), groups=groups)):
        fold[held_out] = number
    return fold


def cross_fitted(
    features: NDArray[np.float32],
    labels: NDArray[np.float64],
    fold: NDArray[np.int64],
    top: float,
    groups: NDArray[np.int64] | None = None,
    strengths: Sequence[float] = STRENGTHS,
) -> StepJudgments:
    """Predictions of one step: a :func:`~siming_tasks.tools.baseline.heads.head` for each fold, trained on the others.

    Args:
        features: shape (videos, features).
        labels: points, NaN where there is none; such a video is judged, and trains nothing.
        fold: of every video.
        top: the step's maximum.
        groups: of every video, as :func:`groups_of` has it; None: each by itself. Never on both sides of a split inside
            the training videos.
        strengths: to choose from.
    """
    from threadpoolctl import threadpool_limits

    groups = np.arange(len(labels)) if groups is None else groups
    points = np.full(len(labels), np.nan)
    constant = untrained = unchosen = 0
    used = []
    for number in np.unique(fold):
        train, test = (fold != number) & ~np.isnan(labels), fold == number
        levels = np.unique(labels[train])
        if len(levels) == 0:
            untrained += 1
        elif len(levels) == 1:
            constant += 1
            points[test] = levels[0]
        else:
            with threadpool_limits(1):  # matrices so small that several threads take ten times as long
                predicted = head(features[train], labels[train], groups[train], features[test], strengths)
            points[test] = predicted.points
            unchosen += not predicted.chosen
            used.append(predicted.strength)
    return StepJudgments(points, points < top, constant, untrained, unchosen, tuple(used))
