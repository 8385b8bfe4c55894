"""Stored frames as image objects that know their file: encoding such an image gives the stored bytes.

lmms-eval's backends take image objects and encode them themselves: to PNG (seconds a request, six times the bytes), or
to JPEG once more (a second loss). These objects are decoded only when somebody looks at their pixels.
"""

from __future__ import annotations

import base64
import os
import sys
from array import array
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile


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

    It notes in ``sent``, at its ``place`` in the request, how it was encoded.
    """

    def __init__(self, data: bytes, quality: int, sent: SentImages, place: int) -> None:
        self._file, self._quality, self._sent, self._place = data, quality, sent, place
        super().__init__(BytesIO(data))
        self.filename = "stored frame"  # Pillow copies the pixels at every save to a stream if this is empty

    @property
    def untouched(self) -> bool:
        """True if the pixels are those of the file: nobody looked at them, or nobody drew on them."""
        return bool(self.tile) or Image.open(BytesIO(self._file)).tobytes() == self.tobytes()

    def as_jpeg(self) -> bytes:
        """Bytes of the stored file; of the pixels, at the file's quality, if somebody drew on them."""
        data = self._file
        if not self.untouched:
            stream = BytesIO()
            Image.Image.save(self, stream, "JPEG", quality=self._quality)
            data = stream.getvalue()
        self._sent.note(self._place, f"jpeg{self._quality}", len(data))
        return data

    def data_url(self) -> str:
        """The same as a ``data:`` URL."""
        return f"data:image/jpeg;base64,{base64.b64encode(self.as_jpeg()).decode('ascii')}"

    def save(self, fp: Any, format: str | None = None, **params: Any) -> None:
        """Write the image; as JPEG, whatever quality is asked for, as :meth:`as_jpeg` does."""
        path = os.fspath(fp) if isinstance(fp, str | bytes | os.PathLike) else None
        kind = format or ("JPEG" if path is not None and os.fsdecode(path).lower().endswith((".jpg", ".jpeg")) else "")
        if kind.upper() in ("JPEG", "JPG"):
            (fp.write if path is None else Path(os.fsdecode(path)).write_bytes)(self.as_jpeg())
            return
        began = _position(fp)
        super().save(fp, format, **params)
        self._sent.note(self._place, (kind or "file").lower(), max(0, _position(fp) - began))

    def copy(self) -> Image.Image:
        """Copy the image, with its file if nobody drew on it: some classes copy before they encode."""
        return StoredImage(self._file, self._quality, self._sent, self._place) if self.untouched else super().copy()

    def __reduce__(self) -> Any:  # between processes, and to copies of messages, go the pixels
        return Image.frombytes, (self.mode, self.size, self.tobytes())


def _position(stream: IO[bytes]) -> int:
    with suppress(AttributeError, OSError, ValueError):
        return stream.tell()
    return 0
