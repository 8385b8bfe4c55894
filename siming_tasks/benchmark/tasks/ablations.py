"""Input ablations: the benchmark's questions on altered input. A model that still answers well did not need the video.

Everything that is special to an ablation is in its :class:`InputAblation`; folders ask the object, never its name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # listing the tasks must not load arrays: the command line starts with it
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class InputAblation:
    """One way of altering what a question shows; false in a condition where it alters nothing."""

    name: str  # stands in the names of its tasks and in records; empty for the input as it is
    title: str = ""  # for people, in a few words
    shown: str = ""  # what is shown, in a sentence
    without: str = ""  # ends the sentence "87 % of kappa survives ..."
    shows_media: bool = True  # whether anything is shown at all
    shows_times: bool = True  # whether the prompt says when each frame was
    shows_other_exam: bool = False  # whether the frames are those of another exam, at the times of its own
    # places of the shown frames in order (``int64[F]``), of how many and for which request; they take the times of the
    # frames that they replace. None: all in their order
    frame_order: Callable[[int, str], NDArray[np.int64]] | None = None
    # the conditions that it changes by what it is; in all others its task must be asked as its base task is
    # (:mod:`siming_tasks.study.results.comparable`)
    changes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.name)


def _shuffled(number: int, request: str) -> NDArray[np.int64]:
    """A random order that is not the true one, where there is another; request and number decide it."""
    import numpy as np

    rng = np.random.default_rng(list(hashlib.sha256(f"{request}/{number}".encode()).digest()))
    order = rng.permutation(number)
    while number > 1 and (order[:-1] < order[1:]).all():
        order = rng.permutation(number)
    return order


def _first(number: int, _: str) -> NDArray[np.int64]:
    """The first frame in every place."""
    import numpy as np

    return np.zeros(number, np.int64)


UNALTERED = InputAblation("")  # the input as it is

_ABLATIONS = (
    InputAblation(
        "no_video", "no video", "Nothing is shown: the rubric alone.", "without any video", shows_media=False,
        changes=("prompt", "media", "frames", "size", "density", "encoding", "sampler", "pixels"),
    ),
    InputAblation(
        "shuffled_frames", "frames in random order",
        "The same frames are shown in random order, and not when each was.",
        "with the frames in random order", shows_times=False, frame_order=_shuffled, changes=("prompt",),
    ),
    InputAblation(
        "frozen_frame", "standing still",
        "The first frame is shown in place of every frame.", "with a standing picture",
        frame_order=_first,
    ),
    InputAblation(
        "mismatched_video", "another exam at this one's times",
        "The frames of another exam are shown, as many as this one has and at its times.",
        "with another exam at the times of this one", shows_other_exam=True,
    ),
)  # fmt: skip

INPUT_ABLATIONS: Mapping[str, InputAblation] = MappingProxyType({ablation.name: ablation for ablation in _ABLATIONS})
"""Every ablation by name."""
