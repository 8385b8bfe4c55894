"""The small files of a dataset folder, written around the media that are there already."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from siming_tasks.common.files import atomic_write, sha256_file
from siming_tasks.data.card import card
from siming_tasks.data.croissant import croissant
from siming_tasks.data.digest import content_digest
from siming_tasks.rubrics import load_rubric

__all__ = ["write_folder"]


def write_folder(
    root: Path,
    rubric_file: Path,
    rows: Sequence[Mapping[str, Any]],
    info: Mapping[str, Any],
    media: Mapping[str, str],
) -> None:
    """Write ``rubric.yaml``, ``videos.jsonl``, ``dataset.yaml``, ``README.md`` and ``croissant.json``.

    Args:
        root: the folder.
        rubric_file: the rubric to copy.
        rows: the objects of ``videos.jsonl``.
        info: the content of ``dataset.yaml``, to which the digests are added.
        media: SHA-256 of each media file by its path relative to the folder.
    """
    shutil.copyfile(rubric_file, root / "rubric.yaml")
    rubric = load_rubric(root / "rubric.yaml")
    media = dict(sorted(media.items()))
    info = {**info, "digest": content_digest(rubric, rows, media), "media_sha256": media}
    with atomic_write(root / "videos.jsonl") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    with atomic_write(root / "dataset.yaml") as stream:
        yaml.safe_dump(info, stream, sort_keys=False, allow_unicode=True)
    with atomic_write(root / "README.md") as stream:
        stream.write(card(info, rubric, rows))
    files = {name: sha256_file(root / name) for name in ("videos.jsonl", "rubric.yaml", "dataset.yaml")}
    with atomic_write(root / "croissant.json") as stream:
        json.dump(croissant(info, {**files, **media}), stream, indent=1, ensure_ascii=False)
