"""EgoOops: 50 recordings of five tasks done after a text, with a sentence why for every mistake.

Haneji et al., *EgoOops: A Dataset for Mistake Action Detection from Egocentric Videos with Procedural Texts*, 2024
(arXiv:2410.05343); annotations CC BY-SA 4.0. A segment belongs to an instruction or to none. Instructions without a
segment were left out, which the annotations do not state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.exams import Attempt
from siming_tasks.tools.public_sets.public_set import LEFT_OUT, AnnotatedRecording, PublicSet, one_point, read_json

KINDS = {
    "wrong_object": "Works with wrong objects.",
    "wrong_grasp": "Grasps wrong objects and releases them without using them.",
    "correction": "Corrects a mistake.",
    "unintended": "Does something unintended.",
    "wrong_way": "Works in the wrong way, or moves wrongly.",
    "other": "Makes another mistake.",
    LEFT_OUT: "Leaves it out.",
}
"""Classes of mistakes, in the order of the set's ``meta/mistake_classes.json``; the set does not name what is left
out."""
NAMES = {
    "blacklight": "color mixture under a black light",
    "cardboard": "cardboard crafts",
    "electronics": "electrical circuits",
    "ion": "ionic reaction",
    "tsumiki": "toy building blocks",
}
"""Tasks as the paper calls them."""


def read(folder: Path) -> tuple[list[dict[str, Any]], list[AnnotatedRecording]]:
    """Skills and recordings of a folder with the annotation files."""
    content = read_json(folder / "meta" / "metadata.json")
    steps = {
        task: [f"{task}_{number:02d}" for number in range(1, len(texts) + 1)]
        for task, texts in content["instructions"].items()
    }
    skills = [
        {
            "id": task,
            "name": NAMES.get(task, task),
            "steps": [one_point(*step, KINDS) for step in zip(steps[task], texts, strict=True)],
        }
        for task, texts in content["instructions"].items()
    ]
    return skills, [_recording(video, steps[video["task_id"]]) for video in content["videos"]]


def _recording(video: Mapping[str, Any], steps: Sequence[str]) -> AnnotatedRecording:
    """One recording of a task with these steps."""
    attempts: dict[str, list[Attempt]] = {}
    kinds = list(KINDS)
    for segment in video["segments"]:
        if segment["instruction"] == -1:  # it belongs to none
            continue
        step = steps[segment["instruction"]]
        errors = tuple(f"{step}.{kinds[label]}" for label in segment["labels"])
        attempt = Attempt(segment["startTime"], segment["endTime"], not errors, errors, segment["caption"])
        attempts.setdefault(step, []).append(attempt)
    last = max(segment["endTime"] for segment in video["segments"])
    return AnnotatedRecording(video["video_id"], skill=video["task_id"], duration=last, attempts=attempts)


SET = PublicSet(
    repository="Y-Haneji/EgoOops-annotations",
    commit="538e4be47792715d4c34318877c2aaf08b42252b",
    patterns=("meta/metadata.json",),
    digest="23dff43a79b86cfcc0615727ad2ad433d3259c9867a65ef79045866e6cbfa05f",
    rubric={"title": "Tasks done after a text", "setting": "on a table", "exam": "{skill}", "examiner": "an examiner"},
    rule="worst",
    labels="person",
    license="cc-by-sa-4.0",
    citation="Haneji et al., EgoOops, 2024, arXiv:2410.05343",
    videos_from="https://y-haneji.github.io/EgoOops-project-page/ (videos-processed-720p.zip)",
    read=read,
)
