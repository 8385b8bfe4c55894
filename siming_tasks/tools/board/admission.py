"""Admission to a board: the one decision on an archive, for the host's board and for the sender's own check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.sanitize import one_line
from siming_tasks.data import Dataset
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.options import Options
from siming_tasks.results.discovery import REFERENCE_MODEL
from siming_tasks.results.record import SUPERVISED, has_supervised_judge
from siming_tasks.results.run import Run
from siming_tasks.tasks import ABLATION_TASKS, STANDARD_TASKS, TASKS
from siming_tasks.tools.board.submission import Received, predictions_of, read_submission
from siming_tasks.tools.board.submission_findings import submission_findings

__all__ = ["SUPERVISED_REFUSAL", "AdmittedSubmission", "admit", "refusal"]

SUPERVISED_REFUSAL = (
    "a supervised baseline, which learnt from the labels of this very data set. Keep it beside the models of your own "
    "report; submit a model."
)
"""Reason to refuse each kind of baseline that :mod:`siming_tasks.results.record` recognises."""

_UNFORESEEN = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""Errors that a fault of the board itself raises over an unforeseen archive: only that archive loses its row."""


@dataclass(frozen=True)
class AdmittedSubmission:
    """An archive that a board shows: what it says of itself, its answers, their metrics by setting, the findings."""

    received: Received
    run: Run
    settings: Mapping[str, Mapping[str, Any]]
    findings: tuple[str, ...]


def admit(path: Path, dataset: Dataset, options: Options) -> AdmittedSubmission:
    """Read, check and score one archive. Its bytes are not kept.

    Raises:
        DataError: the board refuses it; names the file, what is wrong and the way out.
    """
    try:
        return _admitted(read_submission(path, dataset), dataset, options)
    except _UNFORESEEN as error:
        what = f"{type(error).__name__}: {one_line(error, 200)}"
        raise DataError(f"{path}: cannot be scored ({what}). Make it with `siming board submit`.") from error


def refusal(path: Path, error: DataError) -> str:
    """The reason of a refusal on one line that begins with the archive's name."""
    why = one_line(str(error).replace(str(path), path.name))
    name = one_line(path.name)
    return why if why.startswith(name) else f"{name}: {why}"


def _admitted(received: Received, dataset: Dataset, options: Options) -> AdmittedSubmission:
    _check_judge(received)
    run = predictions_of(received, dataset)
    _check_untrained(received, run)
    if errors := [problem for problem in run.problems if problem.severity == "error"]:
        raise DataError.of(errors, shown=3)
    if not run.settings:
        raise DataError(f"{received.path}: answers no question of {dataset.name}. Run it on this data set.")
    for name in (*run.settings, *received.submission.claims):
        if name in TASKS and name not in STANDARD_TASKS:
            what = "an ablation" if name in ABLATION_TASKS else "another form of the reply"
            raise DataError(
                f"{received.path}: holds {TASKS[name].task_name}, {what}, which is no part of the benchmark. Make "
                "it with `siming board submit`."
            )
    settings = {name: run.evaluate(name, options) for name in run.settings}
    _check_claims(received)
    findings = tuple(map(one_line, submission_findings(received, settings, run.problems)))
    return AdmittedSubmission(replace(received, predictions=b""), run, settings, findings)


def _check_judge(received: Received) -> None:
    """A board is of models: what answers from the labels, or without any video, has a row of its own there."""
    if received.submission.run.get("model") == REFERENCE_MODEL:
        what = "a run of a reference judge (--model siming_reference), which is no model"
        fix = "Physicians and no-video baselines have rows of their own; submit a model."
        raise DataError(f"{received.path}: {what}. {fix}")


def _check_untrained(received: Received, run: Run) -> None:
    """Whoever learnt from the labels of these very exams is told apart, whoever packed it."""
    if received.submission.run.get("judge") == SUPERVISED or has_supervised_judge(run.records):
        raise DataError(f"{received.path}: {SUPERVISED_REFUSAL}")


def _check_claims(received: Received) -> None:
    """Numbers are claimed of settings and metrics that there are, and are possible."""
    where, fix = f"{received.path}: submission.json: claims", "Make it with `siming board submit`."
    for name, claims in received.submission.claims.items():
        if name not in TASKS:
            raise DataError(f"{where}: unknown setting {name[:64]!r}; one of {', '.join(TASKS)}. {fix}")
        known = select(TASKS[name].answer)
        for metric, value in claims.items():
            if metric not in known:
                raise DataError(f"{where}.{name}: unknown metric {metric[:64]!r}; one of {', '.join(known)}. {fix}")
            row = CATALOGUE[metric]
            if value is not None and not row.low <= value <= row.high:
                what = f"{value:g}; it lies between {row.low:g} and {row.high:g}."
                raise DataError(f"{where}.{name}.{metric}: {what} {fix}")
