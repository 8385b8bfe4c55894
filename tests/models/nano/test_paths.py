"""The media path of two encoded exams broken on purpose: a judge that watches loses by every quiet fault.

Weekly, for it takes a minute: that the right frames arrive is held picture by picture in ``tests/plugin``.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef

from siming_tasks.data import open_dataset
from siming_tasks.models.nano.exam_judge import Watcher
from siming_tasks.plugin import hooks
from siming_tasks.tools.simulator import make_demo
from tests.models.nano.conftest import Messages

FAULTS: tuple[tuple[str, Callable[..., Any], float], ...] = (
    ("another exam's frames", lambda frames, following, other: other, 0.7),
    ("the next step's clip", lambda frames, following, other: following, 0.4),
    ("three of four frames missing", lambda frames, following, other: frames[: max(1, len(frames) // 4)], 0.4),
    ("shifted by half a clip", lambda frames, following, other: [*frames, *following][len(frames) // 2 :], 0.25),
    ("one frame repeated", lambda frames, following, other: frames[:1] * len(frames), 0.5),
    ("mirrored", lambda frames, following, other: [frame[:, ::-1] for frame in frames], 0.4),
    ("red and blue exchanged", lambda frames, following, other: [frame[..., ::-1] for frame in frames], 0.25),
    ("every second one black", lambda frames, following, other: [f * (n % 2) for n, f in enumerate(frames)], 0.25),
    ("40 pixels wide", lambda frames, following, other: [frame[::12, ::12] for frame in frames], 0.25),
)
"""What is shown in place of a clip's frames, and the least loss of MCC; of 66 clips, one verdict is about 0.04."""


def sent_clips(folder: Path) -> tuple[list[list[tuple[list[dict[str, Any]], list[np.ndarray]]]], np.ndarray]:
    """Message and pictures of every clip as the hooks send them, by exam and step; and which steps are incorrect."""
    hooks.dataset_kwargs  # noqa: B018 - what lmms-eval fetches when it loads a task
    dataset, clips = open_dataset(folder), {}
    for doc in hooks.docs_clip_error(None):
        content = hooks.doc_to_messages(dict(doc))[0]["content"]
        pictures = [np.asarray(part["url"].convert("RGB")) for part in content if part["type"] == "image"]
        clips[doc["video_id"], doc["step_id"]] = content, pictures
    steps = dataset.rubric.steps
    wrong = [[video.step(step.id).consensus < step.max_score for step in steps] for video in dataset.videos]
    return [[clips[video.video_id, step.id] for step in steps] for video in dataset.videos], np.array(wrong)


def with_pictures(content: list[dict[str, Any]], pictures: list[np.ndarray]) -> Messages:
    """The message with other pictures at its times; without what there is no picture for."""
    captions = [part for part in content if part["type"] == "text"]
    shown = [
        part
        for caption, picture in zip(captions[:-1], pictures, strict=False)
        for part in (caption, {"type": "image", "url": picture})
    ]
    return [{"role": "user", "content": [*shown, captions[-1]]}]


@pytest.fixture(scope="module")
def exams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_demo(tmp_path_factory.mktemp("nano") / "exams", videos=2, seed=9191, jobs=2, progress=False)


@pytest.mark.weekly
def test_every_quiet_fault_costs(watcher: Watcher, exams: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMING_DATA", str(exams))
    monkeypatch.setenv("SIMING_CACHE", str(exams.with_name("cache")))
    clips, wrong = sent_clips(exams)

    def mcc(change: Any) -> float:
        verdicts = []
        for exam, row in enumerate(clips):
            for step, (content, pictures) in enumerate(row):
                following, other = row[(step + 1) % len(row)][1], clips[(exam + 1) % len(clips)][step][1]
                (reply,) = watcher.replies([with_pictures(content, change(pictures, following, other))])
                verdicts.append(json.loads(reply)["verdict"] == "incorrect")
        return float(matthews_corrcoef(wrong.ravel(), verdicts))

    whole = mcc(lambda frames, following, other: frames)
    assert whole >= 0.8  # docs/explanation/synthetic.md has more exams
    for fault, change, least in FAULTS:
        assert whole - mcc(change) >= least, fault
