"""From records to the panel that the metrics read, and to everything that is said about one setting of one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from siming_tasks.data import Dataset
from siming_tasks.metrics import Evaluation, Panel, evaluate
from siming_tasks.options import Options
from siming_tasks.parsing import STATUSES
from siming_tasks.runs.record import Record, join
from siming_tasks.schema import CONSENSUS
from siming_tasks.settings import SETTINGS
from siming_tasks.settings.prompt import PROMPT_VERSION, template_hash
from siming_tasks.settings.requests import asked_steps, expected_requests, record_id

__all__ = ["evaluate_panel", "evaluate_records", "panel_of"]


def panel_of(
    records: Iterable[Record],
    dataset: Dataset,
    setting: str,
    rater: str = CONSENSUS,
    *,
    complete: bool = False,
    without: Mapping[str, Collection[str]] | None = None,
) -> Panel:
    """Reference and predicted judgments of one setting as videos × steps.

    Args:
        records: the run's records; those of other settings are ignored.
        dataset: where the labels are.
        setting: name of the setting.
        rater: whose points are the reference.
        complete: True counts every request of the data set as asked, so that an absent record is a missing answer;
            False counts only the requests that have a record (a run with ``--limit``).
        without: by request id, steps to leave out as if they had not been asked about.

    Raises:
        KeyError: a record names a video or step that the data set lacks.
    """
    kind = SETTINGS[setting]
    row = {video.video_id: index for index, video in enumerate(dataset.videos)}
    column = {step.id: index for index, step in enumerate(dataset.rubric.steps)}
    shape = (len(row), len(column))
    reference, predicted, asked = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
    mine, _ = join(record for record in records if record["setting"] == setting)
    requests = expected_requests(kind, dataset.videos) if complete else [(r["video_id"], r["step_id"]) for r in mine]
    for video_id, step_id in requests:
        video = dataset.videos[row[video_id]]
        left_out = without.get(record_id(setting, video_id, step_id), ()) if without else ()
        for name in (step_id,) if step_id else asked_steps(kind, video):
            if name in left_out:
                continue
            points = video.step(name).scores.get(rater)
            asked[row[video_id], column[name]] = True
            reference[row[video_id], column[name]] = np.nan if points is None else points
    for record in mine:
        for name, value in record["answers"].items():
            predicted[row[record["video_id"]], column[name]] = value
    predicted[~asked] = np.nan
    kept = np.flatnonzero(asked.any(axis=1))
    return Panel(
        video_ids=tuple(dataset.videos[index].video_id for index in kept),
        step_ids=tuple(column),
        skills=tuple(dataset.rubric.skill_of[name] for name in column),
        max_score=np.array([step.max_score for step in dataset.rubric.steps], dtype=float),
        reference=reference[kept],
        predicted=predicted[kept],
        asked=asked[kept],
        answer=kind.answer,
    )


def evaluate_panel(panel: Panel, settings: Options) -> Evaluation:
    """The setting's metrics under a run's options."""
    return evaluate(
        panel,
        mapping=settings.mapping,
        positive=settings.positive,
        resamples=settings.resamples,
        seed=settings.seed,
    )


def _media_summary(records: Sequence[Record]) -> dict[str, Any]:
    """What the models saw over the run: modes, frame counts and sampled rates."""
    media = [record.get("media") or {} for record in records]
    numbers = {key: sorted({item[key] for item in media if item.get(key) is not None}) for key in ("n_frames", "fps")}
    return {
        "modes": dict(Counter(str(item.get("mode", "unknown")) for item in media)),
        **{key: {"min": values[0], "max": values[-1]} for key, values in numbers.items() if values},
    }


def evaluate_records(
    records: Sequence[Record],
    dataset: Dataset,
    settings: Options,
    setting: str,
    *,
    complete: bool = False,
    without: Mapping[str, Collection[str]] | None = None,
    evaluation: Evaluation | None = None,
) -> dict[str, Any]:
    """Everything that is known about one setting of one run, as plain JSON without NaN.

    The aggregators of lmms-eval and ``siming score`` both call this, hence the same records give the same numbers.
    ``without``: as in :func:`panel_of`. ``evaluation``: the metrics of these very records and settings, if they were
    computed already.
    """
    mine, conflicts = join(record for record in records if record["setting"] == setting)
    if evaluation is None:
        panel = panel_of(mine, dataset, setting, settings.rater, complete=complete, without=without)
        evaluation = evaluate_panel(panel, settings)
    expected = expected_requests(SETTINGS[setting], dataset.videos)
    statuses = Counter(record["status"] for record in mine)
    numbers = evaluation.to_json()
    missing = Counter(reason for record in mine for reason in record["missing"].values())
    return {
        "setting": setting,
        "synthetic": dataset.synthetic,
        "dataset": {"name": dataset.name, "version": dataset.version, "digest": dataset.digest},
        "rubric": {"id": dataset.rubric.rubric_id, "version": dataset.rubric.version},
        "prompt": {"version": PROMPT_VERSION, "template": template_hash()},
        "requests": {"answered": len(mine), "expected": len(expected), "conflicts": conflicts},
        "statuses": {status: statuses.get(status, 0) for status in STATUSES},
        "missing": dict(sorted(missing.items())),
        "media": _media_summary(mine),
        **numbers,
        "options": {**numbers["options"], "rater": settings.rater, "clip_density": settings.clip_density},
    }
