"""Diagnoses of a run in one setting, with the physicians of its data set beside it."""

from __future__ import annotations

from siming_tasks.analysis.diagnosis.decisions import PASS_MARK
from siming_tasks.analysis.diagnosis.diagnose import Diagnostics
from siming_tasks.analysis.run_detail import diagnoses_of
from siming_tasks.options import Options
from siming_tasks.results.run import Run

__all__ = ["diagnose"]


def diagnose(run: Run, setting: str, options: Options | None = None, *, pass_mark: float = PASS_MARK) -> Diagnostics:
    """Why a run agrees with the physicians as much as it does; the unit of resampling is the video.

    Args:
        run: from :func:`siming_tasks.results.run.read_run`.
        setting: name of the setting.
        options: rater, label mapping, positive class, resamples (at most
            :data:`siming_tasks.analysis.run_detail.DETAIL_RESAMPLES` are used) and seed.
        pass_mark: share of the points that passes the exam.

    Raises:
        DataError: the run has no record of the setting, or a bad pass mark.

    Example:
        >>> from siming_tasks import Options, diagnose, open_dataset, read_run
        >>> found = diagnose(read_run(constant, open_dataset(exams)), "full_score", Options(resamples=200))
        >>> found.exam.passed_said.value  # full points for everybody
        1.0
    """
    options = options or Options()
    return diagnoses_of(run.panel(setting, options.rater), run.dataset, options, pass_mark)
