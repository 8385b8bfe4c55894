"""A played exam as data: every channel of the scene over time, words, events, spans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CHANNELS", "Pace", "Performance", "Utterance"]

_FIGURE = {
    "seen": 0, "x": 60, "crouch": 0, "lean": 0, "bow": 0, "gx": 0, "gy": 0, "bare": 0, "puff": 0, "grip": 0,
    "lx": 36, "ly": 134, "rx": 84, "ry": 134, "lshape": 0, "rshape": 0,
}  # fmt: skip
CHANNELS: Mapping[str, float] = {
    **{f"{who}_{name}": value for who in ("me", "aide", "by") for name, value in _FIGURE.items()},
    # the patient: clothing, posture, chest (depth in cm at hx, hz; rise in normal breaths), head
    "p_cloth": 0, "p_flap": 0, "p_wet": 0, "p_soft": 0, "p_twist": 0.7, "p_pillow": 1, "p_shake": 0,
    "p_depth": 0, "p_hx": 288, "p_hz": 0.5, "p_rise": 0, "p_belly": 0,
    "p_tilt": 0, "p_mouth": 0.1, "p_debris": 0, "p_shield": 0, "p_leak": 0,
    # the AED: mode, connector, pads (place: x and z on the chest, or z < 0: x, y in the hand)
    "a_seen": 0, "a_x": 398, "a_y": 150, "a_mode": 0, "a_plug": 0, "a_curl": 0,
    "a_pad1": 0, "a_pad1x": 0, "a_pad1y": 0, "a_pad1z": -1, "a_pad2": 0, "a_pad2x": 0, "a_pad2y": 0, "a_pad2z": -1,
    # bag and mask, oxygen
    "b_seen": 0, "b_x": 400, "b_y": 150, "b_sq": 0, "b_tube": 0, "b_res": 0, "b_flow": 0, "b_size": 1, "b_fault": 0,
    "b_leak": 0, "o_seen": 0, "o_x": 262, "o_y": 186,
}  # fmt: skip
"""Every channel of the scene and its value at the start."""


@dataclass(frozen=True)
class Pace:
    """Tempo of an exam.

    Attributes:
        time: factor on moving and waiting.
        clock: factor on what the rubric counts in seconds (checks, breaths, pauses); 1 in a faithful exam.
        strokes: compressions drawn for a set of 30.
    """

    time: float = 1.0
    clock: float = 1.0
    strokes: int = 30


@dataclass(frozen=True)
class Utterance:
    """Words said by ``who`` from ``start`` to ``end`` seconds."""

    start: float
    end: float
    who: str
    text: str


@dataclass(frozen=True)
class Performance:
    """A played exam.

    Attributes:
        duration: seconds, a whole number of frames.
        spans: start and end of each step in seconds.
        utterances: all words.
        lengths: natural length of each step in seconds, before a span is drawn out to show a later consequence.
        events: the log: ``{"t", "who", "what", "step_id", "errors"}``.
        times: keyframe times by channel; ``values`` the values there.
    """

    duration: float
    spans: Mapping[str, tuple[float, float]]
    lengths: Mapping[str, float]
    utterances: tuple[Utterance, ...]
    events: tuple[Mapping[str, Any], ...]
    times: Mapping[str, NDArray[np.float64]] = field(repr=False)
    values: Mapping[str, NDArray[np.float64]] = field(repr=False)

    def sample(self, fps: int) -> NDArray[np.float64]:
        """All channels at every frame, shape (frames, channels), in the order of :data:`CHANNELS`."""
        # The middle of the frame interval: an instant change on a frame boundary is then never ambiguous.
        at = (np.arange(round(self.duration * fps)) + 0.5) / fps
        return np.column_stack([np.interp(at, self.times[name], self.values[name]) for name in CHANNELS])
