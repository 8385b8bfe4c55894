"""Public folder and private labels: one dataset split so that models can be run without the answers."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import atomic_path, read_bytes, read_yaml, sha256_file, sha256_json
from siming_tasks.common.output_folder import check_place, output_folder
from siming_tasks.common.schema import StepLabel, Video
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.digest import media_difference
from siming_tasks.data.folder_files import write_folder
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.data.row_schema import Number, RaterRow, Sha256, StepRow, problems_of, stated_raters

FORMAT = "siming-labels-1"
MAX_KEY = 400_000_000  # largest label file in bytes: 20,000 videos with three raters have 50 million
_MEND = "Restore the file, or write it anew from the full data set with `siming data split`."


_PUBLIC = ("name", "version", "license", "synthetic", "languages", "processing", "created", "canary", "url", "citation",
           "attempts", "sound")  # fmt: skip
_PUBLIC_OF_VIDEO = ("split", "splits", "transcript", "canary")
_TIES = ("student", "performance")
"""Facts of a video that the label file keeps: who was examined is nobody's business, and intervals are over them."""


def withhold(root: str | Path, out: str | Path, key: str | Path) -> Dataset:
    """Write a copy of a dataset without labels, and the labels as one file to keep.

    The public part holds what a model must be shown and nothing else: ids, media, spans, which steps apply. Keys that
    other tools added to the rows, event logs and label statistics do not travel. The label file ``key`` lies outside
    the public folder ``out``, readable by its owner only; neither may exist. The result is the public dataset.

    Raises:
        DataError: a target exists, the key would lie inside the public folder, or there is nothing to withhold.
    """
    dataset, out, key = open_dataset(root), Path(out), Path(key)
    if key.resolve().is_relative_to(out.resolve()):
        raise DataError(f"{key}: the label file must lie outside the public folder {out}.")
    check_place(out)
    if os.path.lexists(key):
        raise DataError(f"{key}: exists. Name another place, or delete it.")
    if dataset.withheld:
        raise DataError(f"{root}: holds no consensus; there is nothing to withhold.")
    with atomic_path(key, private=True) as key_file, output_folder(out) as part:
        _write_public(dataset, part)
        _write_key(key_file, dataset, open_dataset(part).digest)
    return open_dataset(out)


def with_labels(dataset: Dataset, key: str | Path) -> Dataset:
    """The public dataset with the points of a label file, its digest unchanged so that predictions still fit.

    Raises:
        DataError: not a label file, one of another dataset, or one that was changed; lists what is wrong.
    """
    labels = _read_key(Path(key), dataset)

    def labelled(video: Video) -> Video:
        points = labels.scores[video.video_id]
        about = labels.about.get(video.video_id, {})
        steps = []
        for step in video.steps:
            rows = labels.details.get(video.video_id, {}).get(step.step_id)
            told = rows.label({}) if rows else step
            details = {name: getattr(told, name) for name in ("errors", "reason", "findings", "attempts")}
            steps.append(replace(step, scores=dict(points.get(step.step_id, {})), **details))
        return replace(video, steps=tuple(steps), extra={**video.extra, **about})

    facts = {name: row.rater() for name, row in labels.raters.items()}
    return replace(dataset, videos=tuple(map(labelled, dataset.videos)), rater_facts=facts)


def check_reference(dataset: Dataset, rater: str) -> None:
    """Check that the rater has points to score against.

    Raises:
        DataError: the rater is unknown, or the points are withheld.
    """
    if rater not in dataset.raters:
        raise DataError(f"{dataset.root}: no rater {rater!r}; there are {', '.join(dataset.raters) or 'none'}.")
    if all(step.scores.get(rater) is None for video in dataset.videos for step in video.applicable):
        raise DataError(
            f"{dataset.root}: the labels are withheld. Give the label file with --labels, or only check the "
            "predictions (`siming score --validate-only`) and send them to the keeper of the labels."
        )


def _write_public(dataset: Dataset, part: Path) -> None:
    """Write the public part of a data set into an empty folder (DataError: a video is not the one stated)."""
    (part / "media").mkdir()
    media = {}
    for video in dataset.videos:
        target = _public_media(video)
        shutil.copyfile(dataset.media_path(video), part / target)
        media[target] = checked_digest(dataset, video, part / target)
    known = {"name": dataset.name, "version": dataset.version, "synthetic": dataset.synthetic, **dataset.meta}
    canary = f"SIMING-BENCH-CANARY-{uuid.uuid5(uuid.NAMESPACE_OID, dataset.digest)}"
    info = {"canary": canary, **{name: known[name] for name in _PUBLIC if known.get(name) is not None}}
    rows = list(map(_public_row, dataset.videos))
    write_folder(part, dataset.root / "rubric.yaml", rows, {**info, "labels": "withheld"}, media)


def public_files(dataset: Dataset) -> tuple[str, ...]:
    """Files of a public folder, relative to it: all that it holds, and nothing in them that could tell a label.

    Raises:
        DataError: the folder is not as :func:`withhold` made it.
    """
    root = dataset.root
    media = {_public_media(video) for video in dataset.videos}
    files = {"README.md", "croissant.json", "dataset.yaml", "rubric.yaml", "videos.jsonl", *media}
    found = {path.relative_to(root).as_posix() for path in root.rglob("*") if not path.is_dir() or path.is_symlink()}
    rows = [row for _, row in read_jsonl(root / "videos.jsonl")]
    info = read_yaml(root / "dataset.yaml")
    why = ""
    if info.get("labels") != "withheld" or not dataset.withheld:
        why = "its labels are in it"
    elif other := sorted(found ^ files):
        why = f"{other[0]} is {'there' if other[0] in found else 'missing'}"
    elif more := sorted(info.keys() - {*_PUBLIC, "labels", "digest", "media_sha256"}):
        why = f"dataset.yaml has {more[0]!r}"
    elif rows != list(map(_public_row, dataset.videos)):
        why = "videos.jsonl holds more"
    if why:
        fix = f"Only what `siming data split {root} OUT --key KEYFILE` writes into OUT is uploaded."
        raise DataError(f"{root}: is no public folder of `siming data split` ({why}). {fix}")
    return tuple(sorted(files))


def _public_media(video: Video) -> str:
    return f"media/{video.video_id}.mp4"


def _public_row(video: Video) -> dict[str, Any]:
    """Row of a video in the public folder."""
    about = {"site": video.site, **{name: video.extra.get(name) for name in _PUBLIC_OF_VIDEO}}
    return {
        "video_id": video.video_id,
        "media": _public_media(video),
        "duration": video.duration,
        **{name: value for name, value in about.items() if value is not None},
        "steps": [_public_step(label) for label in video.steps],
    }


def checked_digest(dataset: Dataset, video: Video, path: Path) -> str:
    """SHA-256 of a video's file or its copy (DataError: ``dataset.yaml`` states another one)."""
    digest = sha256_file(path)
    if (stated := dataset.meta["media_sha256"].get(video.media, digest)) != digest:
        raise DataError.of([media_difference(dataset.root, video.media, stated, digest)])
    return digest


def _public_step(label: StepLabel) -> dict[str, Any]:
    if not label.applicable:
        return {"step_id": label.step_id, "applicable": False}
    return {"step_id": label.step_id, "start": label.start, "end": label.end, "score": {"consensus": None}}


class _Key(BaseModel):
    """For which public folder, made from which full one, raters, points, and what else labels say of videos and steps.

    ``digest`` is of all the rest.
    """

    format: str
    public_digest: Sha256
    source_digest: Sha256
    digest: Sha256 | None = None  # absent from label files of the first releases
    raters: dict[str, RaterRow] = Field(default_factory=dict)
    about: dict[str, dict[str, str]] = Field(default_factory=dict)
    details: dict[str, dict[str, StepRow]] = Field(default_factory=dict)
    scores: dict[str, dict[str, dict[str, Number | None]]]


def _write_key(path: Path, dataset: Dataset, public_digest: str) -> None:
    """Write the labels of a data set for its public folder into a file that its owner alone can read."""
    key = {
        "format": FORMAT,
        "public_digest": public_digest,
        "source_digest": dataset.digest,
        **stated_raters(dataset.rater_facts),
        "about": {
            video.video_id: ties
            for video in dataset.videos
            if (ties := {name: str(video.extra[name]) for name in _TIES if video.extra.get(name)})
        },
        "details": {
            video.video_id: rows
            for video in dataset.videos
            if (rows := {step.step_id: row for step in video.applicable if (row := _details(step))})
        },
        "scores": {
            video.video_id: {step.step_id: dict(step.scores) for step in video.applicable} for video in dataset.videos
        },
    }
    with path.open("w", encoding="utf-8") as stream:
        json.dump({"digest": sha256_json(key), **key}, stream, indent=1)


def _details(label: StepLabel) -> dict[str, Any]:
    """Content of a label beyond its points, as ``videos.jsonl`` has it; empty if there is none."""
    rows = {
        "errors": None if label.errors is None else list(label.errors),
        "reason": label.reason,
        "findings": {rater: asdict(finding) for rater, finding in label.findings.items()},
        "attempts": [asdict(attempt) for attempt in label.attempts],
    }
    stated = {name: value for name, value in rows.items() if value or (value == [] and name == "errors")}
    return {"step_id": label.step_id, **stated} if stated else {}


def _read_key(path: Path, dataset: Dataset) -> _Key:
    """A label file, its points by video, step and rater: exactly the applicable steps of a public folder."""
    text = read_bytes(path, MAX_KEY, "Give the file that `siming data split` wrote.")
    try:
        content = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: Invalid JSON: {error}. {_MEND}") from None
    if not isinstance(content, dict):
        raise DataError(f"{path}: not an object. Give the file that `siming data split` wrote.")
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
    return key


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
