"""The documents of each task, and the facts about the data set that stand in its configuration."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from siming_tasks.data import Dataset, open_dataset, resolve_dataset
from siming_tasks.options import OPTIONS, Options
from siming_tasks.settings import Setting
from siming_tasks.settings.prompt import PROMPT_VERSION, template_hash
from siming_tasks.settings.requests import expected_requests, record_id

__all__ = ["CONFIG", "current_dataset", "dataset_at", "docs_for", "run_settings"]


@lru_cache(maxsize=4)
def dataset_at(root: str) -> Dataset:
    """The data set in a folder, opened and checked once per process."""
    return open_dataset(Path(root))


@lru_cache(maxsize=1)
def run_settings() -> Options:
    """The settings of the run: as they are when a task is loaded, which forgets the ones before."""
    return Options.from_env()


@lru_cache(maxsize=4)
def _resolve(settings: Options) -> str:
    return str(resolve_dataset(settings))


def current_dataset() -> Dataset:
    """The data set of this run: ``SIMING_DATA``, or the synthetic demo, made on first use."""
    return dataset_at(_resolve(run_settings()))


def docs_for(setting: Setting) -> Callable[[Any], Any]:
    """The ``process_docs`` of one setting: one document per request, naming it and nothing else.

    Labels stay out of the documents; hooks look them up by id. What lmms-eval loaded is only the list of lines, so that
    no schema is guessed from a file that other people wrote.
    """

    def process_docs(_: Any) -> Any:
        import datasets

        dataset = current_dataset()
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


def _alias() -> str:
    dataset = current_dataset()
    return f"{{name}} [SYNTHETIC {dataset.name}]" if dataset.synthetic else "{name}"


def _options() -> str:
    """The settings that change what is asked or shown; part of the task's fingerprint, hence of every cache key."""
    chosen = asdict(run_settings())
    return json.dumps({name: chosen[name] for name, option in OPTIONS.items() if option.changes == "shown"})


CONFIG: dict[str, Callable[[], Any]] = {
    "alias": _alias,
    "dataset_kwargs": lambda: {"data_files": {"test": str(current_dataset().root / "videos.jsonl")}},
    "dataset_name": lambda: current_dataset().name + (" (synthetic)" if current_dataset().synthetic else ""),
    "dataset_digest": lambda: current_dataset().digest,
    "prompt_version": lambda: f"{PROMPT_VERSION} {template_hash()}",
    "options": _options,
}
"""Values of the task files that are known only when a task is loaded."""
