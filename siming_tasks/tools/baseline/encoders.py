"""The frozen encoder that a baseline stands on where no other is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from siming_tasks.models.nano.frame_features import FrameReader
from siming_tasks.tools.baseline.devices import device_of

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["NanoFeatures"]


class NanoFeatures:
    """The last hidden layer of ``siming_nano``'s frame encoder, which was trained on drawings.

    Args:
        device: ``auto``, ``cpu``, ``cuda``, ...; ``auto`` is a GPU where there is one.

    Raises:
        DataError: the weights are missing or not the ones that belong here.
        OptionsError: there is no such device.
    """

    name = "siming_nano"

    def __init__(self, device: str = "auto") -> None:
        self._reader = FrameReader(str(device_of(device)))
        self.digest = self._reader.digest

    def __call__(self, pictures: Sequence[Image]) -> NDArray[np.float32]:
        """Features, shape (pictures, 192)."""
        return self._reader.embeddings(pictures)
