"""Four full-length exams, encoded, and the messages that the hooks make of their clips."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

from siming_tasks.data import open_dataset
from siming_tasks.models.nano.exam_judge import Watcher
from siming_tasks.plugin import hooks
from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.tools.simulator import make_demo

Messages = list[dict[str, Any]]


@dataclass(frozen=True)
class Clips:
    """The clips of some exams as a model is sent them: by exam and step, and which steps are truly incorrect."""

    steps: tuple[str, ...]
    messages: list[list[Messages]]
    wrong: np.ndarray


@pytest.fixture(scope="session")
def exams(shared: Path) -> Path:
    """Four exams of a seed of their own, at full length: the judge was trained on no other pace."""
    with FileLock(shared / "nano_exams.lock"):
        return make_demo(shared / "nano_exams", videos=4, seed=9191, jobs=2, progress=False)


@pytest.fixture(scope="module")
def clips(exams: Path, tmp_path_factory: pytest.TempPathFactory) -> Clips:
    """Messages of ``clip_error``, made by the hooks from the encoded videos, images decoded: half a gigabyte."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIMING_DATA", str(exams))
        patch.setenv("SIMING_CACHE", str(tmp_path_factory.mktemp("cache")))
        hooks.dataset_kwargs  # noqa: B018 - what lmms-eval fetches when it loads a task
        dataset = open_dataset(exams)
        steps = tuple(step.id for step in dataset.rubric.steps)
        docs = {(doc["video_id"], doc["step_id"]): dict(doc) for doc in hooks.docs_clip_error(None)}
        messages = [[_decoded(docs[video.video_id, step]) for step in steps] for video in dataset.videos]
        wrong = [
            [video.step(step.id).consensus < step.max_score for step in dataset.rubric.steps]
            for video in dataset.videos
        ]
    RUN.__init__()  # type: ignore[misc]  # the next test's environment is another
    return Clips(steps, messages, np.array(wrong))


def _decoded(doc: dict[str, Any]) -> Messages:
    (turn,) = hooks.doc_to_messages(doc)
    content = [
        {**part, "url": np.asarray(part["url"].convert("RGB"))} if part["type"] == "image" else part
        for part in turn["content"]
    ]
    return [{**turn, "content": content}]


@pytest.fixture(scope="session")
def watcher() -> Watcher:
    """The judge with the package's weights."""
    return Watcher("cpu")
