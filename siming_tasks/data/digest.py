"""Digests of a dataset's content: rubric, labels and media."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.rubrics import Rubric
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import canonical_json, open_regular

_ENDS = 65_536


def content_digest(rubric: Rubric, videos: Iterable[Mapping[str, Any] | str], media: Mapping[str, str]) -> str:
    """Hex SHA-256 of rubric, label rows and media digests together: that of the JSON object of the three.

    The rubric has its defaults filled in, so that formatting does not count. ``videos`` are the objects of
    ``videos.jsonl`` in file order, or their :func:`canonical_json`; ``media`` the SHA-256 of each file by its path.
    """
    head = canonical_json({"media": dict(media), "rubric": rubric.model_dump(mode="json")})[:-1]
    digest = hashlib.sha256(f'{head},"videos":['.encode())
    for number, row in enumerate(videos):
        text = row if isinstance(row, str) else canonical_json(row)
        digest.update((f",{text}" if number else text).encode())
    digest.update(b"]}")
    return digest.hexdigest()


def label_difference(root: Path, stated: str, digest: str) -> Problem:
    """Message for a folder whose rubric, labels and list of media have another digest than it states."""
    both = f"stated {stated[:12]}, found {digest[:12]}"
    what = f"the digest does not match the rubric, labels and media ({both})."
    return Problem("digest-mismatch", what, _ways_out(root), "dataset.yaml", None, "digest")


def media_difference(root: Path, media: str, stated: str, digest: str) -> Problem:
    """Message for a media file that has another SHA-256 than its folder states."""
    what = f"{media} does not match its digest (stated {stated[:12]}, found {digest[:12]})."
    return Problem("media-digest", what, _ways_out(root), "dataset.yaml", None, "media_sha256")


def folder_error(root: Path, problems: Iterable[Problem]) -> DataError:
    """One error out of findings about a data set; its files get their whole paths, where the text has none."""
    inside = ("dataset.yaml", "rubric.yaml", "videos.jsonl")
    return DataError.of([
        replace(each, file=str(root / each.file))
        if each.file in inside and str(root / each.file) not in each.what
        else each
        for each in problems
    ])  # fmt: skip


def _ways_out(root: Path) -> str:
    return (
        "Something was changed after the build. Fetch or build it again; if the change is intended, "
        f"`siming data check {root} --restate`."
    )


def fingerprint(path: Path) -> str:
    """Hex SHA-256 of a file's size and its first and last 64 KiB: milliseconds where the whole file takes minutes.

    A new encode changes the index at one end of an MP4, so that another video gets another fingerprint; a bit flipped
    in the middle does not. ``siming data check`` compares whole files.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(f"ends:{size}:".encode())
    with open_regular(path) as stream:
        digest.update(stream.read(_ENDS))
        stream.seek(max(size - _ENDS, 0))
        digest.update(stream.read(_ENDS))
    return digest.hexdigest()
