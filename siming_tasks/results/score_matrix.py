"""From records to the panel that the metrics read: videos × steps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from siming_tasks.common.schema import CONSENSUS, Video
from siming_tasks.data import Dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.no_video_baselines import step_prior
from siming_tasks.metrics.score_matrix import BoolArray
from siming_tasks.results.expected import EveryRequest
from siming_tasks.results.record import Record, joined
from siming_tasks.tasks import TASKS, TaskSpec
from siming_tasks.tasks.expected_requests import asked_steps, record_id

__all__ = ["labels_of", "panel_of"]


def panel_of(
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
        records: the run's records; those of other settings are ignored.
        dataset: where the labels are.
        setting: name of the setting.
        rater: whose points are the reference.
        asked: ids of the requests that were to be made (see :mod:`siming_tasks.results.expected`); one without a
            record is a missing answer. None: those of the records.
        without: by request id, steps to leave out as if they had not been asked about.

    Raises:
        KeyError: a record names a video or step that the data set lacks.
    """
    kind = TASKS[setting]
    row = {video.video_id: index for index, video in enumerate(dataset.videos)}
    column = {step.id: index for index, step in enumerate(dataset.rubric.steps)}
    shape = (len(row), len(column))
    reference, predicted, seen = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
    mine, _ = joined(records, setting)
    wanted = {record["id"] for record in mine} if asked is None else asked
    for index, video in enumerate(dataset.videos):
        for name in _asked(kind, video, wanted, without):
            points = video.step(name).scores.get(rater)
            seen[index, column[name]] = True
            reference[index, column[name]] = np.nan if points is None else points
    unseen = np.zeros(shape, dtype=np.bool_)
    for record in mine:
        for name, value in record["answers"].items():
            predicted[row[record["video_id"]], column[name]] = value
        for name in record.get("abstained") or ():
            unseen[row[record["video_id"]], column[name]] = True
    predicted[~seen] = np.nan
    kept = np.flatnonzero(seen.any(axis=1))
    panel = ScoreMatrix(
        video_ids=tuple(dataset.videos[index].video_id for index in kept),
        step_ids=tuple(column),
        skills=tuple(dataset.rubric.skill_of[name] for name in column),
        max_score=np.array([step.max_score for step in dataset.rubric.steps], dtype=float),
        reference=reference[kept],
        predicted=predicted[kept],
        asked=seen[kept],
        answer=kind.answer,
    )
    return _abstaining(panel, unseen[kept]) if unseen.any() else panel


def _abstaining(panel: ScoreMatrix, unseen: BoolArray) -> ScoreMatrix:
    """With the step prior of the other videos for the steps that were called not visible.

    The same labels make it as the no-video baseline, so that a judge that abstains from everything has that row's
    values. Where no other video shows the step: full points, or "correct", as for any missing answer.
    """
    prior = step_prior(panel).predicted
    best = np.broadcast_to(panel.max_score if panel.answer == "score" else 0.0, prior.shape)
    return replace(panel, fallback=np.where(unseen, np.where(np.isnan(prior), best, prior), np.nan))


def _asked(
    setting: TaskSpec, video: Video, wanted: Collection[str], without: Mapping[str, Collection[str]] | None
) -> Iterable[str]:
    """The steps of a video that the wanted requests ask about and that are not left out."""
    names = asked_steps(setting, video)
    if isinstance(wanted, EveryRequest) and not without:
        return names
    ids = {name: record_id(setting.name, video.video_id, name if setting.scope == "clip" else None) for name in names}
    left_out = without or {}
    return [name for name, request in ids.items() if request in wanted and name not in left_out.get(request, ())]


def labels_of(dataset: Dataset, setting: str, rater: str = CONSENSUS) -> ScoreMatrix:
    """Everything that a complete run of a setting is asked, with a rater's points and nothing answered."""
    return panel_of((), dataset, setting, rater, asked=EveryRequest(setting, dataset.videos))
