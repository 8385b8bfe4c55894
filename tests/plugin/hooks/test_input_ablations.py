"""Ablations as lmms-eval asks them: the same questions on altered evidence, and what the records say of it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siming_tasks.benchmark.exams import StepLabel, Video
from siming_tasks.benchmark.tasks import ABLATION_TASKS, INPUT_ABLATIONS, TASKS
from siming_tasks.benchmark.tasks.mismatched_video import MismatchedVideos
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, restate
from siming_tasks.plugin import hooks
from siming_tasks.plugin.hooks.docs import refuse_empty
from siming_tasks.plugin.run_context import current_run
from tests.plugin.hooks.conftest import Doc, build, docs, record

FRAMES, FILE = {"media": "frames"}, {"media": "video"}


def content(doc: Doc, table: dict[str, str]) -> list[dict[str, Any]]:
    (turn,) = build(hooks.doc_to_messages, doc, table)
    return list(turn["content"])


def pictures(parts: list[dict[str, Any]]) -> list[bytes]:
    return [np.asarray(part["url"]).tobytes() for part in parts if part["type"] == "image"]


@pytest.mark.parametrize("scope", ["full", "clip"])
def test_each_ablation_shows_its_altered_media(scope: str, run: Dataset) -> None:
    (doc, *_) = docs(f"{scope}_score")
    parts = content(doc, FRAMES)
    shown, prompt = pictures(parts), parts[-1]["text"]
    assert len(set(shown)) == len(shown) == (6 if scope == "full" else 3)
    messages = {}
    for name, ablation in INPUT_ABLATIONS.items():
        (mine, *_) = docs(f"ablation_{name}_{scope}_score")
        assert mine["id"] == f"ablation_{name}_{doc['id']}"
        messages[name] = content(mine, FRAMES)
        texts = [part["text"] for part in messages[name][:-1] if part["type"] == "text"]
        assert bool(texts) == (ablation.shows_media and ablation.shows_times)
        assert (messages[name][-1]["text"] == prompt) == ablation.shows_media
        ablated = record(mine)
        assert ablated["media"]["ablation"] == name and (ablated["prompt"] == record(doc)["prompt"]) == bool(texts)
        simple = [np.asarray(image).tobytes() for image in build(hooks.doc_to_visual, mine, FRAMES)]
        assert simple == pictures(messages[name])
        note = build(hooks.doc_to_text, mine, FRAMES).removesuffix(messages[name][-1]["text"]).strip()
        assert ("seconds" in note, "frames of the video" in note) == (bool(texts), ablation.shows_media)
    assert pictures(messages["no_video"]) == [] and len(messages["no_video"]) == 1
    shuffled = pictures(messages["shuffled_frames"])
    assert sorted(shuffled) == sorted(shown) and shuffled != shown
    assert pictures(messages["frozen_frame"]) == [shown[0]] * len(shown)
    assert not set(pictures(messages["mismatched_video"])) & set(shown)
    plain = [part["text"] for part in parts[:-1:2]]
    for name in ("frozen_frame", "mismatched_video"):
        assert [part["text"] for part in messages[name][:-1:2]] == plain


def test_a_model_that_reads_files_gets_a_real_one_and_no_frame_beyond_those_of_the_plain_task(run: Dataset) -> None:
    for doc in docs("full_score"):
        build(hooks.doc_to_messages, doc, FRAMES)
    stored = sorted(current_run().options.cache_dir.rglob("*.jpg"))
    for name in INPUT_ABLATIONS:
        (doc, *_) = docs(f"ablation_{name}_full_score")
        build(hooks.doc_to_messages, doc, FRAMES)
        if name == "no_video":  # shows nothing in any mode
            for table in (FRAMES, FILE):
                assert build(hooks.doc_to_visual, doc, table) == []
                assert [part["type"] for part in content(doc, table)] == ["text"]
                assert record(doc)["media"] == {"mode": "none", "n_frames": 0, "density": "native", "ablation": name}
            continue
        (part, prompt) = content(doc, FILE)
        assert part["type"] == "video" and Path(part["url"]).is_file() and prompt["type"] == "text"
        assert build(hooks.doc_to_visual, doc, FILE) == [part["url"]]
        assert hooks.doc_to_text(doc, FILE) == prompt["text"]
        media = record(doc)["media"]
        assert (media["mode"], media["ablation"], media["file_frames"]) == ("proxy", name, 6)
    assert sorted(current_run().options.cache_dir.rglob("*.jpg")) == stored


def test_the_metadata_of_an_ablation_name_it(run: Dataset) -> None:
    for name in ABLATION_TASKS:
        metadata = getattr(hooks, f"metadata_{name}")
        plain = getattr(hooks, f"metadata_{TASKS[name].base_task}")
        ablation = TASKS[name].ablation
        assert ablation is not None and metadata.pop("siming_ablation") == f"{ablation.name} ablations/3"
        assert metadata.pop("siming_prompt") != plain.pop("siming_prompt") and metadata == plain


def exam(name: str, site: str | None = None, steps: str = "ab", student: str | None = None) -> Video:
    labels = tuple(StepLabel(step, 1.0 + at, 2.0 + at) for at, step in enumerate(steps))
    return Video(name, f"{name}.mp4", 10.0, labels, site, {"student": student} if student else {})


def test_mismatched_frames_come_from_another_exam() -> None:
    videos = [exam("v1", "A"), exam("v2", "B"), exam("v3", "A"), exam("v4", "C"), exam("v5", "A")]
    sources = {video.video_id: MismatchedVideos(videos).of(video)[0].video_id for video in videos}
    assert sources == {"v1": "v3", "v3": "v5", "v5": "v1", "v2": "v3", "v4": "v5"}
    videos = [exam("v1"), exam("v2", steps="b"), exam("v3", steps="ba")]
    mismatched = MismatchedVideos(videos)
    assert mismatched.of(videos[0], "a") == (videos[2], (2.0, 3.0))
    assert mismatched.of(videos[2], "a") == (videos[0], (1.0, 2.0))
    assert mismatched.of(videos[0], "b") == (videos[1], (1.0, 2.0))
    alone = [exam("v1", steps="ab"), Video("v2", "v2.mp4", 30.0, ())]
    assert MismatchedVideos(alone).of(alone[0], "b") == (alone[1], (6.0, 9.0))
    same = [exam("v1", student="s"), exam("v2", student="s"), exam("v3", student="t")]
    assert MismatchedVideos(same).of(same[0])[0] is same[2] and MismatchedVideos(same[:2]).of(same[0])[0] is same[1]
    minimal_pairs = {frozenset(("v1", "v2"))}
    assert MismatchedVideos(same, minimal_pairs).of(same[1])[0] is same[2]
    with pytest.raises(DataError, match="v1: the ablation `mismatched_video` shows another exam, and there is none"):
        MismatchedVideos(same[:2], minimal_pairs).of(same[0])


def test_one_exam_alone_refuses_the_mismatched_video(run: Dataset, tmp_path: Path, begin: Callable[..., None]) -> None:
    root = Path(shutil.copytree(run.root, tmp_path / "one"))
    line = (root / "videos.jsonl").read_text().splitlines()[0]
    (root / "videos.jsonl").write_text(line + "\n")
    restate(root)
    begin(root)
    dataset = current_run().dataset
    refuse_empty([TASKS["ablation_no_video_full_score"]], dataset)
    with pytest.raises(DataError, match=f"{json.loads(line)['video_id']}: the ablation `mismatched_video`"):
        refuse_empty([TASKS["ablation_mismatched_video_full_score"]], dataset)
