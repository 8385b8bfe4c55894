"""Requests that got no reply because the service or the host failed, and the commands that ask exactly these again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from siming_tasks.results.command import command_of
from siming_tasks.results.expected import Slice
from siming_tasks.results.read import FAILED
from siming_tasks.results.run import Run
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import record_id
from siming_tasks.tasks.prompting import PromptOptions

__all__ = ["Failed", "commands", "failed_requests", "joined_at"]


@dataclass(frozen=True)
class Failed:
    """One request that failed.

    Attributes:
        id: of its record.
        task: what lmms-eval calls the task.
        document: its number in the task, from 0, which ``--offset`` counts.
    """

    id: str
    task: str
    document: int


def failed_requests(run: Run) -> list[Failed]:
    """The requests of a run with the status ``request_failed``, in the order in which they are asked.

    An empty reply is the model's own and not among them: it was answered, if with nothing.
    """
    found = []
    for name in run.settings:
        failed, put = set(), ""
        for record in run.records[name]:
            statuses = record.get("parts") or {"": record["status"]}
            mine = {(record["id"], part) for part, status in statuses.items() if status == FAILED}
            failed |= mine
            put = (record.get("asking") or "") if mine else put
        setting = TASKS[name]
        every = (
            PromptOptions.from_label(put).questions(setting, run.dataset.videos, run.dataset.rubric.skill_of)
            if failed
            else ()
        )
        found += [
            Failed(request, setting.task_name, number)
            for number, one in enumerate(every)
            if ((request := record_id(name, one.video_id, one.step_id)), one.part) in failed
        ]
    return found


def commands(run: Run, failed: Iterable[Failed]) -> list[str]:
    """One command for each task and unbroken row of documents; their logs land beside those of the run.

    Each asks these requests and no other: a second answer to an answered one would be a conflict.
    """
    data = str(run.dataset.root)
    output = _output(run)
    return [command_of(run.source.facts, [task], part, data=data, output=output) for task, part in _slices(failed)]


def _slices(failed: Iterable[Failed]) -> Iterator[tuple[str, Slice]]:
    ordered = enumerate(sorted(failed, key=lambda one: (one.task, one.document)))
    for (task, _), row in groupby(ordered, lambda pair: (pair[1].task, pair[1].document - pair[0])):
        numbers = [one.document for _, one in row]
        yield task, Slice(numbers[0], len(numbers))


def joined_at(run: Run) -> Path:
    """The folder that holds the run's logs and those of the requests that are asked again."""
    return run.source.path if run.source.path.is_dir() else run.source.path.parent


def _output(run: Run) -> Path:
    """What to call the output, so that lmms-eval, which adds a folder of the model's name, writes beside the logs."""
    folder = run.files[-1].parent if run.files else joined_at(run)
    return folder.parent if run.source.facts.get("model_name") and folder != Path(folder.anchor) else folder
