"""Cross-fitting: each step of a video is judged by a regression that saw no video of its cluster."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.benchmark.clusters import clusters_of
from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.parsing import Parsed
from siming_tasks.benchmark.record import SUPERVISED, Conditions, Record
from siming_tasks.benchmark.tasks import TASKS, benchmark_task
from siming_tasks.benchmark.types import ANSWERS
from siming_tasks.common.errors import DataError, MediaError
from siming_tasks.data import Dataset
from siming_tasks.media import Policy, view
from siming_tasks.options import Options
from siming_tasks.study.results.read_predictions import write_predictions
from siming_tasks.tools.baseline.backbone import Backbone

FOLDS, INNER = 5, 3
"""Most folds, and folds within the training videos in which the strength of the penalty is chosen."""

SETTINGS = tuple(benchmark_task("clip", answer).name for answer in ANSWERS)

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Clip:
    """A step's clip: its mean features, and which frames they are of, as a record says it."""

    features: NDArray[np.float32]
    media: Mapping[str, Any]


@dataclass(frozen=True)
class Baseline:
    """Facts about a baseline that was written.

    Attributes:
        folds: number of folds.
        unit: what is never on both sides of one: the data set's cluster.
        clusters: number of clusters.
        unlearned: number of answers that are missing, for want of a label outside of their fold.
        unreadable: why which videos could not be shown; they are neither learnt from nor judged.
    """

    folds: int
    unit: str
    clusters: int
    unlearned: int
    unreadable: tuple[str, ...]


def write_baseline(
    dataset: Dataset,
    options: Options,
    backbone: Backbone,
    out: Path,
    watched: Callable[[Iterable[Video]], Iterable[Video]] = iter,
) -> Baseline:
    """Judge every step that has a clip by what the videos of other clusters teach, and write a prediction file.

    Args:
        dataset: the exams, with the labels to learn from.
        options: of the run: which frames, where the cache is.
        backbone: gives the features.
        out: the prediction file.
        watched: shows progress over the videos.

    Raises:
        DataError: the labels are withheld, there is one cluster only, or no clip can be shown.
    """
    if dataset.withheld:
        raise DataError(f"{dataset.root}: the labels are withheld, so there is nothing to train on. Give --labels.")
    clusters = clusters_of(dataset)
    if persons := [unit for unit in clusters.fixed if unit != "site"]:  # too few for an interval, but not independent
        clusters = clusters_of(dataset, persons[-1])
    count = len(set(clusters.names.values()))
    if count < 2:
        raise DataError(f"{dataset.root}: all videos are of one {clusters.unit}, so nothing is left to train on.")
    folds = min(FOLDS, count)
    clips: dict[tuple[str, str], Clip] = {}
    unreadable = []
    for video in watched(dataset.videos):
        try:
            clips |= {(video.video_id, step): clip for step, clip in _clips(dataset, video, backbone, options)}
        except MediaError as error:
            unreadable.append(f"{video.video_id}: {error}")
    if not clips:
        raise DataError(f"{dataset.root}: no step has a clip that can be shown. {' '.join(unreadable[:1])}".rstrip())
    judge = {"kind": SUPERVISED, "backbone": backbone.name, "folds": folds, "unit": clusters.unit}
    answers = _answers(dataset, clips, clusters.names, folds)
    write_predictions(_records(dataset, clips, answers, judge), out)
    return Baseline(folds, clusters.unit, count, len(clips) - len(answers), tuple(unreadable))


def _clips(dataset: Dataset, video: Video, backbone: Backbone, options: Options) -> Iterator[tuple[str, Clip]]:
    """Features of each step's clip: of exactly the frames that a model is shown under these options."""
    policy = Policy.of(options)
    digest = dataset.media_digest(video, options.cache_dir)
    asked = {step: policy.request(video.duration, video.step(step).span, "clip") for step in video.timed_ids}
    for step, request in asked.items():
        shown = view(
            dataset.media_path(video),
            digest=digest,
            span=request.span,
            frames=request.frames,
            cache=options.cache_dir,
            size=policy.frame_size,
            cache_gb=options.cache_gb,
            also=asked.values,
            sampler=request.sampler,
        )
        yield step, Clip(backbone.features(shown.images()), {**shown.info(), "density": policy.density_of("clip")})


def _answers(
    dataset: Dataset, clips: Mapping[tuple[str, str], Clip], clusters: Mapping[str, str], folds: int
) -> dict[tuple[str, str], float]:
    """Points by video and step, each from the folds that its cluster is not in; absent where these have no label."""
    from sklearn.model_selection import GroupKFold

    videos = [video.video_id for video in dataset.videos]
    groups = np.array([clusters[name] for name in videos])
    parts = list(GroupKFold(folds).split(videos, groups=groups))
    answers: dict[tuple[str, str], float] = {}
    for step in dataset.rubric.steps:
        shown = np.array([(name, step.id) in clips for name in videos])
        points = [v.step(step.id).consensus if step.id in v.applicable_ids else None for v in dataset.videos]
        labels = np.array(points, float)  # None becomes NaN
        for outside, inside in parts:
            train = outside[shown[outside] & ~np.isnan(labels[outside])]
            test = inside[shown[inside]]
            if len(train) and len(test):
                features, new = (np.stack([clips[videos[k], step.id].features for k in some]) for some in (train, test))
                found = predict(features, labels[train], groups[train], new)
                answers |= {(videos[k], step.id): float(value) for k, value in zip(test, found, strict=True)}
    return answers


def predict(train: NDArray[np.float32], labels: _Floats, groups: NDArray[Any], test: NDArray[np.float32]) -> _Floats:
    """The likeliest points of some clips, by a logistic regression on others.

    The strength of its penalty is chosen by log loss in those folds of the training clusters that have every level of
    the points on both sides; without such a fold, it is scikit-learn's default. If there is only one level, it is
    predicted.

    Args:
        train: features, shape (clips, width).
        labels: their points.
        groups: their clusters.
        test: features of the clips to be judged.
    """
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
    from sklearn.model_selection import GroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    levels, classes = np.unique(labels, return_inverse=True)
    if len(levels) == 1:
        return np.full(len(test), levels[0])
    inner = min(INNER, len(set(groups)))
    splits = list(GroupKFold(inner).split(train, groups=groups)) if inner > 1 else []
    whole = [(a, b) for a, b in splits if len(set(classes[a])) == len(set(classes[b])) == len(levels)]
    how: dict[str, Any] = {"max_iter": 1000}
    head = LogisticRegressionCV(cv=whole, scoring="neg_log_loss", **how) if whole else LogisticRegression(**how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of defaults that other releases have
        fitted = make_pipeline(StandardScaler(), head).fit(train.astype(np.float64), classes)
    points: _Floats = levels[fitted.predict(test.astype(np.float64))]
    return points


def _records(
    dataset: Dataset,
    clips: Mapping[tuple[str, str], Clip],
    answers: Mapping[tuple[str, str], float],
    judge: Mapping[str, Any],
) -> Iterator[Record]:
    """Records of the clips that were shown: their points, and as verdict whether these are below the maximum."""
    for setting in SETTINGS:
        for (video, step), clip in clips.items():
            points = answers.get((video, step))
            if points is None:
                parsed = Parsed("wrong_keys", {}, {step: "absent"})
            elif TASKS[setting].answer == "score":
                parsed = Parsed("ok", {step: points})
            else:
                parsed = Parsed("ok", {step: float(points < dataset.rubric.by_id[step].max_score)})
            conditions = Conditions(dataset=dataset.digest, media=clip.media, judge=judge)
            yield Record.from_reply(setting, video, step, parsed, conditions)
