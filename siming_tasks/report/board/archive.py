"""A zip archive from a stranger: nothing is unpacked to disk, and no size or name in it is believed."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from siming_tasks.errors import DataError

__all__ = ["MAX_ARCHIVE", "read_archive"]

MAX_ARCHIVE = 100_000_000


def read_archive(path: Path, limits: Mapping[str, int], fix: str) -> dict[str, bytes]:
    """The members of an archive that holds exactly these.

    Args:
        path: the archive.
        limits: by member, how many bytes of it are read at most.
        fix: the way out, at the end of some messages.

    Raises:
        DataError: not such an archive; names the file, what is wrong and the way out.
    """
    try:
        if path.stat().st_size > MAX_ARCHIVE:
            raise DataError(f"{path}: larger than {MAX_ARCHIVE:,} bytes. {fix}")
        with zipfile.ZipFile(path) as archive:
            return _members(path, archive, limits)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file.") from None
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, EOFError, OSError) as error:
        raise DataError(f"{path}: not a readable zip archive ({error}). {fix}") from None


def _members(path: Path, archive: zipfile.ZipFile, limits: Mapping[str, int]) -> dict[str, bytes]:
    names = [item.filename for item in archive.infolist()[: len(limits) + 1]]
    if sorted(names) != sorted(limits):
        shown = ", ".join(repr(name[:60]) for name in names) or "nothing"
        raise DataError(f"{path}: holds {shown}; a submission holds exactly {' and '.join(sorted(limits))}.")
    parts = {}
    for item in archive.infolist():
        if item.flag_bits & 1:
            raise DataError(f"{path}: {item.filename} is encrypted. Send it without a password.")
        with archive.open(item) as stream:
            data = _bounded(stream, limits[item.filename])
        if data is None:
            raise DataError(f"{path}: {item.filename} unpacks to more than {limits[item.filename]:,} bytes.")
        parts[item.filename] = data
    return parts


def _bounded(stream: Any, limit: int) -> bytes | None:
    """At most ``limit`` bytes, whatever the header claims; None if there are more."""
    buffer = io.BytesIO()
    while chunk := stream.read(1 << 20):
        if buffer.tell() + len(chunk) > limit:
            return None
        buffer.write(chunk)
    return buffer.getvalue()
