"""Files of a run are read back when they are saved; a run whose files are not whole ends with an error.

When lmms-eval 0.7.3 cannot write a file (a full disk), it writes one line to its log, prints the table all the same
and exits 0; a file may end in the middle. Here what is not whole gets another name, which nothing reads, and such a run
ends with one message and exit code 1. lmms-eval names files by the second and appends to those that are there: of runs
that begin in one second in one folder (shards), the later ones take the next free second.

When the process ends, its last lines are the command to type next, and how many requests failed and how many replies
could not be read.
"""

from __future__ import annotations

import atexit
import json
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.sanitize import visible
from siming_tasks.plugin.hooks.results import RECORD, failed_requests, note_of_replies
from siming_tasks.plugin.host import Wrap
from siming_tasks.plugin.preflight import is_siming_task
from siming_tasks.study.results.discovery import REFERENCE_MODEL

PARTIAL = ".partial"
"""Ending of the new name of a file that is not whole."""

_DATE = "%Y%m%d_%H%M%S"


@dataclass
class _SavedRun:
    """One run's date in the names of its files, its tasks whose samples are still to be saved, and files not whole."""

    date: str
    waiting: set[str]
    incomplete: list[Path] = field(default_factory=list)


def _save_results(save: Any, self: Any, results: Any, samples: Any, datetime_str: str) -> None:
    def is_whole(lines: Iterable[str]) -> bool:
        json.loads("".join(lines))
        return True

    date = _free_second(self, datetime_str)
    run = self._siming_run = _SavedRun(date, set(samples or ()))
    with _whole_or_renamed(self, "results.json", is_whole):
        save(self, results=results, samples=samples, datetime_str=date)
    withheld = []
    for name, row in results["results"].items():
        evaluation = row.get(f"{RECORD},none")
        if isinstance(evaluation, Mapping):
            rater = evaluation.get("options", {}).get("rater", CONSENSUS)
            _REFERENCES["the raters' consensus" if rater == CONSENSUS else rater] = None
        if isinstance(evaluation, Mapping) and "predictions" in evaluation:
            withheld.append(name)
            if evaluation["predictions"] is None:  # they could not be written
                file = f"siming_predictions_{name.removeprefix('siming_')}.jsonl"
                run.incomplete.append(Path(self.output_path or ".", file))
    on_board = results.get("config", {}).get("model") != REFERENCE_MODEL
    if (on_board or not withheld) and any(map(is_siming_task, results["configs"].values())):
        _note_next(_folder(self), logged=samples is not None, withheld=bool(withheld))
    _end_if_incomplete(run)


def _save_samples(save: Any, self: Any, task_name: str, samples: Sized) -> None:
    def is_whole(lines: Iterable[str]) -> bool:
        return sum(1 for line in lines if json.loads(line) and line.endswith("\n")) == len(samples)

    with _whole_or_renamed(self, f"samples_{task_name}.jsonl", is_whole):
        save(self, task_name=task_name, samples=samples)
    self._siming_run.waiting.discard(task_name)
    _end_if_incomplete(self._siming_run)


SAVERS: Mapping[str, Wrap] = {
    "lmms_eval.loggers:EvaluationTracker.save_results_aggregated": _save_results,
    "lmms_eval.loggers:EvaluationTracker.save_results_samples": _save_samples,
}
"""Replacements of lmms-eval's two savers; the first is always called before the other."""


def _folder(tracker: Any) -> Path | None:
    """Folder of a run's files; None: nothing is saved."""
    name = tracker.general_config_tracker.model_name_sanitized or ""
    return Path(tracker.output_path, name) if tracker.output_path else None


def _free_second(tracker: Any, date: str) -> str:
    """``date``, or the first second after it whose results file does not exist; that file is made here, empty."""
    if not (folder := _folder(tracker)):
        return date
    free = date
    try:
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                (folder / f"{free.replace(':', '-')}_results.json").open("x").close()
            except FileExistsError:
                free = (datetime.strptime(free, _DATE) + timedelta(seconds=1)).strftime(_DATE)
            else:
                return free
    except (OSError, ValueError):  # nothing can be written there, or a program's own name for its run
        return date


@contextmanager
def _whole_or_renamed(tracker: Any, name: str, is_whole: Callable[[Iterable[str]], bool]) -> Iterator[None]:
    """Ensure that the block leaves a whole file of this name, or none and an entry in ``incomplete``.

    ``is_whole`` judges the file's lines; a ValueError of its means no.
    """
    folder, run = _folder(tracker), tracker._siming_run
    try:
        yield
    finally:  # also at an interrupt
        if folder:
            path, whole = folder / f"{run.date.replace(':', '-')}_{name}", False
            with suppress(OSError, ValueError), path.open(encoding="utf-8", newline="\n") as lines:
                whole = is_whole(lines)
            if not whole:
                run.incomplete.append(path)
                if path.exists():
                    path.rename(path.with_name(path.name + PARTIAL))


def _end_if_incomplete(run: _SavedRun) -> None:
    """After the last file of a run, end it with an error if one is not whole."""
    if run.waiting or not run.incomplete:
        return
    atexit.unregister(_print_next)
    names = ", ".join(str(path) for path in run.incomplete)
    folder = next(path for path in (run.incomplete[0], *run.incomplete[0].absolute().parents) if path.is_dir())
    raise SystemExit(
        f"siming-tasks: this run is NOT SAVED completely. Missing, or cut short and renamed to *{PARTIAL}: {names}. "
        f"{shutil.disk_usage(folder).free / 1e6:,.0f} MB are free there; free some space or give another "
        "--output_path, and run again: kept replies are not requested again."
    )


# ---- the last lines of the process

_NEXT: dict[str, list[str]] = {"report": [], "board submit": [], "": []}
"""Quoted folders of this process's runs by the command that is to be typed next; "": replies were not saved."""

_REFERENCES: dict[str, None] = {}
"""Whose labels this process's runs were scored against."""

_MEANING = (
    "In the table, `plcc`, `srcc`, `qwk` and `mcc` are agreement with {}: 1 is perfect, no-video baselines are near 0; "
    "± is the standard error."
)


def _note_next(folder: Path | None, *, logged: bool, withheld: bool) -> None:
    command = ("board submit" if withheld else "report") if folder and logged else ""
    _NEXT[command].append(shlex.quote(str(folder or "")))
    atexit.unregister(_print_next)
    atexit.register(_print_next)  # after lmms-eval's table


def next_step() -> str:
    """The command to type after this process's runs, or what was missing for one."""
    commands = [f"Next: siming {command} {' '.join(dict.fromkeys(folders))}"
                for command, folders in _NEXT.items() if command and folders]  # fmt: skip
    return " ".join(commands) or (
        "Only the table is available for this run, because its replies were not saved to files. "
        "Add --output_path results --log_samples; then: siming report results"
    )


def _print_next() -> None:
    note = note_of_replies()
    has_numbers = _NEXT["report"] or _NEXT[""]  # a run without labels has none
    messages = [_MEANING.format(", ".join(_REFERENCES))] if has_numbers else []
    messages += filter(None, [failed_requests()])
    messages += [str(note), next_step()] if note.is_many else [f"{next_step()}\n{note}".rstrip()]
    with suppress(OSError, ValueError):  # nobody is listening any more
        sys.stdout.flush()
        for message in messages:
            lines = "\n".join(visible(line) for line in message.splitlines())
            print(f"\nsiming-tasks: {lines}", file=sys.stderr, flush=True)  # noqa: T201
