"""What another form of the reply tells of one setting of a run, in plain JSON: abstention, evidence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.score_matrix import BoolArray
from siming_tasks.metrics.selective.abstention import Abstention, abstention, right_labels
from siming_tasks.metrics.selective.evidence import Evidence, Span, evidence
from siming_tasks.options import Options
from siming_tasks.results.observability import unobservable
from siming_tasks.results.record import Record, joined
from siming_tasks.results.score_matrix import panel_of
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import record_id

__all__ = ["abstention_of", "claimed_spans", "evidence_of", "form_results"]

NO_PLACE = "A clip shows nothing but the step: where in the exam the evidence lies is not asked."


def form_results(
    records: Sequence[Record],
    dataset: Dataset,
    setting: str,
    options: Options,
    *,
    asked: Collection[str] | None = None,
    without: Mapping[str, Collection[str]] | None = None,
) -> dict[str, Any]:
    """``abstention`` or ``evidence`` for a setting with that form of the reply; nothing for any other.

    The arguments are those of :func:`siming_tasks.results.score.evaluate_records`.
    """
    kind = TASKS[setting]
    if not (kind.abstain or kind.evidence) or dataset.withheld:
        return {}
    panel = panel_of(records, dataset, setting, options.rater, asked=asked, without=without).sorted()
    found: dict[str, Any] = {}
    if kind.abstain:
        found["abstention"] = plain(abstention_of(records, panel, dataset, setting, options))
    if kind.evidence:
        found["evidence"] = plain(evidence_of(records, panel, dataset, setting, options))
    return found


def abstention_of(
    records: Sequence[Record], panel: ScoreMatrix, dataset: Dataset, setting: str, options: Options
) -> Abstention:
    """The numbers of a run's panel, its abstentions held against what its requests really showed."""
    hidden, why = None, ""
    try:
        hidden = _hidden(records, panel, dataset, setting)
    except DataError as error:
        why = str(error)
    how: dict[str, Any] = {"mapping": options.mapping, "resamples": options.resamples, "seed": options.seed}
    return abstention(panel, hidden, why=why, **how)


def evidence_of(
    records: Sequence[Record], panel: ScoreMatrix, dataset: Dataset, setting: str, options: Options
) -> Evidence:
    """The numbers of a run's panel. A clip is cut by the step's span, so that only ``claimed`` is known of clips."""
    row = {name: index for index, name in enumerate(panel.video_ids)}
    column = {name: index for index, name in enumerate(panel.step_ids)}
    videos = [dataset.video(name) for name in panel.video_ids]
    spans = np.full((*panel.asked.shape, 2), np.nan)
    for index, video in enumerate(videos):
        for label in video.applicable:
            if label.span:
                spans[index, column[label.step_id]] = label.span
    claims = {
        (row[video], column[step]): parts
        for (video, step), parts in claimed_spans(records, dataset, setting).items()
        if video in row
    }
    found = evidence(
        claims,
        spans,
        np.array([video.duration for video in videos]),
        panel.counted & panel.answered,
        right_labels(panel, options.mapping),
        resamples=options.resamples,
        seed=options.seed,
    )
    return found.claimed_alone(NO_PLACE) if TASKS[setting].scope == "clip" else found


def claimed_spans(records: Iterable[Record], dataset: Dataset, setting: str) -> dict[tuple[str, str], tuple[Span, ...]]:
    """By video and step, the parts that a run's answers rest on, in seconds of the video; those of a clip in the video.

    Only steps for which a reply names some, or says that there are none (empty).
    """
    mine, _ = joined(records, setting)
    clip = TASKS[setting].scope == "clip"
    found = {}
    for record in mine:
        for step, parts in (record.get("evidence") or {}).items():
            span = dataset.video(record["video_id"]).step(step).span if clip else None
            start = span[0] if span else 0.0
            found[record["video_id"], step] = tuple((start + float(a), start + float(b)) for a, b in parts)
    return found


def _hidden(records: Sequence[Record], panel: ScoreMatrix, dataset: Dataset, setting: str) -> BoolArray:
    """The steps of a panel without the evidence that the rubric asks for, ``bool[V, S]``."""
    mine, _ = joined(records, setting)
    left_out = unobservable(mine, dataset, setting)
    clip = TASKS[setting].scope == "clip"
    return np.array(
        [
            [step in left_out.get(record_id(setting, video, step if clip else None), ()) for step in panel.step_ids]
            for video in panel.video_ids
        ],
        dtype=np.bool_,
    ).reshape(len(panel.video_ids), len(panel.step_ids))
