"""How an image leaves for a service: the stored file as it is, the same pixels as PNG, or encoded again and smaller."""

from __future__ import annotations

import re
import sys
from array import array
from dataclasses import dataclass
from typing import Any

__all__ = ["AS_STORED", "Encoding", "Sent"]


@dataclass(frozen=True)
class Encoding:
    """A format and, where it has one, a quality; None means that of the stored file.

    Example:
        >>> Encoding.of("jpeg75")
        Encoding(format='jpeg', quality=75)
        >>> str(Encoding.of("jpeg").beside(90)), str(Encoding.of("jpeg75").beside(90))
        ('jpeg90', 'jpeg75')
    """

    format: str = "jpeg"
    quality: int | None = None

    @classmethod
    def of(cls, text: str) -> Encoding:
        """What the option ``image_format`` says, as :class:`siming_tasks.options.ImageFormat` has checked it."""
        name, number = re.fullmatch("([a-z]+)([0-9]*)", text).groups()  # type: ignore[union-attr]
        return cls(name, int(number) if number else None)

    def __str__(self) -> str:
        return f"{self.format}{self.quality or ''}"

    @property
    def mime(self) -> str:
        """Media type of the bytes."""
        return f"image/{self.format}"

    def beside(self, stored: int) -> Encoding:
        """What really comes of it for a JPEG file of the quality ``stored``: a better one cannot be made of it."""
        if self.format == "jpeg" and (self.quality is None or self.quality >= stored):
            return Encoding("jpeg", stored)
        return self


AS_STORED = Encoding()
"""The stored file as it is."""


class Sent:
    """In what form the images of one request were really encoded, noted by the images themselves.

    An image that is encoded twice (tried for its size, sent again after a failure) counts as it was the last time.

    Args:
        images: how many there are.
    """

    def __init__(self, images: int) -> None:
        self._names = [""] * images
        self._sizes = array("Q", bytes(8 * images))  # a run may have 100,000 requests

    def note(self, place: int, encoding: str, size: int) -> None:
        """Image ``place`` left as this encoding, ``size`` bytes."""
        self._names[place], self._sizes[place] = sys.intern(encoding), size

    def facts(self) -> dict[str, Any]:
        """``encoding`` and ``bytes`` (of the files, before base64) for the record; nothing if nothing was encoded."""
        known = [name for name in self._names if name]
        if not known:
            return {}
        names = "+".join(sorted(set(known)))
        part = "" if len(known) == len(self._names) else f" ({len(known)} of {len(self._names)} images)"
        return {"encoding": names + part, "bytes": sum(self._sizes)}
