"""Verification of the files of a run: they are read back, and a run whose files are not complete ends with an error.

When lmms-eval 0.7.3 cannot write a file (a full disk), it says so in one line of its log, prints the table all the same
and exits 0; a file may end in the middle. Here its two savers read back what they wrote: what is not complete gets
another name, which nothing reads, and such a run ends after its table with one message and exit code 1. An interrupt
leaves no part of a file under the name of a complete one either. lmms-eval names files by the second and appends to
those that are there: of runs that begin in one second in one folder, the later ones take the next free second. When the
process ends, the last lines are the command to type next and how many replies could not be read, many of them first.
"""

from __future__ import annotations

import atexit
import json
import logging
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from siming_tasks.common.redact import redact
from siming_tasks.common.sanitize import visible
from siming_tasks.plugin import compat
from siming_tasks.plugin.hooks.results import unread_note
from siming_tasks.plugin.preflight import is_siming_task

logger = logging.getLogger(__name__)

PARTIAL = ".partial"
"""Ending of the new name of an incomplete file."""

RESULTS = "results.json"
_DATE = "%Y%m%d_%H%M%S"


@dataclass
class _SavedRun:
    """Files of one run.

    Attributes:
        results: of lmms-eval.
        date: in the names of its files.
        waiting: tasks whose samples are still to be saved; ``logged``: whether they are at all.
        incomplete: files that could not be written.
    """

    results: Mapping[str, Any]
    date: str
    waiting: set[str]
    logged: bool
    incomplete: list[Path] = field(default_factory=list)


def install() -> None:
    """Make lmms-eval's ``EvaluationTracker`` read back what it writes. Does nothing the second time."""
    savers: dict[str, compat.Wrap] = {
        "lmms_eval.loggers:EvaluationTracker.save_results_aggregated": _save_and_verify_results,
        "lmms_eval.loggers:EvaluationTracker.save_results_samples": _save_and_verify_samples,
    }
    # one without the other would end a run as incomplete, or never say that it is
    if all(compat.fetch(name) is not None for name in savers):
        for name, wrap in savers.items():
            compat.replace(name, wrap)


def _save_and_verify_results(save: Any, self: Any, results: Any, samples: Any, datetime_str: str) -> None:
    if not hasattr(self, "output_path") or not hasattr(self, "general_config_tracker"):
        logger.warning("siming-tasks: lmms-eval has changed, and nothing checks that files of this run are complete.")
        save(self, results=results, samples=samples, datetime_str=datetime_str)
        return

    def is_complete(lines: Iterable[str]) -> bool:
        json.loads("".join(lines))
        return True

    date, waiting = _free_second(self, datetime_str), set(results["configs"]) if samples is not None else set()
    run = self._siming_run = _SavedRun(results, date, waiting, samples is not None)
    with _complete_or_renamed(self, run, RESULTS, is_complete):
        save(self, results=results, samples=samples, datetime_str=date)
    for name, task in results["results"].items():
        # predictions of withheld labels that could not be written: the results say so with an empty name
        evaluation = task.get("siming_stderr,none")
        if isinstance(evaluation, Mapping) and evaluation.get("predictions", "") is None:
            file = f"siming_predictions_{name.removeprefix('siming_')}.jsonl"
            run.incomplete.append(Path(self.output_path or ".", file))
    _finish(self, run)


def _save_and_verify_samples(save: Any, self: Any, task_name: str, samples: Sized) -> None:
    def is_complete(lines: Iterable[str]) -> bool:
        return sum(1 for line in lines if json.loads(line) and line.endswith("\n")) == len(samples)

    run: _SavedRun | None = getattr(self, "_siming_run", None)
    if run is None:
        save(self, task_name=task_name, samples=samples)
        return
    with _complete_or_renamed(self, run, f"samples_{task_name}.jsonl", is_complete):
        save(self, task_name=task_name, samples=samples)
    run.waiting.discard(task_name)
    _finish(self, run)


def _folder(tracker: Any) -> Path:
    """Folder of a run's files."""
    return Path(tracker.output_path, getattr(tracker.general_config_tracker, "model_name_sanitized", None) or "")


def _free_second(tracker: Any, date: str) -> str:
    """``date``, or the first second after it whose results file does not exist; that file is made here, empty."""
    if not tracker.output_path:
        return date
    folder, free = _folder(tracker), date
    try:
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                (folder / f"{free.replace(':', '-')}_{RESULTS}").open("x").close()
            except FileExistsError:
                free = (datetime.strptime(free, _DATE) + timedelta(seconds=1)).strftime(_DATE)
            else:
                return free
    except (OSError, ValueError):  # nothing can be written there, or a program's own name for its run
        return date


@contextmanager
def _complete_or_renamed(
    tracker: Any, run: _SavedRun, name: str, is_complete: Callable[[Iterable[str]], bool]
) -> Iterator[None]:
    """Ensure that the block leaves a complete file of this name, or none and an entry in ``run.incomplete``.

    ``is_complete`` judges the file's lines; a ValueError of its means no.
    """
    if not tracker.output_path:  # nothing is saved, nor claimed to be
        yield
        return
    path = _folder(tracker) / f"{run.date.replace(':', '-')}_{name}"
    try:
        yield
    finally:  # also at an interrupt
        complete = False
        with suppress(OSError, ValueError), path.open(encoding="utf-8", newline="\n") as lines:
            complete = is_complete(lines)
        if not complete:
            run.incomplete.append(path)
            if path.exists():
                path.rename(path.with_name(path.name + PARTIAL))


def _finish(tracker: Any, run: _SavedRun) -> None:
    """After the last file of a run, note what to type next; end the run, with its table, if a file is incomplete."""
    if run.waiting:
        return
    results = run.results
    if run.incomplete:
        if make_table := compat.fetch("lmms_eval.utils:make_table"):
            print(make_table(results))  # noqa: T201 - standard output is where lmms-eval prints it
            if "groups" in results:
                print(make_table(results, "groups"))  # noqa: T201
        names = ", ".join(str(path) for path in run.incomplete)
        folder = next(path for path in (run.incomplete[0], *run.incomplete[0].absolute().parents) if path.is_dir())
        free = shutil.disk_usage(folder).free / 1e6
        raise SystemExit(
            f"siming-tasks: this run is NOT SAVED as a whole. Missing, or cut short and renamed to *{PARTIAL}: "
            f"{names}. {free:,.0f} MB are free there; make room or give another --output_path, and run again."
        )
    if any(map(is_siming_task, results["configs"].values())):
        evaluations = [task.get("siming_stderr,none") for task in results["results"].values()]
        _MESSAGE.withheld |= any(isinstance(item, Mapping) and item.get("predictions") for item in evaluations)
        if tracker.output_path:
            (_MESSAGE.folders if run.logged else _MESSAGE.without_replies).append(_folder(tracker))
        atexit.unregister(_print_message)
        atexit.register(_print_message)  # after lmms-eval's table


@dataclass
class ExitMessage:
    """Runs of this process and where they were saved; its text is the message.

    Attributes:
        folders: with results and replies of a run.
        without_replies: with results only (no ``--log_samples``).
        withheld: the data set came without labels.
    """

    folders: list[Path] = field(default_factory=list)
    without_replies: list[Path] = field(default_factory=list)
    withheld: bool = False

    def __str__(self) -> str:
        command = "board submit" if self.withheld else "report"
        if self.folders:
            names = " ".join(dict.fromkeys(shlex.quote(str(folder)) for folder in self.folders))
            return f"Next: siming {command} {names}"
        if self.without_replies:
            return (
                "The replies of this run are not kept, so nothing but its table can be made of it. Add --log_samples; "
                f"then: siming {command} {shlex.quote(str(self.without_replies[0]))}"
            )
        return (
            "Nothing of this run is kept. Add --output_path results --log_samples to keep it; then: siming "
            f"{command} results"
        )


_MESSAGE = ExitMessage()


def _print_message() -> None:
    note = unread_note()
    messages = [str(note), str(_MESSAGE)] if note.is_many else [f"{_MESSAGE}\n{note}".rstrip()]
    with suppress(OSError, ValueError):  # nobody is listening any more
        sys.stdout.flush()
        for message in messages:
            lines = "\n".join(visible(redact(line)) for line in message.splitlines())
            print(f"\nsiming-tasks: {lines}", file=sys.stderr, flush=True)  # noqa: T201
