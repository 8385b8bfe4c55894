"""Results that an answer format adds to those of its task, in plain JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from siming_tasks.data import Dataset
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.score_matrix import BoolArray
from siming_tasks.options import Options
from siming_tasks.results.observability import unobservable
from siming_tasks.results.record import Record
from siming_tasks.results.score_matrix import build_score_matrix
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.answer_formats import FormatInputs
from siming_tasks.tasks.expected_requests import record_id

__all__ = ["claimed_spans", "format_results"]


def format_results(
    records: Sequence[Record],
    dataset: Dataset,
    setting: str,
    options: Options,
    *,
    asked: Collection[str] | None = None,
    without: Mapping[str, Collection[str]] | None = None,
) -> dict[str, Any]:
    """The results of a task's answer format under their name; empty where it has none or the labels are withheld.

    The arguments are those of :func:`siming_tasks.results.evaluate_records.evaluate_records`.
    """
    task = TASKS[setting]
    if not task.answer_format.result_name or dataset.withheld:
        return {}
    scores = build_score_matrix(records, dataset, setting, options.rater, asked=asked, without=without).sorted()

    def unobservable_steps() -> BoolArray:
        left_out = unobservable(records, dataset, setting)
        hidden = np.zeros(scores.asked.shape, dtype=np.bool_)
        for row, video in enumerate(scores.video_ids):
            for column, step in enumerate(scores.step_ids):
                request = record_id(setting, video, step if task.scope == "clip" else None)
                hidden[row, column] = step in left_out.get(request, ())
        return hidden

    inputs = FormatInputs(
        records=[record.to_json() for record in records],
        scores=scores,
        videos=[dataset.video(name) for name in scores.video_ids],
        steps=[dataset.rubric.by_id[name] for name in scores.step_ids],
        scope=task.scope,
        unobservable=unobservable_steps,
        mapping=options.mapping,
        resamples=options.resamples,
        seed=options.seed,
    )
    return {task.answer_format.result_name: plain(task.answer_format.compute_results(inputs))}


def claimed_spans(records: Iterable[Record], dataset: Dataset, setting: str) -> dict[Any, Any]:
    """By (video id, step id), the parts of the video that a run's answers rest on, where the answer format asks."""
    task = TASKS[setting]
    fields = [record.to_json() for record in records] if task.answer_format.result_name else []
    return dict(task.answer_format.video_spans(fields, dataset.by_id, task.scope))
