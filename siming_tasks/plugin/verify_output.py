"""Whether the files of a run are whole.

When lmms-eval 0.7.3 cannot write a file (a full disk), it says so in one line of its log, prints the table all the same
and exits 0; a file may end in the middle. Here its two savers read back what they wrote: what is not whole gets another
name, which nothing reads, and such a run ends after its table with one message and exit code 1. An interrupt leaves no
part of a file under a whole one's name either. lmms-eval names files by the second and appends to those that are there:
of runs that begin in one second in one folder, the later ones take the next free second.
"""

from __future__ import annotations

import functools
import inspect
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from siming_tasks.plugin.exit_message import say_at_the_end
from siming_tasks.plugin.preflight import is_ours

__all__ = ["check_what_is_saved"]

PARTIAL = ".partial"
RESULTS = "results.json"
_DATE = "%Y%m%d_%H%M%S"
_SIGNATURES = {
    "save_results_aggregated": ["self", "results", "samples", "datetime_str"],
    "save_results_samples": ["self", "task_name", "samples"],
}


@dataclass
class _Run:
    """What one run has still to save, and what it could not."""

    results: Mapping[str, Any]
    waiting: set[str]
    logged: bool
    unsaved: list[Path] = field(default_factory=list)


def check_what_is_saved(tracker: Any) -> None:
    """Make ``tracker``, lmms-eval's ``EvaluationTracker``, read back what it writes. Does nothing twice.

    Raises:
        RuntimeError: the savers are not those of lmms-eval 0.7.3; nothing is changed then.
    """
    if getattr(tracker, "_siming_checked", False):
        return
    for name, expected in _SIGNATURES.items():
        found = list(inspect.signature(getattr(tracker, name)).parameters)
        if found != expected:
            raise RuntimeError(f"EvaluationTracker.{name} takes {found}, expected {expected}")
    aggregated, sampled = (getattr(tracker, name) for name in _SIGNATURES)

    @functools.wraps(aggregated)
    def save_results_aggregated(self: Any, results: Any, samples: Any, datetime_str: str) -> None:
        datetime_str = _own_second(self, datetime_str)
        run = self._siming_run = _Run(
            results, set(results["configs"]) if samples is not None else set(), samples is not None
        )
        with _whole(self, run, datetime_str, RESULTS, _is_json):
            aggregated(self, results=results, samples=samples, datetime_str=datetime_str)
        run.unsaved += _predictions(self, results)
        self._siming_date = datetime_str
        _end(self, run)

    @functools.wraps(sampled)
    def save_results_samples(self: Any, task_name: str, samples: Sized) -> None:
        run = self._siming_run
        with _whole(self, run, self._siming_date, f"samples_{task_name}.jsonl", lambda p: _has_lines(p, len(samples))):
            sampled(self, task_name=task_name, samples=samples)
        run.waiting.discard(task_name)
        _end(self, run)

    tracker.save_results_aggregated, tracker.save_results_samples = save_results_aggregated, save_results_samples
    tracker._siming_checked = True


def _folder(tracker: Any) -> Path:
    return Path(tracker.output_path, tracker.general_config_tracker.model_name_sanitized or "")


def _own_second(tracker: Any, date: str) -> str:
    """``date``, or the first second after it whose results file is nobody's; that file is taken here, empty."""
    if not tracker.output_path:
        return date
    folder, own = _folder(tracker), date
    try:
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                (folder / f"{own.replace(':', '-')}_{RESULTS}").open("x").close()
            except FileExistsError:
                own = (datetime.strptime(own, _DATE) + timedelta(seconds=1)).strftime(_DATE)
            else:
                return own
    except (OSError, ValueError):  # nothing can be written there, or a program's own name for its run
        return date


@contextmanager
def _whole(tracker: Any, run: _Run, date: str, name: str, good: Callable[[Path], bool]) -> Iterator[None]:
    """See to it that the block leaves a good file of this name, or none and an entry in ``run.unsaved``."""
    if not tracker.output_path:  # nothing is saved, nor claimed to be
        yield
        return
    path = _folder(tracker) / f"{date.replace(':', '-')}_{name}"
    try:
        yield
    finally:  # also at an interrupt
        if not good(path):
            run.unsaved.append(path)
            if path.exists():
                path.rename(path.with_name(path.name + PARTIAL))


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


def _has_lines(path: Path, number: int) -> bool:
    try:
        with path.open(encoding="utf-8", newline="\n") as stream:
            return sum(1 for line in stream if json.loads(line) and line.endswith("\n")) == number
    except (OSError, ValueError):
        return False


def _predictions(tracker: Any, results: Mapping[str, Any]) -> list[Path]:
    """Prediction files of withheld labels that could not be written; the results say so with an empty name."""
    evaluations = {name: task.get("siming_stderr,none") for name, task in results["results"].items()}
    return [
        Path(tracker.output_path or ".", f"siming_predictions_{name.removeprefix('siming_')}.jsonl")
        for name, found in evaluations.items()
        if isinstance(found, Mapping) and found.get("predictions", "") is None
    ]


def _say_next(tracker: Any, run: _Run) -> None:
    """Leave word of what to type when the process ends; only where a task of ours was run."""
    if not any(map(is_ours, run.results["configs"].values())):
        return
    ended = say_at_the_end()
    found = [task.get("siming_stderr,none") for task in run.results["results"].values()]
    ended.withheld |= any(isinstance(each, Mapping) and each.get("predictions") for each in found)
    if tracker.output_path:
        (ended.folders if run.logged else ended.without_replies).append(_folder(tracker))


def _end(tracker: Any, run: _Run) -> None:
    """After a run's last file: end it here if one is missing, its table printed as lmms-eval would have done."""
    if run.waiting:
        return
    if not run.unsaved:
        _say_next(tracker, run)
        return
    from lmms_eval.utils import make_table

    print(make_table(run.results))  # noqa: T201 - standard output is where the host prints it
    if "groups" in run.results:
        print(make_table(run.results, "groups"))  # noqa: T201
    names = ", ".join(str(path) for path in run.unsaved)
    folder = next(path for path in (run.unsaved[0], *run.unsaved[0].absolute().parents) if path.is_dir())
    free = shutil.disk_usage(folder).free / 1e6
    raise SystemExit(
        f"siming-tasks: this run is NOT SAVED as a whole. Missing, or cut short and renamed to *{PARTIAL}: {names}. "
        f"{free:,.0f} MB are free there; make room or give another --output_path, and run again."
    )
