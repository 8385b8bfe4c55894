"""A baseline of frozen features, and a head for each step and scope."""

from __future__ import annotations

import numpy as np

from siming_tasks.common.errors import MediaError
from siming_tasks.tools.baseline.crossfit import StepJudgments, cross_fitted
from siming_tasks.tools.baseline.exams import BaselineResult, Exams, Key
from siming_tasks.tools.baseline.features import Backbone, VideoFeatures, seen_of
from siming_tasks.tools.baseline.heads import INNER

__all__ = ["with_heads"]


def with_heads(exams: Exams, frozen: Backbone) -> BaselineResult:
    """Features of every video that can be shown, and what cross-fitted heads make of them."""
    seen: dict[str, VideoFeatures] = {}
    unreadable = []
    for video in exams.watched(list(exams.dataset.videos), "video"):
        name = video.video_id
        try:
            seen[name] = seen_of(exams.dataset, video, exams.digests[name], frozen, exams.options)
        except MediaError as error:
            unreadable.append(f"{name}: {error}")
    judged = {key: _head(exams, seen, key) for key in exams.watched(exams.questions() if seen else [], "head")}
    facts = {
        "features": f"{frozen.name} {frozen.digest[:12]}",
        "head": f"proportional odds, l2 chosen in {INNER} inner folds",
    }
    return BaselineResult(judged, {name: features.media for name, features in seen.items()}, tuple(unreadable), facts)


def _head(exams: Exams, seen: dict[str, VideoFeatures], key: Key) -> tuple[StepJudgments, list[int]]:
    scope, step = key
    places, vectors, labels = [], [], []
    for place, video in exams.asked(key, seen):
        places.append(place)
        vectors.append(seen[video.video_id].vectors[step if scope == "clip" else ""])
        consensus = video.step(step).consensus
        labels.append(np.nan if consensus is None else consensus)
    if not places:
        return StepJudgments(np.zeros(0), np.zeros(0, bool), 0, 0), []
    top = exams.dataset.rubric.by_id[step].max_score
    judgments = cross_fitted(np.stack(vectors), np.array(labels, float), exams.fold[places], top, exams.groups[places])
    return judgments, places
