"""What the media path sends is held bit by bit and by its times, so that no quiet fault passes."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from siming_tasks.media import Budget, picture, view
from tests.media.conftest import make

FRAMES, QUALITY = 12, 90


def texture(number: int, width: int, height: int, first: int = 0) -> np.ndarray[Any, Any]:
    """A coloured texture that moves with every frame, with edges of one pixel."""
    y, x = np.mgrid[:height, :width]
    number += first
    waves = [np.sin(x / 3 + number), np.cos(y / 5 - number / 2), np.sin((x + y) / 7 + number / 3)]
    return np.clip(128 + 90 * np.stack(waves, -1) + 20 * ((x + number) % 9 == 0)[..., None], 0, 255).astype(np.uint8)


def is_right(path: Path, cache: Path) -> bool:
    """The sent pictures are Pillow's JPEG of the frames that the rule takes, bit by bit, at those frames' times."""
    seen = view(path, span=None, budget=Budget(FRAMES), cache=cache, quality=QUALITY)
    with av.open(str(path)) as container:
        frames = [(frame.to_ndarray(format="rgb24"), float(frame.time)) for frame in container.decode(video=0)]
    expected = np.linspace(0, len(frames) - 1, FRAMES, dtype=int)
    if not np.allclose(seen.times, [frames[index][1] for index in expected], atol=1e-6):
        return False
    for index, image in zip(expected, seen.images(), strict=True):
        data = io.BytesIO()
        Image.fromarray(frames[index][0]).save(data, "JPEG", quality=QUALITY)
        if not np.array_equal(np.asarray(Image.open(data)), np.asarray(image)):
            return False
    return True


@pytest.mark.parametrize("first", [0, 300])
def test_what_is_sent_is_the_frame_bit_by_bit(first: int, tmp_path: Path) -> None:
    path = make(tmp_path / "film.mp4", size=(160, 96), draw=partial(texture, first=first))
    assert is_right(path, tmp_path / "cache")


def test_a_fault_of_one_grey_level_does_not_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real = make(tmp_path / "film.mp4", size=(160, 96), draw=texture), picture.to_rgb
    monkeypatch.setattr(picture, "to_rgb", lambda *given, **named: real(*given, **named) // 2 * 2)
    assert not is_right(path, tmp_path / "cache")
