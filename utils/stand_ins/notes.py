"""What the stand-ins write down: pictures as small grey thumbs, sounds, files, text and arguments of each reply."""

from __future__ import annotations

import base64
import hashlib
import io
import threading
import wave
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

FAILURE = "the stand-in fails"
THUMB = (48, 27)
MEAN, DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])  # of ImageNet, which many subtract
ARGUMENTS = ("max_new_tokens", "max_length", "max_tokens", "temperature", "do_sample", "num_beams", "top_p")
"""Generation arguments that are noted."""


@dataclass
class Seen:
    """What was handed over for one reply.

    Attributes:
        pictures: in their order.
        sizes: their widths and heights.
        sounds: number of samples, and SHA-256 of them as 16-bit little-endian.
        files: videos, by path.
        text: all texts, one after the other.
        arguments: of generation.
    """

    pictures: list[list[int]] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    sounds: list[tuple[int, str]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    text: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)


class Notes:
    """Notes of a run: what arrived since the last reply, and what each reply was an answer to."""

    def __init__(self) -> None:
        self.pending, self.replies, self.fails_at = Seen(), list[Seen](), -1
        self.lock = threading.Lock()

    def note(self, *values: Any) -> None:
        """Note pictures, sounds, paths and texts, however they are nested."""
        for value in values:
            if isinstance(value, str):
                if value.startswith("data:image"):
                    self._picture(Image.open(io.BytesIO(base64.b64decode(value.partition("base64,")[2]))))
                elif (sound := sound_of(value)) is not None:
                    self._sound(sound)
                elif value.endswith(".mp4"):
                    self.pending.files.append(value)
                elif value.endswith((".jpg", ".jpeg", ".png")) and Path(value).is_file():
                    self._picture(Image.open(value))
                else:
                    self.pending.text += value
            elif isinstance(value, bytes):
                self._picture(Image.open(io.BytesIO(value)))
            elif isinstance(value, Image.Image):
                self._picture(value)
            elif isinstance(value, torch.Tensor | np.ndarray):
                if isinstance(value, np.ndarray) and value.ndim == 1:
                    self._sound(value)
                elif value.ndim >= 3 and 3 in value.shape:
                    for item in value.reshape(-1, *value.shape[-3:]):
                        self._picture(item)
            elif isinstance(value, Mapping):
                self.note(*value.values())
            elif isinstance(value, list | tuple):
                self.note(*value)

    def _picture(self, picture: Any) -> None:
        """Note an image, or an array of (3, height, width) or (height, width, 3), as 27 rows of 48 grey values.

        Whatever was subtracted from its colours is added again.
        """
        if not isinstance(picture, Image.Image):
            array = np.asarray(picture.float() if hasattr(picture, "float") else picture, dtype=float)
            array = np.moveaxis(array, 0, -1) if array.shape[0] == 3 else array
            array = array * DEVIATION + MEAN if array.min() < 0 else array
            array = array * 255 if array.max() <= 1.5 else array
            picture = Image.fromarray(array.clip(0, 255).round().astype(np.uint8))
        small = picture.convert("L").resize(THUMB, Image.Resampling.BOX)
        self.pending.pictures.append(np.asarray(small).ravel().tolist())
        self.pending.sizes.append(picture.size)

    def _sound(self, samples: np.ndarray[Any, Any]) -> None:
        """Note a sound: 16-bit samples, or numbers from -1 to 1."""
        whole = samples if samples.dtype == np.int16 else np.rint(samples * 32768.0).astype(np.int16)
        self.pending.sounds.append((len(whole), hashlib.sha256(whole.astype("<i2").tobytes()).hexdigest()))

    def reply(self, arguments: Mapping[str, Any]) -> str:
        """Reply to what has arrived."""
        self.pending.arguments = {name: arguments[name] for name in ARGUMENTS if name in arguments}
        self.replies.append(self.pending)
        self.pending = Seen()
        if len(self.replies) - 1 == self.fails_at:
            raise RuntimeError(FAILURE)
        return f"reply {len(self.replies) - 1}"

    def answer(self, arguments: Mapping[str, Any], *values: Any) -> str:
        """Reply to these values alone, whatever another thread is noting."""
        with self.lock:
            self.pending = Seen()
            self.note(*values)
            return self.reply(arguments)


def sound_of(text: str) -> np.ndarray[Any, Any] | None:
    """Samples of a path, a data URL or the base64 of a WAV file of 16 kHz; None for what is none of them."""
    if text.startswith(("data:audio/wav;base64,", "UklGR")):
        source: Any = io.BytesIO(base64.b64decode(text.rpartition(",")[2]))
    elif text.endswith(".wav") and Path(text).is_file():
        source = text
    else:
        return None
    with wave.open(source) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 16_000)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.int16)
