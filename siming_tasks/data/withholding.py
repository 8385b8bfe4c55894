"""Public folder and private labels: one dataset split so that models can be run without the answers."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from siming_tasks.benchmark.exams import StepLabel, Video
from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_path, read_text, read_yaml, sha256_file, sha256_json
from siming_tasks.common.output_folder import check_place, output_folder
from siming_tasks.data.consent import copy_recording
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.digest import folder_error, media_difference
from siming_tasks.data.folder_files import write_folder
from siming_tasks.data.jsonl import parse_object, read_jsonl
from siming_tasks.data.row_schema import RaterRow, Sha256, StepRow, problems_of, stated_raters

FORMAT = "siming-labels-1"
MAX_KEY = 400_000_000  # largest label file in bytes: 20,000 videos with three raters have 50 million
_FIX = "Restore the file, or make it again from the full data set with `siming data split`."


_PUBLIC = ("name", "version", "license", "simulated", "languages", "processing", "created", "canary", "url", "citation",
           "attempts", "sound", "consent")  # fmt: skip
_PUBLIC_OF_VIDEO = ("split", "splits", "transcript", "canary")
_TIES = ("student", "performance")
"""Facts of a video that the label file keeps: who was examined is nobody's business, and intervals are over them."""


def withhold(root: str | Path, out: str | Path, key: str | Path) -> Dataset:
    """Write a copy of a dataset without labels, and the labels as one file to keep.

    The public part has only what a model needs: ids, media, spans, which steps apply. Keys that
    other tools added to the rows, event logs and label statistics do not travel. The label file ``key`` is outside the
    public folder ``out``, readable by its owner only; neither may exist. The result is the public dataset.

    Raises:
        DataError: a target exists, the key would be inside the public folder, or there is nothing to withhold.
    """
    dataset, out, key = open_dataset(root), Path(out), Path(key)
    if key.resolve().is_relative_to(out.resolve()):
        raise DataError(f"{key}: the label file must be outside the public folder {out}.")
    check_place(out)
    if os.path.lexists(key):
        raise DataError(f"{key}: already exists. Choose another place, or delete it.")
    if dataset.withheld:
        raise DataError(f"{root}: no step has a consensus, so there is nothing to withhold.")
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
    order = {step.id: index for index, step in enumerate(dataset.rubric.steps)}
    videos = []
    for video in dataset.videos:
        labelled = labels.videos[video.video_id]
        steps = sorted((row.label({}) for row in labelled.steps), key=lambda step: order[step.step_id])
        ties = {name: value for name in _TIES if (value := getattr(labelled, name)) not in (None, "")}
        videos.append(replace(video, steps=tuple(steps), extra={**video.extra, **ties}))
    facts = {name: row.rater() for name, row in labels.raters.items()}
    meta = {**dataset.meta, "different": labels.different}
    return replace(dataset, videos=tuple(videos), rater_facts=facts, meta=meta)


def refuse_unknown_rater(dataset: Dataset, rater: str) -> None:
    """Refuse a rater whom the whole data set does not have; it may be a part of one (DataError)."""
    if rater != CONSENSUS and rater not in (dataset.whole or dataset).raters:
        check_reference(dataset, rater)


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
            "predictions (`siming score --show missing`) and send them to the person who keeps the labels."
        )


def _write_public(dataset: Dataset, part: Path) -> None:
    """Write the public part of a data set into an empty folder (DataError: a video is not the one stated)."""
    (part / "media").mkdir()
    media = {}
    for video in dataset.videos:
        target = _public_media(video)
        digest = sha256_file(dataset.media_path(video))
        if (stated := dataset.meta["media_sha256"].get(video.media, digest)) != digest:
            raise folder_error(dataset.root, [media_difference(dataset.root, video.media, stated, digest)])
        copy_recording(dataset, video, part / target)
        media[target] = sha256_file(part / target)
    known = {"name": dataset.name, "version": dataset.version, **dataset.meta, "simulated": dict(dataset.simulated)}
    if consent := dataset.meta.get("consent"):
        known["consent"] = {**consent, "here": ()}  # machines of whoever keeps the labels
    canary = f"SIMING-BENCH-CANARY-{uuid.uuid5(uuid.NAMESPACE_OID, sha256_json(media))}"  # of nothing that is withheld
    info = {"canary": canary, **{name: known[name] for name in _PUBLIC if known.get(name) is not None}}
    rows = list(map(_public_row, dataset.videos))
    write_folder(part, dataset.root / "rubric.yaml", rows, {**info, "labels": "withheld"}, media)


def public_files(dataset: Dataset) -> tuple[str, ...]:
    """Files of a public folder, relative to it; checks that it has no others and that they reveal no label.

    Raises:
        DataError: the folder is not as :func:`withhold` made it.
    """
    root = dataset.root
    media = {_public_media(video) for video in dataset.videos}
    files = {"README.md", "dataset.yaml", "rubric.yaml", "videos.jsonl", *media}
    found = {path.relative_to(root).as_posix() for path in root.rglob("*") if not path.is_dir() or path.is_symlink()}
    rows = [row for _, row in read_jsonl(root / "videos.jsonl", [])]
    info = read_yaml(root / "dataset.yaml")
    why = ""
    if info.get("labels") != "withheld" or not dataset.withheld:
        why = "its labels are in it"
    elif other := sorted(found ^ files):
        why = f"{other[0]} is {'there' if other[0] in found else 'missing'}"
    elif more := sorted(info.keys() - {*_PUBLIC, "labels", "digest", "media_sha256"}):
        why = f"dataset.yaml has {more[0]!r}"
    elif rows != list(map(_public_row, dataset.videos)):
        why = "videos.jsonl has more keys"
    if why:
        fix = f"Only what `siming data split {root} OUT --key KEYFILE` writes into OUT is uploaded."
        raise DataError(f"{root}: not a public folder made by `siming data split` ({why}). {fix}")
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


def _public_step(label: StepLabel) -> dict[str, Any]:
    if not label.applicable:
        return {"step_id": label.step_id, "applicable": False}
    return {"step_id": label.step_id, "start": label.start, "end": label.end, "score": {"consensus": None}}


class _Labels(BaseModel):
    """Labels of one video: its steps as the full data set has them, and who was examined."""

    student: Any = None
    performance: Any = None
    steps: tuple[StepRow, ...]


class _Key(BaseModel):
    """Content of a label file: whose labels they are, raters, names, labels; ``digest`` is of all the rest."""

    format: str
    public_digest: Sha256
    source_digest: Sha256
    digest: Sha256
    raters: dict[str, RaterRow] = Field(default_factory=dict)
    different: tuple[tuple[str, str], ...] = ()
    videos: dict[str, _Labels]


def _write_key(path: Path, dataset: Dataset, public_digest: str) -> None:
    """Write the labels of a data set for its public folder into a file that its owner alone can read."""
    rows = (row for _, row in read_jsonl(dataset.root / "videos.jsonl", []))
    key = {
        "format": FORMAT,
        "public_digest": public_digest,
        "source_digest": dataset.digest,
        **stated_raters(dataset.rater_facts),
        **({"different": dataset.meta["different"]} if dataset.different_names else {}),
        "videos": {row["video_id"]: {name: row[name] for name in (*_TIES, "steps") if name in row} for row in rows},
    }
    with path.open("w", encoding="utf-8") as stream:
        json.dump({"digest": sha256_json(key), **key}, stream, indent=1)


def _read_key(path: Path, dataset: Dataset) -> _Key:
    """A label file, unchanged since it was written together with this public folder."""
    text = read_text(path, MAX_KEY, "Give the file that `siming data split` wrote.")
    try:
        content = parse_object(text)
        key = _Key.model_validate(content)
    except ValidationError as error:
        raise DataError.of(problems_of(error, str(path))) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not a label file of `siming data split` ({error}). {_FIX}") from None
    if key.format != FORMAT:
        raise DataError(f"{path}: format {key.format[:40]!r}; this version reads {FORMAT!r}. Update siming-tasks.")
    if key.source_digest == dataset.digest:
        raise DataError(f"{path}: {dataset.root} already contains these labels. Leave out the label file.")
    if key.public_digest != dataset.digest:
        raise DataError(
            f"{path}: these are the labels of data set {key.public_digest[:12]}, but the "
            f"folder is {dataset.digest[:12]}."
            " Use the public folder that was written together with this file."
        )
    if sha256_json({name: content[name] for name in content if name != "digest"}) != key.digest:
        raise DataError(f"{path}: changed after it was written: its digest does not match its labels. {_FIX}")
    return key
