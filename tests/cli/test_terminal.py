from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from tqdm import tqdm

from siming_tasks.cli import main
from siming_tasks.cli.terminal import SafeStream, safe_terminal

ACTS = set("\x1b\x9b\x07\x08\x00\u202e\u2066\u200b")
EVIL = "\x1b]0;owned\x07\x9b2J\x08\u202e\u200b"


def test_text_is_spelled_out_and_restored_streams_are_the_old_ones(capsys) -> None:
    before = sys.stdout
    with safe_terminal():
        sys.stderr.write(f"a {EVIL} b\n")
        sys.stdout.write("张三 ✓\ttab\n")
    assert sys.stdout is before
    out, err = capsys.readouterr()
    assert not ACTS & set(err) and "⟦U+001B⟧" in err and out == "张三 ✓\ttab\n"


def test_a_progress_bar_still_moves() -> None:
    stream = io.StringIO()
    for _ in tqdm(range(3), file=SafeStream(stream), desc=f"x{EVIL}", mininterval=0):  # type: ignore[arg-type]
        pass
    assert stream.getvalue().count("\r") >= 3 and not ACTS & set(stream.getvalue())


def test_a_carriage_return_inside_a_name_does_not_overwrite_the_line() -> None:
    stream = io.StringIO()
    SafeStream(stream).write("error in file\rall is well\n")
    assert stream.getvalue() == "error in file⟦U+000D⟧all is well\n"


def test_what_the_encoding_lacks_is_escaped() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    SafeStream(stream).write("é 张\n")
    stream.flush()
    assert raw.getvalue() == b"\\xe9 \\u5f20\n"


def poison(folder: Path) -> None:
    """Control characters in every place of a data set whose text is printed."""
    lines = [json.loads(line) for line in (folder / "videos.jsonl").read_text().splitlines()]
    lines[0][f"vid{EVIL}eo"] = 1
    lines[0]["steps"][0]["step_id"] = f"cpr{EVIL}\nerror: none"
    lines[1]["media"] = f"media/{EVIL}.mp4"
    lines[2]["video_id"] = EVIL
    lines[3]["steps"][0]["score"] = {EVIL: 1e6}
    (folder / "videos.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(
    "command",
    [
        ["data", "check", "--quick"],
        ["data", "check", "--quick", "--json"],
        ["run", "plan", "--data"],
        ["study", "raters"],
    ],
)
def test_no_command_lets_a_data_set_act_on_the_terminal(short_demo: Path, tmp_path: Path, command, capsys) -> None:
    folder = tmp_path / f"data{EVIL[:-1]}"
    folder.mkdir()
    for item in short_demo.iterdir():
        (folder / item.name).symlink_to(item) if item.name != "videos.jsonl" else None
    (folder / "videos.jsonl").write_bytes((short_demo / "videos.jsonl").read_bytes())
    poison(folder)
    first = 3 if "--data" in command else 2
    assert main([*command[:first], str(folder), *command[first:]]) == 1
    out, err = capsys.readouterr()
    assert out + err and not ACTS & set(out + err)
    assert not any(line.startswith("error: none") for line in (out + err).splitlines())
    if "--json" in command:
        assert EVIL in json.dumps(json.loads(out), ensure_ascii=False).replace("\\u001b", "\x1b").replace(
            "\\u0007", "\x07"
        ).replace("\\b", "\x08")


def test_predictions_cannot_act_on_the_terminal(short_demo: Path, tmp_path: Path, capsys) -> None:
    path = tmp_path / f"p{EVIL[:-1]}.jsonl"
    rows = [
        {"setting": EVIL, "video_id": "sim001", "scores": {}},
        {"setting": "full_score", "video_id": EVIL, "scores": {}},
        {"setting": "full_score", "video_id": "sim001", "scores": {EVIL: 1}},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["score", str(path), "--data", str(short_demo)]) == 1
    out, err = capsys.readouterr()
    assert out + err and not ACTS & set(out + err)
