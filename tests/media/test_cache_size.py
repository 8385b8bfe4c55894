"""The store after kills, on full disks and in folders that cannot be written; what it removes at its limit."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siming_tasks.common.errors import MediaError
from siming_tasks.media import FrameStore, view
from siming_tasks.media.store import evict, lock_video
from tests.media.test_store import numbers, store_of


def on_disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.name != "bytes")


def noted(store: FrameStore) -> int:
    return int((store.folder / "bytes").read_text())


def hidden(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.name.startswith((".", "trash"))]


@contextmanager
def as_nobody(folder: Path) -> Iterator[None]:
    """As a user who may read this folder and write nothing in it."""
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    root = os.geteuid() == 0  # whom permissions do not bind
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        for path in paths:
            path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.fixture
def public() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="siming-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def fill_and_kill(store: FrameStore) -> None:
    """Fill the store in a process of its own, every file half-written for 50 ms, and kill it after a few frames."""
    code = (
        "import sys, time; from pathlib import Path; from siming_tasks.media import FrameStore, store\n"
        "real = store.os.replace\n"
        "def slow(source, target): time.sleep(0.05); real(source, target)\n"
        "store.os.replace = slow\n"
        "FrameStore(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]).fill(range(60))\n"
    )
    command = [sys.executable, "-c", code, str(store.cache), str(store.source), store.digest]
    running = subprocess.Popen(command, start_new_session=True)
    try:
        while len(list(store.frames.glob("[0-9]*.jpg"))) < 5 or not list(store.frames.glob(".*")):
            assert running.poll() is None, "it ended by itself"
            time.sleep(0.01)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def test_after_a_kill_bytes_are_counted_and_partial_files_removed(videos: Any, tmp_path: Path) -> None:
    store = store_of(videos, tmp_path)
    fill_and_kill(store)
    assert hidden(store.frames), "the kill left a half-written file"
    assert not (store.folder / "bytes").exists()
    shutil.copytree(tmp_path, tmp_path.with_name("another"))
    assert store.fill(range(60)) > 0
    assert hidden(store.folder) == []
    assert noted(store) == on_disk(store.folder) > 0
    assert numbers(videos, store.images(range(60))) == list(range(60))
    # what was written before a kill counts for the limit, and can go
    media = view(videos.get("vfr"), span=None, frames=20, cache=tmp_path.with_name("another"), cache_gb=1e-6)
    assert [folder.name for folder in media.store.folder.parent.iterdir()] == [media.store.digest]


def test_the_disk_limit_removes_the_longest_unused(videos: Any, tmp_path: Path) -> None:
    stores = [store_of(videos, tmp_path, shape) for shape in ("plain", "vfr", "no_b")]
    for age, store in enumerate(stores):
        store.fill(range(0, 60, 5))
        assert noted(store) == on_disk(store.folder) > 0
        os.utime(store.folder / "bytes", (1000 + age, 1000 + age))
    stores[0].images([5])  # used again: now the youngest
    total = sum(map(noted, stores))
    assert evict(tmp_path, total / 1e9) == []
    assert evict(tmp_path, (total - 1) / 1e9) == [stores[1].digest]
    with lock_video(tmp_path, stores[0].digest):
        assert evict(tmp_path, 0.0, keep=stores[2].digest) == [], "one is being filled"
    assert evict(tmp_path, 0.0, keep=stores[2].digest) == [stores[0].digest]
    assert [store.folder.exists() for store in stores] == [False, False, True]
    (tmp_path / "media" / "trash-1-v1-aa" / "896q90").mkdir(parents=True)  # set aside by a process that was killed
    assert evict(tmp_path, 1.0) == [] and hidden(tmp_path) == []


FULL = (
    "import resource, sys; from pathlib import Path; from siming_tasks.media import view\n"
    "from siming_tasks.common.errors import MediaError\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))\n"
    "asked = {'span': (0.0, 1.0), 'frames': 4, 'mode': sys.argv[3], 'digest': 'd' * 64}\n"
    "try: view(Path(sys.argv[1]), cache=Path(sys.argv[2]), **asked)\n"
    "except MediaError as error: print(error)\n"
)
"""Ask for media where no file may grow beyond so many bytes: the system then fails as on a full disk."""


@pytest.mark.parametrize("mode", ["frames", "video"])
def test_a_full_disk_ends_in_one_sentence(videos: Any, tmp_path: Path, mode: str) -> None:
    """It was a traceback, after which lmms-eval exits 0."""
    command = [sys.executable, "-c", FULL, str(videos.get("photo")), str(tmp_path), mode, "2000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == (
        f"{tmp_path}: the cache cannot be written (File too large) and is incomplete. "
        "Free some space, or set SIMING_CACHE to a folder on another disk.\n"
    )
    assert hidden(tmp_path) == []
    subprocess.run([*command[:-1], "100000000"], check=True)
    assert list(tmp_path.rglob("*.jpg")) or list(tmp_path.rglob("*.mp4"))


def test_a_warm_cache_is_read_without_the_right_to_write(videos: Any, public: Path) -> None:
    """Every mode; what is missing is refused with the way out, not with a traceback."""
    path, cache = public / "v.mp4", public / "cache"
    shutil.copy(videos.get("plain"), path)
    modes = {"frames": 4, "video": 25, "proxy": 4}
    for mode in modes:
        view(path, span=(0.0, 1.0), frames=4, mode=mode, cache=cache)
    with as_nobody(cache):
        for mode, count in modes.items():
            media = view(path, span=(0.0, 1.0), frames=4, mode=mode, cache=cache)
            assert len(media.indices) == count and (media.path is None or media.path.is_file())
        media = view(path, span=(0.0, 1.0), frames=4, cache=cache)
        assert [videos.number(np.asarray(image)) for image in media.images()] == [0, 8, 16, 24]
        for mode in modes:
            with pytest.raises(MediaError) as caught:
                view(path, span=(0.0, 2.0), frames=5, mode=mode, cache=cache)
            assert str(caught.value) == (
                f"{cache}: the cache cannot be written (Permission denied) and is incomplete. "
                "Set SIMING_CACHE to a folder that you can write to."
            )
