"""Options: they check themselves however they are made, and every one is documented."""

from __future__ import annotations

import logging
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from siming_tasks.common.errors import OptionsError
from siming_tasks.media import MEDIA_MODES
from siming_tasks.metrics.classification import Positive
from siming_tasks.metrics.labels import LabelMapping
from siming_tasks.options import OPTIONS, Choice, Options

PAGE = (Path(__file__).parents[1] / "docs" / "reference" / "options.md").read_text()
ENCODINGS = "{} is not jpeg, png or webp, or jpeg or webp with a quality of 1 to 100 (jpeg75)."


def test_blank_variables_leave_the_defaults() -> None:
    assert Options.from_env({}) == Options()
    assert Options.from_env({"SIMING_FRAMES": " ", "SIMING_DATA": ""}) == Options()


def test_variables_are_read_into_their_fields() -> None:
    env = {"SIMING_FRAMES": "240", "SIMING_MEDIA": "Frames", "SIMING_CACHE_GB": "1.5", "HOME": "/x"}
    found = Options.from_env(env)
    assert (found.frames, found.media, found.cache_gb) == (240, "frames", 1.5)
    assert Options(cache="/somewhere").cache_dir == Path("/somewhere")
    assert Options().cache_dir.name == "siming-tasks"


@pytest.mark.parametrize(
    ("ours", "form", "quality", "expected"),
    [
        ("", "", "", "jpeg"),
        ("", "PNG", "", "png"),
        ("", "PNG", "80", "png"),  # lmms-eval does not look at the quality of a PNG
        ("", "jpg", "", "jpeg"),
        ("", "JPEG", "80", "jpeg80"),
        ("", "", "80", "jpeg80"),
        ("", "webp", "", "webp85"),
        ("", "WEBP", "70", "webp70"),
        ("PNG", "JPEG", "80", "png"),
        ("JPG75", "PNG", "", "jpeg75"),
    ],
)
def test_image_variables_of_lmms_eval_set_the_image_format(ours: str, form: str, quality: str, expected: str) -> None:
    env = {"SIMING_IMAGE_FORMAT": ours, "LMMS_IMAGE_ENCODE_FORMAT": form, "LMMS_IMAGE_JPEG_QUALITY": quality}
    assert Options.from_env(env).image_format == expected


def test_values_become_plain_types() -> None:
    found = Options(data=Path("exams"), frames=np.int64(8), cache_gb=3)  # type: ignore[arg-type]
    assert (found.data, found.frames, found.cache_gb) == ("exams", 8, 3.0)
    assert [type(value) for value in (found.data, found.frames, found.cache_gb)] == [str, int, float]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("SIMING_FRAMES", "many", "SIMING_FRAMES='many' is not a whole number."),
        ("SIMING_FRAMES", "0", "SIMING_FRAMES='0' must be at least 1."),
        ("SIMING_FRAMES", "-4", "SIMING_FRAMES='-4' must be at least 1."),
        ("SIMING_FRAMES", "6.5", "SIMING_FRAMES='6.5' is not a whole number."),
        ("SIMING_FRAMES", "1000000000000", "SIMING_FRAMES='1000000000000' must be at most 999,999,999."),
        ("SIMING_CACHE_GB", "nan", "SIMING_CACHE_GB='nan' is not a number."),
        ("SIMING_CACHE_GB", "0", "SIMING_CACHE_GB='0' must be above 0."),
        ("SIMING_CACHE_GB", "inf", "SIMING_CACHE_GB='inf' must be at most 1,000,000,000."),
        ("SIMING_CACHE_GB", "a lot", "SIMING_CACHE_GB='a lot' is not a number."),
        ("SIMING_MEDIA", "pictures", "SIMING_MEDIA='pictures' is not one of auto, frames, video, proxy."),
        ("SIMING_MAPPING", "x", "SIMING_MAPPING='x' is not one of absolute, proportional, proportional-3/4."),
        ("SIMING_POSITIVE", "x", "SIMING_POSITIVE='x' is not one of error, correct."),
        ("SIMING_IMAGE_FORMAT", "png9", ENCODINGS.format("SIMING_IMAGE_FORMAT='png9'")),
        ("SIMING_IMAGE_FORMAT", "jpeg101", ENCODINGS.format("SIMING_IMAGE_FORMAT='jpeg101'")),
        ("LMMS_IMAGE_ENCODE_FORMAT", "BMP", "LMMS_IMAGE_ENCODE_FORMAT='BMP' is not one of PNG, JPEG, WEBP."),
        ("LMMS_IMAGE_JPEG_QUALITY", "0", "LMMS_IMAGE_JPEG_QUALITY='0' must be at least 1."),
        ("SIMING_CLIP_DENSITY", "x", "SIMING_CLIP_DENSITY='x' is not one of native, matched."),
    ],
)
def test_a_wrong_variable_is_refused_by_name_value_and_accepted_values(name: str, value: str, message: str) -> None:
    with pytest.raises(OptionsError) as caught:
        Options.from_env({name: value})
    assert str(caught.value) == message


WRONG: list[tuple[str, Any, str]] = [
    ("frames", "x", "frames='x' is not a whole number."),
    ("frames", "8", "frames='8' is not a whole number."),
    ("frames", 8.0, "frames=8.0 is not a whole number."),
    ("frames", True, "frames=True is not a whole number."),
    ("frames", None, "frames=None is not a whole number."),
    ("clip_frames", 0, "clip_frames=0 must be at least 1."),
    ("frame_size", -896, "frame_size=-896 must be at least 1."),
    ("shard", "4/3", "shard='4/3' is not a part such as 2/5, the second of five."),
    ("shard", None, "shard=None is not a part such as 2/5, the second of five."),
    ("demo_videos", 0, "demo_videos=0 must be at least 1."),
    ("cache_gb", 0, "cache_gb=0 must be above 0."),
    ("cache_gb", float("nan"), "cache_gb=nan is not a number."),
    ("cache_gb", "20", "cache_gb='20' is not a number."),
    ("media", "images", "media='images' is not one of auto, frames, video, proxy."),
    ("clip_density", None, "clip_density=None is not one of native, matched."),
    ("sampler", "random", "sampler='random' is not one of uniform, motion, scene."),
    ("image_format", "jpeg0", ENCODINGS.format("image_format='jpeg0'")),
    ("image_format", "gif", ENCODINGS.format("image_format='gif'")),
    ("image_format", 90, ENCODINGS.format("image_format=90")),
    ("prompt", "think", "prompt='think' is not one of plain, reasoned."),
    ("ask", "steps", "ask='steps' is not one of all, skill, step."),
    ("schema", "yaml", "schema='yaml' is not one of off, json."),
    ("mapping", "Absolute", "mapping='Absolute' is not one of absolute, proportional, proportional-3/4."),
    ("positive", 1, "positive=1 is not one of error, correct."),
    ("rater", "", "rater='' must not be empty."),
    ("cluster", "ward", "cluster='ward' is not one of auto, video, performance, student, site."),
    ("limits", "none", "limits='none' is not one of known, off."),
    ("data", 3, "data=3 is not text."),
    ("split", 3, "split=3 is not text."),
    ("cache", None, "cache=None is not text."),
    ("replies", False, "replies=False is not text."),
    ("prices", 3, "prices=3 is not text."),
    ("limit_cost", -1, "limit_cost=-1 must be at least 0."),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG, ids=lambda item: repr(item)[:30])
def test_options_check_themselves_however_they_are_made(name: str, value: Any, message: str) -> None:
    for make in (lambda: Options(**{name: value}), lambda: replace(Options(frames=8), **{name: value})):
        with pytest.raises(OptionsError) as caught:
            make()
        assert str(caught.value) == message


def test_every_field_has_a_case_of_a_refused_value() -> None:
    assert {name for name, _, _ in WRONG} == {item.name for item in fields(Options)} == set(OPTIONS)


def test_reasoning_and_a_schema_exclude_each_other() -> None:
    with pytest.raises(OptionsError, match="has no room for reasoning"):
        Options(prompt="reasoned", schema="json")


def test_a_misspelt_variable_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    env = {"SIMING_FRAME": "3", "SIMING_RATTER": "50", "SIMING_XQJ": "1", "SIMINGBENCH": "1", "SIMING_FRAMES": "9"}
    with caplog.at_level(logging.WARNING):
        assert Options.from_env(env) == Options.from_env(env) == Options(frames=9)
    said = [record.getMessage() for record in caplog.records]
    assert said[:2] == [
        "SIMING_FRAME is no variable of siming-tasks and changes nothing; did you mean SIMING_FRAMES?",
        "SIMING_RATTER is no variable of siming-tasks and changes nothing; did you mean SIMING_RATER?",
    ]
    assert said[2].startswith(
        "SIMING_XQJ is no variable of siming-tasks and changes nothing; the variables are SIMING_D"
    )
    assert len(said) == 3


def test_choices_equal_the_values_that_other_modules_define() -> None:
    def words(name: str) -> tuple[str, ...]:
        kind = OPTIONS[name].kind
        assert isinstance(kind, Choice)
        return kind.words

    assert words("media") == ("auto", *MEDIA_MODES)
    assert words("mapping") == get_args(LabelMapping)
    assert words("positive") == get_args(Positive)


def test_defaults_are_accepted_and_fit_their_kind() -> None:
    for option in OPTIONS.values():
        assert option.check(option.default) == option.default
        assert option.variable == f"SIMING_{option.name.upper()}"
        assert option.flag == "--" + option.name.replace("_", "-")
        assert option.help and not option.help.endswith(".")


def test_options_state_what_they_change() -> None:
    by = {kind: [o.name for o in OPTIONS.values() if o.changes == kind] for kind in ("shown", "scored")}
    media = ["media", "frames", "clip_frames", "frame_size", "clip_density", "sampler", "image_format"]
    assert by["shown"] == [*media, "prompt", "ask", "schema"]
    assert by["scored"] == ["mapping", "positive", "rater", "cluster"]


def test_the_table_in_the_docs_is_made_of_the_options() -> None:
    rows = re.findall(r"^\| `(SIMING_\w+)` \| (?:`(--[\w-]+) (.*?)` )?\| (.*?) \| (.*) \|$", PAGE, re.MULTILINE)
    told = [(name, flag, values.replace("\\|", "|"), default, text) for name, flag, values, default, text in rows]
    assert told == [
        (o.variable, *((o.flag, o.kind.metavar) if o.has_flag else ("", "")), o.default_text, o.help)
        for o in OPTIONS.values()
    ]
