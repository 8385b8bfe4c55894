"""The frozen encoders that a baseline can stand on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from siming_tasks.errors import OptionsError
from siming_tasks.nano.reader import FrameReader

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["NanoFeatures"]


class NanoFeatures:
    """The last hidden layer of ``siming_nano``'s frame encoder, which was trained on drawings.

    Args:
        device: where it computes; default: a GPU where there is one.

    Raises:
        DataError: the weights are missing or not the ones that belong here.
        OptionsError: there is no such device.
    """

    name = "siming_nano"

    def __init__(self, device: str | None = None) -> None:
        try:
            self._reader = FrameReader(device)
        except (AssertionError, RuntimeError) as error:  # what torch says of a device that is not there
            said = str(error).splitlines()[0][:200]
            raise OptionsError(f"--device {device!r} cannot be used here ({said}). Leave it out, or say cpu.") from None
        self.digest = self._reader.digest

    def __call__(self, pictures: Sequence[Image]) -> NDArray[np.float32]:
        """Features, shape (pictures, 192)."""
        return self._reader.embeddings(pictures)
