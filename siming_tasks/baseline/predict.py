"""The whole baseline: features, heads, and a prediction file as any judge's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from siming_tasks.baseline.crossfit import Judged, cross_fitted, folds_of, groups_of
from siming_tasks.baseline.features import Frozen, Seen, seen_of
from siming_tasks.baseline.heads import INNER
from siming_tasks.data import Dataset
from siming_tasks.errors import DataError, MediaError
from siming_tasks.options import Options
from siming_tasks.parsing import Parsed
from siming_tasks.runs.judge import SUPERVISED
from siming_tasks.runs.read import write_predictions
from siming_tasks.runs.record import record_of
from siming_tasks.schema import Scope
from siming_tasks.settings import BENCHMARK, SETTINGS
from siming_tasks.settings.requests import expected_requests, steps_of

__all__ = ["Baseline", "write_baseline"]

T = TypeVar("T")
Watched = Callable[[list[T], str], Iterable[T]]
"""Is given a list and what its members are, and gives them back one by one, such as a progress bar."""

_SCOPES: tuple[Scope, ...] = ("full", "clip")


@dataclass(frozen=True)
class Baseline:
    """What came out.

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
    frozen: Frozen,
    out: Path,
    *,
    folds: int = 5,
    group: str | None = None,
    watched: Watched[Any] = lambda some, what: some,
) -> Baseline:
    """Cross-fit one head for each step and scope, and write what they say of every video.

    Args:
        dataset: the exams, with the labels to learn from.
        options: of the run: which frames, where the cache is.
        frozen: makes the features.
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
    seen: dict[str, Seen] = {}
    unreadable = []
    for video in watched(list(dataset.videos), "video"):
        try:
            seen[video.video_id] = seen_of(dataset, video, digests[video.video_id], frozen, options)
        except MediaError as error:
            unreadable.append(f"{video.video_id}: {error}")
    if not seen:
        raise DataError(f"{dataset.root}: no video can be shown. {unreadable[0]}")
    heads = [(scope, step.id) for scope in _SCOPES for step in dataset.rubric.steps]
    judged = {head: _head(dataset, seen, fold, groups, *head) for head in watched(heads, "head")}
    made = {
        "kind": SUPERVISED,
        "features": f"{frozen.name} {frozen.digest[:12]}",
        "folds": folds,
        "group": group or "video",
        "head": f"proportional odds, l2 chosen in {INNER} inner folds",
    }
    write_predictions((record | {"judge": made} for record in _records(dataset, seen, judged)), out)
    known = [one for one, _ in judged.values()]
    return Baseline(
        out,
        len(set(groups.tolist())),
        sum(len(set(fold[places].tolist())) for _, places in judged.values()),
        sum(one.constant for one in known),
        sum(one.untrained for one in known),
        sum(one.unchosen for one in known),
        tuple(unreadable),
    )


def _head(
    dataset: Dataset, seen: dict[str, Seen], fold: NDArray[np.int64], groups: NDArray[np.int64], scope: Scope, step: str
) -> tuple[Judged, list[int]]:
    """What the heads of a step say, and of which videos: those that are asked about it and can be shown."""
    setting = next(SETTINGS[name] for name in BENCHMARK if SETTINGS[name].scope == scope)
    places, vectors, labels = [], [], []
    for place, video in enumerate(dataset.videos):
        if video.video_id not in seen or step not in (video.applicable_ids if scope == "full" else video.timed_ids):
            continue
        places.append(place)
        vectors.append(seen[video.video_id].vectors[step if setting.scope == "clip" else ""])
        given = video.step(step).consensus
        labels.append(np.nan if given is None else given)
    if not places:
        return Judged(np.zeros(0), np.zeros(0, bool), 0, 0), []
    top = dataset.rubric.by_id[step].max_score
    return cross_fitted(np.stack(vectors), np.array(labels, float), fold[places], top, groups[places]), places


def _records(
    dataset: Dataset, seen: dict[str, Seen], judged: dict[tuple[Scope, str], tuple[Judged, list[int]]]
) -> Iterator[dict[str, Any]]:
    number = {video.video_id: place for place, video in enumerate(dataset.videos)}
    said: dict[tuple[Scope, str, int], tuple[float, bool]] = {
        (scope, step, place): (float(points), bool(wrong))
        for (scope, step), (one, places) in judged.items()
        for place, points, wrong in zip(places, one.points, one.wrong, strict=True)
        if not np.isnan(points)
    }
    for setting in map(SETTINGS.__getitem__, BENCHMARK):
        for name, step in expected_requests(setting, [video for video in dataset.videos if video.video_id in seen]):
            asked = steps_of(setting, dataset.video(name), step)
            found = {one: said[key] for one in asked if (key := (setting.scope, one, number[name])) in said}
            answers = {
                one: points if setting.answer == "score" else float(wrong) for one, (points, wrong) in found.items()
            }
            missing = {one: "absent" for one in asked if one not in found}
            parsed = Parsed("wrong_keys" if missing else "ok", answers, missing)
            media = seen[name].media[step or ""]
            yield record_of(setting.name, name, step, parsed, dataset=dataset.digest, media=media)
