"""Documents of each task, and the facts about the data set in its configuration."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from siming_tasks.benchmark.tasks import TaskSpec
from siming_tasks.benchmark.tasks.expected_requests import expected_requests, record_id, shard_slice
from siming_tasks.benchmark.tasks.mismatched_video import MismatchedVideos
from siming_tasks.benchmark.tasks.prompt import PROMPT_VERSION, template_hash
from siming_tasks.benchmark.tasks.prompting import PromptOptions
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.files import sha256_json
from siming_tasks.common.printed_value import counted
from siming_tasks.data import Dataset
from siming_tasks.data.transcript import transcript_of
from siming_tasks.media import ABLATION_RULES, backends, has_sound
from siming_tasks.options import shard_of
from siming_tasks.plugin.run_context import RunContext, current_run


def refuse_empty(settings: Iterable[TaskSpec], dataset: Dataset) -> None:
    """Check that every task has something to ask: lmms-eval ends without results where a task has no documents.

    Raises:
        DataError: names the tasks, why there is nothing, and the way out; or an ablation has no other exam to show.
    """
    settings = tuple(settings)
    if any(setting.ablation.shows_other_exam for setting in settings):
        mismatched = MismatchedVideos(dataset.videos, dataset.minimal_pairs)
        for video in dataset.videos:
            mismatched.of(video)
    for need in dict.fromkeys(need for setting in settings for need in setting.modality.needs):
        _refuse_lacking(need, dataset, next(setting for setting in settings if need in setting.modality.needs))
    empty = [setting for setting in settings if not expected_requests(setting, dataset.videos)]
    if not empty:
        return
    names = " and ".join(setting.task_name for setting in empty)
    if any(setting.scope == "full" for setting in empty):
        reason, fix = "no step of any video is applicable", "Correct `applicable` in videos.jsonl."
    else:
        reason = "no applicable step has a span (`start` and `end`)"
        fix = "Add spans, or run only the full-video tasks (--tasks siming_full)."
    raise DataError(f"{dataset.root}: nothing to ask in {names}: {reason}. {fix}")


def _refuse_lacking(need: str, dataset: Dataset, setting: TaskSpec) -> None:
    """Refuse a task that gives sound or a transcript where a video has none (DataError)."""
    if need == "sound":
        lacking = [video.video_id for video in dataset.videos if not has_sound(dataset.media_path(video))]
        fix = "Build it with --keep-audio from recordings whose sound can be decoded (voices identify people)."
    else:
        lacking = [video.video_id for video in dataset.videos if transcript_of(video) is None]
        fix = "Add `transcript` to their rows; an empty list means that nobody speaks."
    if lacking:
        names = ", ".join(lacking[:5]) + (", ..." if len(lacking) > 5 else "")
        raise DataError(
            f"{dataset.root}: {setting.task_name} gives {'the sound' if need == 'sound' else 'a transcript'}, "
            f"missing in {len(lacking)} of {counted(len(dataset.videos), 'video')} ({names}). {fix}"
        )


def _docs(setting: TaskSpec) -> Callable[[Any], Any]:
    """``process_docs`` of one task: one document per request, naming it and nothing else."""

    # Labels stay out of the documents; hooks look them up by id. lmms-eval has loaded only the list of lines: no schema
    # is guessed from a file that other people wrote.
    def process_docs(_: Any) -> Any:
        import datasets

        return datasets.Dataset.from_list(documents(setting, current_run()))

    return process_docs


def documents(setting: TaskSpec, run: RunContext) -> list[dict[str, str]]:
    """Documents of a task, one per request, in the order in which they are asked; of a shard, those of the shard.

    Raises:
        DataError: there is nothing to ask (:func:`refuse_empty`).
        OptionsError: the shard would be empty, or would take an exam's questions apart.
    """
    dataset = run.dataset
    refuse_empty([setting], dataset)
    rows = []
    questions = list(run.prompting_of(setting).questions(setting, dataset.videos, dataset.rubric.skill_of))
    if share := run.options.shard:
        if run.options.ask != "all":
            raise OptionsError("A shard consists of whole exams: set SIMING_ASK=all, or unset SIMING_SHARD.")
        count, questions = len(questions), questions[shard_slice(shard_of(share), len(questions))]
        if not questions:
            raise OptionsError(f"SIMING_SHARD={share} of {counted(count, 'request')} of {setting.task_name} is empty.")
    for question in questions:
        name, part = record_id(setting.name, question.video_id, question.step_id), question.part
        row = {
            "id": f"{name}/{part}" if part else name,
            "setting": setting.name,
            "video_id": question.video_id,
            "step_id": question.step_id or "",
        }
        rows.append({**row, "part": part} if part else row)
    return rows


def _alias(setting: TaskSpec) -> str:
    """Name of a task in the printed table."""
    run = current_run()
    dataset = run.dataset
    part = f", {dataset.part}" if dataset.part else ""
    name = f"{setting.task_name}{run.prompting_of(setting).title_suffix}{part}"
    return f"{name} [SYNTHETIC {dataset.name}]" if dataset.synthetic else name


def _metadata(setting: TaskSpec) -> dict[str, Any]:
    """Version, data, prompt and options that a result depends on; lmms-eval's own cache has them in its key."""
    run = current_run()
    dataset = run.dataset
    default_modes = {name: backend.media and backend.media.name for name, backend in backends().items()}
    return {
        "version": PROMPT_VERSION,
        "siming_dataset": dataset.name + (" (synthetic)" if dataset.synthetic else ""),
        "siming_digest": dataset.digest,
        "siming_prompt": f"{PROMPT_VERSION} {template_hash(setting, dataset.rubric, run.options.prompt)}",
        "siming_options": json.dumps({**run.policy.facts(), **run.prompting_of(setting).changed_options()}),
        "siming_media": sha256_json(default_modes)[:12],
        **{name: fact for name, fact in dataset.facts.items() if name in ("split", "attempts")},
        **({"shard": run.options.shard} if run.options.shard else {}),
        **({"siming_ablation": f"{setting.ablation.name} {ABLATION_RULES}"} if setting.ablation else {}),
    }


def generation_kwargs(run: RunContext) -> dict[str, Any]:
    """Generation arguments of a request."""
    most = PromptOptions.from_options(run.options).most_tokens
    # lmms-eval stops at a blank line otherwise, and pretty-printed JSON has some
    return {"max_new_tokens": most, "temperature": 0, "do_sample": False, "until": []}


BY_TASK: dict[str, Callable[[TaskSpec], Any]] = {"docs": _docs, "alias": _alias, "metadata": _metadata}
"""Attributes ``<kind>_<task>`` of the hooks, computed only when a task is loaded."""
