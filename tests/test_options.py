"""Options: they check themselves however they are made, and every one is documented."""

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from siming_tasks.cli.main import COMMANDS, main
from siming_tasks.common.choices import LabelMapping
from siming_tasks.common.errors import OptionsError
from siming_tasks.media import MEDIA_MODES
from siming_tasks.options import OPTIONS, Options, shard_of

RANGE = "must be from 1 to 1,000,000,000."


def test_variables_are_read_and_blank_ones_leave_the_defaults() -> None:
    assert Options.from_env({"SIMING_FRAMES": " ", "SIMING_DATA": ""}) == Options()
    env = {"SIMING_FRAMES": "240", "SIMING_MEDIA": "Frames", "SIMING_CACHE_GB": "1.5", "HOME": "/x"}
    found = Options.from_env(env)
    assert (found.frames, found.media, found.cache_gb) == (240, "frames", 1.5)
    assert Options(cache="/somewhere").cache_dir == Path("/somewhere")
    assert (shard_of("2/5"), shard_of("")) == ((2, 5), (1, 1))
    assert Options().cache_dir.name == "siming-tasks"


def test_values_become_plain_types() -> None:
    found = Options(data=Path("exams"), frames=np.int64(8), cache_gb=3)  # type: ignore[arg-type]
    values = [found.data, found.frames, found.cache_gb]
    assert values == ["exams", 8, 3.0] and [type(value) for value in values] == [str, int, float]


WRONG: list[tuple[str, Any, str]] = [
    ("frames", "8", "is not a whole number."),
    ("frames", 8.0, "is not a whole number."),
    ("frames", True, "is not a whole number."),
    ("frames", 10**12, RANGE),
    ("frames", 0, RANGE),
    *(("shard", text, "is not a part such as 2/5, the second of five.") for text in ("4/3", "0/2", "3", "a/b")),
    ("cache_gb", float("nan"), "must be from 0.001 to 1,000,000,000."),
    ("cache_gb", "20", "is not a number."),
    ("media", "images", "is not one of auto, frames, video, proxy."),
    ("mapping", "Absolute", "is not one of absolute, proportional, proportional-3/4."),
    ("rater", "", "must not be empty."),
    ("data", 3, "is not text."),
    ("replies", "s3://bucket", "is an address. Give a folder; mount remote storage, or synchronise it with a folder."),
    ("limit_cost", -1, "must be from 0 to 1,000,000,000."),
]


def test_options_check_themselves_however_they_are_made() -> None:
    for name, value, reason in WRONG:
        for make in (Options, partial(replace, Options(frames=8))):
            with pytest.raises(OptionsError) as caught:
                make(**{name: value})
            assert str(caught.value) == f"{name}={value!r} {reason}"
    for name in OPTIONS:  # each refuses what is of no use
        with pytest.raises(OptionsError, match=f"{name}=None is not "):
            Options(**{name: None})
    with pytest.raises(OptionsError, match="has no room for reasoning"):
        Options(prompt="reasoned", schema="json")


def test_a_wrong_variable_is_refused_by_name_value_and_accepted_values() -> None:
    for name, text, reason in (
        ("SIMING_FRAMES", "6.5", "is not a whole number."),
        ("SIMING_CACHE_GB", "a lot", "is not a number."),
        ("SIMING_MEDIA", "pictures", "is not one of auto, frames, video, proxy."),
        ("SIMING_SHARD", "0/2", "is not a part such as 2/5, the second of five."),
        ("SIMING_LIMIT_COST", "0", "must be above 0; unset it for no limit."),
        ("SIMING_LIMIT_COST", "nan", "must be from 0 to 1,000,000,000."),
    ):
        with pytest.raises(OptionsError) as caught:
            Options.from_env({name: text})
        assert str(caught.value) == f"{name}={text!r} {reason}"


def test_what_no_file_could_name_is_refused_by_every_option_and_command(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is not UTF-8 reaches Python with half surrogates, which no file that we write can have."""
    for name in ("data", "replies", "cache", "split"):
        with pytest.raises(OptionsError, match="is not UTF-8"):
            Options(**{name: "aus\udcffgabe"})
    for words in COMMANDS:
        assert main([*words.split(), "aus\udcffgabe"]) == 2
        assert "is not UTF-8. Rename the file or folder." in capsys.readouterr().err, words


def test_a_misspelt_variable_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    env = {"SIMING_FRAME": "3", "SIMING_RATTER": "50", "SIMING_XQJ": "1", "SIMINGBENCH": "1", "SIMING_FRAMES": "9"}
    with caplog.at_level(logging.WARNING):
        assert Options.from_env(env) == Options.from_env(env) == Options(frames=9)
    said = [record.getMessage() for record in caplog.records]
    nothing = "is not a variable of siming-tasks and has no effect;"
    assert said[:2] == [
        f"SIMING_FRAME {nothing} did you mean SIMING_FRAMES?",
        f"SIMING_RATTER {nothing} did you mean SIMING_RATER?",
    ]
    assert said[2].startswith(f"SIMING_XQJ {nothing} the variables are SIMING_D") and len(said) == 3


def test_options_agree_with_what_other_modules_define() -> None:
    assert OPTIONS["media"].words == ("auto", *MEDIA_MODES)
    assert OPTIONS["mapping"].words == get_args(LabelMapping)
    by = {kind: [o.name for o in OPTIONS.values() if o.changes == kind] for kind in ("shown", "scored")}
    media = ["media", "frames", "clip_frames", "frame_size", "clip_density", "sampler"]
    assert by == {"shown": [*media, "prompt", "ask", "schema"], "scored": ["mapping", "rater"]}
    assert all(option.check(option.default) == option.default for option in OPTIONS.values())
