"""Analyses of one run beyond its metrics: diagnosis and contribution of the video, by one rule for every command.

Metrics (of a run, the physicians, the no-video baselines), their differences and their ranks use the number of
resamples that was asked for. Diagnoses and the contribution of the video are hundreds of numbers a setting and use at
most :data:`DETAIL_RESAMPLES`, which they state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from siming_tasks.analysis.diagnosis import Diagnostics, diagnose_with_raters
from siming_tasks.analysis.group_bias import group_biases
from siming_tasks.analysis.pass_decisions import PASS_MARK
from siming_tasks.analysis.rater_agreement import rater_points, rater_references
from siming_tasks.analysis.retest import retest
from siming_tasks.analysis.totals_calibration import totals_calibration
from siming_tasks.analysis.video_contribution import (
    VideoContribution,
    no_video_estimates,
    no_video_matrices,
    video_contribution,
)
from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset
from siming_tasks.metrics import Estimate, ScoreMatrix
from siming_tasks.metrics.resample import Stream, stream
from siming_tasks.options import Options
from siming_tasks.results.estimand import estimand_of
from siming_tasks.results.run import Run, load
from siming_tasks.tasks import setting_named

DETAIL_RESAMPLES = 1_000
"""Most resamples of diagnoses, of the contribution of the video, and of clip against full video."""

PERMUTATIONS = 1_999
"""Most exchanges of videos for the shuffle p-values; never more than the resamples that were asked for."""


def diagnose(
    run: Run | str | Path,
    setting: str,
    options: Options | None = None,
    *,
    pass_mark: float = PASS_MARK,
    margin: float | None = None,
    again: Run | str | Path | None = None,
) -> Diagnostics:
    """Diagnose the agreement of a run with the physicians in one setting; the unit of resampling is the video.

    Args:
        run: one that is loaded, or what :func:`siming_tasks.results.run.load` reads.
        setting: name of the setting.
        options: rater, label mapping, positive class, resamples (at most
            :data:`siming_tasks.analysis.run_analyses.DETAIL_RESAMPLES` are used) and seed.
        pass_mark: share of the points that passes the exam.
        margin: of equivalence with a physician, in the headline metric, if one was stated beforehand.
        again: a second run of the same model over the same exams, for the agreement of the model with itself.

    Raises:
        DataError: a run has no record of the setting, or a bad pass mark or margin.
        OptionsError: there is no such setting.

    Example:
        >>> from siming_tasks import Options, diagnose, open_dataset, read_run
        >>> diagnosis = diagnose(read_run(constant, open_dataset(exams)), "full_score", Options(resamples=200))
        >>> diagnosis.exam.pass_rate_judge.value  # full points for everybody
        1.0
    """
    options, run, setting = Options.of(options), load(run), setting_named(setting)
    second = None if again is None else load(again, run.dataset)
    for each in (run, second) if second else (run,):
        if setting not in each.settings:
            raise DataError(f"{each.name} has no answer to {setting}; it has {', '.join(each.settings) or 'none'}.")
    matrix = run.score_matrix(setting, options.rater, options.cluster)
    diagnosis = diagnose_scores(matrix, setting, run.dataset, options, pass_mark=pass_mark, margin=margin)
    if second is None:
        return diagnosis
    raters = rater_references(run.dataset, setting, matrix) if len(run.dataset.physicians) > 1 else []
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive, "seed": options.seed}
    how["resamples"] = min(DETAIL_RESAMPLES, options.resamples)
    repeated = second.score_matrix(setting, options.rater, options.cluster)
    return replace(diagnosis, retest=retest(matrix, repeated, raters, **how))


def diagnose_scores(
    matrix: ScoreMatrix,
    setting: str,
    dataset: Dataset,
    options: Options,
    *,
    pass_mark: float = PASS_MARK,
    margin: float | None = None,
) -> Diagnostics:
    """Diagnoses of the scores of a run, beside those of the physicians of its data set.

    Raises:
        DataError: the matrix is empty, or the pass mark or the margin is out of range.
    """
    labelling: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
    how = {**labelling, "pass_mark": pass_mark, "resamples": min(DETAIL_RESAMPLES, options.resamples)}
    seed = stream(options.seed, Stream.DIAGNOSES)
    physicians = rater_points(dataset, matrix)
    diagnosis = diagnose_with_raters(matrix, dataset.rubric, physicians, seed=seed, margin=margin, **how)
    videos = [dataset.video(name) for name in matrix.video_ids]
    resampling = {"resamples": how["resamples"], "seed": options.seed}
    return replace(
        diagnosis,
        estimand=estimand_of(matrix, dataset, setting, options.rater),
        calibration=totals_calibration(matrix, **resampling),
        groups=group_biases(matrix, _stated_columns(videos), **resampling),
        options={**how, "seed": options.seed},
    )


def _stated_columns(videos: Sequence[Video]) -> dict[str, dict[str, str]]:
    """By column of the videos, the site among them, by video, its value: text, whole numbers, yes or no."""
    columns: dict[str, dict[str, str]] = {}
    for video in videos:
        for column, value in {"site": video.site, **video.extra}.items():
            if isinstance(value, str | int):
                columns.setdefault(column, {})[video.video_id] = str(value)
    return columns


class _Questions:
    """Key of the no-video baselines' rows: the parts of a matrix in which complete runs of one setting are alike."""

    def __init__(self, matrix: ScoreMatrix) -> None:
        self.matrix = matrix
        arrays = [matrix.reference, matrix.answered, matrix.max_score]
        arrays += [matrix.timing.durations, matrix.timing.spans] if matrix.timing else []
        names = matrix.answer, matrix.video_ids, matrix.step_ids, matrix.clusters, matrix.unit
        self.key = *names, *(array.tobytes() for array in arrays)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Questions) and self.key == other.key


@lru_cache(maxsize=8)
def _no_video_estimates(questions: _Questions, **how: Any) -> Mapping[str, Mapping[str, Estimate]]:
    return no_video_estimates(no_video_matrices(questions.matrix, where_answered=True), **how)


def run_video_contribution(matrix: ScoreMatrix, options: Options, known: Mapping[str, Estimate]) -> VideoContribution:
    """Contribution of the video to the agreement of a run.

    ``known`` are metrics of this very matrix, with as many resamples as were asked for.
    """
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive, "seed": options.seed}
    return video_contribution(
        matrix,
        no_video=_no_video_estimates(_Questions(matrix), resamples=options.resamples, **how),
        resamples=min(DETAIL_RESAMPLES, options.resamples),
        permutations=min(PERMUTATIONS, options.resamples),
        known=known,
        **how,
    )
