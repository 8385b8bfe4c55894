"""Numbers, answers, frames and prompts are those that were frozen before the package got smaller."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.footage import FOOTAGE
from tests.frozen import cases

EXPECTED = json.loads(cases.EXPECTED.read_text("utf-8"))


def test_metrics_have_their_frozen_values() -> None:
    found = cases.metric_values()
    assert found.keys() == EXPECTED["metrics"].keys()
    for name, values in EXPECTED["metrics"].items():
        assert found[name] == pytest.approx(values, abs=1e-8), name


def test_plain_json_is_read_as_it_was() -> None:
    assert cases.plain_json_answers() == EXPECTED["replies"]


def test_frames_are_the_frozen_ones(short_demo: Path, tmp_path: Path) -> None:
    found = cases.recordings([short_demo], FOOTAGE)
    assert sum("/" in name for name in found) == 4
    assert {name: cases.shown_frames(path, tmp_path) for name, path in found.items()} == {
        name: EXPECTED["frames"][name] for name in found
    }


def test_prompts_are_the_frozen_ones() -> None:
    assert cases.prompts() == EXPECTED["prompts"]
