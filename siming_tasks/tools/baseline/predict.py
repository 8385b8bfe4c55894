"""The whole baseline: folds, what is learnt in them, and a prediction file as any judge's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import DataError, MediaError
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.parsing import Parsed
from siming_tasks.results.read_predictions import write_predictions
from siming_tasks.results.record import SUPERVISED, SUPERVISED_BY_SPLIT, Conditions, Record
from siming_tasks.tasks import BENCHMARK_TASKS, TASKS
from siming_tasks.tasks.expected_requests import expected_requests, steps_of
from siming_tasks.tools.baseline.crossfit import (
    INNER,
    BaselineResult,
    Exams,
    Key,
    StepJudgments,
    Watched,
    cross_fitted,
    folds_of,
    groups_of,
)
from siming_tasks.tools.baseline.features import Backbone, Media, features_of
from siming_tasks.tools.baseline.official_split import OfficialSplit
from siming_tasks.tools.baseline.tuning import Tuner, fine_tuned


@dataclass(frozen=True)
class Baseline:
    """Result of a baseline.

    Attributes:
        path: the prediction file.
        groups: how many groups of videos were kept apart.
        heads: how many heads there are: scopes × steps × folds; the next three are sums over them.
        unreadable: why which videos could not be shown; they are neither learnt from nor predicted.
    """

    path: Path
    groups: int
    heads: int
    constant: int
    untrained: int
    unchosen: int
    unreadable: tuple[str, ...]


def write_baseline(
    dataset: Dataset,
    options: Options,
    learner: Backbone | Tuner,
    out: Path,
    *,
    folds: int = 5,
    group: str | None = None,
    split: OfficialSplit | None = None,
    watched: Watched[Any] = lambda some, what: some,
) -> Baseline:
    """Learn from the labels of each fold's other videos, and write what that says of the fold's own.

    With a split: from its training part, tuned on its validation part, about its test part.

    Args:
        dataset: the exams, with the labels to learn from.
        options: of the run: which frames, where the cache is, the seed.
        learner: what makes frozen features, on which heads are trained; or how the whole network is.
        out: the prediction file.
        folds: number of folds.
        group: ``student`` or ``site``: whose videos are kept on one side; None: each video by itself.
        split: in place of folds and group.
        watched: shows progress.

    Raises:
        DataError: the labels are withheld, one file is on both sides of the split, a video does not say its group, no
            video can be shown.
        OptionsError: there are fewer groups than folds.
    """
    if dataset.withheld:
        raise DataError(f"{dataset.root}: the labels are withheld, and there is nothing to learn from. Give --labels.")
    digests = {video.video_id: dataset.media_digest(video, options.cache_dir) for video in dataset.videos}
    groups = groups_of(dataset, digests, group)
    # Before hours of features: a refusal comes at once.
    fold = folds_of(groups, folds) if split is None else split.fold
    if split is not None and (shared := np.isin(groups, groups[(fold == 0) | split.tune]) & (fold == 1)).any():
        name = dataset.videos[int(np.flatnonzero(shared)[0])].video_id
        what = f"the file of video {name!r}, or its minimal pair, is in another part of split {split.name!r} as well"
        raise DataError(f"{dataset.root}: {what}. Put both in one part.")
    exams = Exams(dataset, options, digests, groups, fold, watched, split.tune if split else None)
    learnt = fine_tuned(exams, learner) if isinstance(learner, Tuner) else _with_heads(exams, learner)
    if not learnt.media:
        raise DataError(f"{dataset.root}: no video can be shown. {learnt.unreadable[0]}")
    kept_apart = {"folds": folds, "group": group or "video"} if split is None else {"split": split.name}
    made = {"kind": SUPERVISED_BY_SPLIT if split else SUPERVISED, **learnt.facts, **kept_apart}
    videos = {
        video.video_id for video, number in zip(dataset.videos, fold, strict=True) if number in exams.judged_folds
    }
    write_predictions((record for record in _records(dataset, learnt, made) if record.video_id in videos), out)
    judged_folds = set(exams.judged_folds)
    heads = sum(len(judged_folds & set(fold[places].tolist())) for _, places in learnt.judged.values())
    known = [(judged.constant, judged.untrained, judged.unchosen) for judged, _ in learnt.judged.values()]
    constant, untrained, unchosen = (sum(counts) for counts in zip(*known, strict=True))
    return Baseline(out, len(set(groups.tolist())), heads, constant, untrained, unchosen, learnt.unreadable)


def _with_heads(exams: Exams, backbone: Backbone) -> BaselineResult:
    """Frozen features of every video that can be shown, and what cross-fitted heads make of them."""
    vectors: dict[str, Mapping[str, NDArray[np.float32]]] = {}
    media: dict[str, Media] = {}
    unreadable = []
    for video in exams.watched(list(exams.dataset.videos), "video"):
        name = video.video_id
        try:
            vectors[name], media[name] = features_of(exams.dataset, video, exams.digests[name], backbone, exams.options)
        except MediaError as error:
            unreadable.append(f"{name}: {error}")
    judged: dict[Key, tuple[StepJudgments, list[int]]] = {}
    for scope, step in exams.watched(exams.questions() if media else [], "head"):
        asked = list(exams.asked((scope, step), media))
        places = [place for place, _ in asked]
        judgments = StepJudgments(np.zeros(0), np.zeros(0, bool), 0, 0)
        if asked:
            features = np.stack([vectors[video.video_id][step if scope == "clip" else ""] for _, video in asked])
            labels = np.array([video.step(step).consensus for _, video in asked], float)  # None becomes NaN
            top = exams.dataset.rubric.by_id[step].max_score
            tune = None if exams.tune is None else exams.tune[places]
            judgments = cross_fitted(features, labels, exams.fold[places], top, exams.groups[places], tune=tune)
        judged[scope, step] = judgments, places
    facts = {
        "features": f"{backbone.name} {backbone.digest[:12]}",
        "head": f"proportional odds, l2 chosen in {INNER} inner folds",
    }
    return BaselineResult(judged, media, tuple(unreadable), facts)


def _records(dataset: Dataset, learnt: BaselineResult, judge: Mapping[str, Any]) -> Iterator[Record]:
    """A record for each expected request about a video that was shown; steps without a prediction are missing."""
    predictions = {
        (scope, dataset.videos[place].video_id, step): (float(points), bool(wrong))
        for (scope, step), (judged, places) in learnt.judged.items()
        for place, points, wrong in zip(places, judged.points, judged.wrong, strict=True)
        if not np.isnan(points)
    }
    for setting in map(TASKS.__getitem__, BENCHMARK_TASKS):
        for name, step in expected_requests(setting, [v for v in dataset.videos if v.video_id in learnt.media]):
            answers, missing = {}, {}
            for judged in steps_of(setting, dataset.video(name), step):
                if prediction := predictions.get((setting.scope, name, judged)):
                    answers[judged] = prediction[0] if setting.answer == "score" else float(prediction[1])
                else:
                    missing[judged] = "absent"
            parsed = Parsed("partial" if missing else "ok", answers, missing)
            media = learnt.media[name][step or ""]
            conditions = Conditions(dataset=dataset.digest, media=media, judge=judge)
            yield Record.from_reply(setting.name, name, step, parsed, conditions)
