"""Words in the wrong place: swapped ones, archives and other things are named before anything is read."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from siming_tasks.cli import main
from siming_tasks.common.input_kinds import kind_of


@pytest.fixture
def things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thing of each kind in the current folder, as small as its sign."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SIMING_DATA", raising=False)
    for file in ("exams/dataset.yaml", "runs/qwen/1_samples_siming_full_score.jsonl", "report/report.json",
                 "report/index.html", "rubric.yaml", "exam.mp4", "answers.jsonl", "li.sqlite"):  # fmt: skip
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).touch()
    zipfile.ZipFile("exams.zip", "w").close()


def test_each_kind_is_told_by_its_files(things: None) -> None:
    kinds = {"exams": "data set", "runs": "run", "runs/qwen": "run", "report": "report", "answers.jsonl": "run",
             "exams.zip": "archive", "rubric.yaml": "YAML file", "exam.mp4": "video", "li.sqlite": "event log",
             ".": "run", "nowhere": None, "x" * 5000: None}  # fmt: skip
    assert {path: kind_of(path) for path in kinds} == kinds


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("score runs/qwen exams", 2,
         "exams is a data set and runs/qwen is a run. Swap them: siming score exams runs/qwen"),
        ("score exams", 2, "PREDICTIONS exams is a data set, and a run is wanted. Give the predictions after it."),
        ("compare exams runs/qwen", 1,
         "exams: a data set, and a run is wanted. It is given as --data exams (data=... in Python)."),
        ("report report", 1, "report: a report, and a run is wanted. `siming view report` shows it; "
         "give the runs that it was made of."),
        ("study raters --data exams.zip", 1,
         "--data 'exams.zip': a file, not a folder, and not a Hugging Face dataset (org/name[@revision]). "
         "Give a folder with dataset.yaml; `siming data demo exams` makes one."),
        ("data rate /nowhere --rater Li", 1,
         "/nowhere: no such folder. Give a folder of videos, or a built data set."),
        ("compare runs/qwen --setting full_scor", 2, "setting='full_scor' is not a setting; 'full_score' is near."),
        ("board submit exams.zip", 2, "exams.zip is an archive. To look whether it is fit to be sent, add --check."),
    ],
)  # fmt: skip
def test_a_word_in_the_wrong_place_is_named(
    line: str, code: int, said: str, things: None, capsys: pytest.CaptureFixture[str]
) -> None:
    words = line.split()
    command = " ".join(words[: 1 if words[0] in ("score", "compare", "report", "view") else 2])
    before = sorted(Path().rglob("*"))
    assert main(words) == code
    assert capsys.readouterr() == ("", f"siming {command}: {said}\n")
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize("words", [["help"], ["help", "score"], ["help", "data"], ["help", "data", "build"]])
def test_help_is_a_word_too(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    said = capsys.readouterr().out
    assert main([*words[1:], "--help"]) == 0
    assert capsys.readouterr().out == said and said.startswith(" ".join(["Usage: siming", *words[1:]]))


def test_the_next_step_is_printed_to_a_terminal_alone(
    short_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(short_demo, "my exams")
    words = ["data", "split", "my exams", "public", "--key", "k.json"]
    assert main(words) == 0
    assert "Next: " not in "".join(capsys.readouterr())
    shutil.rmtree("public")
    Path("k.json").unlink()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "Next: siming data push public ORG/NAME"
    assert main(["data", "check", "my exams", "--quick"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("Next: SIMING_DATA='my exams' lmms-eval --model siming_reference --tasks siming_full ")
    assert main(["data", "check", "my exams", "--quick", "--json"]) == 0
    assert "Next: " not in capsys.readouterr().out
