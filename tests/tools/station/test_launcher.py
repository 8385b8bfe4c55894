"""Launchers start what was typed, whatever its words hold."""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import OptionsError
from siming_tasks.tools.station.launcher import write_launcher

WORDS = ["病房 一", "it's", 'a "b"', "$HOME `id` \\n", "100%", "%f", "a;b|c&d", "", "--rater", "李医生"]
TELL = [sys.executable, "-c", "import os, sys; print(os.getcwd()); print(*sys.argv[1:], sep='\\n')"]


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    folder = tmp_path / '心肺 $复苏\'s "ward" 100%'
    folder.mkdir()
    return folder


def test_a_desktop_file_starts_the_words(ward: Path) -> None:
    """Read by the rules of the Desktop Entry Specification: escapes of a value, then of a quoted word, then codes."""
    path = write_launcher(ward, "Rate", [*TELL, *WORDS], ward, "linux")
    assert path.name == "Rate.desktop" and path.stat().st_mode & 0o111
    entry = configparser.RawConfigParser()
    entry.optionxform = str  # type: ignore[assignment,method-assign]
    entry.read_string(path.read_text(encoding="utf-8"))
    keys = dict(entry["Desktop Entry"])
    assert (keys["Type"], keys["Terminal"], keys["Name"]) == ("Application", "true", "Rate")
    value = keys["Exec"].replace("\\\\", "\\")
    assert "%" not in value.replace("%%", ""), "no field code"
    command = ["sh", "-c", value.replace("%%", "%")]  # within double quotes a shell undoes the same four escapes
    told = subprocess.run(command, cwd=keys["Path"].replace("\\\\", "\\"), capture_output=True, text=True, check=True)
    assert told.stdout.split("\n") == [str(ward), *WORDS, ""]


def test_a_shell_file_starts_the_words(ward: Path, tmp_path: Path) -> None:
    path = write_launcher(ward, "Rate", [*TELL, *WORDS], ward, "darwin")
    told = subprocess.run([path], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert path.suffix == ".command" and told.stdout.split("\n") == [str(ward), *WORDS, ""]


def test_a_batch_file_quotes_as_windows_reads() -> None:
    """By the rules of cmd (a percent sign is doubled) and of CommandLineToArgvW (a backslash before the last quote)."""
    from siming_tasks.tools.station.launcher import _bat

    ending, text = _bat(["C:\\py\\siming.exe", "病房 & 一\\", "100%"], Path("D:\\考 核"))
    assert ending == ".bat" and text.split("\r\n") == [
        "@echo off",
        "chcp 65001 >nul",
        'cd /d "D:\\考 核"',
        '"C:\\py\\siming.exe" "病房 & 一\\\\" "100%%"',
        "if errorlevel 1 pause",
        "",
    ]
    with pytest.raises(OptionsError, match="quotation mark"):
        _bat(['a"b'], Path("D:\\"))


def test_nothing_else_is_overwritten(ward: Path) -> None:
    first = write_launcher(ward, "Rate: a/b", ["x"], ward, "linux")
    assert first.name == "Rate_ a_b.desktop" and write_launcher(ward, "Rate: a/b", ["x"], ward, "linux") == first
    with pytest.raises(OptionsError, match="starts something else"):
        write_launcher(ward, "Rate: a/b", ["y"], ward, "linux")
    with pytest.raises(OptionsError, match="no launcher can hold"):
        write_launcher(ward, "Rate", ["a\nb"], ward, "linux")


def test_rate_writes_a_launcher_of_itself(
    videos: Path, rubric: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(videos, tmp_path / "ward")
    words = ["data", "rate", "ward", "--rater", "李医生", "--rubric", str(rubric), "--store", "s.sqlite"]
    assert main([*words, "--language", "zh", "--desktop"]) == 0
    (path,) = tmp_path.glob("*.desktop")
    assert path.name == "ward - 评分站 (李医生).desktop" and f"{path}：在文件管理器中打开" in capsys.readouterr().out
    assert '"--rater" "李医生"' in path.read_text(encoding="utf-8") and "--desktop" not in path.read_text(
        encoding="utf-8"
    )
    assert f"Path={tmp_path}\n" in path.read_text(encoding="utf-8") and not (tmp_path / "s.sqlite").exists()
    assert main(["data", "rate", "none", "--rater", "x", "--desktop"]) == 1, "what is not there is no launcher's"
