"""What a command writes: the kinds of places that it refuses before any work, and what it says of a failing disk."""

import errno
import os
import socket
import stat
from pathlib import Path

import click
import pytest

from siming_tasks.cli.main import COMMANDS, find_command, main
from siming_tasks.cli.parameters import NEW_FILE, NEW_FOLDER, OutputPath

pytestmark = pytest.mark.fast


def test_every_word_and_flag_that_names_an_output_is_checked() -> None:
    params = [param for name in COMMANDS for param in find_command(name).params]
    named = [param for param in params if param.name in ("out", "key", "store")]
    assert len(named) >= 10 and all(isinstance(param.type, OutputPath) for param in named)


@pytest.mark.parametrize("kind", [NEW_FILE, NEW_FOLDER], ids=["file", "folder"])
def test_nothing_takes_the_place_of_what_is_no_output(kind: OutputPath, tmp_path: Path) -> None:
    made = {name: tmp_path / name for name in ("pipe", "socket", "other", "below a file", "circle", "x" * 300)}
    os.mkfifo(made["pipe"])
    made["other"].write_text("kept") if kind.folder else made["other"].mkdir()
    (tmp_path / "file").touch()
    made["below a file"] = tmp_path / "file" / "out"
    made["circle"].symlink_to(made["circle"])
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(made["socket"]))
    if os.geteuid() == 0:
        made["device"] = tmp_path / "device"
        os.mknod(made["device"], stat.S_IFCHR | 0o600, os.makedev(1, 3))
    before = {path: path.lstat().st_mode for path in tmp_path.iterdir()}
    for text in ("", "-", *map(str, made.values())):
        with pytest.raises(click.UsageError) as refusal:
            kind.convert(text, None, None)
        assert text in str(refusal.value)
    assert {path: path.lstat().st_mode for path in tmp_path.iterdir()} == before


def test_a_link_stands_for_what_it_leads_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link, dangling = tmp_path / "link.html", tmp_path / "dangling"
    (tmp_path / "real.html").write_text("old")
    link.symlink_to(tmp_path / "real.html")
    dangling.symlink_to(tmp_path / "new")
    assert NEW_FILE.convert(str(dangling), None, None) == tmp_path / "new"
    assert main(["data", "template", str(link), "--rubric", "none.yaml"]) == 1  # no such rubric
    assert (tmp_path / "real.html").read_text() == "old"
    assert main(["data", "template", str(link)]) == 0
    assert link.is_symlink() and "<html" in (tmp_path / "real.html").read_text()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.ENOENT, errno.EDQUOT])
def test_what_the_disk_says_is_one_sentence(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code), str(tmp_path / "page.html"))

    monkeypatch.setattr(os, "replace", fail)
    assert main(["data", "template", str(tmp_path / "page.html")]) == 1
    said = capfd.readouterr().err
    assert said.startswith("siming data template: ") and str(tmp_path / "page.html") in said
    assert len(said.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []  # nothing half-written
