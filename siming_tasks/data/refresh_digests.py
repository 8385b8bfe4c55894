"""A change that is meant: the digests of a folder stated anew, after labels were corrected or a video replaced."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write, read_text, read_yaml, sha256_file
from siming_tasks.data.croissant import croissant
from siming_tasks.data.dataset import scan
from siming_tasks.data.digest import label_digest
from siming_tasks.data.row_schema import DatasetInfo

__all__ = ["restate"]

_MOST = 4_000_000


def restate(root: str | Path) -> tuple[str | None, str]:
    """Make ``dataset.yaml`` (and what repeats it: card, ``croissant.json``) state what the folder holds now.

    Args:
        root: a folder in which nothing is wrong but its digests.

    Returns:
        The digest stated before (None if there was none) and the new one.

    Raises:
        DataError: something else is wrong, or the folder is the copy of a hub's.
    """
    root = Path(root)
    dataset, problems = scan(root)
    if errors := [item for item in problems if item.severity == "error" and item.code != "digest-mismatch"]:
        raise DataError.of(errors)
    if dataset is None:
        raise DataError(f"{root}: no dataset could be read.")
    if "revision" in dataset.meta:
        raise DataError(f"{root}: a copy fetched from a hub is not changed here. Fetch it again, or copy the folder.")
    media = {video.media: sha256_file(dataset.media_path(video)) for video in dataset.videos}
    info = read_yaml(root / "dataset.yaml", DatasetInfo)
    before, now = info.get("digest"), label_digest(root, dataset.rubric, media)
    info |= {"digest": now, "media_sha256": dict(sorted(media.items()))}
    with atomic_write(root / "dataset.yaml") as stream:
        yaml.safe_dump(info, stream, sort_keys=False, allow_unicode=True)
    card = root / "README.md"
    if before and card.is_file():
        text = read_text(card, _MOST)
        with atomic_write(card) as stream:
            stream.write(text.replace(before, now))
    if (root / "croissant.json").is_file():
        files = {name: sha256_file(root / name) for name in ("videos.jsonl", "rubric.yaml", "dataset.yaml")}
        with atomic_write(root / "croissant.json") as stream:
            json.dump(croissant(info, {**files, **media}), stream, indent=1, ensure_ascii=False)
    return before, now
