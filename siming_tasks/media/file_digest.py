"""What a media file holds: its SHA-256, read once and then known by the look of the file.

::

    <cache>/verified/<name>     the SHA-256; the name stands for path, inode, size and dates of the file

A file that is replaced, renamed or written to looks different and is read again.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path

from siming_tasks.common.files import atomic_write, sha256_file

__all__ = ["VERIFIED", "digest_of", "known_digest"]

VERIFIED = "verified"
"""The folder of the cache in which the digests are kept for later processes."""

_SHA256 = re.compile("[0-9a-f]{64}")
_read_here: dict[str, str] = {}
_looks: dict[tuple[str, int, int, int, int, int], str] = {}


def digest_of(path: Path, cache: Path | None = None) -> str:
    """Hex SHA-256 of a file, read at most once as long as it looks the same.

    Args:
        path: the file.
        cache: where it is kept for later processes; None keeps it for this process only.

    Raises:
        OSError: the file cannot be read. (A cache that cannot be written is no error.)
    """
    if found := known_digest(path, cache):
        return found
    look = _look(path)
    found = sha256_file(path)
    if _look(path) == look:  # else it was written to meanwhile
        _read_here[look] = found
        if cache is not None:
            with suppress(OSError), atomic_write(cache / VERIFIED / look) as stream:
                stream.write(found)
    return found


def known_digest(path: Path, cache: Path | None = None) -> str | None:
    """The digest of a file that was read before and looks the same; else None.

    Raises:
        OSError: there is no such file.
    """
    look = _look(path)
    if look not in _read_here and cache is not None:
        with suppress(OSError, ValueError):
            found = (cache / VERIFIED / look).read_text(encoding="ascii")
            if _SHA256.fullmatch(found):
                _read_here[look] = found
    return _read_here.get(look)


def _look(path: Path) -> str:
    """Inode and change date tell apart what size and modification date do not: ``cp -p``, ``touch -r``."""
    stat = path.stat()
    facts = (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    key = (os.path.abspath(path), stat.st_dev, *facts)
    if key not in _looks:  # following every link of a path takes longer than all the rest, and is asked per request
        look = "\0".join(map(str, (path.resolve(), *facts)))
        _looks[key] = hashlib.sha256(look.encode(errors="surrogateescape")).hexdigest()[:32]
    return _looks[key]
