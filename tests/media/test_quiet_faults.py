"""Quiet faults of the media path are held by pixels, times and digests, also those that no judge would notice."""

from __future__ import annotations

import importlib
import io
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from siming_tasks.media import Budget, view
from siming_tasks.media.request_media import View
from tests.media.conftest import make

FRAMES, QUALITY = 12, 90
UTILS = Path(__file__).parents[2] / "utils"


@pytest.fixture(scope="module")
def media_faults() -> Any:
    """The list of faults."""
    if not UTILS.is_dir():
        pytest.skip("utils/ is in the checkout only")
    sys.path.insert(0, str(UTILS))
    yield importlib.import_module("media_faults")
    sys.path.remove(str(UTILS))


@pytest.fixture(scope="module")
def shown(media_faults: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Twelve frames of a film of 60, and of another film, as the media path delivers them."""
    folder = tmp_path_factory.mktemp("quiet")
    both = []
    for name, first in (("one", 0), ("two", 300)):
        path = make(folder / f"{name}.mp4", size=(160, 96), draw=partial(texture, first=first))
        seen = view(path, span=None, budget=Budget(FRAMES), cache=folder / "cache", quality=QUALITY)
        frames, seconds = decoded(path)
        pictures = [np.asarray(image) for image in seen.images()]
        both.append(media_faults.Shown(frames, seconds, np.array(seen.indices), pictures, np.array(seen.times)))
    return replace(both[0], other=both[1])


def texture(number: int, width: int, height: int, first: int = 0) -> np.ndarray[Any, Any]:
    """A coloured texture that moves with every frame, with edges of one pixel."""
    y, x = np.mgrid[:height, :width]
    number += first
    waves = [np.sin(x / 3 + number), np.cos(y / 5 - number / 2), np.sin((x + y) / 7 + number / 3)]
    return np.clip(128 + 90 * np.stack(waves, -1) + 20 * ((x + number) % 9 == 0)[..., None], 0, 255).astype(np.uint8)


def decoded(path: Path) -> tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """Every frame and its time, by PyAV alone."""
    with av.open(str(path)) as container:
        frames = [(frame.to_ndarray(format="rgb24"), float(frame.time)) for frame in container.decode(video=0)]
    return [frame for frame, _ in frames], np.array([time for _, time in frames])


def is_right(shown: Any) -> bool:
    """The sent pictures are Pillow's JPEG of the frames that the rule takes, bit by bit, at those frames' times."""
    expected = np.linspace(0, len(shown.frames) - 1, FRAMES, dtype=int)
    if not np.allclose(shown.times, shown.seconds[expected], atol=1e-6):
        return False
    for index, picture in zip(expected, shown.pictures, strict=True):
        data = io.BytesIO()
        Image.fromarray(shown.frames[index]).save(data, "JPEG", quality=QUALITY)
        if not np.array_equal(np.asarray(Image.open(data)), picture):
            return False
    return True


def test_what_is_sent_is_the_frame_bit_by_bit(shown: Any) -> None:
    assert is_right(shown) and is_right(replace(shown.other, other=None))


NAMES = (
    "colour matrix of the other standard", "limited range taken for full", "full range taken for limited", "gamma 1.2",
    "red and blue exchanged", "colours lost", "halved size", "quarter size", "JPEG quality 30",
    "black bars above and below", "black bars all round", "border of 5 % cut off", "mirrored", "upside down",
    "each second frame repeats the one before", "one frame in ten repeats the one before",
    "the next frame in place of each", "frames half a second late", "frames of the last keyframe (every 2 s)",
    "neighbours exchanged", "the last tenth never shown", "times one second late", "times of 25 for 30 frames a second",
    "one wrong video in ten",
)  # fmt: skip


def test_every_fault_of_the_table_is_tried(media_faults: Any) -> None:
    assert tuple(media_faults.FAULTS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_quiet_fault_does_not_pass(name: str, shown: Any, media_faults: Any) -> None:
    """The test above fails on each of them."""
    assert not is_right(media_faults.FAULTS[name](shown)), name


def test_a_fault_within_the_path_does_not_pass(
    shown: Any, media_faults: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the faulty conversion in the place of the path's own, what a view delivers is wrong."""
    from siming_tasks.media import picture

    real = picture.to_rgb
    path = make(tmp_path / "one.mp4", size=(160, 96), draw=texture)
    for name in ("colour matrix of the other standard", "limited range taken for full", "halved size"):

        def faulty(*arguments: Any, name: str = name, **named: Any) -> Any:
            alone = replace(shown, pictures=[real(*arguments, **named)], other=None)
            return np.ascontiguousarray(media_faults.FAULTS[name](alone).pictures[0])

        monkeypatch.setattr(picture, "to_rgb", faulty)
        seen: View = view(path, span=None, budget=Budget(FRAMES), cache=tmp_path / name.split()[0], quality=QUALITY)
        assert not is_right(replace(shown, pictures=[np.asarray(image) for image in seen.images()])), name
