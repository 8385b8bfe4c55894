"""EgoOops: 50 recordings of five tasks done after a text, with a sentence why for every mistake.

Haneji et al., *EgoOops: A Dataset for Mistake Action Detection from Egocentric Videos with Procedural Texts*, 2024
(arXiv:2410.05343); annotations CC BY-SA 4.0. A segment belongs to an instruction or to none. Instructions without a
segment were left out, which the annotations do not say in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from siming_tasks.common.schema import Attempt
from siming_tasks.tools.public_sets.public_set import (
    LEFT_OUT,
    PublicSet,
    Published,
    Recording,
    annotation,
    numbered,
    one_point,
    read_json,
    rubric_of,
    span_of,
)

PUBLISHED = Published(
    "Y-Haneji/EgoOops-annotations",
    "538e4be47792715d4c34318877c2aaf08b42252b",
    ("meta/metadata.json",),
    "23dff43a79b86cfcc0615727ad2ad433d3259c9867a65ef79045866e6cbfa05f",
)
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


def _recording(file: Path, video: Mapping[str, Any], steps: Sequence[str]) -> Recording:
    """One recording of a task with these steps."""
    attempts: dict[str, list[Attempt]] = {}
    last, kinds, unassigned = 0.0, list(KINDS)[:-1], 0
    for number, segment in enumerate(video["segments"]):
        with annotation(file, f"video {video['video_id']!r}: segments[{number}]"):
            start, end = span_of(segment["startTime"], segment["endTime"])
            last = max(last, end)
            if segment["instruction"] == -1:
                unassigned += 1
                continue
            step = numbered(steps, segment["instruction"], "instruction")
            errors = tuple(f"{step}.{numbered(kinds, label, 'label')}" for label in segment["labels"])
            attempts.setdefault(step, []).append(Attempt(start, end, not errors, errors, segment["caption"]))
    return Recording(
        video_id=video["video_id"],
        skill=video["task_id"],
        duration=last,
        attempts={step: tuple(each) for step, each in attempts.items()},
        unassigned=unassigned,
    )


def read(folder: Path) -> PublicSet:
    """The set in a folder with its annotation files."""
    file = folder / "meta" / "metadata.json"
    content = read_json(file)
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
    recordings = []
    for number, video in enumerate(content["videos"]):
        with annotation(file, f"videos[{number}]"):
            recordings.append(_recording(file, video, steps[video["task_id"]]))
    return PublicSet(
        title="EgoOops",
        rubric=rubric_of(
            "egooops", "Tasks done after a text", "on a table", skills, exam="{skill}", examiner="an examiner"
        ),
        recordings=tuple(recordings),
        rule="worst",
        labels="person",
        license="cc-by-sa-4.0",
        citation="Haneji et al., EgoOops, 2024, arXiv:2410.05343",
        videos_from="https://y-haneji.github.io/EgoOops-project-page/ (videos-processed-720p.zip)",
    )
