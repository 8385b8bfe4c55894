"""Environment variables: every one is documented, and a wrong value is named."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from siming_tasks.errors import OptionsError
from siming_tasks.options import Options

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_defaults() -> None:
    assert Options.from_env({}) == Options()
    assert Options.from_env({"SIMING_FRAMES": " ", "SIMING_DATA": ""}) == Options()


@pytest.mark.parametrize("name", [f"SIMING_{item.name.upper()}" for item in fields(Options)])
def test_every_variable_is_in_the_readme(name: str) -> None:
    assert f"`{name}`" in README


def test_values_are_read() -> None:
    env = {"SIMING_FRAMES": "240", "SIMING_MEDIA": "Frames", "SIMING_CACHE_GB": "1.5", "SIMING_SEED": "0", "HOME": "/x"}
    found = Options.from_env(env)
    assert (found.frames, found.media, found.cache_gb, found.seed) == (240, "frames", 1.5, 0)
    assert Options(cache="/somewhere").cache_dir == Path("/somewhere")
    assert Options().cache_dir.name == "siming-tasks"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("SIMING_FRAMES", "many", "SIMING_FRAMES='many' is not a whole number."),
        ("SIMING_FRAMES", "0", "SIMING_FRAMES='0' must be above 0."),
        ("SIMING_FRAMES", "-4", "SIMING_FRAMES='-4' must be above 0."),
        ("SIMING_CACHE_GB", "nan", "SIMING_CACHE_GB='nan' must be above 0."),
        ("SIMING_SEED", "-1", "SIMING_SEED='-1' must be at least 0."),
        ("SIMING_MEDIA", "pictures", "SIMING_MEDIA='pictures' is not one of auto, frames, video, proxy."),
        ("SIMING_MAPPING", "x", "SIMING_MAPPING='x' is not one of absolute, proportional."),
    ],
)
def test_a_wrong_value_is_named(name: str, value: str, message: str) -> None:
    with pytest.raises(OptionsError) as caught:
        Options.from_env({name: value})
    assert str(caught.value) == message
