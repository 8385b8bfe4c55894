"""No command but `siming data demo` draws exams: each reads its words first and refuses what is not there."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from siming_tasks.cli import main
from siming_tasks.cli.main import COMMANDS
from siming_tasks.tools import simulator
from tests.cli.command_lines import example


class DrawnError(BaseException):
    """Exams would have been drawn."""


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder and an empty cache, no SIMING_DATA, and a simulator that cannot be used unseen."""

    def drawn(*_: object, **__: object) -> None:
        raise DrawnError

    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("SIMING_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SIMING_DATA", raising=False)
    monkeypatch.setattr(simulator, "make_demo", drawn)


NOT_THERE: dict[str, Callable[[Path], object]] = {
    "no such path": lambda path: None,
    "an empty folder": lambda path: path.mkdir(),
    "an empty file": lambda path: path.write_text(""),
    "a zip": lambda path: zipfile.ZipFile(path, "w").close(),
}

INPUTS = ["exams", "runs/qwen", "runs/gpt", "report", "inbox", "public", "rubric.yaml", "videos", "results.jsonl",
          "replies.jsonl", "job_asked.jsonl"]  # fmt: skip
"""What the examples of the commands read."""


@pytest.mark.parametrize("what", NOT_THERE)
def test_a_wrong_path_is_refused_and_nothing_is_drawn(
    what: str, nowhere: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example of each command, with another thing in the place of all that it reads."""
    path = "qqq.zip" if what == "a zip" else "qqq"
    NOT_THERE[what](Path(path))
    tried = 0
    for name in COMMANDS:
        words = example(name)
        if {*words} & {*INPUTS} and name not in ("data demo", "data fetch"):
            tried += 1
            words = [path if word in INPUTS else word for word in words]
            assert main([*name.split(), *words]) in (1, 2), name
            out, said = capsys.readouterr()
            found = out if name == "data check" and not said else said  # its findings are its output
            assert path in found and (found.startswith((f"siming {name}: ", "error [")) or "Usage: " in found), found
    assert tried >= 15


def test_without_any_data_set_none_is_drawn(nowhere: None, capsys: pytest.CaptureFixture[str]) -> None:
    """The words that are needed are there and right; only the data set is not named."""
    Path("runs").mkdir()
    Path("runs/qwen").write_text("{}\n")
    Path("runs/gpt").write_text("{}\n")
    Path("inbox").mkdir()
    Path("inbox/a.zip").touch()
    for name in COMMANDS:
        words = example(name)
        if "--data" in words and name != "view":  # which has no report
            at = words.index("--data")
            assert main([*name.split(), *words[:at], *words[at + 2 :]]) == 1
            out, err = capsys.readouterr()
            assert out == "" and "no data set is named. Give its folder: --data DIR, or SIMING_DATA=DIR" in err
