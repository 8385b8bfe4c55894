"""Judges that never see a video. A model that does not beat the best of them has shown nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from siming_tasks.metrics.cross_fitting import cross_fit
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix


def always_correct(panel: ScoreMatrix) -> ScoreMatrix:
    """Full points (or "correct") for every step."""
    best = np.broadcast_to(panel.max_score if panel.answer == "score" else 0.0, panel.reference.shape)
    return panel.predicting(best)


def always_failed(panel: ScoreMatrix) -> ScoreMatrix:
    """No points (or "wrong") for every step."""
    return panel.predicting(np.full(panel.reference.shape, 0.0 if panel.answer == "score" else 1.0))


def step_prior(panel: ScoreMatrix) -> ScoreMatrix:
    """Answers of a judge who knows the other exams' labels and not this video (leave one video out).

    The steps are ranked by their mean share of points in the other videos, and the k-th of S steps is given the
    (k - 1/2) / S quantile of all shares there. Matching the spread of the labels in this way is what makes a blind
    judge's kappa large (up to sd of the step means / sd of the labels); predicting the mean itself would not.

    Predictions hardly differ between videos. The little that they do is the left-out video itself, with its sign
    turned, so correlations of their totals mean nothing.

    Returns:
        The panel with these answers; NaN for a video that is the only one with labels.
    """
    known = panel.counted
    if not known.any():
        return panel.predicting(np.full(known.shape, np.nan))
    share = np.where(known, panel.reference / panel.max_score, 0)
    others = known.sum(axis=0) - known
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(others > 0, (share.sum(axis=0) - share) / others, np.inf)  # unknown steps rank last
    mean = mean.round(9)  # one rounding: three thirds are one whole
    # Mid-quantile (k - 1/2) / S of each step within its row; ties in the order of the steps.
    steps = known.shape[1]
    order, middles = np.argsort(mean, axis=1, kind="stable"), (np.arange(steps) + 0.5) / max(1, steps)
    quantile = np.empty_like(mean)
    np.put_along_axis(quantile, order, np.broadcast_to(middles, mean.shape), axis=1)
    levels, code = np.unique(share, return_inverse=True)
    mine = np.zeros((len(share), len(levels)))
    np.add.at(mine, (np.nonzero(known)[0], code.reshape(share.shape)[known]), 1)
    below = np.cumsum(mine.sum(axis=0) - mine, axis=1)  # labels of the other videos up to each level, [V, levels]
    reached = quantile[:, :, None] * below[:, None, -1:] > below[:, None, :]
    predicted = levels[np.minimum(reached.sum(axis=2), len(levels) - 1)]
    predicted = np.where(below[:, -1:] > 0, predicted, np.nan)
    wrong = np.where(np.isnan(predicted), np.nan, predicted < 1)
    return panel.predicting(predicted * panel.max_score if panel.answer == "score" else wrong)


def clock(panel: ScoreMatrix) -> ScoreMatrix | None:
    """Answers of a judge who knows how long everything takes and the labels of the other clusters, and no picture.

    Of a step whose span the setting shows: its seconds, its start and its share of the video; otherwise the video's
    duration alone. What these tell is learnt by :func:`siming_tasks.metrics.cross_fitting.cross_fit`. A trainee who
    leaves a step out is quicker than one who performs it, in real exams too; a judge of clips that does no better than
    this has shown nothing.

    Returns:
        The panel with these answers, NaN where the other clusters have no label; None where no times are known.
    """
    if panel.timing is None or np.isnan(panel.timing.durations).all():
        return None
    return panel.predicting(_clock_answers(_Questions(panel)))


class _Questions:
    """Key of everything that a baseline's answers depend on: runs that were asked the same share them."""

    def __init__(self, panel: ScoreMatrix) -> None:
        self.panel = panel
        arrays = [panel.max_score, np.where(panel.counted, panel.reference, np.nan)]
        arrays += [panel.timing.durations, panel.timing.spans] if panel.timing else []
        names = panel.answer, panel.video_ids, panel.step_ids, panel.clusters
        self.key = *names, *(array.tobytes() for array in arrays)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Questions) and self.key == other.key


@lru_cache(maxsize=16)
def _clock_answers(questions: _Questions) -> FloatArray:
    assert questions.panel.timing
    return cross_fit(questions.panel, questions.panel.timing.features()).predicted


class NoVideoBaseline(NamedTuple):
    """Function that gives its answers (None: it cannot judge these data), the same in words, and why it cannot."""

    judge: Callable[[ScoreMatrix], ScoreMatrix | None]
    what: str
    absent: str = ""


JUDGES: Mapping[str, NoVideoBaseline] = {
    "always-correct": NoVideoBaseline(always_correct, 'full points (or "correct") for every step'),
    "always-failed": NoVideoBaseline(always_failed, 'no points (or "wrong") for any step'),
    "step-prior": NoVideoBaseline(step_prior, "what each step usually gets, from the labels of the other videos"),
    "clock": NoVideoBaseline(
        clock,
        "what the seconds of step and video tell, learnt from the labels of the other videos",
        "no times are known",
    ),
}
"""The judges that need no run."""
