"""The store after kills, on full disks and in folders that cannot be written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siming_tasks.common.errors import MediaError
from siming_tasks.common.files import digest_of
from siming_tasks.media import FrameStore, view
from siming_tasks.media.store import LAYOUT, _held_bytes, evict
from tests.media.test_store import hidden, on_disk


@contextmanager
def as_nobody(*folders: Path) -> Iterator[None]:
    """As a user who may read these folders and write nothing in them."""
    for folder in folders:
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
    root = os.geteuid() == 0  # whom permissions do not bind
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        for folder in folders:
            for path in [folder, *folder.rglob("*")]:
                path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder whose parents everybody may enter."""
    folder = Path(tempfile.mkdtemp(prefix="siming-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def killed(code: str, *arguments: Path, when: Callable[[], bool]) -> Iterator[None]:
    """Run Python code in a process of its own and kill it with SIGKILL as soon as ``when`` is true."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    running = subprocess.Popen(command, start_new_session=True)
    try:
        for _ in range(6000):
            if when():
                break
            assert running.poll() is None, "it ended by itself"
            time.sleep(0.01)
        else:
            pytest.fail("the moment did not come")
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    yield


FILL = (
    "import sys, time; from pathlib import Path; from siming_tasks.media import FrameStore, store\n"
    "from siming_tasks.common import files\n"
    "real = store.os.replace\n"
    "def slow(source, target): time.sleep(0.05); real(source, target)\n"
    "store.os.replace = slow\n"
    "path = Path(sys.argv[1]); FrameStore(Path(sys.argv[2]), path, files.digest_of(path)).fill(range(60))\n"
)
"""Fill a store, with every file half-written for 50 ms."""


def test_after_a_kill_bytes_are_counted_and_partial_files_removed(videos: Any, tmp_path: Path) -> None:
    path = videos.get("plain")
    store = FrameStore(tmp_path, path, digest_of(path))

    def some() -> bool:
        return len(list(store.frames.glob("[0-9]*.jpg"))) >= 5 and bool(list(store.frames.glob(".*")))

    with killed(FILL, path, tmp_path, when=some):
        pass
    assert hidden(store.frames), "the kill left a half-written file"
    assert not (store.folder / "bytes").exists()
    assert _held_bytes(store.folder) == on_disk(store.folder) > 0
    assert store.fill(range(60)) > 0
    assert hidden(store.folder) == []
    assert _held_bytes(store.folder) == int((store.folder / "bytes").read_text()) == on_disk(store.folder)
    assert [videos.number(np.asarray(image)) for image in store.images(range(60))] == list(range(60))


def test_the_limit_holds_after_kills(videos: Any, tmp_path: Path) -> None:
    """A video that was being written when its process was killed counts, and can go."""
    path, other = videos.get("plain"), videos.get("vfr")
    store = FrameStore(tmp_path, path, digest_of(path))
    with killed(FILL, path, tmp_path, when=lambda: len(list(store.frames.glob("[0-9]*.jpg"))) >= 5):
        pass
    media = view(other, span=None, frames=20, cache=tmp_path, cache_gb=1e-6)
    assert not store.folder.exists()
    assert media.store.folder.exists()


def test_stores_of_older_layouts_and_what_was_set_aside_go_first(videos: Any, tmp_path: Path) -> None:
    path = videos.get("plain")
    store = FrameStore(tmp_path, path, digest_of(path))
    store.fill(range(0, 60, 3))
    old = tmp_path / "media" / "v1" / store.digest
    shutil.copytree(store.folder, old)
    os.utime(store.folder / "bytes", (1000, 1000))
    (tmp_path / "media" / "trash-1-v1-aa" / "896q90").mkdir(parents=True)
    assert LAYOUT != "v1"
    assert evict(tmp_path, on_disk(store.folder) / 1e9, keep="none") == [store.digest]
    assert not old.exists()
    assert store.folder.exists() and hidden(tmp_path) == []


FULL = (
    "import resource, sys; from pathlib import Path; from siming_tasks.media import view\n"
    "from siming_tasks.common.errors import MediaError\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))\n"
    "asked = {'span': (0.0, 1.0), 'frames': 4, 'mode': sys.argv[3], 'digest': 'd' * 64}\n"
    "try: view(Path(sys.argv[1]), cache=Path(sys.argv[2]), **asked)\n"
    "except MediaError as error: print(error)\n"
)
"""Ask for media where no file may grow beyond so many bytes: the system then fails as on a full disk."""


@pytest.mark.parametrize("mode", ["frames", "video", "proxy"])
def test_a_full_disk_ends_in_one_sentence(videos: Any, tmp_path: Path, mode: str) -> None:
    """It was a traceback, after which lmms-eval exits 0."""
    command = [sys.executable, "-c", FULL, str(videos.get("photo")), str(tmp_path), mode, "2000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == (
        f"{tmp_path}: the cache cannot be written (File too large), and not all is in it yet. "
        "Free some space, or set SIMING_CACHE to a folder of another disk.\n"
    )
    assert hidden(tmp_path) == []
    subprocess.run([*command[:-1], "100000000"], check=True)
    assert list(tmp_path.rglob("*.jpg")) or list(tmp_path.rglob("*.mp4"))


def test_a_warm_cache_is_read_without_the_right_to_write(videos: Any, public: Path) -> None:
    """Every mode; what is missing is refused with the way out, not with a traceback."""
    path, cache = public / "v.mp4", public / "cache"
    shutil.copy(videos.get("plain"), path)
    modes: tuple[Any, ...] = ("frames", "video", "proxy")
    for mode in modes:
        view(path, span=(0.0, 1.0), frames=4, mode=mode, cache=cache).images()
    with as_nobody(cache):
        for mode in modes:
            media = view(path, span=(0.0, 1.0), frames=4, mode=mode, cache=cache)
            assert len(media.indices) == (25 if mode == "video" else 4)
            assert media.path is None or media.path.is_file()
        media = view(path, span=(0.0, 1.0), frames=4, cache=cache)
        assert [videos.number(np.asarray(image)) for image in media.images()] == [0, 8, 16, 24]
        for mode in modes:
            with pytest.raises(MediaError) as caught:
                view(path, span=(0.0, 2.0), frames=5, mode=mode, cache=cache)
            assert str(caught.value) == (
                f"{cache}: the cache cannot be written (Permission denied), and not all is in it yet. "
                "Set SIMING_CACHE to a folder of your own."
            )


def test_a_finished_demo_is_read_without_the_right_to_write(public: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from siming_tasks.data.resolve import resolve_dataset
    from siming_tasks.options import Options
    from siming_tasks.tools.simulator import GENERATOR_VERSION

    options = Options(cache=str(public / "cache"))
    monkeypatch.setattr("siming_tasks.data.resolve.DEMO_VIDEOS", 1)
    home = options.cache_dir / "demo" / f"{GENERATOR_VERSION}-1"
    make = "from pathlib import Path; import sys; from siming_tasks.tools.simulator import make_demo\n"
    made = f"{make}make_demo(Path(sys.argv[1]), videos=1, short=True, jobs=1, progress=False)"
    subprocess.run([sys.executable, "-c", made, str(home)], check=True)
    assert resolve_dataset(options) == home
    with as_nobody(public / "cache"):
        assert resolve_dataset(options) == home


def test_a_demo_that_was_killed_leaves_no_half_written_video(tmp_path: Path) -> None:
    out, part = tmp_path / "demo", tmp_path / ".demo.part"
    make = (
        "from pathlib import Path; import sys; from siming_tasks.tools.simulator import make_demo\n"
        "make_demo(Path(sys.argv[1]), videos=1, short=True, jobs=1, progress=False)\n"
    )

    def begun() -> bool:
        return any(path.stat().st_size > 0 for path in (part / "media").glob(".sim001.*.mp4"))

    with killed(make, out, when=begun):
        pass
    assert list((part / "media").glob(".sim001.*.mp4")), "the kill left one"
    subprocess.run([sys.executable, "-c", make, str(out)], check=True)
    assert hidden(out) == []
    assert [path.name for path in (out / "media").iterdir()] == ["sim001.mp4"]
