"""Diagnosis of one judge in one setting: every table that says where its agreement comes from and where it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from siming_tasks.benchmark.metrics import Rows, ScoreMatrix
from siming_tasks.benchmark.metrics.thresholds import MARGIN
from siming_tasks.benchmark.tasks import TASKS, benchmark_task, setting_named
from siming_tasks.common.errors import DataError
from siming_tasks.data.dataset import read_pairs
from siming_tasks.options import Options
from siming_tasks.study.analysis.compare_runs import rater_points
from siming_tasks.study.analysis.comparison import compare_judges
from siming_tasks.study.analysis.disputed import disputed_steps
from siming_tasks.study.analysis.groups import grouping_columns, groups
from siming_tasks.study.analysis.history import history
from siming_tasks.study.analysis.inputs import minimal_pairs, run_inputs
from siming_tasks.study.analysis.paper_claims import full_video_and_clip, points_and_verdicts, totals_and_steps
from siming_tasks.study.analysis.pass_decisions import PASS_MARK, pass_decisions
from siming_tasks.study.analysis.sequence import sequential_credit
from siming_tasks.study.analysis.severity import severity
from siming_tasks.study.analysis.steps import steps
from siming_tasks.study.results.run import Run, load


def diagnose(
    run: Run | str | Path,
    setting: str,
    options: Options | None = None,
    *,
    pass_mark: float = PASS_MARK,
    margin: float = MARGIN,
) -> Rows:
    """Diagnose the agreement of a run with the physicians in one setting.

    Args:
        run: one that is loaded, or what :func:`siming_tasks.study.results.run.load` reads.
        setting: name of the setting.
        options: rater and label mapping.
        pass_mark: share of points that passes the exam.
        margin: difference from the physicians that counts as none.

    Returns:
        The tables of :func:`siming_tasks.study.analysis.comparison.compare_judges` for this judge alone, and those of
        the other modules of this package; :func:`siming_tasks.study.analysis.tables.table_texts` has their titles and
        captions.

    Raises:
        DataError: the run has no record of the setting, or a bad pass mark or margin.

    Example:
        >>> from siming_tasks import diagnose, open_dataset, read_run
        >>> rows = diagnose(read_run(physician, open_dataset(exams)), "full_score")
        >>> rows.names("table")[:3], len(rows.of("steps").names("row"))
        (['answered', 'ranked', 'inter-physician agreement'], 33)
    """
    run, setting, options = load(run), setting_named(setting), Options.of(options)
    if not run.records.get(setting):
        raise DataError(f"{run.name} has no record of {setting}; it has {', '.join(run.settings) or 'none'}.")
    matrix = run.score_matrix(setting, options.rater)
    points = rater_points(run.dataset, matrix)
    compared = compare_judges({run.name: matrix}, setting=setting, points=points, margin=margin,
                              mapping=options.mapping)  # fmt: skip
    return compared.rows + diagnose_matrix(matrix, run, setting, options, pass_mark=pass_mark)


def diagnose_matrix(
    matrix: ScoreMatrix, run: Run, setting: str, options: Options, *, pass_mark: float = PASS_MARK
) -> Rows:
    """Every table about one judge in one setting; nothing where no step has both a label and an answer."""
    if not (matrix.counted & matrix.answered).any():
        return Rows()
    dataset, rubric = run.dataset, run.dataset.rubric
    points = rater_points(dataset, matrix)
    rows = steps(matrix, points, mapping=options.mapping)
    rows += disputed_steps(matrix, points)
    rows += severity(matrix, points)
    rows += history(matrix, rubric, points, mapping=options.mapping)
    rows += sequential_credit(matrix)
    rows += pass_decisions(matrix, rubric, points, pass_mark=pass_mark)
    rows += groups(matrix, grouping_columns(dataset.video(name) for name in matrix.video_ids))
    rows += totals_and_steps(matrix)
    rows += minimal_pairs(matrix, list(read_pairs(dataset)))
    rows += run_inputs(run, setting, options)
    return rows + _claims(matrix, run, setting, options)


def _claims(matrix: ScoreMatrix, run: Run, setting: str, options: Options) -> Rows:
    """Full video against clip and points against verdicts, where the run has both and this setting is the first."""
    task, rows = TASKS[setting], Rows()
    if not task.is_benchmark:
        return rows

    def other(scope: Any, answer: Any) -> ScoreMatrix | None:
        name = benchmark_task(scope, answer).name
        return run.score_matrix(name, options.rater) if run.records.get(name) else None

    if task.scope == "full" and (clip := other("clip", task.answer)) is not None:
        rows += full_video_and_clip(matrix, clip, mapping=options.mapping)
    if task.answer == "score" and (verdicts := other(task.scope, "error")) is not None:
        rows += points_and_verdicts(matrix, verdicts)
    return rows
