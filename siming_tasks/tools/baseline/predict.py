"""The whole baseline: folds, what is learnt in them, and a prediction file as any judge's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import Scope
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.parsing import Parsed
from siming_tasks.results.read_predictions import write_predictions
from siming_tasks.results.record import SUPERVISED, Conditions, Record
from siming_tasks.tasks import BENCHMARK_TASKS, TASKS
from siming_tasks.tasks.expected_requests import expected_requests, steps_of
from siming_tasks.tools.baseline.crossfit import folds_of, groups_of
from siming_tasks.tools.baseline.exams import BaselineResult, Exams, Watched
from siming_tasks.tools.baseline.features import Backbone
from siming_tasks.tools.baseline.frozen import with_heads
from siming_tasks.tools.baseline.tuning import Tuner, fine_tuned

__all__ = ["Baseline", "write_baseline"]


@dataclass(frozen=True)
class Baseline:
    """Result of a baseline.

    Attributes:
        path: the prediction file.
        groups: how many groups of videos were kept apart.
        heads: how many heads there are: scopes × steps × folds.
        constant: how many of them had one label only to learn from, and say that one.
        untrained: how many had none; they say nothing, and what they would say is missing.
        unchosen: how many had too few labels to choose how much they are held back, and take the default.
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
    watched: Watched[Any] = lambda some, what: some,
) -> Baseline:
    """Learn from the labels of each fold's other videos, and write what that says of the fold's own.

    Args:
        dataset: the exams, with the labels to learn from.
        options: of the run: which frames, where the cache is, the seed.
        learner: what makes frozen features, on which heads are trained; or how the whole network is.
        out: the prediction file.
        folds: how many.
        group: ``student`` or ``site``: whose videos are kept on one side; None: each video by itself.
        watched: shows progress.

    Raises:
        DataError: the labels are withheld, a video does not say its group, no video can be shown.
        OptionsError: there are fewer groups than folds.
    """
    if dataset.withheld:
        raise DataError(f"{dataset.root}: the labels are withheld, and there is nothing to learn from. Give --labels.")
    digests = {video.video_id: dataset.media_digest(video, options.cache_dir) for video in dataset.videos}
    groups = groups_of(dataset, digests, group)
    fold = folds_of(groups, folds)  # before hours of features: a refusal comes at once
    exams = Exams(dataset, options, digests, groups, fold, watched)
    learnt = fine_tuned(exams, learner) if isinstance(learner, Tuner) else with_heads(exams, learner)
    if not learnt.media:
        raise DataError(f"{dataset.root}: no video can be shown. {learnt.unreadable[0]}")
    made = {"kind": SUPERVISED, **learnt.facts, "folds": folds, "group": group or "video"}
    write_predictions(_records(dataset, learnt, made), out)
    known = [judged for judged, _ in learnt.judged.values()]
    return Baseline(
        out,
        len(set(groups.tolist())),
        sum(len(set(fold[places].tolist())) for _, places in learnt.judged.values()),
        sum(judged.constant for judged in known),
        sum(judged.untrained for judged in known),
        sum(judged.unchosen for judged in known),
        learnt.unreadable,
    )


def _records(dataset: Dataset, learnt: BaselineResult, judge: Mapping[str, Any]) -> Iterator[Record]:
    number = {video.video_id: place for place, video in enumerate(dataset.videos)}
    predictions: dict[tuple[Scope, str, int], tuple[float, bool]] = {
        (scope, step, place): (float(points), bool(wrong))
        for (scope, step), (judged, places) in learnt.judged.items()
        for place, points, wrong in zip(places, judged.points, judged.wrong, strict=True)
        if not np.isnan(points)
    }
    for setting in map(TASKS.__getitem__, BENCHMARK_TASKS):
        for name, step in expected_requests(setting, [v for v in dataset.videos if v.video_id in learnt.media]):
            asked = steps_of(setting, dataset.video(name), step)
            step_answers = {
                judged: predictions[key]
                for judged in asked
                if (key := (setting.scope, judged, number[name])) in predictions
            }
            answers = {
                judged: points if setting.answer == "score" else float(wrong)
                for judged, (points, wrong) in step_answers.items()
            }
            missing = {judged: "absent" for judged in asked if judged not in step_answers}
            parsed = Parsed("wrong_keys" if missing else "ok", answers, missing)
            media = learnt.media[name][step or ""]
            conditions = Conditions(dataset=dataset.digest, media=media, judge=judge)
            yield Record.from_reply(setting.name, name, step, parsed, conditions)
