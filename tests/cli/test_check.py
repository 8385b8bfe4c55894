"""``siming data check`` says what is wrong once, folds what repeats, and says nothing about what is usual."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from siming_tasks.cli import main
from siming_tasks.cli.terminal import fold_problems
from siming_tasks.common.errors import Problem
from tests.data.conftest import RUBRIC, unstate
from tests.records import change_rows


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["data", "check", "--quick", *words])
    return code, capsys.readouterr().out


def test_a_rubric_with_one_folder_in_its_path_is_no_name_on_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("exams").mkdir()
    untold = {name: value for name, value in RUBRIC.items() if name not in ("title", "setting")}
    for rubric, warned in ((RUBRIC, False), ({**untold, "rubric_id": "other"}, True)):
        Path("exams/rubric.yaml").write_text(yaml.safe_dump(rubric))
        code, out = printed(capsys, "exams/rubric.yaml")
        assert code == 0 and out.count("[rubric-untold]") == warned, out
    assert main(["data", "check", "exams/none.yaml"]) == 1
    assert "exams/none.yaml: no such file" in "".join(capsys.readouterr())


def test_what_repeats_is_folded_and_nothing_is_lost(
    short_demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(short_demo, tmp_path / "exams")
    change_rows(folder / "videos.jsonl", lambda rows: [row.update(sites="A") for row in rows])
    unstate(folder)
    out = printed(capsys, str(folder))[1]
    assert out.count("warning [key-unknown]") == 3
    assert "... and 1 more [key-unknown]: videos.jsonl:4 (--all shows each)" in out
    every = printed(capsys, "--all", str(folder))[1]
    assert every.count("warning [key-unknown]") == 4 and "more [" not in every
    count = re.compile(r"0 errors, (\d+) warnings")
    assert count.findall(out) == count.findall(every) != []
    found = [Problem(code, "odd.", "", "a.jsonl", line) for line in range(1, 9) for code in ("one", "two")]
    lines = list(fold_problems(found, 2))
    assert lines[1:4] == [
        "error [one] a.jsonl:2: odd.",
        "... and 6 more [one]: a.jsonl:3, a.jsonl:4, a.jsonl:5, ...",
        "error [two] a.jsonl:1: odd.",
    ]
