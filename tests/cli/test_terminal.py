"""Text that people see: nothing in a file acts on a terminal; tables are drawn to its width, aligned in a pipe."""

import io
import json
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from rich.cells import cell_len
from tqdm import tqdm

from siming_tasks.cli import main
from siming_tasks.cli.terminal import SafeStream, safe_terminal, show_markdown
from siming_tasks.common.sanitize import literal
from siming_tasks.study.report.table import Block, Name, Table

ACTS = set("\x1b\x9b\x07\x08\x00\u202e\u2066\u200b")
EVIL = "\x1b]0;owned\x07\x9b2J\x08\u202e\u200b"


def test_text_is_spelled_out_and_restored_streams_are_the_old_ones(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with safe_terminal():
        sys.stderr.write(f"a {EVIL} b\n")
        sys.stdout.write("张三 ✓\ttab\nerror in file\rall is well\n")
    assert sys.stdout is before
    out, err = capsys.readouterr()
    assert not ACTS & set(err) and "⟦U+001B⟧" in err
    assert out == "张三 ✓\ttab\nerror in file⟦U+000D⟧all is well\n"
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    SafeStream(stream).write("é 张\n")
    stream.flush()
    assert raw.getvalue() == b"\\xe9 \\u5f20\n"


def test_a_progress_bar_still_moves() -> None:
    stream = io.StringIO()
    for _ in tqdm(range(3), file=SafeStream(stream), desc=f"x{EVIL}", mininterval=0):  # type: ignore[arg-type]
        pass
    assert stream.getvalue().count("\r") >= 3 and not ACTS & set(stream.getvalue())


def test_no_command_lets_a_data_set_or_a_run_act_on_the_terminal(
    short_demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control characters in every place of files whose text is printed."""
    folder, run = tmp_path / f"data{EVIL[:-1]}", tmp_path / f"p{EVIL[:-1]}.jsonl"
    folder.mkdir()
    for item in short_demo.iterdir():
        (folder / item.name).symlink_to(item) if item.name != "videos.jsonl" else None
    lines = [json.loads(line) for line in (short_demo / "videos.jsonl").read_text().splitlines()]
    lines[0][f"vid{EVIL}eo"] = 1
    lines[0]["steps"][0]["step_id"] = f"cpr{EVIL}\nerror: none"
    lines[1]["media"] = f"media/{EVIL}.mp4"
    lines[2]["video_id"] = EVIL
    lines[3]["steps"][0]["score"] = {EVIL: 1e6}
    (folder / "videos.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rows = [
        {"setting": EVIL, "video_id": "sim001", "scores": {}},
        {"setting": "full_score", "video_id": EVIL, "scores": {}},
        {"setting": "full_score", "video_id": "sim001", "scores": {EVIL: 1}},
    ]
    run.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for command in (
        ["data", "check", "--quick", str(folder)],
        ["data", "check", "--quick", "--json", str(folder)],
        ["run", "plan", "--data", str(folder)],
        ["study", "raters", str(folder)],
        ["score", str(run), "--data", str(short_demo)],
    ):
        assert main(command) == 1
        out, err = capsys.readouterr()
        assert out + err and not ACTS & set(out + err), command
        assert not any(line.startswith("error: none") for line in (out + err).splitlines())
        if "--json" in command:
            texts = [text for error in json.loads(out)["errors"] for text in error.values() if isinstance(text, str)]
            assert any(EVIL in text for text in texts)


STYLE = re.compile(r"\x1b\[[0-9;]*m")
COLOUR = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3[0-7]|9[0-7]|38;[0-9;]+)m")


class Screen(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    for name, value in (("COLUMNS", "80"), ("TERM", "xterm")):
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return Screen()


def printed(*parts: Block, on: Screen | None = None) -> None:
    with redirect_stdout(on or sys.stdout), safe_terminal():
        show_markdown(*parts)


WIDE = Table(["run", "a", "b", "c"], [["x" * 60, "0.5 [0.1, 0.9]", "y" * 40, "1"], ["z", "2", "3", "4"]])


def test_a_narrow_terminal_loses_no_text_and_colours_are_for_those_who_want_them(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed("## title", WIDE, on=screen)
    assert COLOUR.search(screen.getvalue())
    lines = STYLE.sub("", screen.getvalue()).splitlines()
    assert max(map(cell_len, lines)) <= 80 and "|" not in "".join(lines)
    text = "".join(lines)
    assert (text.count("x"), text.count("y"), "…" in text) == (60, 40, False)
    screen.truncate(0)
    monkeypatch.setenv("NO_COLOR", "1")
    printed(WIDE, on=screen)
    assert not COLOUR.search(screen.getvalue()) and "run" in screen.getvalue()


def test_names_cannot_act_on_a_terminal_either(screen: Screen) -> None:
    evil = "\x1b]0;owned\x07\x9b2J\u202e[red]a[/red]"
    printed(Table(["run"], [[Name(evil)]]), f"## {literal(evil)}", on=screen)
    text = STYLE.sub("", screen.getvalue())
    assert not set("\x1b\x9b\x07\u202e") & set(text)
    assert "".join(text.split()).count("⟦U+001B⟧]0;owned⟦U+0007⟧⟦U+009B⟧2J⟦U+202E⟧[red]a[/red]") == 2


def test_a_pipe_gets_markdown_with_aligned_columns(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(["run", "n", "note"], [["张三", "1", r"a\|b | c"], ["long name", "-10.5", ""]], left=(0, 2))
    printed("before", table, "after | this")
    first, _, *body, _, last = capsys.readouterr().out.splitlines()
    assert (first, last) == ("before", "after | this")
    assert len({cell_len(line) for line in body}) == 1 and "\x1b" not in "".join(body)
    assert re.fullmatch(r"\| :-+ \| -+: \| :-+ \|", body[1])
    assert [re.sub(" +", " ", line) for line in body[2:]] == [
        re.sub(" +", " ", line) for line in table.to_markdown().splitlines()[2:]
    ]
