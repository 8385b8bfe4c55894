"""Media modes and the table of model classes: what follows from what a class takes."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.types import UNKNOWN_MODE
from siming_tasks.common.errors import OptionsError
from siming_tasks.media import (
    FRAMES,
    MEDIA_MODES,
    NOTHING_SHOWN,
    PROXY,
    UNKNOWN,
    VIDEO,
    Backend,
    backend_of,
    backends,
    recorded_mode,
)

FILMS = {"images": "several", "video": True}


@pytest.mark.parametrize(
    ("takes", "shown"),
    [
        (FILMS, FRAMES),
        ({"images": "several"}, FRAMES),
        ({"images": "paths", "video": True}, FRAMES),
        ({**FILMS, "prefer": "video"}, VIDEO),
        ({"images": "one", "video": True}, VIDEO),
        ({"images": "none", "video": True}, VIDEO),
        ({"images": "one"}, None),
        ({**FILMS, "refused": "it sings"}, None),
    ],
)
def test_classes_that_take_several_images_are_shown_frames(takes: dict[str, Any], shown: Any) -> None:
    assert Backend("x", **takes).media is shown


@pytest.mark.parametrize(
    ("takes", "wanted", "words"),
    [
        ({"images": "one"}, "auto", "x cannot judge here: it uses one picture per question and drops the others."),
        ({"refused": "it sings"}, "frames", "x cannot judge here: it sings."),
        ({"images": "none", "video": True}, "frames", "SIMING_MEDIA=frames: x does not take several pictures. Unset"),
        ({"images": "several"}, "video", "SIMING_MEDIA=video: x cannot read a video file. Unset SIMING_MEDIA."),
        ({**FILMS, "file": "faulty"}, "video", "replaces frames of a video by older ones"),
        ({**FILMS, "file": "short"}, "proxy", "ends the whole run at a file"),
        ({**FILMS, "modality": "image"}, "video", "SIMING_MEDIA=video: with modality=image x takes pictures only."),
        ({**FILMS, "modality": "video"}, "frames", "SIMING_MEDIA=frames: with modality=video x takes a file only."),
    ],
)
def test_modes_that_a_class_cannot_take_are_refused(takes: dict[str, Any], wanted: str, words: str) -> None:
    with pytest.raises(OptionsError) as caught:
        Backend("x", **takes).mode(wanted)
    assert words in str(caught.value)


def test_the_modality_of_an_instance_decides_its_mode() -> None:
    both = Backend("x", **FILMS, modality="image")
    assert (both.mode("auto", "image"), both.mode("auto", "video"), both.mode("auto")) == (FRAMES, VIDEO, FRAMES)
    assert both.mode("proxy", "video") is PROXY
    film = Backend("x", **FILMS, modality="video")
    assert (film.media, film.mode("auto"), film.mode("auto", "image")) == (VIDEO, VIDEO, FRAMES)


def test_arguments_packages_and_batches_depend_on_the_mode() -> None:
    backend = Backend("x", frames={"a": 1}, arguments={"b": 2}, needs=("p",), video_needs=("q",), batch="file")
    assert [dict(backend.arguments_in(mode)) for mode in (FRAMES, VIDEO, PROXY)] == [{"a": 1}, {"b": 2}, {"b": 2}]
    assert [backend.packages_in(mode) for mode in (FRAMES, VIDEO, PROXY)] == [("p",), ("p", "q"), ("p", "q")]
    assert [backend.needs_single_batches(mode) for mode in (FRAMES, VIDEO, PROXY)] == [False, True, True]
    assert all(Backend("x", batch="one").needs_single_batches(mode) for mode in MEDIA_MODES.values())


def test_a_class_is_known_by_its_module_or_its_nearest_base(tmp_path: Path) -> None:
    rows = backends()
    assert backend_of(["lmms_eval.models.chat.qwen3_vl"]) is rows["chat.qwen3_vl"]
    bases = ["my.plugin", "lmms_eval.models.chat._chat_base", "lmms_eval.models.simple.qwen3_omni"]
    assert backend_of(bases) is rows["simple.qwen3_omni"]
    ours = backend_of(["siming_tasks.models.nano.chat_model", "lmms_eval.api.model"])
    assert (ours.name, ours.mode("auto"), ours.mode("video")) == ("chat.siming_nano", FRAMES, VIDEO)
    # one without a row is shown frames, and not verified until the canary has passed
    mine = backend_of(["my.plugin", "builtins"])
    assert mine == replace(UNKNOWN, name="my.plugin") and mine.mode("auto") is FRAMES
    assert rows["simple.mantis"].is_verified(tmp_path) and not mine.is_verified(tmp_path)
    mine.canary_note(tmp_path).parent.mkdir()
    mine.canary_note(tmp_path).touch()
    assert mine.is_verified(tmp_path) and not backend_of(["other.plugin"]).is_verified(tmp_path)
    with pytest.raises(ValueError, match="imagse"):
        Backend("x", imagse="several")  # type: ignore[call-arg]


def test_records_name_their_mode_and_unknown_ones_claim_nothing() -> None:
    assert [recorded_mode({"mode": name}) for name in MEDIA_MODES] == list(MEDIA_MODES.values())
    for media in (NOTHING_SHOWN, {"mode": UNKNOWN_MODE}, {}, None, {"mode": ["frames"]}):
        mode = recorded_mode(media)
        assert (mode.images, mode.sampled) == (False, False)


def test_the_models_page_is_current() -> None:
    script = Path(__file__).parents[2] / "utils" / "make_models_page.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
