"""A chat message as ``siming_nano`` understands it: what is asked, what is shown, when. It knows nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Question", "Sight", "question", "sight"]

_STEP = re.compile(r"^\[([^\[\]\n]+)\] .*\(maximum ([0-9.]+) points?\b", re.MULTILINE)
_FRAME = re.compile(r"Frame at (\d+(?:\.\d+)?) s:")
_KEY = re.compile(r'the single key "(scores|score|verdicts|verdict)"')


@dataclass(frozen=True)
class Question:
    """Question of a prompt.

    Attributes:
        steps: asked step ids and the maximum of each, in the prompt's order.
        key: of the reply: ``scores``, ``score``, ``verdicts`` or ``verdict``; empty if none is named.
    """

    steps: Mapping[str, float]
    key: str

    @property
    def clip(self) -> bool:
        """True if a clip of the one asked step is shown, rather than a whole exam."""
        return self.key in ("score", "verdict")


@dataclass(frozen=True)
class Sight:
    """Pictures that are shown, with their times in seconds since the start of the video or clip."""

    pictures: Sequence[Any]
    times: NDArray[np.float32]


def question(messages: Sequence[Mapping[str, Any]]) -> Question:
    """Question that the messages ask."""
    text = "\n".join(part["text"] for part in _parts(messages) if part.get("type") == "text")
    keys = _KEY.findall(text)
    return Question({step: float(top) for step, top in _STEP.findall(text)}, keys[-1] if keys else "")


def sight(messages: Sequence[Mapping[str, Any]], frames: int) -> Sight | None:
    """Pictures that the messages show: images with their times, or up to ``frames`` frames of a video file.

    Returns:
        None if there is nothing to see, or images without their times.

    Raises:
        MediaError: the video file cannot be read.
    """
    pictures, times = [], []
    time: float | None = None
    for piece in _parts(messages):
        kind = piece.get("type")
        if kind == "text":
            caption = _FRAME.search(piece["text"])
            time = float(caption[1]) if caption else None
        elif kind == "video":
            return _of_file(Path(str(piece["url"]).removeprefix("file://")), frames)
        elif kind == "image" and time is not None:
            pictures.append(piece["url"])
            times.append(time)
            time = None
    return Sight(pictures, np.array(times, np.float32)) if pictures else None


def _parts(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    parts: list[Mapping[str, Any]] = []
    for message in messages:
        content = message["content"]
        parts += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return parts


def _of_file(path: Path, frames: int) -> Sight:
    from siming_tasks.media.decode import decode
    from siming_tasks.media.sampler import Budget, sample_indices
    from siming_tasks.media.timeline import read_timeline

    timeline = read_timeline(path)
    indices = sample_indices(timeline.n_frames, budget=Budget(frames=frames))
    shown = {index: frame.to_ndarray(format="rgb24") for index, frame in decode(path, timeline, indices.tolist())}
    times = timeline.times[indices] - timeline.times[0]
    return Sight([shown[index] for index in indices.tolist()], times.astype(np.float32))
