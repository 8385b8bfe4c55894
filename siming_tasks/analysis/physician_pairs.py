"""The physicians of a data set as judges: each pair of them, by the code that scores a run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from siming_tasks.analysis.inter_rater.raters import rater_panel
from siming_tasks.data import Dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.results.score_matrix import labels_of

__all__ = ["PhysicianPair", "physician_labels", "physician_pairs", "physician_points"]


@dataclass(frozen=True, eq=False)
class PhysicianPair:
    """Physician ``second`` judged against physician ``first``, on the steps that both have scored."""

    first: str
    second: str
    panel: ScoreMatrix


def physician_pairs(dataset: Dataset, setting: str) -> list[PhysicianPair]:
    """Every pair of physicians in a setting, in the order of their names; none unless two of them scored one step."""
    labels = {name: labels_of(dataset, setting, name) for name in dataset.physicians}
    pairs = [PhysicianPair(a, b, rater_panel(labels[a], labels[b])) for a, b in combinations(labels, 2)]
    return [pair for pair in pairs if pair.panel.asked.any()]


def physician_labels(dataset: Dataset, setting: str, run: ScoreMatrix) -> list[ScoreMatrix]:
    """Each physician's points as the reference of the run's videos and steps, in the order of their names."""
    found = []
    for name in dataset.physicians:
        labels = labels_of(dataset, setting, name)
        row = {video: index for index, video in enumerate(labels.video_ids)}
        found.append(labels.videos([row[video] for video in run.video_ids]).subset(run.step_ids))
    return found


def physician_points(dataset: Dataset, panel: ScoreMatrix) -> dict[str, FloatArray]:
    """By name, each physician's points on the panel's videos and steps, ``float64[V, S]``; NaN: not scored."""
    column = {step: index for index, step in enumerate(panel.step_ids)}
    points = {name: np.full(panel.reference.shape, np.nan) for name in dataset.physicians}
    for row, video in enumerate(panel.video_ids):
        for label in dataset.video(video).applicable:
            for name, given in label.scores.items():
                if name in points and given is not None and label.step_id in column:
                    points[name][row, column[label.step_id]] = given
    return points
