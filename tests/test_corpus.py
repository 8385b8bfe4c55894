"""Every input that ``utils/fuzz.py`` starts from or found is read within limits, and with deliberate errors alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz_targets import CORPUS, TARGETS, attack

INPUTS = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_input_of_the_corpus(path: Path) -> None:
    attack(path.parent.name, path.read_bytes())


def test_every_target_has_inputs_and_they_are_small() -> None:
    for name in TARGETS:
        sizes = [path.stat().st_size for path in INPUTS if path.parent.name == name]
        assert sizes and sum(sizes) < 60_000
    assert {path.parent.name for path in INPUTS} == set(TARGETS)
