"""Pixels of frames and clips, held by digests: of made films and of the recordings, whatever version decodes them."""

import hashlib
import json
import platform
from pathlib import Path

import numpy as np
import pytest

from siming_tasks.media.decode import PIXELS, decode, pixels
from siming_tasks.media.picture import to_numbers, to_rgb, to_yuv420
from siming_tasks.media.timeline import read_timeline
from tests.footage import FOOTAGE, READ, needs_footage
from tests.media.test_picture import BT601_525, BT709, BT2020, FULL, LIMITED, UNTAGGED, filmed, scene, stored

GOLDEN = Path(__file__).with_name("pixels.json")
"""``{"number": PIXELS, "films": {name: digest}}``. Where a digest moves, raise ``PIXELS`` and make the file anew."""

FILMS = {
    f"{fmt}-{matrix}-{range_}": (fmt, matrix, range_)
    for fmt, matrix, range_ in [
        *((fmt, BT709, LIMITED) for fmt in ("yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv444p10le")),
        ("gray", BT709, LIMITED), ("gray10le", BT709, LIMITED),
        *((fmt, UNTAGGED, FULL) for fmt in ("yuv420p", "yuv420p10le", "gray", "gray10le")),
        ("yuv420p", BT601_525, LIMITED), ("yuv420p10le", BT2020, LIMITED),
    ]
}  # fmt: skip
ODD = {"odd-420": "yuv420p", "odd-444": "yuv444p"}

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="FFmpeg computes otherwise there")


def digest(path: Path) -> str:
    """Of three frames: as an image at two sizes, the stored numbers, the picture of a clip."""
    timeline, seen = read_timeline(path), hashlib.sha256()
    for _, frame in decode(path, timeline, [0, timeline.n_frames // 3, timeline.n_frames // 2]):
        for made in (to_rgb(frame), to_rgb(frame, 96, "bgr24"), to_numbers(frame), to_yuv420(frame).to_ndarray()):
            seen.update(repr(made.shape).encode() + np.ascontiguousarray(made).tobytes())
    return seen.hexdigest()[:16]


def made_film(name: str, folder: Path) -> Path:
    """A film whose numbers are kept by its codec (FFV1)."""
    if name in ODD:
        y, x = np.mgrid[:49, :81]
        luma, colour = 40 + x + y, 100.0 + (x[::2, ::2] if ODD[name] == "yuv420p" else x) / 2
        sample = stored(ODD[name], [luma, colour, 250 - colour], matrix=BT709, range_=LIMITED)
        return filmed(folder / "v.mkv", ODD[name], codec="ffv1", sample=sample)
    fmt, matrix, range_ = FILMS[name]
    sample = scene(fmt, matrix=matrix, range_=range_)
    return filmed(folder / "v.mkv", fmt, codec="ffv1", matrix=matrix, range_=range_, sample=sample)


@pytest.mark.parametrize("name", [*FILMS, *ODD])
def test_made_films_keep_their_pixels(name: str, tmp_path: Path) -> None:
    golden = json.loads(GOLDEN.read_text())
    assert golden["number"] == PIXELS == pixels()
    assert digest(made_film(name, tmp_path)) == golden["films"][name], "raise PIXELS"


@needs_footage
@pytest.mark.weekly
@pytest.mark.parametrize("name", READ)
def test_recordings_keep_their_pixels(name: str) -> None:
    assert digest(FOOTAGE / name) == json.loads(GOLDEN.read_text())["films"][name], "raise PIXELS"


def test_a_decoder_that_no_test_has_seen_has_pixels_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("siming_tasks.media.decode.TESTED", (1, 2))
    assert str(pixels()).startswith(f"{PIXELS}-libavcodec")
