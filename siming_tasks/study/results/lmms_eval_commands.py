"""Requests of a run without an answer to keep, and the command of lmms-eval that makes a run again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from siming_tasks.benchmark.record import is_asked_again
from siming_tasks.benchmark.tasks import BENCHMARK_TASKS, TASKS, TaskSpec
from siming_tasks.benchmark.tasks.expected_requests import check_shards, record_id, shard_slice
from siming_tasks.benchmark.tasks.prompting import PromptOptions
from siming_tasks.common.errors import OptionsError
from siming_tasks.data import Dataset
from siming_tasks.data.splits import take_part
from siming_tasks.options import OPTIONS, shard_of
from siming_tasks.study.results.discovery import RequestSlice
from siming_tasks.study.results.run import Run


def command_of(facts: Mapping[str, Any], tasks: Sequence[str], part: RequestSlice, *, data: str | None) -> str:
    """A line for a shell. Secrets are ``***`` in it, as they are in the facts.

    Args:
        facts: of a :class:`~siming_tasks.study.results.discovery.RunSource`; ``MODEL``, ``MODEL_ARGS`` for what they
            lack.
        tasks: the names of the tasks in lmms-eval.
        part: the requests of each.
        data: of the variable ``SIMING_DATA``; None leaves it out.
    """
    words = ["lmms-eval", "--model", str(facts.get("model") or "MODEL")]
    if facts.get("model_args") or not facts.get("model"):
        words += ["--model_args", str(facts.get("model_args") or "MODEL_ARGS")]
    words += ["--tasks", ",".join(tasks)]
    words += ["--batch_size", str(facts["batch_size"])] if facts.get("batch_size") else []
    if generation := facts.get("gen_kwargs"):
        pairs = generation.items() if isinstance(generation, Mapping) else ()
        words += ["--gen_kwargs", ",".join(f"{key}={value}" for key, value in pairs) or str(generation)]
    words += ["--offset", str(part.offset)] if part.offset else []
    words += ["--limit", f"{part.limit:g}"] if part.limit is not None else []
    words += ["--log_samples", "--output_path", "OUT"]
    variables = {"SIMING_DATA": data} if data is not None else {}
    variables |= {"SIMING_SPLIT": part.split} if part.split else {}
    variables |= {"SIMING_SHARD": part.shard} if part.shard else {}
    metadata: Mapping[str, Any] = next((facts["tasks"][task] for task in tasks if task in facts.get("tasks", {})), {})
    try:
        stated = dict(json.loads(metadata.get("siming_options") or "{}"))
    except (ValueError, TypeError):  # of another version
        stated = {}
    # What the model was shown, where it was not at the default, decides the replies and belongs into the command.
    variables |= {
        option.variable: str(stated[name])
        for name, option in OPTIONS.items()
        if option.changes == "shown" and name in stated and stated[name] != option.default
    }
    return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in variables.items()), shlex.join(words)])


def settings_named(names: Iterable[str]) -> list[TaskSpec]:
    """The settings of tasks and groups, in their usual order.

    Raises:
        OptionsError: there is no such task or group.

    Example:
        >>> [setting.name for setting in settings_named(["siming_clip"])]
        ['clip_score', 'clip_error']
    """
    groups: dict[str, set[str]] = {"siming": set(BENCHMARK_TASKS)}
    for setting in TASKS.values():
        groups.setdefault(setting.group, set()).add(setting.name)
        groups[setting.task_name] = {setting.name}
    wanted: set[str] = set()
    for name in names:
        if name not in groups:
            near = get_close_matches(name, groups, n=3, cutoff=0) if name else [*groups][:3]
            raise OptionsError(f"--tasks {name!r} is not a task or group. The nearest: {', '.join(near)}.")
        wanted |= groups[name]
    return [setting for name, setting in TASKS.items() if name in wanted]


@dataclass(frozen=True)
class MissingRequest:
    """One request without an answer to keep.

    Attributes:
        id: of its record, with the part where an exam is asked about in parts.
        task: what lmms-eval calls the task.
        status: of its record; "" without one.
        reason: of its last attempt, with their number; "" where it is not known.
    """

    id: str
    task: str
    status: str = ""
    reason: str = ""


def missing_requests(
    run: Run | None, dataset: Dataset, settings: Iterable[str], shard: str = ""
) -> dict[str, tuple[int, list[MissingRequest]]]:
    """By setting, how many requests a run makes, and those without an answer that is kept.

    A run that was limited, in all that its folders state, had to make only those requests; every other run has to make
    all requests of the task or of its shard. ``run`` is None where nothing was asked yet.

    Raises:
        OptionsError: the shard has nothing to ask in one of the settings.
    """
    if shard:
        check_shards(dataset.videos, [TASKS[name] for name in settings], shard_of(shard)[1])
    asked = take_part(dataset.whole or dataset, run.source.part if run else dataset.part)  # as it was numbered
    found = {}
    for name in settings:
        records = {record.id: record for record in (run.records.get(name, ()) if run else ())}
        put = PromptOptions.from_label(next((record.conditions.asking for record in records.values()), ""))
        questions = list(put.questions(TASKS[name], asked.videos, dataset.rubric.skill_of))
        slices = run.source.slices.get(name, ()) if run else ()
        limited = bool(slices) and all(part.offset or part.limit is not None for part in slices)
        wanted = run.asked(name) if run and (limited or run.partial) else None
        missing, count = [], 0
        for question in questions[shard_slice(shard_of(shard), len(questions))]:
            request = record_id(name, question.video_id, question.step_id)
            if wanted is not None and request not in wanted:
                continue
            count += 1
            record = records.get(request)
            status = (record.conditions.parts or {"": record.status}).get(question.part, "") if record else ""
            usage = (record.conditions.usage if record else None) or {}
            if not status or is_asked_again(status, usage):
                why = f"{usage['error']}, attempt {usage['attempts']}" if usage.get("error") else ""
                whole = "/".join(filter(None, (request, question.part)))
                missing.append(MissingRequest(whole, TASKS[name].task_name, status, why if status else ""))
        found[name] = count, missing
    return found
