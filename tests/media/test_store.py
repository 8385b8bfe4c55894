"""The frame store: decoded once, right bit by bit, shared, whole, bounded, safe among processes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
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
from siming_tasks.media.store import LAYOUT, evict, lock_video
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


def on_disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.name != "bytes")


def hidden(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.name.startswith(".") or path.name.startswith("trash")]


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


def test_one_pass_stores_the_frames_of_further_requests(videos: Any, tmp_path: Path, decoded: list[int]) -> None:
    path = videos.get("plain")
    also = [Request((0.0, 0.4), 2), Request((9.0, 9.5), 2), Request((1.0, 1.2), 9)]
    view(path, span=None, frames=3, cache=tmp_path, also=also)
    assert decoded == [0, 9, 25, 26, 27, 28, 29, 59], "a span beyond the video spoils nobody else's"


def test_the_same_content_under_two_names_is_one_video(videos: Any, tmp_path: Path, decoded: list[int]) -> None:
    copy = tmp_path / "copy.mp4"
    copy.write_bytes(videos.get("plain").read_bytes())
    view(videos.get("plain"), span=None, frames=5, cache=tmp_path / "c")
    view(copy, span=None, frames=5, cache=tmp_path / "c")
    assert len(decoded) == 5


def test_other_content_under_the_same_name_is_another_video(videos: Any, tmp_path: Path) -> None:
    path = tmp_path / "v.mp4"
    path.write_bytes(videos.get("plain").read_bytes())
    first = view(path, span=None, frames=1, cache=tmp_path / "c")
    path.write_bytes(videos.get("cut_open_gop").read_bytes())
    second = view(path, span=None, frames=1, cache=tmp_path / "c")
    assert numbers(videos, [*first.images(), *second.images()]) == [0, 10]


def test_the_size_is_part_of_the_key_and_never_enlarged(videos: Any, tmp_path: Path) -> None:
    sizes = {
        size: view(videos.get("plain"), span=None, frames=1, cache=tmp_path, size=size).images()[0].size
        for size in (896, 40, None)
    }
    assert sizes == {896: (80, 48), 40: (40, 24), None: (80, 48)}


def test_images_can_be_changed_without_changing_the_store(videos: Any, tmp_path: Path) -> None:
    media = view(videos.get("plain"), span=None, frames=2, cache=tmp_path)
    first = media.images()
    first[0].paste((0, 0, 0), (0, 0, 80, 48))
    assert numbers(videos, media.images()) == [0, 59]
    assert all(image.mode == "RGB" for image in first)
    (media.store.path(0)).unlink()
    assert np.asarray(first[1]).any(), "in memory, not on disk"


def test_stored_frames_stay_close_to_the_decoded_ones(videos: Any, tmp_path: Path) -> None:
    """These pictures are all hard colour edges."""
    reference = videos.linear(videos.get("plain"))
    store = store_of(videos, tmp_path)
    for index, image in zip([0, 30], store.images([0, 30]), strict=True):
        assert videos.psnr(np.asarray(image), reference[index][1]) > 33


def test_frames_of_a_photo_like_video_are_the_right_ones(videos: Any, tmp_path: Path) -> None:
    """Texture, motion, noise and no number to read: every stored frame is closest to the frame that it stands for."""
    shown = np.stack(videos.shown(videos.get("photo")))
    store = store_of(videos, tmp_path, "photo")
    for index, image in zip(range(0, 60, 7), store.images(range(0, 60, 7)), strict=True):
        errors = ((shown - np.asarray(image)) ** 2).mean(axis=(1, 2, 3))
        assert errors.argmin() == index
        assert 10 * np.log10(255**2 / errors[index]) > 37
        assert 10 * np.log10(255**2 / np.delete(errors, index).min()) < 26, "the next frame is another picture"


def test_an_interrupted_pass_is_completed_by_the_next(videos: Any, tmp_path: Path, monkeypatch: Any) -> None:
    store, real = store_of(videos, tmp_path), module.decode

    def stopped(*args: Any) -> Any:
        for index, frame in real(*args):
            if index == 20:
                raise KeyboardInterrupt
            yield index, frame

    monkeypatch.setattr(module, "decode", stopped)
    with pytest.raises(KeyboardInterrupt):
        store.fill(range(60))
    kept = 60 - len(store.missing(range(60)))
    assert 15 <= kept <= 20
    monkeypatch.setattr(module, "decode", real)
    assert store.fill(range(60)) == 60 - kept
    assert numbers(videos, store.images(range(60))) == list(range(60))
    assert hidden(store.folder) == [], "nothing half-written"


def test_a_lost_or_evicted_frame_is_decoded_again(videos: Any, tmp_path: Path) -> None:
    media = view(videos.get("plain"), span=None, frames=3, cache=tmp_path)
    media.store.path(29).unlink()
    assert numbers(videos, media.images()) == [0, 29, 59]
    evict(tmp_path, 0.0)
    assert not media.store.folder.exists()
    assert numbers(videos, media.images()) == [0, 29, 59]


def test_frames_that_vanish_as_fast_as_they_are_written_are_an_error(
    videos: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    store = store_of(videos, tmp_path)
    monkeypatch.setattr(FrameStore, "_write", lambda *args: 0)
    with pytest.raises(MediaError, match=r"vanish as fast as they are written\. Raise the limit of the cache\."):
        store.images([3])


def test_the_disk_limit_removes_the_longest_unused(videos: Any, tmp_path: Path) -> None:
    stores = [store_of(videos, tmp_path, shape) for shape in ("plain", "vfr", "no_b")]
    for age, store in enumerate(stores):
        store.fill(range(0, 60, 5))
        held = int((store.folder / "bytes").read_text())
        assert held == on_disk(store.folder) > 0
        os.utime(store.folder / "bytes", (1000 + age, 1000 + age))
    stores[0].images([5])  # used again: now the youngest
    total = sum(int((store.folder / "bytes").read_text()) for store in stores)
    assert evict(tmp_path, total / 1e9) == []
    assert evict(tmp_path, (total - 1) / 1e9) == [stores[1].digest]
    assert evict(tmp_path, 0.0, keep=stores[2].digest) == [stores[0].digest]
    assert [store.folder.exists() for store in stores] == [False, False, True]
    assert list((tmp_path / "media").glob("trash*")) == []


def test_a_video_being_filled_is_not_evicted(videos: Any, tmp_path: Path) -> None:
    store = store_of(videos, tmp_path)
    store.fill([1, 2])
    with lock_video(store.cache, store.digest):
        assert evict(tmp_path, 0.0) == []
    assert evict(tmp_path, 0.0) == [store.digest]


def test_view_keeps_the_store_within_its_limit(videos: Any, tmp_path: Path) -> None:
    for shape in ("plain", "vfr", "no_b"):
        view(videos.get(shape), span=None, frames=20, cache=tmp_path, cache_gb=1e-6)
    assert len(list((tmp_path / "media" / LAYOUT).iterdir())) == 1


def test_threads_and_processes_fill_one_video_once(videos: Any, tmp_path: Path) -> None:
    """Four processes of four threads ask for overlapping parts at the same moment; every answer is right."""
    code = (
        "import sys; from concurrent.futures import ThreadPoolExecutor as P; from pathlib import Path\n"
        "from siming_tasks.media import view\n"
        "def ask(k): return view(Path(sys.argv[1]), span=(k/10, 1+k/10), frames=9, cache=Path(sys.argv[2]))\n"
        "with P(4) as pool: print(sum(len(v.images()) for v in pool.map(ask, range(8))))\n"
    )
    command = [sys.executable, "-W", "error", "-c", code, str(videos.get("plain")), str(tmp_path)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [run.communicate()[0].strip() for run in runs] == ["72"] * 4
    assert all(run.returncode == 0 for run in runs)
    store = store_of(videos, tmp_path)
    stored = sorted(int(file.stem) for file in store.frames.iterdir())
    assert numbers(videos, store.images(stored)) == stored
    assert int((store.folder / "bytes").read_text()) == pytest.approx(on_disk(store.folder), abs=2000)  # the timeline


def test_memory_holds_a_few_frames_for_any_length(videos: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """No more than a handful of decoded frames wait for the JPEG writers."""
    import threading

    waiting, most, lock = [0], [0], threading.Lock()
    real_write, real_decode = FrameStore._write, module.decode

    def counted(*args: Any) -> Any:
        for pair in real_decode(*args):
            with lock:
                waiting[0] += 1
                most[0] = max(most[0], waiting[0])
            yield pair

    def slow(self: FrameStore, *args: Any) -> int:
        try:
            return real_write(self, *args)
        finally:
            with lock:
                waiting[0] -= 1

    monkeypatch.setattr(module, "decode", counted)
    monkeypatch.setattr(FrameStore, "_write", slow)
    store_of(videos, tmp_path).fill(range(60))
    assert waiting[0] == 0
    assert most[0] <= 3 * module.WRITERS


def test_threads_that_ask_for_different_frames_get_the_right_images(videos: Any, tmp_path: Path) -> None:
    path = videos.get("vfr")
    with ThreadPoolExecutor(8) as pool:
        views = pool.map(lambda k: view(path, span=None, frames=k + 1, cache=tmp_path), range(16))
        for count, media in enumerate(views, start=1):
            assert numbers(videos, media.images()) == list(media.indices)
            assert len(media.indices) == count


# What is sent, bit by bit ---------------------------------------------------------------------------------------------

FRAMES, QUALITY = 12, 90


def texture(number: int, width: int, height: int, first: int = 0) -> np.ndarray[Any, Any]:
    """A coloured texture that moves with every frame, with edges of one pixel."""
    y, x = np.mgrid[:height, :width]
    number += first
    waves = [np.sin(x / 3 + number), np.cos(y / 5 - number / 2), np.sin((x + y) / 7 + number / 3)]
    return np.clip(128 + 90 * np.stack(waves, -1) + 20 * ((x + number) % 9 == 0)[..., None], 0, 255).astype(np.uint8)


def is_right(path: Path, cache: Path) -> bool:
    """The sent pictures are Pillow's JPEG of the frames that the rule takes, bit by bit, at those frames' times."""
    seen = view(path, span=None, frames=FRAMES, cache=cache)
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
