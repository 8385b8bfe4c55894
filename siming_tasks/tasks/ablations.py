"""Ablations: the benchmark's own questions on altered evidence. What a model still gets right there, it did not see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["INPUT_ABLATIONS", "InputAblation"]


@dataclass(frozen=True)
class InputAblation:
    """One way of altering what a question shows.

    Attributes:
        name: stands in the names of its tasks and in records.
        title: for people, in a few words.
        shown: what is shown, in a sentence.
        without: ends the sentence "87 % of kappa survives ...".
        media: whether anything is shown at all.
        times: whether the model is told when each frame was.
    """

    name: str
    title: str
    shown: str
    without: str
    media: bool = True
    times: bool = True


_ALL = (
    InputAblation("no_video", "no video", "Nothing is shown: the rubric alone.", "without any video", media=False),
    InputAblation("single_frame", "one frame", "The middle one of the frames is shown.", "on a single frame"),
    InputAblation(
        "shuffled_frames",
        "frames in random order",
        "The same frames are shown in random order, and not when each was.",
        "with the frames in random order",
        times=False,
    ),
    InputAblation("reversed_frames", "backwards", "The same frames are shown from the last to the first.", "backwards"),
    InputAblation(
        "frozen_frame", "standing still", "The first frame is shown in place of every frame.", "with a standing picture"
    ),
    InputAblation(
        "mismatched_video",
        "another exam",
        "The frames of another exam are shown.",
        "with another exam in place of this one",
    ),
)

INPUT_ABLATIONS: Mapping[str, InputAblation] = MappingProxyType({ablation.name: ablation for ablation in _ALL})
"""Every ablation by name."""
