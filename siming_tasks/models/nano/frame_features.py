"""Frames to features: the trained weights, and the frozen frame encoder for whoever wants to build on it.

``FrameReader().embeddings(pictures)`` gives 192 numbers for each picture, whatever it shows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import DataError

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

WEIGHTS = Path(__file__).with_name("siming_nano.safetensors")


@dataclass(frozen=True)
class Facts:
    """Purpose of the weights: features, steps and threshold that they were trained for.

    Attributes:
        continuous: names of the continuous features that the encoder reads, in order.
        binary: names of the binary ones, which follow.
        steps: ids of the steps that the judge knows, in order.
        maxima: highest points of each.
        threshold: probability above which a step is called incorrect.
    """

    continuous: tuple[str, ...]
    binary: tuple[str, ...]
    steps: tuple[str, ...]
    maxima: tuple[float, ...]
    threshold: float


def load(path: Path = WEIGHTS) -> tuple[Mapping[str, Any], Facts, str]:
    """The tensors by name, what they are for, and their SHA-256, which the file beside them states.

    Raises:
        DataError: the file is missing, or is not the one that belongs here.
    """
    from safetensors import safe_open
    from safetensors.torch import load as unpacked

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
        facts: dict[str, Any] = json.loads(stored.metadata()["facts"])
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in facts.items()}
    return unpacked(content), Facts(**values), actual


def part(tensors: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The tensors of one of the two networks, at full precision."""
    start = f"{name}."
    return {
        key.removeprefix(start): value.float() if value.is_floating_point() else value
        for key, value in tensors.items()
        if key.startswith(start)
    }


def best_device(wanted: str | None = None) -> torch.device:
    """The device that was asked for, else a GPU where there is one."""
    import torch

    return torch.device(wanted or ("cuda" if torch.cuda.is_available() else "cpu"))


def pixels(picture: Image | NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A picture of any size as the encoder sees it: RGB, shape (272, 480, 3)."""
    import cv2

    from siming_tasks.models.nano.networks import SIZE

    array = np.asarray(picture if isinstance(picture, np.ndarray) else picture.convert("RGB"))
    if array.shape[:2] == SIZE[::-1]:
        return array
    smaller = array.shape[1] >= SIZE[0]
    resized = cv2.resize(array, SIZE, interpolation=cv2.INTER_AREA if smaller else cv2.INTER_LINEAR)
    return resized.astype(np.uint8)


class FrameReader:
    """The frozen frame encoder of ``siming_nano``, ``batch`` frames at a time, on a GPU where there is one.

    ``facts`` say what the weights were trained for, ``names`` the features in order, ``digest`` which weights they are.

    Raises:
        DataError: the weights are missing or not the ones that belong here.
    """

    def __init__(self, device: str | None = None, *, batch: int = 64, weights: Path = WEIGHTS) -> None:
        import torch

        from siming_tasks.models.nano.networks import FrameEncoder

        self.tensors, self.facts, self.digest = load(weights)
        self.names = (*self.facts.continuous, *self.facts.binary)
        self.device, self.batch = best_device(device), batch
        net = FrameEncoder(len(self.facts.continuous), len(self.facts.binary))
        net.load_state_dict(part(self.tensors, "encoder"))
        self.net = net.eval().to(self.device, memory_format=torch.channels_last)  # type: ignore[call-overload]

    def features(self, pictures: Sequence[Image | NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Features of each picture, shape (pictures, features): see :attr:`names`; made for drawn exams."""
        return self._run(pictures, "features", len(self.names))

    def embeddings(self, pictures: Sequence[Image | NDArray[np.uint8]]) -> NDArray[np.float32]:
        """The encoder's last hidden layer, shape (pictures, 192)."""
        return self._run(pictures, "embedding", self.net.hidden)

    def tensor(self, pictures: Sequence[Image | NDArray[np.uint8]]) -> torch.Tensor:
        """Pictures as the encoder takes them, shape (pictures, 3, height, width), on its device."""
        import torch

        array = np.stack([pixels(picture) for picture in pictures])
        return torch.from_numpy(array).to(self.device).permute(0, 3, 1, 2).float().div_(255).sub_(0.5)

    def _run(self, pictures: Sequence[Any], what: str, width: int) -> NDArray[np.float32]:
        import torch

        features = [np.zeros((0, width), np.float32)]
        # Half precision is three times as fast where a processor has it, and right to the third digit.
        kind = torch.bfloat16 if self.device.type == "cpu" else torch.float16
        with torch.inference_mode(), torch.autocast(self.device.type, kind):
            for first in range(0, len(pictures), self.batch):
                tensor = self.tensor(pictures[first : first + self.batch])
                features.append(getattr(self.net, what)(tensor).float().cpu().numpy())
        return np.concatenate(features)
