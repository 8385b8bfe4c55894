"""Admission to a board: the one decision on an archive, for the host's board and for the sender's own check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.sanitize import one_line, visible
from siming_tasks.data import Dataset
from siming_tasks.metrics.catalogue import CATALOGUE, headline, select
from siming_tasks.metrics.thresholds import COMPARABLE
from siming_tasks.options import Options
from siming_tasks.results.discovery import REFERENCE_MODEL
from siming_tasks.results.record import SUPERVISED, has_supervised_judge
from siming_tasks.results.run import Run
from siming_tasks.tasks import ABLATION_TASKS, STANDARD_TASKS, TASKS
from siming_tasks.tools.board.submission import FIX, Received, predictions_of, read_submission

SUPERVISED_REFUSAL = (
    "a supervised baseline, which learnt from the labels of this very data set. Keep it beside the models of your own "
    "report; submit a model."
)
"""Reason to refuse each kind of baseline that :mod:`siming_tasks.results.record` recognises."""

_CLAIM_TOLERANCE = 0.0005
"""A claim agrees with the recomputed value if it rounds to the same third digit, give or take one rounding."""

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
        received = read_submission(path, dataset)
        # a board is of models: what answers from the labels, or without any video, has a row of its own there
        if received.submission.run.get("model") == REFERENCE_MODEL:
            what = "a run of a reference judge (--model siming_reference), which is no model"
            fix = "Physicians and no-video baselines have rows of their own; submit a model."
            raise DataError(f"{path}: {what}. {fix}")
        run = predictions_of(received, dataset)
        if received.submission.run.get("judge") == SUPERVISED or has_supervised_judge(run.records):
            raise DataError(f"{path}: {SUPERVISED_REFUSAL}")
        if errors := [problem for problem in run.problems if problem.severity == "error"]:
            raise DataError.of(errors, shown=3)
        for name in (*run.settings, *received.submission.claims):
            if name in TASKS and name not in STANDARD_TASKS:
                what = "an ablation" if name in ABLATION_TASKS else "another form of the reply"
                task = TASKS[name].task_name
                raise DataError(f"{path}: holds {task}, {what}, which is no part of the benchmark. {FIX}")
        settings = {name: run.evaluate(name, options) for name in run.settings}
        _check_claims(received)
        findings = tuple(map(one_line, _findings(received, settings, run)))
        return AdmittedSubmission(replace(received, predictions=b""), run, settings, findings)
    except _UNFORESEEN as error:
        what = f"{type(error).__name__}: {one_line(error, 200)}"
        raise DataError(f"{path}: cannot be scored ({what}). {FIX}") from error


def refusal(path: Path, error: DataError) -> str:
    """The reason of a refusal on one line that begins with the archive's name."""
    why = one_line(str(error).replace(str(path), path.name))
    name = one_line(path.name)
    return why if why.startswith(name) else f"{name}: {why}"


def _check_claims(received: Received) -> None:
    """Refuse numbers that are claimed of settings and metrics that there are not, or that are impossible."""
    where = f"{received.path}: submission.json: claims"
    for name, claims in received.submission.claims.items():
        if name not in TASKS:
            raise DataError(f"{where}: unknown setting {name[:64]!r}; one of {', '.join(TASKS)}. {FIX}")
        known = select(TASKS[name].answer)
        for metric, value in claims.items():
            if metric not in known:
                raise DataError(f"{where}.{name}: unknown metric {metric[:64]!r}; one of {', '.join(known)}. {FIX}")
            row = CATALOGUE[metric]
            if value is not None and not row.low <= value <= row.high:
                what = f"{value:g}; it lies between {row.low:g} and {row.high:g}."
                raise DataError(f"{where}.{name}.{metric}: {what} {FIX}")


def _findings(received: Received, settings: Mapping[str, Mapping[str, Any]], run: Run) -> Iterator[str]:
    """Oddities of a submission, not their reasons: gaps, constants, claims that its predictions do not give.

    Args:
        received: the submission with its claims.
        settings: evaluation of its predictions by setting (:mod:`siming_tasks.results.evaluate_records`).
        run: its predictions, with the problems of reading them.
    """
    about = received.submission
    # counted by kind: a thousand missing answers are one line
    words = {"answer-missing": "steps without a usable answer", "prediction-missing": "settings with missing lines"}
    for code, n in Counter(problem.code for problem in run.problems).items():
        yield f"{n:,} {words.get(code, code)}."
    if about.model.saw_test_data == "yes":
        yield "The model has seen test data, by its own card."
    for name, evaluation in settings.items():
        metrics, options = evaluation["metrics"], evaluation["options"]
        coverage = metrics["coverage"]["value"]
        if coverage is not None and coverage < COMPARABLE:
            yield f"{name}: coverage {coverage:.1%}; not comparable below {100 * COMPARABLE:g} %."
        if "constant-prediction" in metrics[headline(TASKS[name].answer)]["flags"]:
            yield f"{name}: every prediction is the same."
        comparable = all(about.options.get(key) == options.get(key) for key in ("rater", "mapping", "positive"))
        for metric, claimed in about.claims.get(name, {}).items() if comparable else ():
            value = metrics.get(metric, {}).get("value")
            differs = (claimed is None) != (value is None)
            if claimed is not None and value is not None:
                differs = abs(claimed - value) > _CLAIM_TOLERANCE
            if differs:
                printed = ["none" if number is None else f"{number:.4f}" for number in (claimed, value)]
                yield f"{name}: {metric} is claimed as {printed[0]}; the predictions give {printed[1]}."
    for name in about.claims.keys() - settings.keys():
        yield f"{visible(name)[:40]}: numbers are claimed without predictions."
