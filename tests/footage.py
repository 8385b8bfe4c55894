"""Real recordings beside the checkout (`../shared/footage`, or SIMING_FOOTAGE), and a foreign decoder for them."""

import importlib
import os
import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

FOOTAGE = Path(os.environ.get("SIMING_FOOTAGE", Path(__file__).parents[2] / "shared/footage"))
HDR = "torchcodec_nasa_13013_hdr.mp4"
RECORDINGS = sorted(path.name for path in FOOTAGE.glob("*.*") if path.suffix != ".md") if FOOTAGE.is_dir() else []
READ = [name for name in RECORDINGS if name != HDR]
"""Names of the recordings; of those that are read, HDR being refused."""
needs_footage = pytest.mark.skipif(not RECORDINGS, reason="../shared/footage is not there")

STREAM = {
    "torchcodec_nasa_13013.mp4": 3,
    "derived_coffee_av1.mkv": 0,
    "torchcodec_av1_bt709.mkv": 0,
    "drewnoakes_ftyp3gp5.mp4": 0,
}
"""Recordings that OpenCV cannot show (the smaller of two streams, no AV1, reds cut off), and the stream to be shown."""
WIDTH = 160


@dataclass(frozen=True, eq=False)
class Seen:
    """All pictures of a file as another decoder shows them: seconds from the first, grey ``[height, 160]``."""

    times: NDArray[np.float64]
    grey: list[NDArray[np.uint8]]


def everyday_exams(out: Path, recordings: Collection[str] = ()) -> Any:
    """The data set of ``utils/make_footage_exams.py``, built of all its recordings or of those named."""
    utils = Path(__file__).parents[1] / "utils"
    if not utils.is_dir():
        pytest.skip("utils/ is in the checkout only")
    sys.path.insert(0, str(utils))
    try:
        return importlib.import_module("make_footage_exams").make(out, FOOTAGE, recordings)
    finally:
        sys.path.remove(str(utils))


def small(grey: NDArray[Any], width: int = WIDTH) -> NDArray[Any]:
    size = width, max(1, round(grey.shape[0] * width / grey.shape[1]))
    return np.asarray(cv2.resize(grey, size, interpolation=cv2.INTER_AREA))


@lru_cache(maxsize=2)
def foreign(path: Path, stream: int | None = None) -> Seen:
    """Every picture as OpenCV's FFmpeg shows it, upright; of a named stream, its brightness by a plain decode."""
    times: list[float] = []
    grey: list[NDArray[np.uint8]] = []
    if stream is not None:
        with av.open(str(path)) as container:
            container.streams[stream].thread_type = "NONE"  # type: ignore[attr-defined]
            for frame in container.decode(container.streams[stream]):
                times.append(float(frame.pts * frame.time_base))
                plane = frame.planes[0]  # type: ignore[union-attr]
                luma = np.frombuffer(bytes(plane), np.uint8).reshape(plane.height, -1)[:, : plane.width]
                luma = np.rot90(luma, round(frame.rotation / 90))  # type: ignore[union-attr]
                grey.append(small(np.clip((luma - 16.0) * 255 / 219, 0, 255).round().astype(np.uint8)))
    else:
        capture = cv2.VideoCapture(str(path))
        while (shown := capture.read())[0]:
            times.append(capture.get(cv2.CAP_PROP_POS_MSEC) / 1000)
            grey.append(small(cv2.cvtColor(shown[1], cv2.COLOR_BGR2GRAY)))
    return Seen(np.array(times) - times[0], grey)


def psnr(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> float:
    error = float(((first.astype(float) - second) ** 2).mean())
    return 99.0 if error == 0 else 10 * float(np.log10(255**2 / error))


def is_picture(picture: NDArray[np.uint8], seen: Seen, index: int, decibels: float) -> bool:
    """Whether a grey picture is that of this index: close enough, and no neighbour is closer."""
    near = range(max(0, index - 2), min(len(seen.grey), index + 3))
    found = {number: psnr(picture, seen.grey[number]) for number in near}
    return found[index] > decibels and found[index] > max(found.values()) - 0.5
