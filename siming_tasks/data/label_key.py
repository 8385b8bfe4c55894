"""The label file that `siming data split` writes: the points of every rater, for one public folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import atomic_write, read_bytes, sha256_json
from siming_tasks.data.dataset import Dataset
from siming_tasks.data.row_schema import Number, Sha256, problems_of

__all__ = ["FORMAT", "MAX_KEY", "Points", "read_key", "write_key"]

FORMAT = "siming-labels-1"

MAX_KEY = 400_000_000
"""Largest label file in bytes: 20,000 videos with three raters have 50 million."""

Points = Mapping[str, float | None]
"""Points of one step by rater."""

_MEND = "Restore the file, or write it anew from the full data set with `siming data split`."


class _Key(BaseModel):
    """For which public folder, made from which full one, and the points; ``digest`` is of all the rest."""

    format: str
    public_digest: Sha256
    source_digest: Sha256
    digest: Sha256 | None = None  # absent from label files of the first releases
    scores: dict[str, dict[str, dict[str, Number | None]]]


def write_key(path: Path, dataset: Dataset, public_digest: str) -> None:
    """Write the labels of a data set for its public folder, readable by the file's owner only."""
    key = {
        "format": FORMAT,
        "public_digest": public_digest,
        "source_digest": dataset.digest,
        "scores": {
            video.video_id: {step.step_id: dict(step.scores) for step in video.applicable} for video in dataset.videos
        },
    }
    with atomic_write(path, private=True) as stream:
        json.dump({"digest": sha256_json(key), **key}, stream, indent=1)


def read_key(path: Path, dataset: Dataset) -> dict[str, dict[str, Points]]:
    """The points of a label file by video and step: exactly the applicable steps of a public folder.

    Raises:
        DataError: not a label file, one of another data set or format, changed, or not of these videos and steps.
    """
    content = _load(path)
    try:
        key = _Key.model_validate(content)
    except ValidationError as error:
        raise DataError.of(problems_of(error, str(path))) from None
    if key.format != FORMAT:
        raise DataError(f"{path}: format {key.format[:40]!r}; this version reads {FORMAT!r}. Update siming-tasks.")
    if key.source_digest == dataset.digest:
        raise DataError(f"{path}: {dataset.root} is the data set with these labels in it. Leave out the label file.")
    if key.public_digest != dataset.digest:
        raise DataError(
            f"{path}: these are the labels of dataset {key.public_digest[:12]}, the folder is {dataset.digest[:12]}."
            " Use the public folder that was written together with this file."
        )
    if problems := sorted(_problems(key, dataset, str(path)), key=lambda problem: problem.code, reverse=True):
        raise DataError.of(problems)
    if key.digest and sha256_json({name: content[name] for name in content if name != "digest"}) != key.digest:
        raise DataError(f"{path}: changed after it was written: its digest is not that of these points. {_MEND}")
    return {video: dict(steps) for video, steps in key.scores.items()}


def _load(path: Path) -> dict[str, Any]:
    text = read_bytes(path, MAX_KEY, "Give the file that `siming data split` wrote.")
    try:
        content = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: Invalid JSON: {error}. {_MEND}") from None
    if not isinstance(content, dict):
        raise DataError(f"{path}: not an object. Give the file that `siming data split` wrote.")
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no name stands twice; of two values Python would keep the last."""
    entries: dict[str, Any] = {}
    for name, value in pairs:
        if name in entries:
            raise ValueError(f"{name[:128]!r} stands twice in one object")
        entries[name] = value
    return entries


def _problems(key: _Key, dataset: Dataset, file: str) -> Iterator[Problem]:
    """Videos, steps and points that do not fit the folder."""
    for name in [name for name in key.scores if name not in dataset.by_id]:
        yield Problem("video-unknown", f"the folder has no video {name[:128]!r}.", _MEND, file)
    for video in dataset.videos:
        scores = key.scores.get(video.video_id)
        if scores is None:
            yield Problem("labels-missing", f"no labels of video {video.video_id!r}.", _MEND, file)
            continue
        asked = {step.step_id for step in video.applicable}
        for code, names, what in (
            ("labels-missing", asked - scores.keys(), "no labels of step"),
            ("step-unknown", scores.keys() - asked, "labels of a step that is not asked,"),
        ):
            for name in sorted(names):
                yield Problem(code, f"video {video.video_id!r}: {what} {name[:64]!r}.", _MEND, file)
        for step_id in sorted(asked & scores.keys()):
            top = dataset.rubric.by_id[step_id].max_score
            for rater, value in scores[step_id].items():
                if value is not None and not 0 <= value <= top:
                    what = f"video {video.video_id!r}, step {step_id!r}: {value:g} points are off the step's scale."
                    yield Problem("score-off-scale", what, _MEND, file, field=rater)
