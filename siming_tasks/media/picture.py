"""From a decoded frame to upright RGB pixels and to JPEG bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

__all__ = ["fitted", "jpeg", "rgb"]


def fitted(width: int, height: int, size: int | None) -> tuple[int, int]:
    """``(width, height)`` scaled down, never up, so that the longer side has at most ``size`` pixels."""
    longer = max(width, height)
    if size is None or longer <= size:
        return width, height
    return max(1, round(width * size / longer)), max(1, round(height * size / longer))


def rgb(frame: VideoFrame, size: int | None = None, order: str = "rgb24") -> NDArray[np.uint8]:
    """The upright picture, uint8 ``[height, width, 3]``, longer side at most ``size`` pixels.

    At its own size the colours are those of ``frame.to_ndarray(format="rgb24")``, which PyAV-based readers return.

    Args:
        frame: the decoded frame; its rotation flag is applied, as players do.
        size: longest side, None for the original.
        order: ``rgb24`` or ``bgr24``.
    """
    width, height = fitted(frame.width, frame.height, size)
    same = (width, height) == (frame.width, frame.height)
    resize: dict[str, Any] = {} if same else {"width": width, "height": height, "interpolation": "AREA"}
    array = frame.to_ndarray(format=order, **resize)
    if frame.rotation:
        array = np.rot90(array, round(frame.rotation / 90))
    return np.ascontiguousarray(array, dtype=np.uint8)


def jpeg(frame: VideoFrame, size: int | None, quality: int) -> bytes:
    """The upright picture as JPEG (4:2:0). OpenCV writes the same bytes as Pillow in two thirds of the time."""
    import cv2

    done, data = cv2.imencode(".jpg", rgb(frame, size, "bgr24"), [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise RuntimeError("OpenCV could not write a JPEG")
    return bytes(data)
