"""Driving the hooks as lmms-eval does, but in this process: documents, requests, replies, items, aggregates."""

import shutil
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.parsing import format_answers
from siming_tasks.benchmark.rubrics import RubricStep
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.data import Dataset, open_dataset, restate
from siming_tasks.models.baselines import Judge, judge
from siming_tasks.plugin import hooks
from siming_tasks.plugin.reply import NOT_KNOWN, AskedRequest, Reply
from siming_tasks.plugin.run_context import current_run
from tests.records import change_rows

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
def run(heard_demo: Path, begin: Callable[..., None]) -> Dataset:
    """A run on the short demo, with its sound, has begun."""
    begin(heard_demo)
    return open_dataset(heard_demo)


def relabelled(source: Path, root: Path, change: Callable[[Doc, RubricStep], Any]) -> Path:
    """A copy of a data set in which ``change(label, rubric step)`` has changed the labels in place."""
    shutil.copytree(source, root)
    steps = open_dataset(source).rubric.by_id
    change_rows(
        root / "videos.jsonl",
        lambda rows: [change(label, steps[label["step_id"]]) for row in rows for label in row["steps"]],
    )
    restate(root)
    return root


@pytest.fixture(scope="session")
def other_demo(short_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The short demo under another name, its videos' ids the same, and full points for every step of every video."""

    def perfect(label: Doc, step: RubricStep) -> None:
        label["score"] = dict.fromkeys(label["score"], step.max_score)

    return relabelled(short_demo, tmp_path_factory.mktemp("other") / "other", perfect)


def docs(name: str) -> list[Doc]:
    return [dict(row) for row in getattr(hooks, f"docs_{name}")(None)]


@lru_cache(maxsize=16)
def _judge(dataset: str, kind: str) -> Judge:
    return judge(kind, current_run().dataset)


_ASKED: dict[str, AskedRequest] = {}


def build(hook: Callable[..., Any], doc: Doc, table: Any = None) -> Any:
    asked = _ASKED[doc["id"]] = AskedRequest(current_run(), doc["id"], [])
    return asked.build(hook, doc, table)


def record(doc: Doc, text: str = "") -> dict[str, Any]:
    media = _ASKED[doc["id"]].media() if doc["id"] in _ASKED else NOT_KNOWN
    reply = Reply.of(text, media, None, current_run().parse(doc, text))
    found: dict[str, Any] = hooks.process_results(doc, [reply])["siming_stderr"]
    return found


def asked_steps(doc: Doc, dataset: Dataset) -> list[RubricStep]:
    """The steps that a document, or its part of an exam, asks about."""
    ids = [doc["step_id"]] if doc["step_id"] else dataset.video(doc["video_id"]).applicable_ids
    unit, _, group = doc.get("part", "").partition(":")
    kept = [one for one in ids if not unit or group == (one if unit == "step" else dataset.rubric.skill_of[one])]
    return [dataset.rubric.by_id[one] for one in kept]


def reply(doc: Doc, kind: str = "oracle") -> str:
    dataset = current_run().dataset
    ask = _judge(dataset.digest, kind)
    answer, steps = TASKS[doc["setting"]].answer, asked_steps(doc, dataset)
    return format_answers(ask(dataset.video(doc["video_id"]), steps, answer), steps, answer)


def aggregated(results: Iterable[dict[str, Any]], args: Any = None) -> dict[str, Any]:
    """Aggregates for lmms-eval's table and results file: every metric of the results by its own aggregator."""
    rows = list(results)
    names = [name for name in rows[0] if name != "siming_stderr"]
    aggregates = {name: getattr(hooks, name)([row[name] for row in rows]) for name in names}
    return {**aggregates, "siming_stderr": hooks.evaluation([row["siming_stderr"] for row in rows], args)}


def processed(name: str, kind: str, lead: str = "") -> list[dict[str, Any]]:
    """What the hooks make of a reference judge's replies to all documents of a task, each after ``lead``."""
    return [hooks.process_results(doc, [lead + reply(doc, kind)]) for doc in docs(name)]
