"""Admission to a board: the one decision on an archive, for the host's board and for the sender's own check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.tasks import ABLATION_TASKS, STANDARD_TASKS, TASKS
from siming_tasks.common.errors import DataError
from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import one_line, shown_name
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.study.results.discovery import role_of
from siming_tasks.study.results.run import Run
from siming_tasks.tools.board.submission import FIX, Received, predictions_of, read_submission

REFUSALS = {
    "reference": "a run of a reference judge (--model siming_reference), and reference judges "
    "are not accepted. Submit a model.",
    "supervised": "a supervised baseline, which was trained on the labels of this data set. Use it only in "
    "your own report; submit a model.",
}
"""Reason to refuse each kind of judge of :data:`siming_tasks.study.analysis.claims.NO_MODEL`."""

_UNFORESEEN = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""Errors that a fault of the board itself raises over an unforeseen archive: only that archive loses its row."""

_FINDINGS = {"answer-missing": ("step", " without a usable answer"),
             "prediction-missing": ("setting", " with missing lines"),
             "request-failed": ("failed request", ""), "reply-unread": ("unread reply", "")}  # fmt: skip
"""By code of a finding, the noun that is counted and the words after it."""


@dataclass(frozen=True)
class Entry:
    """A submission that a board shows.

    Attributes:
        received: what the archive says of itself.
        run: its answers.
        settings: their evaluation by setting.
        findings: what is odd about it.
        name: of the model, unlike every other's on the board.
        sender: who sent it, by the host's list.
    """

    received: Received
    run: Run
    settings: Mapping[str, Mapping[str, Any]]
    findings: tuple[str, ...]
    name: str
    sender: str = ""


def admit(path: Path, dataset: Dataset, options: Options) -> Entry:
    """Read, check and score one archive. Its bytes are not kept.

    Raises:
        DataError: the board refuses it; names the file, what is wrong and what to do.
    """
    try:
        received = read_submission(path, dataset)
        run = predictions_of(received, dataset)
        role = role_of(received.submission.run, run.records)
        if role in REFUSALS:
            raise DataError(f"{path}: {REFUSALS[role]}")
        if errors := [problem for problem in run.problems if problem.severity == "error"]:
            raise DataError.of(errors, shown=3)
        for name in run.settings:
            if name in TASKS and name not in STANDARD_TASKS:
                what = "an ablation" if name in ABLATION_TASKS else "another form of the reply"
                task = TASKS[name].task_name
                raise DataError(f"{path}: contains {task}, {what}, which is not part of the benchmark. {FIX}")
        settings = {name: run.evaluate(name, options) for name in run.settings}
        card = received.submission.model
        # what is odd is counted by kind; its reasons would tell of labels
        kinds = Counter(problem.code for problem in run.problems)
        named = ((n, *_FINDINGS.get(code, (f"{code} finding", ""))) for code, n in kinds.items())
        findings = [f"{counted(n, noun)}{said}." for n, noun, said in named]
        findings += ["The model has seen test data, according to its card."] if card.saw_test_data == "yes" else []
        return Entry(replace(received, predictions=b""), run, settings, tuple(findings), shown_name(card.name))
    except _UNFORESEEN as error:
        what = f"{type(error).__name__}: {one_line(error, 200)}"
        raise DataError(f"{path}: cannot be scored ({what}). {FIX}") from error


def refusal(path: Path, error: DataError, inbox: Path) -> str:
    """The reason of a refusal on one line that begins with the archive's place in a folder."""
    place = path.relative_to(inbox).as_posix()
    why, name = one_line(str(error).replace(str(path), place)), one_line(place)
    return why if why.startswith(name) else f"{name}: {why}"
