"""A zip archive from a stranger: nothing is unpacked to disk, and no size or name in it is believed."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import open_regular

__all__ = ["MAX_ARCHIVE", "read_archive"]

MAX_ARCHIVE = 100_000_000
MAX_READ = 1 << 20
"""Bytes that are read from the archive at once; a table of contents may not be longer."""

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, ArithmeticError, LookupError, RuntimeError,
           ValueError)  # fmt: skip
"""Errors that :mod:`zipfile` raises over broken archives."""


class _Careful(io.BufferedReader):
    """A file that gives no more than :data:`MAX_READ` bytes at once: zipfile reads a whole table of contents."""

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(MAX_READ + 1 if size is None or size < 0 else min(size, MAX_READ + 1))
        if len(data) > MAX_READ:
            raise zipfile.BadZipFile(f"its table of contents has more than {MAX_READ:,} bytes")
        return data


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
        with open_regular(path) as stream:
            if stream.seek(0, io.SEEK_END) > MAX_ARCHIVE:
                raise DataError(f"{path}: larger than {MAX_ARCHIVE:,} bytes. {fix}")
            with zipfile.ZipFile(_Careful(io.FileIO(stream.fileno(), closefd=False))) as archive:
                return _members(path, archive, limits)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file.") from None
    except _BROKEN as error:
        what = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DataError(f"{path}: not a readable zip archive ({what}). {fix}") from None


def _members(path: Path, archive: zipfile.ZipFile, limits: Mapping[str, int]) -> dict[str, bytes]:
    names = [item.orig_filename for item in archive.infolist()[: len(limits) + 1]]
    if sorted(names) != sorted(limits):
        shown = ", ".join(repr(name[:60]) for name in names) or "nothing"
        raise DataError(f"{path}: holds {shown}; a submission holds exactly {' and '.join(sorted(limits))}.")
    parts = {}
    for item in archive.infolist():
        if item.flag_bits & 1:
            raise DataError(f"{path}: {item.filename} is encrypted. Send it without a password.")
        if item.compress_type not in _METHODS:
            raise DataError(
                f"{path}: {item.filename} is packed by method {item.compress_type}. Use deflate, as zip does."
            )
        with archive.open(item) as stream:
            data = _read_at_most(stream, limits[item.filename])
        if data is None:
            raise DataError(f"{path}: {item.filename} unpacks to more than {limits[item.filename]:,} bytes.")
        parts[item.filename] = data
    return parts


def _read_at_most(stream: Any, limit: int) -> bytes | None:
    """At most ``limit`` bytes, whatever the header claims; None if there are more."""
    buffer = io.BytesIO()
    while chunk := stream.read(1 << 20):
        if buffer.tell() + len(chunk) > limit:
            return None
        buffer.write(chunk)
    return buffer.getvalue()
