"""No command but `siming data demo` draws exams: each reads its words first and refuses what is not there."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from siming_tasks.cli import main
from siming_tasks.cli.main import COMMANDS
from siming_tasks.tools import simulator
from tests.cli.command_lines import flags
from tests.cli.test_flags import WORDS


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


READS_NO_FILE = {
    "data fetch",
    "data rubric",
    "run import",
    "run recipe",
    "study power",
    "docs",
    "tasks-path",
}
"""Commands that have an answer without a file (or ask the network, or a package that may not be there)."""

NOT_THERE: dict[str, Callable[[Path], object]] = {
    "no such path": lambda path: None,
    "an empty folder": lambda path: path.mkdir(),
    "an empty file": lambda path: path.write_text(""),
    "a zip": lambda path: zipfile.ZipFile(path.with_suffix(".zip"), "w").close(),
}


@pytest.mark.parametrize("what", NOT_THERE)
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in {"data demo", "tasks-path", *READS_NO_FILE}])
def test_a_wrong_path_is_refused_and_nothing_is_drawn(
    name: str, what: str, nowhere: None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = "qqq.zip" if what == "a zip" else "qqq"
    NOT_THERE[what](Path("qqq"))
    words = [path if word in ("a", "p", "d", "r", "inbox", "videos") else word for word in WORDS[name]]
    words = ["out", *words[1:]] if name == "run missing" else words  # its folder need not be there
    words += [] if path in words else ["--data", path]
    assert main([*name.split(), *words]) in (1, 2)
    out, said = capsys.readouterr()
    if name == "data check" and not said:  # its findings are its output
        assert out.startswith("error [") and path in out
        return
    assert said.startswith(f"siming {name}: ") and path in said.split(": ", 1)[1]


@pytest.mark.parametrize("name", [name for name in COMMANDS if "--data" in flags(name)])
def test_without_any_data_set_none_is_drawn(name: str, nowhere: None, capsys: pytest.CaptureFixture[str]) -> None:
    """The words that are needed are there and right; only the data set is not named."""
    Path("p.jsonl").write_text("{}\n")
    Path("inbox").mkdir()
    Path("inbox/a.zip").touch()
    words = ["p.jsonl" if word in ("a", "b", "p", "d") else word for word in WORDS[name]]
    if name == "run baseline":
        words = words[1:]
    code = main([*name.split(), *words, *(["--videos", "50"] if name == "study power" else [])])
    out, err = capsys.readouterr()
    if name == "study power":  # plans without data
        assert code == 0
    elif name == "view":
        assert "p.jsonl: no report. Give the folder that `siming report --out` wrote." in err
    else:
        assert (code, out) == (1, "") and "no data set is named. Give its folder: --data DIR, or SIMING_DATA=DIR" in err
