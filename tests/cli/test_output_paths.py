"""What a command writes: the kinds of places that it refuses before any work, and what it says of a failing disk."""

import errno
import os
import socket
import stat
from pathlib import Path

import click
import pytest

from siming_tasks.cli.main import COMMANDS, find_command, main
from siming_tasks.cli.parameters import OutputPath

pytestmark = pytest.mark.fast


def written_by(command: click.Command) -> list[click.Parameter]:
    return [p for p in command.params if isinstance(p.type, OutputPath)]


def test_every_word_and_flag_that_names_an_output_is_checked() -> None:
    named = {name: [str(p.name) for p in written_by(find_command(name))] for name in COMMANDS}
    by_name = {name: [str(p.name) for p in find_command(name).params if p.name in ("out", "html", "draft", "key")]
               for name in COMMANDS}  # fmt: skip
    assert sum(map(len, by_name.values())) >= 10
    assert [name for name, flags in by_name.items() if set(flags) - set(named[name])] == []


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """One path of every kind, each of which must be as it is when the test ends."""
    made = {kind: tmp_path / kind for kind in ("pipe", "socket", "folder", "file", "below a file", "circle")}
    os.mkfifo(made["pipe"])
    made["folder"].mkdir()
    (made["folder"] / "kept.txt").write_text("kept")
    made["file"].write_text("kept")
    made["below a file"] = made["file"] / "out"
    made["circle"].symlink_to(made["circle"])
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(made["socket"]))
    if os.geteuid() == 0:
        made["device"] = tmp_path / "device"
        os.mknod(made["device"], stat.S_IFCHR | 0o600, os.makedev(1, 3))
    return made


def look(path: Path) -> tuple[int, bytes]:
    mode = path.lstat().st_mode
    return stat.S_IFMT(mode), path.read_bytes() if stat.S_ISREG(mode) else b""


@pytest.mark.parametrize("name", [name for name in COMMANDS if written_by(find_command(name))])
def test_nothing_takes_the_place_of_what_is_no_output(name: str, places: dict[str, Path]) -> None:
    before = {kind: look(path) for kind, path in places.items() if kind != "below a file"}
    tried = 0
    for parameter in written_by(find_command(name)):
        folder = parameter.type.folder
        for kind, path in places.items():
            if kind in ("folder", "file") and folder in (None, kind == "folder"):
                continue  # the very thing that may be there
            with pytest.raises(click.UsageError) as refusal:
                parameter.type.convert(str(path), parameter, None)
            assert str(path) in str(refusal.value)
            tried += 1
    assert tried >= 5
    assert {kind: look(path) for kind, path in places.items() if kind != "below a file"} == before


def test_a_link_stands_for_what_it_leads_to(tmp_path: Path) -> None:
    target, link, dangling = tmp_path / "target", tmp_path / "link", tmp_path / "dangling"
    target.write_text("old")
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "new")
    assert OutputPath(False).convert(str(link), None, None) == target
    assert OutputPath(False).convert(str(dangling), None, None) == tmp_path / "new"
    assert main(["data", "template", str(link), "--rubric", "none.yaml", "--videos", "none"]) == 1  # no such rubric
    assert link.is_symlink()
    assert target.read_text() == "old"


@pytest.mark.parametrize("text", ["", "a\0b", "x" * 300])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(click.UsageError):
        OutputPath(False).convert(text, None, None)


def test_a_page_is_written_through_a_link(tmp_path: Path) -> None:
    link = tmp_path / "page.html"
    link.symlink_to(tmp_path / "real.html")
    assert main(["data", "rubric", "show", "--html", str(link)]) == 0
    assert link.is_symlink()
    assert "<html" in (tmp_path / "real.html").read_text()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.ENOENT, errno.EDQUOT])
def test_what_the_disk_says_is_one_sentence(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code), str(tmp_path / "page.html"))

    monkeypatch.setattr(os, "replace", fail)
    assert main(["data", "rubric", "show", "--html", str(tmp_path / "page.html")]) == 1
    said = capfd.readouterr().err
    assert said.startswith("siming data rubric: ")
    assert str(tmp_path / "page.html") in said
    assert len(said.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []  # nothing half-written


def test_a_full_device_is_one_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A page on a file system without room: written for real where one can be had, to /dev/full else."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    link = tmp_path / "full"
    link.symlink_to("/dev/full")
    assert main(["data", "rubric", "show", "--html", str(link)]) == 2
    assert "device" in capfd.readouterr().err
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)
