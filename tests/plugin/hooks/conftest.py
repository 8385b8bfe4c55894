"""Driving the hooks as lmms-eval does, but in this process: documents, requests, replies, items, aggregates."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.data import Dataset, open_dataset
from siming_tasks.models.baselines import Judge, judge
from siming_tasks.parsing import format_answers
from siming_tasks.plugin import hooks
from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.tasks import TASKS

Doc = dict[str, Any]


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """``begin(data, NAME=value)``: the environment of a run, and a task of it loaded."""

    def start(data: Path, **env: str) -> None:
        for name, value in {"CACHE": str(tmp_path / "cache"), "FRAMES": "6", "CLIP_FRAMES": "3",
                            "DATA": str(data), **env}.items():  # fmt: skip
            monkeypatch.setenv(f"SIMING_{name}", value)
        hooks.dataset_kwargs  # noqa: B018 - what lmms-eval fetches when it loads a task

    return start


@pytest.fixture
def run(heard_demo: Path, begin: Callable[..., None]) -> Iterator[Dataset]:
    """A run on the short demo, with its sound, has begun."""
    begin(heard_demo)
    yield open_dataset(heard_demo)
    RUN.__init__()  # type: ignore[misc]  # the next test's environment is another


@pytest.fixture(scope="session")
def other_demo(short_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The short demo under another name, its videos' ids the same, and full points for every step of every video."""
    root = tmp_path_factory.mktemp("other") / "other"
    shutil.copytree(short_demo, root)
    rows = [json.loads(line) for line in (root / "videos.jsonl").read_text().splitlines()]
    best = {step.id: step.max_score for step in open_dataset(short_demo).rubric.steps}
    for row in rows:
        for step in row["steps"]:
            step["score"] = dict.fromkeys(step["score"], best[step["step_id"]])
    (root / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    info = [line for line in (root / "dataset.yaml").read_text().splitlines() if not line.startswith("digest:")]
    (root / "dataset.yaml").write_text("\n".join(info) + "\n")
    return root


def docs(name: str) -> list[Doc]:
    """The documents of a task, as plain dictionaries."""
    return [dict(row) for row in getattr(hooks, f"docs_{name}")(None)]


@lru_cache(maxsize=16)
def _judge(root: str, kind: str) -> tuple[Dataset, Judge]:
    dataset = open_dataset(root)
    return dataset, judge(kind, dataset)


def reply(doc: Doc, kind: str = "oracle") -> str:
    """Reply of a reference judge to a document."""
    dataset, ask = _judge(doc["root"], kind)
    setting = TASKS[doc["setting"]]
    video = dataset.video(doc["video_id"])
    asked = [doc["step_id"]] if doc["step_id"] else [step.step_id for step in video.applicable]
    steps = [step for step in dataset.rubric.steps if step.id in asked]
    return format_answers(ask(video, steps, setting.answer), steps, setting.answer)


def aggregated(results: Iterable[dict[str, Any]], args: Any = None) -> dict[str, Any]:
    """Aggregates for lmms-eval's table and results file: every metric of the results by its own aggregator."""
    rows = list(results)
    aggregates = {
        name: getattr(hooks, name)([row[name] for row in rows]) for name in rows[0] if name != "siming_stderr"
    }  # fmt: skip
    return {**aggregates, "siming_stderr": hooks.evaluation([row["siming_stderr"] for row in rows], args)}
