"""Folders that commands make: whole or not at all, never in place of something else, and nothing left beside them."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from siming_tasks.common.errors import DataError
from siming_tasks.common.output_folder import check_place, check_replaced, make_once, output_folder

pytestmark = pytest.mark.fast


def is_ours(folder: Path) -> bool:
    return (folder / "mark").is_file()


def tree(root: Path) -> dict[str, str | None]:
    return {path.relative_to(root).as_posix(): path.read_text() if path.is_file() else None for path in root.rglob("*")}


def fill(folder: Path, text: str) -> None:
    (folder / "mark").write_text(text)
    (folder / "pages").mkdir(exist_ok=True)
    (folder / "pages" / f"{text}.html").write_text(text)


def test_a_failure_leaves_the_older_folder_whole_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with output_folder(out, "ours", is_ours) as part:
        fill(part, "old")
    before = tree(tmp_path)
    for place, how in (out, ("ours", is_ours)), (tmp_path / "a" / "b" / "c", ()):
        with pytest.raises(KeyboardInterrupt), output_folder(place, *how) as part:
            fill(part, "new")
            raise KeyboardInterrupt
    assert tree(tmp_path) == before


def test_a_new_folder_replaces_an_older_one_of_its_kind_but_for_what_is_hidden_in_it(tmp_path: Path) -> None:
    out = tmp_path / "above" / "out"
    (tmp_path / "link").symlink_to(out)
    for place, text in ((out, "old"), (tmp_path / "link", "new")):
        with output_folder(place, "ours", is_ours) as part:
            fill(part, text)
            assert out.exists() == (text == "new")
        (out / ".git").mkdir(exist_ok=True)
        (out / ".git" / "HEAD").write_text("mine")
        (out / "pages" / ".notes").write_text("mine, too")
    left = {path: text for path, text in tree(tmp_path / "above").items() if text}
    own = {"out/.files": "mark\npages/new.html"}
    assert left == {
        "out/mark": "new",
        "out/pages/new.html": "new",
        "out/.git/HEAD": "mine",
        "out/pages/.notes": "mine, too",
        **own,
    }
    assert out.stat().st_mode & 0o777 == 0o755 and (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("name", ["notes.txt", "pages/figure.svg", "deep/down/notes.txt", "link"])
def test_an_older_one_with_a_file_of_somebody_else_is_not_replaced(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    with output_folder(out, "ours", is_ours) as part:
        fill(part, "old")
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).symlink_to(tmp_path) if name == "link" else (out / name).write_text("mine")
    (out / "pages" / ".DS_Store").write_text("of the system")
    before = tree(out)
    for look in (check_replaced, lambda *how: output_folder(*how).__enter__()):
        with pytest.raises(DataError, match=rf"out: contains {name}, which siming did not write there. Move it away"):
            look(out, "ours", is_ours)
    assert tree(out) == before
    (out / name).unlink()
    with output_folder(out, "ours", is_ours) as part:
        fill(part, "new")
    assert (out / "mark").read_text() == "new"
    (out / ".files").unlink()
    with pytest.raises(DataError, match=r"out: has no list of its own files \(\.files\)"):
        check_replaced(out, "ours", is_ours)


def test_what_a_killed_call_left_goes_with_the_next_one_a_day_later(tmp_path: Path) -> None:
    out, killed = tmp_path / "out", "import sys, pathlib, os, siming_tasks.common.output_folder as of\n" \
        "with of.output_folder(pathlib.Path(sys.argv[1])) as part:\n (part / 'a').touch()\n os._exit(9)"  # fmt: skip
    for _ in range(2):
        subprocess.run([sys.executable, "-c", killed, out], check=False)
    old, new = [path for path in tmp_path.iterdir() if path.name.startswith(".out.")]
    os.utime(old, (time.time() - 90_000,) * 2)
    mine = tmp_path / ".out.settings"
    mine.mkdir()
    os.utime(mine, (0, 0))
    with output_folder(out) as part:
        fill(part, "new")
    assert {path.name for path in tmp_path.iterdir()} == {"out", new.name, mine.name}


def test_the_older_one_is_back_where_the_swap_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    with output_folder(out, "ours", is_ours) as part:
        fill(part, "old")
    before, replace = tree(tmp_path), os.replace

    def fails_once(source: Path, target: Path) -> None:
        if target == out and (source / "pages" / "new.html").exists():
            raise OSError(5, "Input/output error", str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", fails_once)
    with pytest.raises(DataError, match="out: cannot be written: Input/output error"), \
            output_folder(out, "ours", is_ours) as part:  # fmt: skip
        fill(part, "new")
    assert tree(tmp_path) == before


def test_nothing_else_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "link").symlink_to("file")
    before = {path: (path.lstat().st_mode, path.lstat().st_ino) for path in tmp_path.rglob("*")}
    looks: tuple[Callable[[Path], object], ...] = (
        lambda out: check_place(out, "ours", is_ours),
        lambda out: output_folder(out, "ours", is_ours).__enter__(),
        lambda out: make_once(out, "ours", is_ours, lambda part: fill(part, "new")),
    )
    for name in ("file", "pipe", "full", "circle", "link"):
        for look in looks:
            with pytest.raises(DataError, match=rf"\A{tmp_path / name}: [^\n]+\Z"):
                look(tmp_path / name)
    assert {path: (path.lstat().st_mode, path.lstat().st_ino) for path in tmp_path.rglob("*")} == before


def test_work_is_taken_up_and_done_once(tmp_path: Path) -> None:
    out, calls = tmp_path / "out", []

    def make(part: Path) -> int:
        calls.append(sorted(path.name for path in part.iterdir() if not path.name.startswith(".")))
        (part / "pages").mkdir(exist_ok=True)
        (part / "pages" / ".half").write_text("half-written")
        if len(calls) == 1:
            raise KeyboardInterrupt
        fill(part, "new")
        return 7

    with pytest.raises(KeyboardInterrupt):
        make_once(out, "ours", is_ours, make, "first")
    assert make_once(out, "ours", is_ours, make, "first") == 7
    assert make_once(out, "ours", is_ours, make, "first") is None
    assert calls == [[], ["pages"]]
    assert tree(tmp_path) == {"out": None, "out/mark": "new", "out/pages": None, "out/pages/new.html": "new"}


def test_two_that_make_one_folder_make_it_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    begun, go, results = [], threading.Event(), []

    def make(part: Path) -> str:
        begun.append(part)
        assert go.wait(100)
        fill(part, "new")
        return "made"

    threads = [
        threading.Thread(target=lambda: results.append(make_once(tmp_path / "out", "ours", is_ours, make)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 100
    while "waiting for it" not in caplog.text and len(begun) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    go.set()
    for thread in threads:
        thread.join(200)
    assert sorted(map(str, results)) == ["None", "made"] and len(begun) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
