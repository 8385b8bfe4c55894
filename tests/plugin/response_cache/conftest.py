"""Runs of model objects in this process: tasks, requests and records are lmms-eval's own, the command line is not."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.data.consent import HERE
from siming_tasks.media import backend_of
from siming_tasks.plugin.hooks.messages import stored_images_sent
from siming_tasks.plugin.hooks.results import RECORD, process_results
from siming_tasks.plugin.preflight import tasks_path
from siming_tasks.plugin.response_cache.cache import replies_kept
from siming_tasks.plugin.run_context import current_run, running


@dataclass
class Answered:
    """What a run handed to lmms-eval: texts, and the records that it makes of them."""

    replies: list[str]
    records: list[dict[str, Any]]

    @property
    def statuses(self) -> list[str]:
        return [record["status"] for record in self.records]

    @property
    def usages(self) -> list[dict[str, Any]]:
        return [record["usage"] for record in self.records]

    @property
    def new(self) -> int:
        """Number of replies that no earlier run had."""
        return sum(not record.get("usage", {}).get("kept") for record in self.records)


@pytest.fixture
def ask(short_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answered]:
    """``ask(model, tasks=..., limit=..., gen={...}, repeats=1, pad=False, NAME=value)``: the answered run."""
    from lmms_eval.tasks import TaskManager, get_task_dict

    small = {"FRAMES": "2", "CLIP_FRAMES": "2", "FRAME_SIZE": "32", "MEDIA": "frames"}
    places = {"DATA": str(short_demo), "CACHE": str(tmp_path / "cache"), "REPLIES": str(tmp_path / "kept")}

    def call(
        model: Any, *, tasks: tuple[str, ...] = ("siming_clip_score",), limit: int = 3, repeats: int = 1,
        named: bool = True, gen: dict[str, Any] | None = None, pad: bool = False, **env: str,
    ) -> Answered:  # fmt: skip
        for name, value in {**small, **places, **env}.items():
            monkeypatch.setenv(name if name.startswith("LMMS") else f"SIMING_{name}", value)
        manager = TaskManager(include_path=tasks_path(), include_defaults=False, model_name="async_openai")
        requests = []
        for name, task in get_task_dict(list(tasks), manager, "simple" if model.is_simple else "chat").items():
            model.task_dict[name] = task.dataset
            if gen:
                task.set_config(key="generation_kwargs", value=gen, update=True)
            task.set_config(key="repeats", value=repeats)
            task.build_all_requests(limit=limit, rank=0, world_size=1)
            requests += [request for request in task.instances for _ in range(repeats)]
        if pad:
            from lmms_eval.evaluator import _clone_padding_request

            requests.append(_clone_padding_request(requests[-1]))
        backend = backend_of(base.__module__ for base in type(model).__mro__)
        asking = replace(current_run().asking(backend, HERE), named=named)
        with (
            running(asking), replies_kept(model), stored_images_sent(model, backend),
        ):  # fmt: skip
            replies = [getattr(output, "text", output) for output in model.generate_until(requests)]
        assert len(replies) == len(requests)
        docs = [model.task_dict[request.task_name]["test"][request.doc_id] for request in requests]
        found = zip(docs, replies, strict=True)
        return Answered(replies, [process_results(doc, [reply])[RECORD] for doc, reply in found])

    return call


@pytest.fixture
def kept(tmp_path: Path) -> Callable[[], list[dict[str, Any]]]:
    def read() -> list[dict[str, Any]]:
        lines = [line for path in (tmp_path / "kept").rglob("*.jsonl") for line in path.read_text().splitlines()]
        return [entry for entry in map(json.loads, lines) if "attempt" not in entry]

    return read
