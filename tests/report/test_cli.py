from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from siming_tasks.cli import main
from siming_tasks.data import Dataset

ONE = ("full_error",)


@pytest.fixture
def run(exams: Dataset, make_run: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return make_run(exams, tmp_path / "run", "rater_a", model="org/Model", settings=ONE)


def test_report_finds_the_data_that_the_run_names(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", f"mine={run}", "--out", "out", "--jobs", "1", "--video-files", "none"]) == 0
    assert "out/index.html: 1 run on SYNTHETIC data." in capsys.readouterr().out
    assert (Path("out") / "models" / "mine.html").is_file()


def test_report_names_its_faulty_input(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "nowhere"]) == 1
    assert "siming report: nowhere: no such file or folder." in capsys.readouterr().err
    assert main(["report", str(run), "--jobs", "0"]) == 2
    assert "Invalid value for '--jobs': 0 is not in the range x>=1" in capsys.readouterr().err


def test_submit_then_board(run: Path, exams: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data", str(exams.root)]
    assert main(["board", "submit", str(run), *data, "--organization", "Lab", "--out", "inbox/model.zip"]) == 0
    assert "inbox/model.zip: ready. org/Model, 4 predictions on siming-demo." in capsys.readouterr().out
    assert main(["board", "submit", "--check", "inbox/model.zip", *data]) == 0
    assert main(["board", "submit", str(run), *data, "--url", "javascript:alert(1)"]) == 2
    assert "--url: " in capsys.readouterr().err
    Path("reruns").mkdir()
    (Path("reruns") / "model").symlink_to(run)
    assert main(["board", "build", "inbox", *data, "--reruns", "reruns", "--out", "board"]) == 0
    assert "board/index.html: 1 verified, 0 community rows." in capsys.readouterr().out
    Path("inbox/bad.zip").write_bytes(b"not a zip")
    assert main(["board", "build", "inbox", *data, "--out", "board"]) == 1
    captured = capsys.readouterr()
    assert "refused: bad.zip: not a readable zip archive" in captured.err
    assert "0 verified, 1 community rows." in captured.out
