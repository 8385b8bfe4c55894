"""The documents of each task, and the facts about the data set that stand in its configuration."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import sha256_json
from siming_tasks.data import Dataset
from siming_tasks.data.minimal_pairs import minimal_pairs_of
from siming_tasks.media import ABLATION_RULES, backends
from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.tasks import TaskSpec
from siming_tasks.tasks.expected_requests import expected_requests, record_id
from siming_tasks.tasks.mismatched_video import MismatchedVideos
from siming_tasks.tasks.prompt import PROMPT_VERSION, template_hash
from siming_tasks.tasks.prompting import MAX_TOKENS, MAX_TOKENS_REASONED

__all__ = ["OF_SETTING", "documents", "generated", "generation", "refuse_empty", "where"]


def refuse_empty(settings: Iterable[TaskSpec], dataset: Dataset) -> None:
    """Nothing, if every setting has something to ask: lmms-eval ends without results where a task has no documents.

    Raises:
        DataError: names the tasks, why there is nothing, and the way out; or an ablation has no other exam to show.
    """
    settings = tuple(settings)
    if any(setting.ablation.shows_other_exam for setting in settings):
        mismatched = MismatchedVideos(dataset.videos, minimal_pairs_of(dataset))
        for video in dataset.videos:
            mismatched.of(video)
    empty = [setting for setting in settings if not expected_requests(setting, dataset.videos)]
    if not empty:
        return
    names = " and ".join(setting.task_name for setting in empty)
    if any(setting.scope == "full" for setting in empty):
        why, fix = "no step of any video is applicable", "Correct `applicable` in videos.jsonl."
    else:
        why = "no applicable step has a span (`start` and `end`)"
        fix = "Add spans, or run the other tasks alone (--tasks siming_full)."
    raise DataError(f"{dataset.root}: nothing to ask in {names}: {why}. {fix}")


def _docs(setting: TaskSpec) -> Callable[[Any], Any]:
    """The ``process_docs`` of one setting: one document per request, naming it and nothing else.

    Labels stay out of the documents; hooks look them up by id. What lmms-eval loaded is only the list of lines, so that
    no schema is guessed from a file that other people wrote.
    """

    def process_docs(_: Any) -> Any:
        from siming_tasks.plugin.hooks.fast_dataset import Documents

        return Documents.from_list(documents(setting, RUN.current_dataset()))

    return process_docs


def documents(setting: TaskSpec, dataset: Dataset) -> list[dict[str, str]]:
    """The documents of a setting, one per request, in the order in which they are asked.

    Raises:
        DataError: there is nothing to ask (:func:`refuse_empty`).
    """
    refuse_empty([setting], dataset)
    return [
        {
            "id": "/".join([record_id(setting.name, one.video_id, one.step_id), *([one.part] if one.part else [])]),
            "setting": setting.name,
            "video_id": one.video_id,
            "step_id": one.step_id or "",
            "root": str(dataset.root),
            **({"part": one.part} if one.part else {}),
        }
        for one in RUN.prompting_of(setting).questions(setting, dataset.videos, dataset.rubric.skill_of)
    ]


def _alias(setting: TaskSpec) -> str:
    """The task's name in the printed table."""
    RUN.begin()
    dataset = RUN.current_dataset()
    name = f"{setting.task_name}{RUN.prompting_of(setting).title_suffix}"
    return f"{name} [SYNTHETIC {dataset.name}]" if dataset.synthetic else name


def _metadata(setting: TaskSpec) -> dict[str, Any]:
    """Version, data, prompt and options: what a result depends on, and hence the fingerprint of every cache key."""
    RUN.begin()
    dataset = RUN.current_dataset()
    default_modes = {name: backend.media and backend.media.name for name, backend in backends().items()}
    return {
        "version": PROMPT_VERSION,
        "siming_dataset": dataset.name + (" (synthetic)" if dataset.synthetic else ""),
        "siming_digest": dataset.digest,
        "siming_prompt": f"{PROMPT_VERSION} {template_hash(setting, dataset.rubric, RUN.options.prompt)}",
        "siming_options": json.dumps({**RUN.policy.facts(), **RUN.prompting_of(setting).changed_options()}),
        "siming_media": sha256_json(default_modes)[:12],
        **({"siming_ablation": f"{setting.ablation.name} {ABLATION_RULES}"} if setting.ablation else {}),
    }


def generation() -> dict[str, Any]:
    """How replies are generated (:func:`generated`), when a task is loaded."""
    RUN.begin()
    return generated()


def generated() -> dict[str, Any]:
    """How replies are generated; who is to reason first gets room for it."""
    most = MAX_TOKENS_REASONED if RUN.options.prompt == "reasoned" else MAX_TOKENS
    # lmms-eval stops at a blank line otherwise, and pretty-printed JSON has some
    return {"max_new_tokens": most, "temperature": 0, "do_sample": False, "until": []}


def where() -> dict[str, Any]:
    """Where lmms-eval finds the list of videos."""
    RUN.begin()
    return {"data_files": {"test": str(RUN.current_dataset().root / "videos.jsonl")}}


OF_SETTING: dict[str, Callable[[TaskSpec], Any]] = {"docs": _docs, "alias": _alias, "metadata": _metadata}
"""Attributes ``<kind>_<setting>`` of the hooks, known only when a task is loaded."""
