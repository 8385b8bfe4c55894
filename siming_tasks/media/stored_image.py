"""Stored frames as image objects that know their file, and the encoding in which they leave for a service.

Whoever encodes such an image gets the stored bytes, the same pixels as PNG, or a smaller encoding, as the run says.

lmms-eval's backends take image objects and encode them themselves: to PNG (seconds a request, six times the bytes), or
to JPEG once more (a second loss). These objects are decoded only when somebody looks at their pixels.
"""

from __future__ import annotations

import base64
import os
import re
import sys
from array import array
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile


@dataclass(frozen=True)
class Encoding:
    """Image format and, where it has one, quality; None means that of the stored file.

    Example:
        >>> Encoding.of("jpeg75")
        Encoding(format='jpeg', quality=75)
        >>> str(Encoding.of("jpeg").of_stored(90)), str(Encoding.of("jpeg75").of_stored(90))
        ('jpeg90', 'jpeg75')
    """

    format: str = "jpeg"
    quality: int | None = None

    @classmethod
    def of(cls, text: str) -> Encoding:
        """Read the option ``image_format``, which :class:`siming_tasks.options.ImageFormat` has checked."""
        name, number = re.fullmatch("([a-z]+)([0-9]*)", text).groups()  # type: ignore[union-attr]
        return cls(name, int(number) if number else None)

    def __str__(self) -> str:
        return f"{self.format}{self.quality or ''}"

    @property
    def mime(self) -> str:
        """Media type of the bytes."""
        return f"image/{self.format}"

    def of_stored(self, stored: int) -> Encoding:
        """Encoding that a JPEG file of the quality ``stored`` really gets: a better one cannot be made of it."""
        if self.format == "jpeg" and (self.quality is None or self.quality >= stored):
            return Encoding("jpeg", stored)
        return self


AS_STORED = Encoding()
"""The stored file as it is."""


class SentImages:
    """Encodings in which the images of one request really left, noted by the images themselves.

    An image that is encoded twice (tried for its size, sent again after a failure) counts as it was the last time.
    """

    def __init__(self, images: int) -> None:
        self._names = [""] * images
        self._sizes = array("Q", bytes(8 * images))  # a run may have 100,000 requests

    def note(self, place: int, encoding: str, size: int) -> None:
        """Note that image ``place`` left in this encoding, with ``size`` bytes."""
        self._names[place], self._sizes[place] = sys.intern(encoding), size

    def facts(self) -> dict[str, Any]:
        """``encoding`` and ``bytes`` (of the files, before base64) for the record; nothing if nothing was encoded."""
        known = [name for name in self._names if name]
        if not known:
            return {}
        part = "" if len(known) == len(self._names) else f" ({len(known)} of {len(self._names)} images)"
        return {"encoding": "+".join(sorted(set(known))) + part, "bytes": sum(self._sizes)}


class StoredImage(JpegImageFile):
    """Stored frame of a request (``data``: the JPEG file, of ``quality``), decoded when somebody looks at its pixels.

    It is to be sent in ``encoding``, and notes in ``sent``, at its ``place`` in the request, how it was.
    """

    def __init__(self, data: bytes, quality: int, encoding: Encoding, sent: SentImages, place: int) -> None:
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
        """True if the pixels are those of the file."""
        return bool(self.tile) or (self.im is self._decoded and bool(self.readonly))

    def encoded(self, encoding: Encoding | None = None) -> tuple[Encoding, bytes]:
        """Encode the image, as the run says unless told otherwise; returns the encoding and the bytes."""
        actual = (encoding or self._encoding).of_stored(self._quality)
        if actual == Encoding("jpeg", self._quality) and self.untouched:
            data = self._file
        else:
            stream, options = BytesIO(), {"quality": actual.quality} if actual.quality else {}
            Image.Image.save(self, stream, actual.format.upper(), **options)
            data = stream.getvalue()
        self._sent.note(self._place, str(actual), len(data))
        return actual, data

    def as_jpeg(self) -> bytes:
        """Encode the image as :meth:`save` does: the stored file, or the run's own quality if that is lower."""
        return self.encoded(self._encoding if self._encoding.format == "jpeg" else AS_STORED)[1]

    def data_url(self) -> str:
        """Encode the image as the run says, as a ``data:`` URL."""
        encoding, data = self.encoded()
        return f"data:{encoding.mime};base64,{base64.b64encode(data).decode('ascii')}"

    def save(self, fp: Any, format: str | None = None, **params: Any) -> None:
        """Write the image; as JPEG, whatever quality is asked for, with that of the file or of the run."""
        path = os.fspath(fp) if isinstance(fp, str | bytes | os.PathLike) else None
        kind = format or ("JPEG" if path is not None and os.fsdecode(path).lower().endswith((".jpg", ".jpeg")) else "")
        if kind.upper() in ("JPEG", "JPG"):
            (fp.write if path is None else Path(os.fsdecode(path)).write_bytes)(self.as_jpeg())
            return
        began = _position(fp)
        super().save(fp, format, **params)
        self._sent.note(self._place, (kind or "file").lower(), max(0, _position(fp) - began))

    def copy(self) -> Image.Image:
        """Copy the image, with its file if nobody drew on it."""
        if not self.untouched:
            return super().copy()
        return StoredImage(self._file, self._quality, self._encoding, self._sent, self._place)

    def __copy__(self) -> Image.Image:
        return self.copy()

    def __deepcopy__(self, _: Any) -> Image.Image:
        return self.copy()

    def __reduce__(self) -> Any:  # between processes go the pixels
        return Image.frombytes, (self.mode, self.size, self.tobytes())


def _position(stream: IO[bytes]) -> int:
    with suppress(AttributeError, OSError, ValueError):
        return stream.tell()
    return 0
