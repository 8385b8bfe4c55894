"""The documents of each task, and the facts about the data set that stand in its configuration."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from siming_tasks.hooks.session import SESSION
from siming_tasks.settings import Setting
from siming_tasks.settings.prompt import PROMPT_VERSION, template_hash
from siming_tasks.settings.requests import expected_requests, record_id

__all__ = ["OF_SETTING", "where"]


def _docs(setting: Setting) -> Callable[[Any], Any]:
    """The ``process_docs`` of one setting: one document per request, naming it and nothing else.

    Labels stay out of the documents; hooks look them up by id. What lmms-eval loaded is only the list of lines, so that
    no schema is guessed from a file that other people wrote.
    """

    def process_docs(_: Any) -> Any:
        import datasets

        dataset = SESSION.current()
        rows = [
            {
                "id": record_id(setting.name, video_id, step_id),
                "setting": setting.name,
                "video_id": video_id,
                "step_id": step_id or "",
                "root": str(dataset.root),
            }
            for video_id, step_id in expected_requests(setting, dataset.videos)
        ]
        return datasets.Dataset.from_list(rows)

    return process_docs


def _alias(setting: Setting) -> str:
    """The task's name in the printed table."""
    SESSION.begin()
    dataset = SESSION.current()
    return f"{setting.task_name} [SYNTHETIC {dataset.name}]" if dataset.synthetic else setting.task_name


def _metadata(setting: Setting) -> dict[str, Any]:
    """Version, data, prompt and options: what a result depends on, and hence the fingerprint of every cache key."""
    SESSION.begin()
    dataset = SESSION.current()
    return {
        "version": PROMPT_VERSION,
        "siming_dataset": dataset.name + (" (synthetic)" if dataset.synthetic else ""),
        "siming_digest": dataset.digest,
        "siming_prompt": f"{PROMPT_VERSION} {template_hash(setting)}",
        "siming_options": json.dumps(SESSION.policy.facts()),
    }


def where() -> dict[str, Any]:
    """Where lmms-eval finds the list of videos."""
    SESSION.begin()
    return {"data_files": {"test": str(SESSION.current().root / "videos.jsonl")}}


OF_SETTING: dict[str, Callable[[Setting], Any]] = {"docs": _docs, "alias": _alias, "metadata": _metadata}
"""Attributes ``<kind>_<setting>`` of the hooks, known only when a task is loaded."""
