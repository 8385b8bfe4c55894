"""The whole judge without a framework: messages in, a reply in the prompt's JSON out. It knows nothing else."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.models.nano.frame_features import WEIGHTS, FrameReader, part, pixels

if TYPE_CHECKING:
    import torch

Messages = Sequence[Mapping[str, Any]]

_STEP = re.compile(r"^\[([^\[\]\n]+)\] .*\(maximum ([0-9.]+) points?\b", re.MULTILINE)
_FRAME = re.compile(r"Frame at (\d+(?:\.\d+)?) s:")
_KEY = re.compile(r'the single key "(scores|score|verdicts|verdict)"')

_REMEMBERED = 100_000
"""Frames whose features are kept (50 MB): a clip is asked about twice."""


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


def question(messages: Messages) -> Question:
    """Question that the messages ask."""
    text = _text(messages)
    keys = _KEY.findall(text)
    return Question({step: float(top) for step, top in _STEP.findall(text)}, keys[-1] if keys else "")


def sight(messages: Messages, frames: int) -> Sight | None:
    """Pictures that the messages show: images with their times, or up to ``frames`` frames of a video file.

    Returns:
        None if there is nothing to see, or images without their times.

    Raises:
        MediaError: the video file cannot be read.
    """
    pictures, times = [], []
    time: float | None = None
    for piece in _pieces(messages):
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


def _text(messages: Messages) -> str:
    return "\n".join(piece["text"] for piece in _pieces(messages) if piece.get("type") == "text")


def _pieces(messages: Messages) -> list[Mapping[str, Any]]:
    pieces: list[Mapping[str, Any]] = []
    for message in messages:
        content = message["content"]
        pieces += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return pieces


def _of_file(path: Path, frames: int) -> Sight:
    from siming_tasks.media.decode import decode
    from siming_tasks.media.sampler import sample_indices
    from siming_tasks.media.timeline import read_timeline

    timeline = read_timeline(path)
    indices = sample_indices(timeline.n_frames, frames)
    shown = {index: frame.to_ndarray(format="rgb24") for index, frame in decode(path, timeline, indices.tolist())}
    times = timeline.times[indices] - timeline.times[0]
    return Sight([shown[index] for index in indices.tolist()], times.astype(np.float32))


class Watcher:
    """Reads frames and judges steps, on a GPU where there is one.

    ``frames``, ``clip_frames``: taken of a video file of an exam, of a clip, where it gets files. ``silent``: how often
    it did not answer, by reason.
    """

    def __init__(
        self, device: str | None = None, *, frames: int = 64, clip_frames: int = 16, weights: Path = WEIGHTS
    ) -> None:
        from siming_tasks.models.nano.networks import StepJudge

        self.reader = FrameReader(device, weights=weights)
        facts = self.reader.facts
        self.frames, self.clip_frames, self.facts = frames, clip_frames, facts
        self._number = {step: number for number, step in enumerate(facts.steps)}
        self._top = dict(zip(facts.steps, facts.maxima, strict=True))
        net = StepJudge(len(self.reader.names), len(facts.steps), int(max(facts.maxima)))
        net.load_state_dict(part(self.reader.tensors, "judge"), strict=False)
        self.net = net.eval().to(self.reader.device)
        self._known: dict[bytes, NDArray[np.float32]] = {}
        self.silent: Counter[str] = Counter()

    def replies(self, conversations: Sequence[Messages]) -> list[str]:
        """One reply per conversation, in order; conversations with one step and with many may be mixed."""
        asked = [question(messages) for messages in conversations]
        shown = [
            sight(messages, self.clip_frames if wanted.clip else self.frames)
            for messages, wanted in zip(conversations, asked, strict=True)
        ]
        seen = self._read([media.pictures if media else () for media in shown])
        return [self._reply(*conversation) for conversation in zip(asked, shown, seen, strict=True)]

    def logits(self, features: torch.Tensor, times: torch.Tensor, steps: Sequence[str], clip: bool) -> torch.Tensor:
        """Logits of 0, 1, 2 ... points of known steps, shape (steps, most + 1); what a step lacks is out of reach."""
        import torch

        device, numbers = self.reader.device, [self._number[step] for step in steps]
        logits: torch.Tensor = self.net(
            features[None].to(device),
            times[None].to(device),
            torch.zeros(1, len(times), dtype=torch.bool, device=device),
            torch.tensor([numbers], device=device),
            torch.tensor([int(clip)], device=device),
        )[0]
        top = torch.tensor([self.facts.maxima[number] for number in numbers], device=device)
        return logits.masked_fill(torch.arange(logits.shape[-1], device=device) > top[:, None], -1e4)

    def _reply(self, asked: Question, shown: Sight | None, features: NDArray[np.float32]) -> str:
        import torch

        known = [step for step, top in asked.steps.items() if self._top.get(step) == top]
        if len(known) < len(asked.steps):
            self.silent["steps it was not trained for"] += len(asked.steps) - len(known)
        if shown is None or not asked.key or not known:
            self.silent["no picture with its time" if shown is None else "nothing it can answer"] += 1
            return "{}"
        with torch.inference_mode():
            logits = self.logits(torch.from_numpy(features), torch.from_numpy(shown.times), known, asked.clip)
            chances = torch.softmax(logits, -1).cpu().numpy()
        answers: dict[str, int | str] = {}
        for step, chance in zip(known, chances, strict=True):
            incorrect = 1 - chance[int(self._top[step])] > self.facts.threshold
            verdict = "incorrect" if incorrect else "correct"
            answers[step] = int(chance.argmax()) if asked.key.startswith("score") else verdict
        return json.dumps({asked.key: answers[known[0]] if asked.clip else answers})

    def _read(self, shown: Sequence[Sequence[Any]]) -> list[NDArray[np.float32]]:
        """The features of the pictures of each conversation; a picture seen before is not read again."""
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        new: dict[bytes, NDArray[np.uint8]] = {}
        names: list[list[bytes]] = []
        for pictures in shown:
            names.append([])
            for picture in pictures:
                rgb = picture if isinstance(picture, np.ndarray) else picture.convert("RGB")
                array = np.ascontiguousarray(rgb, dtype=np.uint8)
                shape = str(array.shape).encode()[:16]
                name = hashlib.blake2b(array.tobytes(), digest_size=16, person=shape).digest()
                names[-1].append(name)
                if name not in self._known:
                    new[name] = pixels(array)
        self._known.update(zip(new, self.reader.features(list(new.values())), strict=True))
        nothing = np.zeros((0, len(self.reader.names)), np.float32)
        return [np.stack([self._known[name] for name in images]) if images else nothing for images in names]
