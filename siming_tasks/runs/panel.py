"""From records to the panel that the metrics read: videos × steps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from siming_tasks.data import Dataset
from siming_tasks.metrics import Panel
from siming_tasks.runs.record import Record, join
from siming_tasks.schema import CONSENSUS
from siming_tasks.settings import SETTINGS
from siming_tasks.settings.requests import expected_ids, expected_requests, record_id, steps_of

__all__ = ["labels_of", "panel_of"]


def panel_of(
    records: Iterable[Record],
    dataset: Dataset,
    setting: str,
    rater: str = CONSENSUS,
    *,
    asked: Collection[str] | None = None,
    without: Mapping[str, Collection[str]] | None = None,
) -> Panel:
    """Reference and predicted judgments of one setting as videos × steps.

    Args:
        records: the run's records; those of other settings are ignored.
        dataset: where the labels are.
        setting: name of the setting.
        rater: whose points are the reference.
        asked: ids of the requests that were to be made (see :mod:`siming_tasks.runs.asked`); one without a record is a
            missing answer. None: those of the records.
        without: by request id, steps to leave out as if they had not been asked about.

    Raises:
        KeyError: a record names a video or step that the data set lacks.
    """
    kind = SETTINGS[setting]
    row = {video.video_id: index for index, video in enumerate(dataset.videos)}
    column = {step.id: index for index, step in enumerate(dataset.rubric.steps)}
    shape = (len(row), len(column))
    reference, predicted, seen = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
    mine, _ = join(record for record in records if record["setting"] == setting)
    wanted = {record["id"] for record in mine} if asked is None else asked
    for video_id, step_id in expected_requests(kind, dataset.videos):
        request = record_id(setting, video_id, step_id)
        if request not in wanted:
            continue
        video = dataset.video(video_id)
        left_out = without.get(request, ()) if without else ()
        for name in steps_of(kind, video, step_id):
            if name in left_out:
                continue
            points = video.step(name).scores.get(rater)
            seen[row[video_id], column[name]] = True
            reference[row[video_id], column[name]] = np.nan if points is None else points
    for record in mine:
        for name, value in record["answers"].items():
            predicted[row[record["video_id"]], column[name]] = value
    predicted[~seen] = np.nan
    kept = np.flatnonzero(seen.any(axis=1))
    return Panel(
        video_ids=tuple(dataset.videos[index].video_id for index in kept),
        step_ids=tuple(column),
        skills=tuple(dataset.rubric.skill_of[name] for name in column),
        max_score=np.array([step.max_score for step in dataset.rubric.steps], dtype=float),
        reference=reference[kept],
        predicted=predicted[kept],
        asked=seen[kept],
        answer=kind.answer,
    )


def labels_of(dataset: Dataset, setting: str, rater: str = CONSENSUS) -> Panel:
    """Everything that a complete run of a setting is asked, with a rater's points and nothing answered."""
    return panel_of((), dataset, setting, rater, asked=frozenset(expected_ids(SETTINGS[setting], dataset.videos)))
