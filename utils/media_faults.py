"""Quiet faults of a media path: each gives pictures that look right at a glance. For utils/nano_faults.py and tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Shown:
    """Pictures of one video that a judge is shown, with their times and all frames of the video.

    Attributes:
        frames: all frames of the video, RGB ``uint8[H, W, 3]``.
        seconds: when each is shown, ``float64[N]``.
        indices: the frames that are shown; ``pictures`` and ``times`` (s), what is sent of them.
        other: what is shown of the next video.
        number: place of the video in the data set.
    """

    frames: Sequence[Picture]
    seconds: NDArray[np.float64]
    indices: NDArray[np.int64]
    pictures: Sequence[Picture]
    times: NDArray[np.float64]
    other: Shown | None = None
    number: int = 0


Fault = Callable[[Shown], Shown]


def pixels(change: Callable[[Picture], NDArray[np.generic]]) -> Fault:
    """A fault of every picture by itself."""
    return lambda shown: replace(
        shown, pictures=[np.clip(np.round(change(each)), 0, 255).astype(np.uint8) for each in shown.pictures]
    )


def choice(change: Callable[[Shown], NDArray[np.generic]]) -> Fault:
    """Other frames at the same times; ``change`` gives their numbers."""

    def fault(shown: Shown) -> Shown:
        chosen = np.clip(change(shown), 0, len(shown.frames) - 1).astype(int)
        sent = dict(zip(shown.indices.tolist(), shown.pictures, strict=True))
        return replace(shown, pictures=[sent.get(int(index), shown.frames[index]) for index in chosen])

    return fault


def times(change: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Fault:
    """Other times beside the same frames."""
    return lambda shown: replace(shown, times=change(shown.times))


def jpeg(picture: Picture, quality: int) -> Picture:
    """A picture after JPEG at that quality."""
    _, data = cv2.imencode(".jpg", picture[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)[..., ::-1]


def _matrix(picture: Picture) -> NDArray[np.float64]:
    """BT.601 numbers read as BT.709: back to luma and chroma with the one, to RGB with the other."""

    def to_ycc(red: float, blue: float) -> NDArray[np.float64]:
        green = 1 - red - blue
        luma = np.array([red, green, blue])
        return np.stack([luma, (np.eye(3)[2] - luma) / (2 - 2 * blue), (np.eye(3)[0] - luma) / (2 - 2 * red)])

    return picture @ (np.linalg.inv(to_ycc(0.2126, 0.0722)) @ to_ycc(0.299, 0.114)).T


def _resized(picture: Picture, width: float, height: float) -> Picture:
    size = round(picture.shape[1] * width), round(picture.shape[0] * height)
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)


def _inside(picture: Picture, width: float, height: float) -> Picture:
    """The whole picture, smaller, within black bars."""
    small, framed = _resized(picture, width, height), np.zeros_like(picture)
    top, left = ((framed.shape[axis] - small.shape[axis]) // 2 for axis in (0, 1))
    framed[top : top + small.shape[0], left : left + small.shape[1]] = small
    return framed


def _cropped(picture: Picture, share: float) -> Picture:
    """The middle, as large as the whole."""
    rows, columns = (round(side * share) for side in picture.shape[:2])
    part = picture[rows : picture.shape[0] - rows, columns : picture.shape[1] - columns]
    return np.asarray(cv2.resize(part, (picture.shape[1], picture.shape[0])), np.uint8)


def _neighbours(shown: Shown) -> Shown:
    """Two by two in the wrong order."""
    order = np.arange(len(shown.pictures))
    order[: len(order) // 2 * 2] = order[: len(order) // 2 * 2].reshape(-1, 2)[:, ::-1].ravel()
    return replace(shown, pictures=[shown.pictures[place] for place in order])


def _wrong_video(shown: Shown) -> Shown:
    if shown.number % 10 or shown.other is None:
        return shown
    return replace(shown, pictures=shown.other.pictures, times=shown.other.times)


def _later(shown: Shown, seconds: float) -> NDArray[np.generic]:
    return np.searchsorted(shown.seconds, shown.seconds[shown.indices] + seconds)


FAULTS: Mapping[str, Fault] = {
    "colour matrix of the other standard": pixels(_matrix),
    "limited range taken for full": pixels(lambda picture: 16 + picture * (219 / 255)),
    "full range taken for limited": pixels(lambda picture: (picture.astype(float) - 16) * (255 / 219)),
    "gamma 1.2": pixels(lambda picture: 255 * (picture / 255) ** 1.2),
    "red and blue exchanged": pixels(lambda picture: picture[..., ::-1]),
    "colours lost": pixels(lambda picture: np.repeat(picture.mean(2, keepdims=True), 3, 2)),
    "halved size": pixels(lambda picture: _resized(picture, 0.5, 0.5)),
    "quarter size": pixels(lambda picture: _resized(picture, 0.25, 0.25)),
    "JPEG quality 30": pixels(lambda picture: jpeg(picture, 30)),
    "black bars above and below": pixels(lambda picture: _inside(picture, 1, 0.75)),
    "black bars all round": pixels(lambda picture: _inside(picture, 0.75, 0.75)),
    "border of 5 % cut off": pixels(lambda picture: _cropped(picture, 0.05)),
    "mirrored": pixels(lambda picture: picture[:, ::-1]),
    "upside down": pixels(lambda picture: picture[::-1]),
    "each second frame repeats the one before": choice(
        lambda shown: shown.indices[np.arange(len(shown.indices)) // 2 * 2]
    ),
    "one frame in ten repeats the one before": choice(
        lambda shown: shown.indices[np.arange(len(shown.indices)) - (np.arange(len(shown.indices)) % 10 == 9)]
    ),
    "the next frame in place of each": choice(lambda shown: shown.indices + 1),
    "frames half a second late": choice(lambda shown: _later(shown, 0.5)),
    "frames of the last keyframe (every 2 s)": choice(
        lambda shown: np.searchsorted(shown.seconds, shown.seconds[shown.indices] // 2 * 2 - 1e-6)
    ),
    "neighbours exchanged": _neighbours,
    "the last tenth never shown": choice(lambda shown: np.round(shown.indices * 0.9)),
    "times one second late": times(lambda seconds: seconds + 1),
    "times of 25 for 30 frames a second": times(lambda seconds: seconds * (25 / 30)),
    "one wrong video in ten": _wrong_video,
}
"""By name: what it does to what is shown."""
