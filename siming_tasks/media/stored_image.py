"""A stored frame as an image object that knows its file: who encodes it gets the stored bytes; nothing is lost twice.

lmms-eval's backends take image objects and encode them themselves: to PNG (seconds a request, six times the bytes), or
to JPEG once more (a second loss). These objects are decoded only when somebody looks at their pixels.
"""

from __future__ import annotations

import base64
import os
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from siming_tasks.media.encoding import AS_STORED, Encoding, Sent

__all__ = ["StoredImage"]


class StoredImage(JpegImageFile):
    """One stored frame.

    Args:
        data: the JPEG file.
        quality: with which it was encoded.
        encoding: how it is to be sent.
        sent: where it notes how it was.
        place: its number among the images of the request.
    """

    def __init__(self, data: bytes, quality: int, encoding: Encoding, sent: Sent, place: int) -> None:
        self._file, self._quality, self._encoding, self._sent, self._place = data, quality, encoding, sent, place
        self._decoded: Any = None
        super().__init__(BytesIO(data))
        self.filename = "stored frame"  # Pillow copies the pixels at every save to a stream if this is empty

    def load(self) -> Any:
        """Decode the file, once. Whoever then draws on the image gets pixels of its own, and the file is left aside."""
        first = bool(self.tile)
        access = super().load()
        if first:
            self.readonly = 1
            self._decoded = self.im
        return access

    @property
    def untouched(self) -> bool:
        """Whether the pixels are those of the file."""
        return bool(self.tile) or (self.im is self._decoded and bool(self.readonly))

    def encoded(self) -> tuple[Encoding, bytes]:
        """The image as it is to be sent."""
        return self._as(self._encoding)

    def as_jpeg(self) -> bytes:
        """What :meth:`save` writes as JPEG: the stored file, or the run's own quality if that is lower."""
        return self._as(self._encoding if self._encoding.format == "jpeg" else AS_STORED)[1]

    def data_url(self) -> str:
        """The same as a ``data:`` URL."""
        encoding, data = self.encoded()
        return f"data:{encoding.mime};base64,{base64.b64encode(data).decode('ascii')}"

    def _as(self, encoding: Encoding) -> tuple[Encoding, bytes]:
        found = encoding.beside(self._quality)
        if found == Encoding("jpeg", self._quality) and self.untouched:
            data = self._file
        else:
            stream = BytesIO()
            Image.Image.save(
                self, stream, found.format.upper(), **({"quality": found.quality} if found.quality else {})
            )
            data = stream.getvalue()
        self._sent.note(self._place, str(found), len(data))
        return found, data

    def save(self, fp: Any, format: str | None = None, **params: Any) -> None:
        """Write the image; as JPEG, whatever quality is asked for, with that of the file or of the run."""
        path = os.fspath(fp) if isinstance(fp, str | bytes | os.PathLike) else None
        kind = format or ("JPEG" if path is not None and os.fsdecode(path).lower().endswith((".jpg", ".jpeg")) else "")
        if kind.upper() in ("JPEG", "JPG"):
            if path is None:
                fp.write(self.as_jpeg())
            else:
                Path(os.fsdecode(path)).write_bytes(self.as_jpeg())
            return
        began = _position(fp)
        super().save(fp, format, **params)
        self._sent.note(self._place, (kind or "file").lower(), max(0, _position(fp) - began))

    def copy(self) -> Image.Image:
        """The same image, still with its file if nobody drew on it."""
        return self._fresh() if self.untouched else super().copy()

    def __copy__(self) -> Image.Image:
        return self.copy()

    def __deepcopy__(self, _: Any) -> Image.Image:
        return self.copy()

    def __reduce__(self) -> Any:  # between processes go the pixels
        return Image.frombytes, (self.mode, self.size, self.tobytes())

    def _fresh(self) -> StoredImage:
        return StoredImage(self._file, self._quality, self._encoding, self._sent, self._place)


def _position(stream: IO[bytes]) -> int:
    with suppress(AttributeError, OSError, ValueError):
        return stream.tell()
    return 0
