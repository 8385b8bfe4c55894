"""The SHA-256 of a data set's media: comparison with its digest, and restatement after an intended change."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import yaml

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import (
    VERIFIED,
    atomic_write,
    digest_of,
    known_digest,
    read_text,
    read_yaml,
    sha256_file,
    sha256_json,
)
from siming_tasks.common.processes import locked
from siming_tasks.data.dataset import Dataset, scan
from siming_tasks.data.digest import content_digest, folder_error, media_difference
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.data.row_schema import DatasetInfo

_log = logging.getLogger(__name__)
_WORTH_A_WORD = 2_000_000_000  # bytes above which reading them is announced: some seconds
_READING = "Reading %d videos (%.1f GB) once, to check that they are the videos of these labels."
_MAX_CARD = 4_000_000


def verify_media(dataset: Dataset, cache: Path) -> None:
    """Check that every media file has the SHA-256 that ``dataset.yaml`` states; files without one are not read.

    A file is read once; what was found is kept in the cache for later processes as long as the file looks the same.
    Processes that start together wait for the first. A cache that cannot be written costs reading in every process.

    Raises:
        DataError: a file is another one; names the file, both digests and the way out. One problem per file.
    """
    stated: Mapping[str, str] = dataset.meta.get("media_sha256") or {}
    paths = {video.media: dataset.media_path(video) for video in dataset.videos if video.media in stated}
    if any(known_digest(path, cache) is None for path in paths.values()):
        with ExitStack() as stack:  # one process reads, the others wait; no lock where none can be written
            with suppress(OSError):
                (cache / VERIFIED).mkdir(parents=True, exist_ok=True)
                folder = sha256_json(str(dataset.root.resolve()))[:16]
                stack.enter_context(locked(cache / VERIFIED / f"{folder}.lock"))
            unread = [path for path in paths.values() if known_digest(path, cache) is None]
            size = sum(path.stat().st_size for path in unread)
            if size > _WORTH_A_WORD:
                _log.warning(_READING, len(unread), size / 1e9)
            with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
                for _ in pool.map(lambda path: digest_of(path, cache), unread):
                    pass
    wrong = [
        media_difference(dataset.root, media, stated[media], digest)
        for media, path in paths.items()
        if (digest := digest_of(path, cache)) != stated[media]
    ]
    if wrong:
        raise folder_error(dataset.root, wrong)


def restate(root: str | Path) -> tuple[str | None, str]:
    """Make ``dataset.yaml`` (and the card, which repeats it) match the current contents of the folder.

    The result is the digest stated before (None if there was none) and the new one. DataError: something else than the
    digests is wrong, or the folder is the copy of a hub's.
    """
    root = Path(root)
    dataset, problems = scan(root)
    if errors := [item for item in problems if item.severity == "error" and item.code != "digest-mismatch"]:
        raise folder_error(root, errors)
    if dataset is None:
        raise DataError(f"{root}: no dataset could be read.")
    if "revision" in dataset.meta:
        raise DataError(f"{root}: a copy fetched from the hub is never changed. Fetch it again, or copy the folder.")
    media = {video.media: sha256_file(dataset.media_path(video)) for video in dataset.videos}
    info = read_yaml(root / "dataset.yaml", DatasetInfo)
    rows = (row for _, row in read_jsonl(root / "videos.jsonl", []))
    before, now = info.get("digest"), content_digest(dataset.rubric, rows, media)
    info |= {"digest": now, "media_sha256": dict(sorted(media.items()))}
    with atomic_write(root / "dataset.yaml") as stream:
        yaml.safe_dump(info, stream, sort_keys=False, allow_unicode=True)
    card = root / "README.md"
    if before and card.is_file():
        text = read_text(card, _MAX_CARD)
        with atomic_write(card) as stream:
            stream.write(text.replace(before, now))
    return before, now
