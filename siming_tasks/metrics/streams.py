"""The random streams that come from one seed: each has a number of its own, so that no two draw the same."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

__all__ = ["Stream", "stream"]


class Stream(IntEnum):
    """Purpose of a random stream; its value is part of every published number and never changes.

    Which videos a resample takes comes from the seed itself, hence the same videos for all metrics and all runs.
    """

    STEPS = 1
    """Steps that a resample of videos and steps takes."""
    EXCHANGES = 3
    """Other video whose answers a video is given."""
    DIAGNOSES = 7
    """Resamples and random splits of the diagnoses in a report."""
    STANDARD = 11
    """Resamples of the examinees behind a cut score."""


def stream(seed: int, what: Stream) -> np.random.SeedSequence:
    """The seed of one stream.

    Example:
        >>> stream(5, Stream.STEPS).spawn_key
        (1,)
    """
    return np.random.SeedSequence(seed, spawn_key=(int(what),))
