from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siming_tasks.common.sanitize import visible
from siming_tasks.common.schema import Video
from siming_tasks.report.viewer_files import HEAD, PEAKS, TAIL, raw_reply, script_json, shorten, write_sound
from siming_tasks.tools.simulator.video import encode


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


def test_replies_are_found_in_logs_and_prediction_files() -> None:
    assert raw_reply({"setting": "full_score", "video_id": "v1", "response": '{"scores": {}}'}) == '{"scores": {}}'
    assert raw_reply({"setting": "clip_error", "response": ["wrong"]}) == "wrong"
    assert raw_reply({"filtered_resps": "last", "resps": [["first"]]}) == "last"
    assert raw_reply({"resps": [["é", None]]}) == '["é", null]'
    assert raw_reply({"setting": "clip_error", "video_id": "v1", "verdict": "correct"}) is None


def test_the_wave_form_is_silent_where_the_sound_is(tmp_path: Path) -> None:
    """A second of silence, then a second of a tone at half of full scale; what was said stands beside it."""
    tone = np.concatenate([np.zeros(16_000), 16_384 * np.sin(np.arange(16_000) * 2 * np.pi * 440 / 16_000)])
    grey = [np.full((32, 32, 3), 90, np.uint8)] * 20
    encode(tmp_path / "loud.mp4", grey, fps=10, sound=tone.astype(np.int16))
    encode(tmp_path / "mute.mp4", grey, fps=10)
    said = [{"start": 1.0, "end": 1.5, "text": "All <b>safe</b>.\u202e", "who": "trainee"}]
    video = Video("v1", "loud.mp4", 2.0, (), extra={"transcript": said})
    assert write_sound(tmp_path, video, tmp_path / "loud.mp4")
    text = (tmp_path / "sound" / "v1.js").read_text()
    peaks, lines = json.loads("[" + text.removeprefix("SIMING.sound(").removesuffix(");\n") + "]")
    assert len(peaks) == PEAKS and max(peaks[: PEAKS // 2 - 20]) == 0
    assert min(peaks[PEAKS // 2 + 20 : -20]) == pytest.approx(99 / 2, abs=4)
    assert lines == [[1.0, 1.5, "All <b>safe</b>.⟦U+202E⟧", "trainee"]] and "<b>" not in text
    assert not write_sound(tmp_path, Video("v2", "mute.mp4", 2.0, ()), tmp_path / "mute.mp4")
    assert not (tmp_path / "sound" / "v2.js").exists()
