"""Words in the wrong place: swapped ones, archives and other things are named before anything is read."""

from __future__ import annotations

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
        ("score exams", 1,
         "exams: a data set, and a run is wanted. It is given as --data exams (data=... in Python)."),
        ("compare exams runs/qwen", 1,
         "exams: a data set, and a run is wanted. It is given as --data exams (data=... in Python)."),
        ("report report", 1, "report: a report, and a run is wanted. `siming view report` shows it; "
         "give the runs that it was made of."),
        ("study raters exams.zip", 1,
         "DIR 'exams.zip': a file, not a folder, and not a Hugging Face dataset (org/name[@revision]). "
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
