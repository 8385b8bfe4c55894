"""The table of model classes: what follows from what a class takes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.common.errors import OptionsError
from siming_tasks.media import FRAMES, PROXY, UNKNOWN, VIDEO, Backend, MediaMode, Policy, backend_of, backends
from siming_tasks.options import Options


@pytest.mark.parametrize(
    ("takes", "shown"),
    [
        ({"images": "several", "video": True}, FRAMES),
        ({"images": "several"}, FRAMES),
        ({"images": "paths", "video": True}, FRAMES),
        ({"images": "several", "video": True, "prefer": "video"}, VIDEO),
        ({"images": "one", "video": True}, VIDEO),
        ({"video": True}, FRAMES),
        ({"images": "none", "video": True}, VIDEO),
        ({"images": "one"}, None),
        ({"images": "none"}, None),
        ({}, FRAMES),
        ({"images": "several", "video": True, "refused": "it sings"}, None),
    ],
)
def test_classes_that_take_several_images_are_shown_frames(takes: dict[str, Any], shown: MediaMode | None) -> None:
    assert Backend("x", **takes).media is shown  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("takes", "wanted", "words"),
    [
        ({"images": "one"}, "auto", "x cannot judge here: it looks at one picture a question and drops the others."),
        ({"refused": "it sings"}, "frames", "x cannot judge here: it sings."),
        (
            {"images": "none", "video": True},
            "frames",
            "SIMING_MEDIA=frames: x does not take several pictures. Unset SIMING_MEDIA.",
        ),
        ({"images": "several"}, "video", "SIMING_MEDIA=video: x cannot read a video file. Unset SIMING_MEDIA."),
        ({"images": "several"}, "proxy", "SIMING_MEDIA=proxy: x cannot read a video file. Unset SIMING_MEDIA."),
        ({"images": "several", "video": True, "file": "faulty"}, "video", "replaces frames of a video by older ones"),
        (
            {"images": "several", "video": True, "file": "short"},
            "proxy",
            "ends the whole run at a file",
        ),
    ],
)
def test_modes_that_a_class_cannot_take_are_refused(takes: dict[str, Any], wanted: str, words: str) -> None:
    with pytest.raises(OptionsError) as caught:
        Backend("x", **takes).mode(wanted)  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_the_modality_of_an_instance_decides_its_mode() -> None:
    both = Backend("x", images="several", video=True, modality="image")
    assert (both.mode("auto", "image"), both.mode("auto", "video"), both.mode("auto")) == (FRAMES, VIDEO, FRAMES)
    assert both.mode("proxy", "video") is PROXY
    film = Backend("x", images="several", video=True, modality="video")
    assert (film.media, film.mode("auto"), film.mode("auto", "image")) == (VIDEO, VIDEO, FRAMES)
    for row, wanted, modality in (
        (both, "frames", "video"), (both, "video", "image"), (both, "proxy", None), (film, "frames", None)
    ):  # fmt: skip
        expected = modality or row.modality
        with pytest.raises(OptionsError, match=f"SIMING_MEDIA={wanted}: with modality={expected} x takes"):
            row.mode(wanted, modality)


def test_a_class_is_known_by_its_module_or_its_nearest_base() -> None:
    rows = backends()
    assert backend_of(["lmms_eval.models.chat.qwen3_vl"]) is rows["chat.qwen3_vl"]
    assert (
        backend_of(["my.plugin", "lmms_eval.models.chat._chat_base", "lmms_eval.models.simple.qwen3_omni"])
        is (rows["simple.qwen3_omni"])
    )
    assert backend_of(["my.plugin", "builtins"]) == replace(UNKNOWN, name="my.plugin")
    ours = backend_of(["siming_tasks.models.nano.chat_model", "lmms_eval.api.model"])
    assert (ours.name, ours.mode("auto"), ours.mode("video")) == ("chat.siming_nano", FRAMES, VIDEO)
    assert UNKNOWN.media is Policy.of(Options()).mode_for() is FRAMES


def test_a_class_without_a_row_is_not_verified_until_the_canary_has_passed(tmp_path: Path) -> None:
    mine = backend_of(["my.plugin", "builtins"])
    assert backends()["simple.mantis"].is_verified(tmp_path) and not mine.is_verified(tmp_path)
    mine.canary_note(tmp_path).parent.mkdir()
    mine.canary_note(tmp_path).touch()
    assert mine.is_verified(tmp_path) and not backend_of(["other.plugin"]).is_verified(tmp_path)


def test_a_word_that_the_table_does_not_know_is_an_error() -> None:
    with pytest.raises(ValueError, match="imagse"):
        Backend("x", imagse="several")  # type: ignore[call-arg]


def test_the_models_page_is_current() -> None:
    script = Path(__file__).parents[2] / "utils" / "make_models_page.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
