"""What is said of a run beyond its metrics and takes long to draw: one rule for every command that says it.

Metrics (of a run, the physicians, the no-video baselines), their differences and their ranks use the number of
resamples that was asked for. Diagnoses and what the video contributed are hundreds of numbers a setting and use at most
:data:`DETAIL_RESAMPLES`, which they state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from siming_tasks.analysis.controls.video_contribution import (
    VideoContribution,
    contribution,
    no_video_estimates,
    no_video_matrices,
)
from siming_tasks.analysis.diagnosis.diagnose import Diagnostics, diagnose_with_raters
from siming_tasks.analysis.diagnosis.pass_decisions import PASS_MARK
from siming_tasks.analysis.diagnosis.robustness import ClusterErrors, clusters
from siming_tasks.analysis.inter_rater.rater_agreement import rater_points
from siming_tasks.data import Dataset
from siming_tasks.metrics import Estimate, ScoreMatrix
from siming_tasks.metrics.streams import Stream, stream
from siming_tasks.options import Options
from siming_tasks.results.run import Run

__all__ = ["DETAIL_RESAMPLES", "PERMUTATIONS", "diagnose", "diagnose_scores", "run_video_contribution"]

DETAIL_RESAMPLES = 1_000
"""Most resamples of diagnoses, of what the video contributed, and of clip against full video."""

PERMUTATIONS = 1_999
"""Most exchanges of videos for the shuffle p-values; never more than the resamples that were asked for."""


def diagnose_scores(
    panel: ScoreMatrix, dataset: Dataset, options: Options, pass_mark: float = PASS_MARK
) -> Diagnostics:
    """Diagnoses of a run's panel with the physicians of its data set beside it.

    Raises:
        DataError: the panel is empty, or a bad pass mark.
    """
    how = {"mapping": options.mapping, "positive": options.positive, "pass_mark": pass_mark}
    how |= {"resamples": min(DETAIL_RESAMPLES, options.resamples)}
    seed = stream(options.seed, Stream.DIAGNOSES)
    found = diagnose_with_raters(panel, dataset.rubric, rater_points(dataset, panel), seed=seed, **how)
    return replace(found, clusters=_cluster_errors_of(panel, dataset, options), options={**how, "seed": options.seed})


def _cluster_errors_of(panel: ScoreMatrix, dataset: Dataset, options: Options) -> tuple[ClusterErrors, ...]:
    """Standard errors by student and by site, for what of the two the data know."""
    videos = [dataset.video(name) for name in panel.video_ids]
    students = {video.video_id: str(who) for video in videos if (who := video.extra.get("student")) is not None}
    sites = {video.video_id: video.site for video in videos}
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
    found = (clusters(panel, students, "student", **how), clusters(panel, sites, "site", each=True, **how))
    return tuple(each for each in found if each)


class _Questions:
    """What the no-video baselines' rows depend on of a panel: complete runs of one setting are alike in it."""

    def __init__(self, panel: ScoreMatrix) -> None:
        self.panel = panel
        arrays = (panel.reference, panel.answered, panel.max_score)
        self.key = panel.answer, panel.video_ids, panel.step_ids, *(array.tobytes() for array in arrays)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Questions) and self.key == other.key


@lru_cache(maxsize=8)
def _no_video_rows(questions: _Questions, **how: Any) -> Mapping[str, Mapping[str, Estimate]]:
    return no_video_estimates(no_video_matrices(questions.panel, where_answered=True), **how)


def run_video_contribution(panel: ScoreMatrix, options: Options, known: Mapping[str, Estimate]) -> VideoContribution:
    """What the video contributed to a run's agreement.

    Args:
        panel: of the run.
        options: label mapping, positive class, resamples and seed.
        known: the metrics of this very panel, with as many resamples as were asked for.
    """
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive, "seed": options.seed}
    return contribution(
        panel,
        no_video=_no_video_rows(_Questions(panel), resamples=options.resamples, **how),
        mapping=options.mapping,
        positive=options.positive,
        resamples=min(DETAIL_RESAMPLES, options.resamples),
        permutations=min(PERMUTATIONS, options.resamples),
        seed=options.seed,
        known=known,
    )


def diagnose(run: Run, setting: str, options: Options | None = None, *, pass_mark: float = PASS_MARK) -> Diagnostics:
    """Why a run agrees with the physicians as much as it does; the unit of resampling is the video.

    Args:
        run: from :func:`siming_tasks.results.run.read_run`.
        setting: name of the setting.
        options: rater, label mapping, positive class, resamples (at most
            :data:`siming_tasks.analysis.run_analyses.DETAIL_RESAMPLES` are used) and seed.
        pass_mark: share of the points that passes the exam.

    Raises:
        DataError: the run has no record of the setting, or a bad pass mark.

    Example:
        >>> from siming_tasks import Options, diagnose, open_dataset, read_run
        >>> found = diagnose(read_run(constant, open_dataset(exams)), "full_score", Options(resamples=200))
        >>> found.exam.pass_rate_judge.value  # full points for everybody
        1.0
    """
    options = options or Options()
    return diagnose_scores(run.score_matrix(setting, options.rater), run.dataset, options, pass_mark)
