from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siming_tasks.common.sanitize import visible
from siming_tasks.common.schema import Video
from siming_tasks.report.viewer_files import HEAD, TAIL, script_json, shorten, write_transcript


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain\n\ttext é 汉 🙂", "plain\n\ttext é 汉 🙂"),
        ("\u202eabc\u202c", "⟦U+202E⟧abc⟦U+202C⟧"),
        ("\u2066x\u2069\u200b\u200f", "⟦U+2066⟧x⟦U+2069⟧⟦U+200B⟧⟦U+200F⟧"),
        ("a\x00b\x1b[31m\x7f", "a⟦U+0000⟧b⟦U+001B⟧[31m⟦U+007F⟧"),
        ("line\r\nline\rline", "line\nline⟦U+000D⟧line"),
        ("half \ud800 a pair", "half ⟦U+D800⟧ a pair"),
        ("tag \U000e0041", "tag ⟦U+E0041⟧"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(raw: str, shown: str) -> None:
    assert visible(raw) == shown


def test_long_text_keeps_both_ends_and_says_what_is_missing() -> None:
    text = "a" * HEAD + "b" * 1_234_567 + "c" * TAIL
    assert shorten(text) == "a" * HEAD + "\n⟦1,234,567 characters left out⟧\n" + "c" * TAIL
    assert shorten("d" * (HEAD + TAIL)) == "d" * (HEAD + TAIL)


@given(st.text() | st.recursive(st.floats(allow_nan=False, allow_infinity=False) | st.text(), st.lists))
def test_script_json_is_json_and_means_nothing_to_html(value: object) -> None:
    text = script_json(value)
    assert json.loads(text) == value
    assert text.isascii() and not set("<>&") & set(text)


@pytest.mark.parametrize("beside", ["ascii", "é", "\ud800"])
def test_script_json_has_no_nan(beside: str) -> None:
    assert json.loads(script_json([float("nan"), float("-inf"), beside])) == [None, None, beside]


def test_what_is_said_is_text_beside_the_player(tmp_path: Path) -> None:
    said = [{"start": 1.0, "end": 1.5, "text": "All <b>safe</b>.\u202e", "who": "trainee"}]
    assert write_transcript(tmp_path, Video("v1", "loud.mp4", 2.0, (), extra={"transcript": said}))
    text = (tmp_path / "transcripts" / "v1.js").read_text()
    lines = json.loads(text.removeprefix("SIMING.transcript(").removesuffix(");\n"))
    assert lines == [[1.0, 1.5, "All <b>safe</b>.⟦U+202E⟧", "trainee"]] and "<b>" not in text
    assert not write_transcript(tmp_path, Video("v2", "mute.mp4", 2.0, ()))
    assert not (tmp_path / "transcripts" / "v2.js").exists()
