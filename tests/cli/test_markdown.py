"""Tables of all commands in one style: drawn to the width of a terminal, aligned Markdown in a pipe."""

from __future__ import annotations

import io
import json
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from rich.cells import cell_len

from siming_tasks.cli import main
from siming_tasks.cli.terminal import safe_terminal, show_markdown
from siming_tasks.common.sanitize import literal
from siming_tasks.data import open_dataset
from siming_tasks.report.table import Block, Name, Table

STYLE = re.compile(r"\x1b\[[0-9;]*m")
COLOUR = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3[0-7]|9[0-7]|38;[0-9;]+)m")


class Screen(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    found = Screen()
    for name, value in (("COLUMNS", "80"), ("TERM", "xterm")):
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return found


def printed(*parts: Block, on: Screen | None = None) -> None:
    with redirect_stdout(on or sys.stdout), safe_terminal():
        show_markdown(*parts)


def lines_of(screen: Screen) -> list[str]:
    return STYLE.sub("", screen.getvalue()).splitlines()


WIDE = Table.of(["run", "a", "b", "c"], [["x" * 60, "0.5 [0.1, 0.9]", "y" * 40, "1"], ["z", "2", "3", "4"]])


def test_a_narrow_terminal_loses_no_text(screen: Screen) -> None:
    printed("## title", WIDE, on=screen)
    lines = lines_of(screen)
    assert max(map(cell_len, lines)) <= 80 and "|" not in "".join(lines)
    text = "".join(lines)
    assert (text.count("x"), text.count("y"), "…" in text) == (60, 40, False)


def test_colour_is_for_terminals_that_want_it(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    printed(WIDE, on=screen)
    assert COLOUR.search(screen.getvalue())
    screen.truncate(0)
    monkeypatch.setenv("NO_COLOR", "1")
    printed(WIDE, on=screen)
    assert not COLOUR.search(screen.getvalue()) and "run" in screen.getvalue()


def test_names_cannot_act_on_a_terminal_either(screen: Screen) -> None:
    evil = "\x1b]0;owned\x07\x9b2J\u202e[red]a[/red]"
    printed(Table.of(["run"], [[Name(evil)]]), f"## {literal(evil)}", on=screen)
    text = STYLE.sub("", screen.getvalue())
    assert not set("\x1b\x9b\x07\u202e") & set(text)
    assert "".join(text.split()).count("⟦U+001B⟧]0;owned⟦U+0007⟧⟦U+009B⟧2J⟦U+202E⟧[red]a[/red]") == 2


def test_a_pipe_gets_markdown_with_aligned_columns(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [["张三", "1", r"a\|b | c"], ["long name", "-10.5", ""]]
    table = Table.of(["run", "n", "note"], rows, left=(0, 2))
    source = table.to_markdown().splitlines()
    printed("before", table, "after | this")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "before" and lines[-1] == "after | this"
    body = lines[2:-2]
    assert len({cell_len(line) for line in body}) == 1
    assert "\x1b" not in "".join(lines)
    assert [re.sub(" +", " ", line) for line in body if "--" not in line] == [
        re.sub(" +", " ", line) for line in source if "--" not in line
    ]
    assert body[2].index(" 1 ") > body[2].index("|", 2)  # numbers stand to the right
    assert re.fullmatch(r"\| :-+ \| -+: \| :-+ \|", body[1])


@pytest.mark.parametrize("text", ["| alone |", "| a | b |\n| c | d |", "|x|\n|y|", "", "a | b"])
def test_text_that_is_no_table_stays_as_it_is(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed(text)
    assert capsys.readouterr().out == f"{text}\n"


@pytest.fixture(scope="module")
def judges(short_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three prediction files, the worst first: ``b`` fails every third step, ``c`` every tenth, ``a`` none."""
    folder = tmp_path_factory.mktemp("judges")
    for name, every in (("b", 3), ("c", 10), ("a", 10**6)):
        with (folder / f"{name}.jsonl").open("w") as lines:
            for video in open_dataset(short_demo).videos:
                steps = video.applicable
                scores = {s.step_id: 0 if (k + 1) % every == 0 else s.consensus for k, s in enumerate(steps)}
                row = {"setting": "full_score", "video_id": video.video_id, "scores": scores}
                lines.write(json.dumps(row) + "\n")
    return [str(folder / f"{name}.jsonl") for name in "bca"]


def test_score_says_why_a_number_is_not_there(
    short_demo: Path, judges: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "all.jsonl"
    with path.open("w") as lines:
        for video in open_dataset(short_demo).videos:
            scores = {step.step_id: 0 for step in video.applicable}
            lines.write(json.dumps({"setting": "full_score", "video_id": video.video_id, "scores": scores}) + "\n")
    assert main(["score", str(path), "--data", str(short_demo)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"\| all steps \| +- \| +- \| +0\.000 \|", out), "undefined is no 0; a constant's kappa is one"
    assert "Every total by the judge is the same: 0/0. (all steps)" in out
    assert main(["compare", *judges, "--data", str(short_demo)]) == 0
    assert re.findall(r"^\| ([abc]) +\| +(\d) \(1 to 3\)", capsys.readouterr().out, re.M) == list(
        zip("acb", "123", strict=True)
    )
