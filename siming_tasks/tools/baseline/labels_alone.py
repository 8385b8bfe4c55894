"""A baseline of labels and spans alone: what can be known of a step without any picture of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import UnitChoice
from siming_tasks.data import Dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.cross_fitting import FOLDS, CrossFitted, cross_fit, fit_split
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.parsing import Parsed
from siming_tasks.results.evaluate_records import build_reference_matrix
from siming_tasks.results.read_predictions import write_predictions
from siming_tasks.results.record import SUPERVISED, SUPERVISED_BY_SPLIT, Conditions, Record
from siming_tasks.rubrics import Rubric
from siming_tasks.tasks import BENCHMARK_TASKS, TASKS
from siming_tasks.tasks.expected_requests import expected_requests, steps_of
from siming_tasks.tools.baseline.official_split import TEST, OfficialSplit

Known = Literal["step", "times", "order"]
KNOWN: Mapping[Known, str] = {
    "step": "how often each step is wrong",
    "times": "and the seconds of step and video",
    "order": "and which steps it needs came after it or not at all",
}
"""What the baseline is told, from the least to the most; each has what stands above it."""


@dataclass(frozen=True)
class Fit:
    """Answers of one setting about the videos of the test part, or of all where there is no split.

    ``matrix`` has the questions and what was said, ``wrong`` the chances that the steps are wrong, ``float[V, S]``.
    """

    matrix: ScoreMatrix
    wrong: FloatArray


def order_features(panel: ScoreMatrix, rubric: Rubric) -> FloatArray:
    """Facts that spans tell of a step's place in the procedure, ``float[V, S, 3]``; NaN where unknown.

    Shares of the steps that it requires that begin after it, and that have no span although they are asked; and how far
    its rank among the video's steps by time lies from its rank in the rubric, as a share of the steps.
    """
    assert panel.timing is not None
    start = panel.timing.spans[:, :, 0]
    column = {name: place for place, name in enumerate(panel.step_ids)}
    late, absent, moved = (np.full(start.shape, np.nan) for _ in range(3))
    for name, place in column.items():
        needs = [column[need.id] for need in rubric.by_id[name].requires if need.id in column]
        if needs:
            late[:, place] = (start[:, needs] > start[:, [place]]).mean(axis=1)
            absent[:, place] = np.isnan(start[:, needs]).mean(axis=1)
    for row, starts in enumerate(start):
        timed = np.flatnonzero(~np.isnan(starts))
        ranks = np.argsort(np.argsort(starts[timed], kind="stable"), kind="stable")
        moved[row, timed] = (ranks - np.arange(len(timed))) / max(1, len(timed))
    shown = ~np.isnan(start)
    return np.stack([np.where(shown, part, np.nan) for part in (late, absent, moved)], axis=2)


def fit_labels(
    dataset: Dataset,
    setting: str,
    known: Known = "order",
    split: OfficialSplit | None = None,
    cluster: UnitChoice = "auto",
) -> Fit:
    """Answers of one setting, from labels and, where the setting shows them, spans.

    Args:
        dataset: the exams; no video is opened.
        setting: name of the setting: clips tell when a step is, full videos only how long they are.
        known: what the baseline is told.
        split: learnt from its training part, tuned on its validation part; None: cross-fitted over clusters.
        cluster: what is kept apart in cross-fitting, and resampled.
    """
    panel = build_reference_matrix(dataset, setting, cluster=cluster)
    assert panel.timing is not None
    parts = [np.zeros((*panel.asked.shape, 0))]
    parts += [panel.timing.features()] if known != "step" else []
    shows_when = not np.isnan(panel.timing.spans).all()  # else the order is unknown, and columns of NaN but add chance
    parts += [order_features(panel, dataset.rubric)] if known == "order" and shows_when else []
    features = np.concatenate(parts, axis=2)
    fitted: CrossFitted
    if split is None:
        fitted, judged = cross_fit(panel, features), np.ones(len(panel.video_ids), dtype=np.bool_)
    else:
        part = dict(zip((video.video_id for video in dataset.videos), split.parts, strict=True))
        here = np.array([part[name] for name in panel.video_ids])
        judged = here == TEST
        in_split = here != ""
        subset = panel.videos(in_split)
        found = fit_split(subset, features[in_split], (here == "train")[in_split], (here == "validation")[in_split])
        predicted, wrong = (np.full(panel.asked.shape, np.nan) for _ in range(2))
        predicted[in_split], wrong[in_split] = found.predicted, found.wrong
        fitted = CrossFitted(predicted, wrong, np.zeros(len(here), np.int64))
    return Fit(panel.predicting(fitted.predicted).videos(judged), fitted.wrong[judged])


def write_labels_baseline(dataset: Dataset, out: Path, *, split: OfficialSplit | None = None) -> int:
    """Write what labels and spans tell of each question, as a prediction file; returns the number of videos judged.

    Raises:
        DataError: the labels are withheld.
    """
    if dataset.withheld:
        raise DataError(f"{dataset.root}: the labels are withheld, and there is nothing to learn from. Give --labels.")
    how = f"train, tune, test of {split.name}" if split else f"{FOLDS} folds"
    judge = {
        "kind": SUPERVISED_BY_SPLIT if split else SUPERVISED,
        "features": "labels and spans, no video",
        "split": how,
    }
    fits = {name: fit_labels(dataset, name, split=split) for name in BENCHMARK_TASKS}
    write_predictions(_records(dataset, fits, judge), out)
    return len({video for fit in fits.values() for video in fit.matrix.video_ids})


def _records(dataset: Dataset, fits: Mapping[str, Fit], judge: Mapping[str, Any]) -> Iterator[Record]:
    """A record for each expected request about a judged video; steps without an answer are missing."""
    for setting, fit in fits.items():
        row = {name: place for place, name in enumerate(fit.matrix.video_ids)}
        column = {name: place for place, name in enumerate(fit.matrix.step_ids)}
        videos = [video for video in dataset.videos if video.video_id in row]
        for name, step in expected_requests(TASKS[setting], videos):
            asked = steps_of(TASKS[setting], dataset.video(name), step)
            said = {each: float(fit.matrix.predicted[row[name], column[each]]) for each in asked}
            answers = {each: value for each, value in said.items() if not np.isnan(value)}
            missing = {each: "absent" for each in asked if each not in answers}
            parsed = Parsed("partial" if missing else "ok", answers, missing)
            yield Record.from_reply(setting, name, step, parsed, Conditions(dataset=dataset.digest, judge=judge))
