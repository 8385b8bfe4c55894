"""Prepared frames that go through an object store are the very files, and nothing else comes out of an archive."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.common.object_store import ObjectFolder
from siming_tasks.media.frame_objects import fetch_frames
from siming_tasks.media.store import LAYOUT, FrameStore


def files(cache: Path) -> dict[str, bytes]:
    """Content of each stored frame, clip and timeline by its path."""
    found = (path for path in (cache / "media").rglob("*") if path.suffix in (".jpg", ".mp4", ".json"))
    return {str(path.relative_to(cache)): path.read_bytes() for path in found}


def prepare(data: Path, cache: Path, store: Path, *flags: str) -> int:
    few = ("--frames", "4", "--clip-frames", "2", "--frame-size", "64")
    return main(
        ["run", "prepare", "--data", str(data), "--cache", str(cache), "--store", f"file://{store}", *few, *flags]
    )


def test_a_second_machine_decodes_nothing(short_demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here, there, bucket = (tmp_path / name for name in ("here", "there", "bucket"))
    assert prepare(short_demo, here, bucket) == 0
    first = capsys.readouterr().out
    count = len(files(here))
    assert count and "0 files fetched" in first and f"{count:,} files handed over to file://" in first
    assert prepare(short_demo, there, bucket) == 0
    second = capsys.readouterr().out
    assert f"{count:,} files fetched" in second and ", 0 to decode: 0 frames" in second
    assert "0 files handed over" in second and files(there) == files(here)
    objects = {path.name for path in bucket.rglob("*.tar")}
    assert prepare(short_demo, there, bucket, "--frames", "6") == 0  # more frames are one archive more
    assert objects < {path.name for path in bucket.rglob("*.tar")}
    assert prepare(short_demo, here, bucket, "--frames", "6") == 0
    assert ", 0 to decode" in capsys.readouterr().out and files(there) == files(here)


def test_only_files_of_the_store_come_out_of_an_archive(tmp_path: Path) -> None:
    store, objects = FrameStore(tmp_path / "cache", tmp_path / "v.mp4", "d" * 64), ObjectFolder(f"file://{tmp_path}/b")
    names = ["96q90/000001.jpg", "../../../escaped.jpg", "96q90/../../x.jpg", "/etc/x.jpg", "bytes", "96q90/link.jpg"]
    with io.BytesIO() as buffer:
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size = 1
                archive.addfile(member, io.BytesIO(b"x"))
            link = tarfile.TarInfo("96q90/000002.jpg")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(link)
        packed = buffer.getvalue()
    place = f"{LAYOUT}/{store.digest}/{hashlib.sha256(packed).hexdigest()[:32]}"
    objects.put(f"{place}.tar", packed)
    objects.put(f"{place}.names", b"96q90/000001.jpg")
    assert fetch_frames(store, objects, objects.names()) == 1
    assert list(files(tmp_path / "cache")) == [f"media/{LAYOUT}/{store.digest}/96q90/000001.jpg"]
    assert not [path for path in tmp_path.rglob("*") if path.name in ("escaped.jpg", "x.jpg", "link.jpg")]
    objects.put(f"{place}.tar", packed[:-1] + b"y")
    (store.frames.parent / "96q90" / "000001.jpg").unlink()
    with pytest.raises(DataError, match="damaged"):
        fetch_frames(store, objects, objects.names())
