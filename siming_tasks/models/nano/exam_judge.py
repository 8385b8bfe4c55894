"""The whole judge without a framework: messages in, a reply in the prompt's JSON out. It knows nothing else."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load as unpacked

from siming_tasks.common.errors import DataError
from siming_tasks.media.decode import decode
from siming_tasks.media.picture import to_rgb
from siming_tasks.media.sampler import sample_indices
from siming_tasks.media.timeline import read_timeline
from siming_tasks.models.nano.networks import SIZE, FrameEncoder, StepJudge

Messages = Sequence[Mapping[str, Any]]
Floats = NDArray[np.float32]
Sight = tuple[list[Any], Floats]
"""Pictures that are shown, and their times in seconds since the start of the video or clip."""

WEIGHTS = Path(__file__).with_name("siming_nano.safetensors")

_STEP = re.compile(r"^\[([^\[\]\n]+)\] .*\(maximum ([0-9.]+) points?\b", re.MULTILINE)
_FRAME = re.compile(r"Frame at (\d+(?:\.\d+)?) s:")
_KEY = re.compile(r'the single key "(scores|score|verdicts|verdict)"')
_BATCH, _REMEMBERED = 64, 100_000
"""Frames that are read at a time, and whose features are kept (50 MB): a clip is asked about twice."""


@dataclass(frozen=True)
class Question:
    """Question of a prompt.

    Attributes:
        steps: asked step ids and the maximum of each, in the prompt's order.
        key: of the reply: ``scores``, ``score``, ``verdicts`` or ``verdict``; empty if none is named.
        clip: True if a clip of the one asked step is shown, rather than a whole exam.
    """

    steps: Mapping[str, float]
    key: str
    clip: bool


def _pieces(messages: Messages) -> list[Mapping[str, Any]]:
    pieces: list[Mapping[str, Any]] = []
    for message in messages:
        content = message["content"]
        pieces += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return pieces


def question(messages: Messages) -> Question:
    """Question that the messages ask."""
    text = "\n".join(piece["text"] for piece in _pieces(messages) if piece.get("type") == "text")
    key = ["", *_KEY.findall(text)][-1]
    return Question({step: float(top) for step, top in _STEP.findall(text)}, key, key in ("score", "verdict"))


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
    return (pictures, np.array(times, np.float32)) if pictures else None


def _of_file(path: Path, frames: int) -> Sight:
    timeline = read_timeline(path)
    indices = sample_indices(timeline.n_frames, frames)
    return [to_rgb(frame) for _, frame in decode(path, timeline, indices)], timeline.times[indices].astype(np.float32)


def load(path: Path = WEIGHTS) -> tuple[dict[str, torch.Tensor], dict[str, Any], str]:
    """The tensors by name, the facts that were stored with them, and their SHA-256, as the file next to them states it.

    Raises:
        DataError: the file is missing, or is not the one that belongs here.
    """
    again = "Install siming-tasks again."
    try:
        content = path.read_bytes()
        expected = path.with_suffix(".sha256").read_text(encoding="utf-8").strip()
    except OSError as error:
        raise DataError(f"{error.filename}: the weights of siming_nano cannot be read. {again}") from None
    actual = hashlib.sha256(content).hexdigest()
    if actual != expected:
        raise DataError(f"{path}: the weights have the digest {actual[:12]}, not {expected[:12]}. {again}")
    with safe_open(str(path), "pt") as stored:
        return unpacked(content), json.loads(stored.metadata()["facts"]), actual


def pixels(picture: Any) -> NDArray[np.uint8]:
    """A picture (PIL, or RGB of shape (height, width, 3)) of any size as the encoder sees it, shape (272, 480, 3)."""
    import cv2

    array = np.ascontiguousarray(picture if isinstance(picture, np.ndarray) else picture.convert("RGB"), np.uint8)
    if array.shape[:2] == SIZE[::-1]:
        return array
    smaller = array.shape[1] >= SIZE[0]
    return np.asarray(cv2.resize(array, SIZE, interpolation=cv2.INTER_AREA if smaller else cv2.INTER_LINEAR), np.uint8)


class Watcher:
    """Reads frames and judges steps, on a GPU where there is one.

    ``frames``, ``clip_frames``: taken of a video file of an exam, of a clip, where it gets files. ``silent``: how often
    it did not answer, by reason. ``digest``: of its weights.

    Raises:
        DataError: the weights are missing or not the ones that belong here.
    """

    def __init__(
        self, device: str | None = None, frames: int = 64, clip_frames: int = 16, weights: Path = WEIGHTS
    ) -> None:
        tensors, facts, self.digest = load(weights)
        self.frames, self.clip_frames = frames, clip_frames
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._top: dict[str, float] = facts["steps"]
        self.features = facts["continuous"] + facts["binary"]
        self.encoder = FrameEncoder(facts["continuous"], facts["binary"])
        self.judge = StepJudge(self.features, len(self._top), int(max(self._top.values())))
        nets = torch.nn.ModuleDict({"encoder": self.encoder, "judge": self.judge})
        nets.load_state_dict(tensors)  # stored at half precision, used at full
        nets.eval().to(self.device)
        self._known: dict[bytes, Floats] = {}
        self.silent: Counter[str] = Counter()

    def refuse_other_rubric(self, prompts: Sequence[str]) -> None:
        """Refuse prompts of which none asks about a step that it was trained for (DataError): it would say nothing."""
        asked = dict(step for text in prompts for step in question([{"content": text}]).steps.items())
        if asked and not any(self._top.get(step) == top for step, top in asked.items()):
            what = f"knows none of the {len(asked)} steps of the question ({', '.join(list(asked)[:3])}, ...)"
            raise DataError(
                f"siming_nano {what}: it was trained for {len(self._top)} of the default rubric. Use another model."
            )

    def replies(self, conversations: Sequence[Messages]) -> list[str]:
        """One reply per conversation, in order; conversations with one step and with many may be mixed."""
        asked = [question(messages) for messages in conversations]
        counts = [self.clip_frames if one.clip else self.frames for one in asked]
        shown = [sight(*pair) for pair in zip(conversations, counts, strict=True)]
        seen = self._read([media[0] if media else [] for media in shown])
        return [self._reply(*conversation) for conversation in zip(asked, shown, seen, strict=True)]

    def _reply(self, asked: Question, shown: Sight | None, features: Floats) -> str:
        known = [step for step, top in asked.steps.items() if self._top.get(step) == top]
        if len(known) < len(asked.steps):
            self.silent["steps it was not trained for"] += len(asked.steps) - len(known)
        if shown is None or not asked.key or not known:
            self.silent["no picture with its time" if shown is None else "nothing it can answer"] += 1
            return "{}"
        chances = self._chances(features, shown[1], known, asked.clip)
        answers: dict[str, int | str] = {}
        for step, chance in zip(known, chances, strict=True):
            verdict = "correct" if chance[int(self._top[step])] >= 0.5 else "incorrect"
            answers[step] = int(chance.argmax()) if asked.key.startswith("score") else verdict
        return json.dumps({asked.key: answers[known[0]] if asked.clip else answers})

    def _chances(self, features: Floats, times: Floats, steps: Sequence[str], clip: bool) -> Floats:
        """Probabilities of 0, 1, 2 ... points of known steps, shape (steps, most + 1); 0 above a step's maximum."""
        asked = torch.tensor([[list(self._top).index(step) for step in steps]])
        missing, scope = torch.zeros(1, len(times), dtype=torch.bool), torch.tensor([int(clip)])
        inputs = (torch.from_numpy(features)[None], torch.from_numpy(times)[None], missing, asked, scope)
        with torch.inference_mode():
            logits = self.judge(*(tensor.to(self.device) for tensor in inputs))[0].cpu()
        beyond = torch.arange(logits.shape[-1]) > torch.tensor([self._top[step] for step in steps])[:, None]
        return np.asarray(logits.masked_fill(beyond, -1e4).softmax(-1).numpy())

    def _read(self, shown: Sequence[Sequence[Any]]) -> list[Floats]:
        """The features of the pictures of each conversation; a picture seen before is not read again."""
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        new: dict[bytes, NDArray[np.uint8]] = {}
        names: list[list[bytes]] = []
        for pictures in shown:
            arrays = [pixels(picture) for picture in pictures]
            names.append([hashlib.blake2b(array.tobytes(), digest_size=16).digest() for array in arrays])
            new |= {name: array for name, array in zip(names[-1], arrays, strict=True) if name not in self._known}
        fresh = list(new)
        # Half precision is three times as fast where a processor has it, and right to the third digit.
        kind = torch.bfloat16 if self.device.type == "cpu" else torch.float16
        for first in range(0, len(fresh), _BATCH):
            some = fresh[first : first + _BATCH]
            with torch.inference_mode(), torch.autocast(self.device.type, kind):
                tensor = torch.from_numpy(np.stack([new[name] for name in some])).to(self.device)
                read = self.encoder.features(tensor.permute(0, 3, 1, 2).float().div_(255).sub_(0.5)).float()
            self._known.update(zip(some, read.cpu().numpy(), strict=True))
        nothing = np.zeros((0, self.features), np.float32)
        return [np.stack([self._known[name] for name in images]) if images else nothing for images in names]
