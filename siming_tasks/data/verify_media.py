"""Comparison of a data set's media with the SHA-256 that its digest was taken of."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import VERIFIED, digest_of, known_digest, sha256_json
from siming_tasks.common.locks import locked
from siming_tasks.data.dataset import Dataset
from siming_tasks.data.digest import media_difference

__all__ = ["verify_media"]

_log = logging.getLogger(__name__)

_WORTH_A_WORD = 2_000_000_000
"""Bytes above which reading them is announced: some seconds."""


def verify_media(dataset: Dataset, cache: Path) -> None:
    """Check that every media file has the SHA-256 that ``dataset.yaml`` states; files without one are not read.

    A file is read once; what was found is kept in the cache for later processes as long as the file looks the same.
    Processes that start together wait for the first.

    Args:
        dataset: opened with its media.
        cache: the cache folder; one that cannot be written costs reading the files in every process.

    Raises:
        DataError: a file is another one; names the file, both digests and the way out. One problem per file.
    """
    stated: Mapping[str, str] = dataset.meta.get("media_sha256") or {}
    paths = {video.media: dataset.media_path(video) for video in dataset.videos if video.media in stated}
    if any(known_digest(path, cache) is None for path in paths.values()):
        with _alone(dataset.root, cache):
            _read([path for path in paths.values() if known_digest(path, cache) is None], cache)
    wrong = [
        media_difference(dataset.root, media, stated[media], digest)
        for media, path in paths.items()
        if (digest := digest_of(path, cache)) != stated[media]
    ]
    if wrong:
        raise DataError.of(wrong)


def _read(paths: list[Path], cache: Path) -> None:
    size = sum(path.stat().st_size for path in paths)
    if size > _WORTH_A_WORD:
        what = "Reading %d videos (%.1f GB) once, to make sure that they are those that the labels were made for."
        _log.warning(what, len(paths), size / 1e9)
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for _ in pool.map(lambda path: digest_of(path, cache), paths):
            pass


@contextmanager
def _alone(root: Path, cache: Path) -> Iterator[None]:
    """One process reads the media of a folder, the others wait; no lock where none can be written."""
    with ExitStack() as stack:
        with suppress(OSError):
            (cache / VERIFIED).mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(cache / VERIFIED / f"{sha256_json(str(root.resolve()))[:16]}.lock"))
        yield
