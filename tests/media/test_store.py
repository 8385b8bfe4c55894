"""The frame store: decoded once, right bit by bit, shared, whole, safe among processes."""

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from siming_tasks.common.errors import MediaError
from siming_tasks.common.files import digest_of
from siming_tasks.media import FrameStore, Request, picture, view
from siming_tasks.media import store as module
from siming_tasks.media.store import evict
from tests.media.conftest import make


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Indices in the order in which they were decoded."""
    seen: list[int] = []
    real = module.decode

    def noted(*args: Any) -> Any:
        for index, frame in real(*args):
            seen.append(index)
            yield index, frame

    monkeypatch.setattr(module, "decode", noted)
    return seen


def numbers(videos: Any, images: list[Image.Image]) -> list[int]:
    return [videos.number(np.asarray(image)) for image in images]


def store_of(videos: Any, cache: Path, shape: str = "plain", **options: Any) -> FrameStore:
    path = videos.get(shape)
    return FrameStore(cache, path, digest_of(path), **options)


def test_settings_and_models_share_frames(videos: Any, tmp_path: Path, decoded: list[int]) -> None:
    path = videos.get("plain")
    full = view(path, span=None, frames=7, cache=tmp_path)
    assert numbers(videos, full.images()) == [0, 9, 19, 29, 39, 49, 59] == decoded
    clip = view(path, span=(0.3, 0.8), frames=3, cache=tmp_path)  # frames 8..19
    assert numbers(videos, clip.images()) == [8, 13, 19]
    assert decoded[7:] == [8, 13], "frame 19 was there"
    again = view(path, span=None, frames=7, cache=tmp_path)
    assert numbers(videos, again.images()) == numbers(videos, full.images())
    assert len(decoded) == 9
    assert (tmp_path / "media").stat().st_mode & 0o777 == 0o700  # frames show faces


def test_one_pass_stores_the_frames_of_further_requests(videos: Any, tmp_path: Path, decoded: list[int]) -> None:
    path = videos.get("plain")
    also = [Request((0.0, 0.4), 2), Request((9.0, 9.5), 2), Request((1.0, 1.2), 9)]
    view(path, span=None, frames=3, cache=tmp_path, also=lambda: also)
    assert decoded == [0, 9, 25, 26, 27, 28, 29, 59], "a span beyond the video spoils nobody else's"


def test_a_video_is_its_content_and_not_its_name(videos: Any, tmp_path: Path, decoded: list[int]) -> None:
    path = tmp_path / "v.mp4"
    path.write_bytes(videos.get("plain").read_bytes())
    view(videos.get("plain"), span=None, frames=1, cache=tmp_path / "c")
    first = view(path, span=None, frames=1, cache=tmp_path / "c").images()
    assert len(decoded) == 1
    path.write_bytes(videos.get("cut_open_gop").read_bytes())
    assert numbers(videos, [*first, *view(path, span=None, frames=1, cache=tmp_path / "c").images()]) == [0, 10]


def test_the_size_is_part_of_the_key_and_never_enlarged(videos: Any, tmp_path: Path) -> None:
    for size, expected in {896: (80, 48), 40: (40, 24), None: (80, 48)}.items():
        media = view(videos.get("plain"), span=None, frames=1, cache=tmp_path, size=size)
        assert media.images()[0].size == expected


def test_images_are_the_callers_own_and_lost_frames_are_decoded_again(
    videos: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    media = view(videos.get("plain"), span=None, frames=3, cache=tmp_path)
    first = media.images()
    first[0].paste((0, 0, 0), (0, 0, 80, 48))
    media.store.path(29).unlink()
    assert numbers(videos, media.images()) == [0, 29, 59]
    evict(tmp_path, 0.0)
    assert not media.store.folder.exists() and np.asarray(first[1]).any(), "in memory, not on disk"
    assert numbers(videos, media.images()) == [0, 29, 59]
    evict(tmp_path, 0.0)
    monkeypatch.setattr(FrameStore, "_write", lambda *args: 0)
    with pytest.raises(MediaError, match=r"are deleted as fast as they are written\. Raise the limit of the cache"):
        media.images()


def test_threads_and_processes_fill_one_video_once(videos: Any, tmp_path: Path) -> None:
    """Three processes of four threads ask for overlapping parts at the same moment; every answer is right."""
    code = (
        "import sys; from concurrent.futures import ThreadPoolExecutor as P; from pathlib import Path\n"
        "from siming_tasks.media import view\n"
        "def ask(k): return view(Path(sys.argv[1]), span=(k/10, 1+k/10), frames=9, cache=Path(sys.argv[2]))\n"
        "with P(4) as pool: print(sum(len(v.images()) for v in pool.map(ask, range(8))))\n"
    )
    command = [sys.executable, "-W", "error", "-c", code, str(videos.get("plain")), str(tmp_path)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [run.communicate()[0].strip() for run in runs] == ["72"] * 3
    store = store_of(videos, tmp_path)
    stored = sorted(int(file.stem) for file in store.frames.iterdir())
    assert numbers(videos, store.images(stored)) == stored


# What is sent, bit by bit ---------------------------------------------------------------------------------------------

FRAMES, QUALITY = 12, 90


def texture(number: int, width: int, height: int) -> np.ndarray[Any, Any]:
    """A coloured texture that moves with every frame, with edges of one pixel."""
    y, x = np.mgrid[:height, :width]
    waves = [np.sin(x / 3 + number), np.cos(y / 5 - number / 2), np.sin((x + y) / 7 + number / 3)]
    return np.clip(128 + 90 * np.stack(waves, -1) + 20 * ((x + number) % 9 == 0)[..., None], 0, 255).astype(np.uint8)


def is_right(path: Path, cache: Path) -> bool:
    """The sent pictures are Pillow's JPEG of the frames that the rule takes, bit by bit, at those frames' times."""
    seen = view(path, span=None, frames=FRAMES, cache=cache)
    with av.open(str(path)) as container:
        frames = [(frame.to_ndarray(format="rgb24"), float(frame.time)) for frame in container.decode(video=0)]
    expected = np.linspace(0, len(frames) - 1, FRAMES, dtype=int)
    assert np.allclose(seen.times, [frames[index][1] for index in expected], atol=1e-6)
    for index, image in zip(expected, seen.images(), strict=True):
        data = io.BytesIO()
        Image.fromarray(frames[index][0]).save(data, "JPEG", quality=QUALITY)
        if not np.array_equal(np.asarray(Image.open(data)), np.asarray(image)):
            return False
    return True


def test_what_is_sent_is_the_frame_bit_by_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real = make(tmp_path / "film.mp4", size=(160, 96), draw=texture), picture.to_rgb
    assert is_right(path, tmp_path / "cache")
    monkeypatch.setattr(picture, "to_rgb", lambda *given, **named: real(*given, **named) // 2 * 2)
    assert not is_right(path, tmp_path / "another"), "a fault of one grey level does not pass"
