"""The numbers of the random streams are part of every published interval."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from siming_tasks.metrics.resample import Stream, stream

import siming_tasks


def test_each_stream_draws_what_its_number_says():
    numbers = {"EXCHANGES": 3, "DIAGNOSES": 7}
    assert {item.name: item.value for item in Stream} == numbers
    for name, number in numbers.items():
        expected = np.random.default_rng(np.random.SeedSequence(9, spawn_key=(number,))).integers(2**60, size=5)
        assert (np.random.default_rng(stream(9, Stream[name])).integers(2**60, size=5) == expected).all()


def test_streams_of_a_seed_are_numbered_nowhere_else():
    using = [path.name for path in Path(siming_tasks.__file__).parent.rglob("*.py") if "spawn_key" in path.read_text()]
    assert using == ["resample.py"]
