"""Cross-fitting: every video is judged by heads that saw neither it nor anything of its group.

A head is proportional odds over the levels of a step's points, with a penalty chosen on its own training videos.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.schema import Scope, Video
from siming_tasks.data import Dataset
from siming_tasks.data.clusters import tied_together
from siming_tasks.data.minimal_pairs import minimal_pairs_of
from siming_tasks.options import Options

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Variances, before anything is learnt, of a video's log odds: from a head that learns next to nothing upwards."""

INNER = 3
"""Folds within the training videos in which the strength is chosen."""

_DEFAULT = 3.0
_LEVEL_SPREAD = 3.0
"""Standard deviation, beforehand, of how far apart the levels stand in log odds: hardly a limit."""

T = TypeVar("T")
Watched = Callable[[list[T], str], Iterable[T]]
"""Is given a list and what its members are, and gives them back one by one, such as a progress bar."""

Key = tuple[Scope, str]
"""A scope and a step."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Exams:
    """Exams with labels, dealt into folds: digests of their files by video id, group and fold of every video.

    With ``tune``, the validation videos of a split, fold 0 is its training part, 1 its test part, -1 all else.
    """

    dataset: Dataset
    options: Options
    digests: Mapping[str, str]
    groups: NDArray[np.int64]
    fold: NDArray[np.int64]
    watched: Watched[Any]
    tune: NDArray[np.bool_] | None = None

    @property
    def judged_folds(self) -> list[int]:
        """Folds whose videos are judged: all, or of a split the test part alone (fold 1)."""
        return np.unique(self.fold).tolist() if self.tune is None else [1]

    def questions(self) -> list[Key]:
        """All that can be asked."""
        scopes: tuple[Scope, ...] = ("full", "clip")
        return [(scope, step.id) for scope in scopes for step in self.dataset.rubric.steps]

    def asked(self, key: Key, shown: Mapping[str, Any]) -> Iterator[tuple[int, Video]]:
        """The videos, with their places, that are asked about this and can be shown."""
        scope, step = key
        for place, video in enumerate(self.dataset.videos):
            if video.video_id in shown and step in (video.applicable_ids if scope == "full" else video.timed_ids):
                yield place, video


@dataclass(frozen=True)
class StepJudgments:
    """Answers of the heads of one step for every video.

    Attributes:
        points: the median of what is likely, NaN where nothing could be trained.
        wrong: whether points below the maximum are likelier than the maximum, which is when the median lies there.
        constant: number of folds with one label only, which is then what they say.
        untrained: number of those without any label.
        unchosen: number of those with too few to choose the strength of their penalty; they take the default.
        strengths: fold by fold, where a head was trained.
    """

    points: Array
    wrong: NDArray[np.bool_]
    constant: int
    untrained: int
    unchosen: int = 0
    strengths: tuple[float, ...] = ()


@dataclass(frozen=True)
class BaselineResult:
    """Result of training and judging.

    By scope and step, what is said, and of which videos (their places); by video id, the frames shown; why which videos
    could not be shown; and how it was made, for the prediction file.
    """

    judged: Mapping[Key, tuple[StepJudgments, list[int]]]
    media: Mapping[str, Mapping[str, Mapping[str, Any]]]
    unreadable: tuple[str, ...]
    facts: Mapping[str, Any]


def groups_of(dataset: Dataset, digests: Mapping[str, str], group: str | None) -> NDArray[np.int64]:
    """The group of every video: what is in one group is never on both sides of a fold.

    One group are videos with the same file, counterfactual minimal pairs, and those that share what ``group`` names:
    ``student``, ``site`` or None.

    Raises:
        DataError: a video does not say its student or site; or as :func:`siming_tasks.data.minimal_pairs.read_pairs`.
    """
    ties: dict[str, list[tuple[str, str]]] = {video.video_id: [] for video in dataset.videos}
    for name, tied in ties.items():
        tied.append(("file", digests[name]))
    for place, pair in enumerate(minimal_pairs_of(dataset)):
        for name in pair:
            ties[name].append(("pair", str(place)))
    for video in dataset.videos if group else ():
        value = video.site if group == "site" else video.extra.get(str(group))
        if value is None or value == "":
            fix = f"Add it to videos.jsonl, or leave --group {group} out."
            raise DataError(f"{dataset.root / 'videos.jsonl'}: video {video.video_id!r} has no `{group}`. {fix}")
        ties[video.video_id].append((str(group), str(value)))
    first = tied_together(ties, [ties])
    number = {name: place for place, name in enumerate(dict.fromkeys(first.values()))}
    return np.array([number[first[name]] for name in ties], np.int64)


def folds_of(groups: Sequence[int] | NDArray[np.int64], folds: int) -> NDArray[np.int64]:
    """The fold of every video, 0 .. folds - 1 (OptionsError: there are fewer groups than folds)."""
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
    labels: Array,
    fold: NDArray[np.int64],
    top: float,
    groups: NDArray[np.int64] | None = None,
    strengths: Sequence[float] = STRENGTHS,
    tune: NDArray[np.bool_] | None = None,
) -> StepJudgments:
    """Predictions of one step: a :func:`head` for each fold, trained on the others.

    Of a split (``tune`` is given) one head is trained on fold 0 and judges fold 1; all else has no prediction.

    Args:
        features: shape (videos, features).
        labels: points, NaN where there is none; such a video is judged, and trains nothing.
        fold: of every video.
        top: the step's maximum.
        groups: of every video, never on both sides of a split inside the training videos; None: each by itself.
        strengths: to choose from.
        tune: videos of a split's validation part, on which the strength is chosen.
    """
    from threadpoolctl import threadpool_limits

    groups = np.arange(len(labels)) if groups is None else groups
    points = np.full(len(labels), np.nan)
    constant = untrained = unchosen = 0
    used = []
    for number in np.unique(fold) if tune is None else (1,):
        train, test = (fold != number if tune is None else fold == 0) & ~np.isnan(labels), fold == number
        held = None if tune is None else tune & ~np.isnan(labels)
        levels = np.unique(labels[train])
        if len(levels) == 0:
            untrained += 1
        elif len(levels) == 1:
            constant += 1
            points[test] = levels[0]
        else:
            with threadpool_limits(1):  # matrices so small that several threads take ten times as long
                points[test], strength, chosen = head(
                    features[train], labels[train], groups[train], features[test], strengths,
                    held=None if held is None else (features[held], labels[held]),
                )  # fmt: skip
            unchosen += not chosen
            used.append(strength)
    return StepJudgments(points, points < top, constant, untrained, unchosen, tuple(used))


def head(
    train: NDArray[np.float32],
    labels: Array,
    groups: NDArray[np.int64],
    test: NDArray[np.float32],
    strengths: Sequence[float] = STRENGTHS,
    held: tuple[NDArray[np.float32], Array] | None = None,
) -> tuple[Array, float, bool]:
    """Train on some videos, and say what others have. Nothing of the others is used, for the choice neither.

    For each level but the lowest, one logistic regression tells how likely the points reach it; all levels share the
    slopes, so that a label of 4 of 5 points is nearer to 5 than to 1. The strength is the one with the least log loss
    on training videos that were held out, group by group; the smaller one of two that do as well.

    Args:
        train: features of the training videos, shape (videos, features).
        labels: their points, at least two different ones.
        groups: of them; what is in one is held out together.
        test: features of the videos to be judged.
        strengths: to choose from, ascending.
        held: features and labels of the videos on which the strength is chosen; None: training videos, held out.

    Returns:
        The median of the likely points for each video of ``test``; the strength; and whether that could be chosen.
    """
    from sklearn.model_selection import GroupKFold

    levels = np.unique(labels)
    reached = labels[:, None] >= levels[1:]
    losses = np.zeros(len(strengths))
    if held is not None:
        usable = [(train, reached, held[0], held[1][:, None] >= levels[1:])] if len(held[1]) else []
    else:
        count = min(INNER, len(np.unique(groups)))
        splits = list(GroupKFold(count).split(train, groups=groups)) if count > 1 and len(strengths) > 1 else []
        usable = [(train[inside], reached[inside], train[out], reached[out])
                  for inside, out in splits if len(np.unique(labels[inside])) > 1]  # fmt: skip
    for inside, known, out, truth in usable:
        seen, unseen = _rotated(inside, out)
        for place, strength in enumerate(strengths):
            chance = _reach(seen, known, unseen, strength)
            losses[place] -= np.log(np.where(truth, chance, 1 - chance).clip(1e-9)).sum()
    chosen = bool(usable) or len(strengths) == 1
    best = strengths[int(losses.argmin())] if chosen else _DEFAULT
    seen, unseen = _rotated(train, test)
    return levels[(_reach(seen, reached, unseen, best) >= 0.5).sum(1)], best, chosen


def _rotated(train: NDArray[np.float32], test: NDArray[np.float32]) -> tuple[Array, Array]:
    """Standardised by the training videos, on the axes that these span, with a mean square length of 1.

    A penalty on the length of the slopes is the same on any axes, and slopes never leave the span of what they learnt
    from: nothing is lost, and thousands of features become as many as there are videos.
    """
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(train.astype(np.float64))
    known, new = (scaler.transform(some.astype(np.float64)) / np.sqrt(train.shape[1]) for some in (train, test))
    axes = np.linalg.svd(known, full_matrices=False)[2].T
    return known @ axes, new @ axes


def _reach(train: Array, reached: NDArray[np.bool_], test: Array, strength: float) -> Array:
    """Probability of each video to reach each level but the lowest, falling; shape (videos, levels - 1)."""
    from sklearn.linear_model import LogisticRegression

    step = _LEVEL_SPREAD / np.sqrt(strength)

    def rows(some: Array) -> Array:
        """One row for each video and level: its features, and which level it is."""
        marks: Any = step * np.eye(reached.shape[1])[:, 1:]
        return np.hstack([np.repeat(some, reached.shape[1], axis=0), np.tile(marks, (len(some), 1))])

    net = LogisticRegression(C=strength, solver="newton-cholesky", tol=1e-6, max_iter=200)
    net.fit(rows(train), reached.ravel())
    chance = net.predict_proba(rows(test))[:, 1].reshape(len(test), -1)
    return np.minimum.accumulate(chance, axis=1)
