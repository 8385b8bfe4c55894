"""What stands for a dataset's content: digests of rubric, labels and media."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.files import open_regular, sha256_json
from siming_tasks.rubrics import Rubric

__all__ = ["content_digest", "fingerprint", "label_digest"]

_ENDS = 65_536


def content_digest(rubric: Rubric, videos: Sequence[Mapping[str, Any]], media: Mapping[str, str]) -> str:
    """Hex SHA-256 of rubric, label rows and media digests together.

    Args:
        rubric: the checked rubric (defaults filled in, so that formatting does not count).
        videos: the objects of ``videos.jsonl``, in file order.
        media: SHA-256 of each media file by its path relative to the folder.
    """
    content = {"rubric": rubric.model_dump(mode="json"), "videos": list(videos), "media": dict(media)}
    return sha256_json(content)


def label_digest(root: Path, rubric: Rubric, media: Mapping[str, str]) -> str:
    """:func:`content_digest` of what stands in a folder's ``videos.jsonl`` now."""
    rows = [row for _, row in read_jsonl(root / "videos.jsonl") if isinstance(row, dict)]
    return content_digest(rubric, rows, media)


def fingerprint(path: Path) -> str:
    """Hex SHA-256 of a file's size and its first and last 64 KiB: milliseconds where the whole file takes minutes.

    A new encode changes the index at one end of an MP4, so that another video gets another fingerprint; a bit flipped
    in the middle does not. ``siming check`` compares whole files.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(f"ends:{size}:".encode())
    with open_regular(path) as stream:
        digest.update(stream.read(_ENDS))
        stream.seek(max(size - _ENDS, 0))
        digest.update(stream.read(_ENDS))
    return digest.hexdigest()
