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


def test_the_demo_has_no_warning_and_its_notes_can_be_seen(
    short_demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = printed(capsys, str(short_demo))
    assert code == 0 and len(out.splitlines()) == 3 and "\n13 of the 33 steps need sound (" in out
    assert "0 errors, 0 warnings, " in out and "--all shows them" in out
    number = int(re.search(r"(\d+) notes", out)[1])  # type: ignore[index]
    every = printed(capsys, "--all", str(short_demo))[1]
    assert sum(line.startswith("note [") for line in every.splitlines()) == number >= 4
    assert "overlap, as in most videos" in every
    code, out = printed(capsys, "--json", str(short_demo))
    found = json.loads(out)
    assert len(found["notes"]) == number and found["warnings"] == found["errors"] == []


def test_an_overlap_of_one_video_is_a_warning_beside_those_of_all(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "span-overlap" not in printed(capsys, str(folder))[1]

    def stretch(row: dict[str, Any]) -> None:
        steps = {step["step_id"]: step for step in row["steps"]}
        if row["video_id"] == "sim002":
            steps["aed_01"]["end"] = steps["aed_02"]["start"] + 0.1

    edit(folder, stretch)
    lines = [line for line in printed(capsys, str(folder))[1].splitlines() if "span-overlap" in line]
    assert len(lines) == 1 and "'sim002'" in lines[0] and "aed_01/aed_02 overlap." in lines[0]


def test_what_repeats_is_folded_and_nothing_is_lost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def shorten(row: dict[str, Any]) -> None:
        row["steps"][0]["end"] = row["steps"][0]["start"] + 0.1

    edit(folder, shorten)
    out = printed(capsys, str(folder))[1]
    assert out.count("warning [span-short]") == 3
    assert "... and 1 more [span-short]: videos.jsonl:4 (--all shows each)" in out
    every = printed(capsys, "--all", str(folder))[1]
    assert every.count("warning [span-short]") == 4 and "more [" not in every
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
