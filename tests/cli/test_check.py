"""``siming data check`` says what is wrong once, what repeats fold_problems, and nothing about what is usual."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.cli.terminal import fold_problems
from siming_tasks.common.errors import Problem
from tests.data.conftest import unstate


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["data", "check", "--quick", *words])
    return code, capsys.readouterr().out


@pytest.fixture
def folder(short_demo: Path, tmp_path: Path) -> Path:
    """The demo as somebody's own exams: nothing in it says that a program wrote the labels."""
    root = tmp_path / "exams"
    shutil.copytree(short_demo, root)
    info = (root / "dataset.yaml").read_text().replace("synthetic: true", "synthetic: false")
    (root / "dataset.yaml").write_text(re.sub(r"simulation:\n(  .*\n)+", "", info))
    unstate(root)
    return root


def edit(root: Path, change: Any) -> None:
    rows = [json.loads(line) for line in (root / "videos.jsonl").read_text().splitlines()]
    for row in rows:
        change(row)
    (root / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    unstate(root)


def test_the_demo_has_no_finding(short_demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = printed(capsys, str(short_demo))
    assert code == 0 and len(out.splitlines()) == 3 and "\n13 of the 33 steps need sound (" in out
    assert "0 errors, 0 warnings. Not looked at: " in out
    found = json.loads(printed(capsys, "--json", str(short_demo))[1])
    assert found["warnings"] == found["errors"] == []


def test_what_repeats_is_folded_and_nothing_is_lost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(folder, lambda row: row.update(sites="A"))
    out = printed(capsys, str(folder))[1]
    assert out.count("warning [key-unknown]") == 3
    assert "... and 1 more [key-unknown]: videos.jsonl:4 (--all shows each)" in out
    every = printed(capsys, "--all", str(folder))[1]
    assert every.count("warning [key-unknown]") == 4 and "more [" not in every
    count = re.compile(r"0 errors, (\d+) warnings")
    assert count.search(out)[1] == count.search(every)[1]  # type: ignore[index]


def test_kinds_stand_together_with_the_places_of_the_rest() -> None:
    def problem(code: str, line: int) -> Problem:
        return Problem(code, "odd.", "", "a.jsonl", line)

    found = [problem(code, line) for line in range(1, 9) for code in ("one", "two")]
    assert list(fold_problems(found, 2)) == [
        "error [one] a.jsonl:1: odd.",
        "error [one] a.jsonl:2: odd.",
        "... and 6 more [one]: a.jsonl:3, a.jsonl:4, a.jsonl:5, ...",
        "error [two] a.jsonl:1: odd.",
        "error [two] a.jsonl:2: odd.",
        "... and 6 more [two]: a.jsonl:3, a.jsonl:4, a.jsonl:5, ...",
    ]
    assert len(list(fold_problems(found, None))) == 16
