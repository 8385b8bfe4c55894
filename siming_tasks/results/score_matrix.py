"""Score matrix of one setting, videos × steps, from the records of a run and the labels of a data set."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from siming_tasks.common.schema import CONSENSUS
from siming_tasks.data import Dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.no_video_baselines import step_prior
from siming_tasks.results.record import Record, distinct_records
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import asked_steps, expected_ids, record_id

__all__ = ["build_reference_matrix", "build_score_matrix"]


def build_score_matrix(
    records: Iterable[Record],
    dataset: Dataset,
    setting: str,
    rater: str = CONSENSUS,
    *,
    asked: Collection[str] | None = None,
    without: Mapping[str, Collection[str]] | None = None,
) -> ScoreMatrix:
    """Reference and predicted judgments of one setting as videos × steps.

    Args:
        records: the run's records; those of other settings are ignored, of two different answers to one request none
            counts.
        dataset: with the labels.
        setting: name of the setting.
        rater: whose points are the reference.
        asked: ids of the requests that were to be made (see :mod:`siming_tasks.results.request_slices`); one without a
            record is a missing answer. None: those of the records.
        without: by request id, steps to leave out as if they had not been asked about.

    Raises:
        KeyError: a record names a video or step that the data set lacks.
    """
    spec = TASKS[setting]
    distinct, _ = distinct_records(record for record in records if record.setting == setting)
    row = {video.video_id: index for index, video in enumerate(dataset.videos)}
    column = {step.id: index for index, step in enumerate(dataset.rubric.steps)}
    shape = (len(row), len(column))
    reference, predicted, seen = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
    wanted = {record.id for record in distinct} if asked is None else asked
    for index, video in enumerate(dataset.videos):
        steps = asked_steps(spec, video)
        requests = [(None, steps)] if spec.scope == "full" else [(step, (step,)) for step in steps]
        for step_id, names in requests:
            request = record_id(setting, video.video_id, step_id)
            left_out = without.get(request, ()) if without else ()
            for name in names if request in wanted else ():
                if name not in left_out:
                    points = video.step(name).scores.get(rater)
                    seen[index, column[name]] = True
                    reference[index, column[name]] = np.nan if points is None else points
    abstained = np.zeros(shape, dtype=np.bool_)
    for record in distinct:
        index = row[record.video_id]
        for name, value in record.answers.items():
            predicted[index, column[name]] = value
        for name in record.parsed.abstained:
            abstained[index, column[name]] = True
    predicted[~seen] = np.nan
    kept = np.flatnonzero(seen.any(axis=1))
    matrix = ScoreMatrix(
        video_ids=tuple(dataset.videos[index].video_id for index in kept),
        step_ids=tuple(column),
        skills=tuple(dataset.rubric.skill_of[name] for name in column),
        max_score=np.array([step.max_score for step in dataset.rubric.steps], dtype=float),
        reference=reference[kept],
        predicted=predicted[kept],
        asked=seen[kept],
        answer=spec.answer,
    )
    if not abstained.any():
        return matrix
    # A step that was called not visible has the step prior of the other videos. The same labels make it as make the
    # no-video baseline, so that a judge that abstains from everything has that row's values. Where no other video shows
    # the step: full points, or "correct", as for any missing answer.
    prior = step_prior(matrix).predicted
    best = np.broadcast_to(matrix.max_score if matrix.answer == "score" else 0.0, prior.shape)
    return replace(matrix, fallback=np.where(abstained[kept], np.where(np.isnan(prior), best, prior), np.nan))


def build_reference_matrix(dataset: Dataset, setting: str, rater: str = CONSENSUS) -> ScoreMatrix:
    """Everything that a complete run of a setting is asked, with a rater's points and nothing answered."""
    every = frozenset(expected_ids(TASKS[setting], dataset.videos))
    return build_score_matrix((), dataset, setting, rater, asked=every)
