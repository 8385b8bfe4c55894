"""No command but `siming data demo` draws exams: each reads its words first and refuses what is not there."""

import zipfile
from pathlib import Path

import pytest

from siming_tasks.cli import main
from siming_tasks.cli.main import COMMANDS
from siming_tasks.tools import simulator
from tests.cli.command_lines import example


class DrawnError(BaseException):
    """Exams would have been drawn."""


INPUTS = ["exams", "runs/qwen", "runs/gpt", "report", "inbox", "public", "rubric.yaml", "videos", "results.jsonl",
          "replies.jsonl", "job_asked.jsonl"]  # fmt: skip
"""What the examples of the commands read."""


def test_a_wrong_path_is_refused_and_nothing_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example of each command, with another thing in the place of all that it reads, or no data set named."""

    def drawn(*_: object, **__: object) -> None:
        raise DrawnError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIMING_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SIMING_DATA", raising=False)
    monkeypatch.setattr(simulator, "make_demo", drawn)
    Path("folder").mkdir()
    Path("file").touch()
    zipfile.ZipFile("archive.zip", "w").close()
    Path("inbox.senders.txt").write_text("lab\n")
    for folder in ("runs", "inbox"):
        Path(folder).mkdir()
    for name in ("runs/qwen", "runs/gpt", "inbox/a.zip"):
        Path(name).write_text("{}\n")
    tried = 0
    for name in COMMANDS:
        words = example(name)
        if {*words} & {*INPUTS} and name not in ("data demo", "data fetch"):
            tried += 1
            for path in ("nowhere", "folder", "file", "archive.zip"):
                assert main([*name.split(), *(path if word in INPUTS else word for word in words)]) in (1, 2), name
                out, said = capsys.readouterr()
                found = out if name == "data check" and not said else said  # its findings are its output
                assert path in found and (found.startswith((f"siming {name}: ", "error [")) or "Usage: " in found)
        if "--data" in words and name != "view":  # which has no report
            at = words.index("--data")
            assert main([*name.split(), *words[:at], *words[at + 2 :]]) == 1
            out, err = capsys.readouterr()
            assert out == "" and "no data set is named. Give its folder: --data DIR, or SIMING_DATA=DIR" in err
    assert tried >= 15
