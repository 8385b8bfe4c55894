"""Packages that are not installed: every name in them is an object that allows everything, or one that notes.

What a name means (``process_images``, ``LLM``, ...) is the same in whatever package it stands: :func:`names`.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import sys
import wave
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import torch
from PIL import Image
from transformers import BatchFeature

from stand_ins.notes import Notes, sound_of
from stand_ins.weights import Anything, Tokenizer, Weights

ABSENT = (
    *("apps", "cambrian", "core", "dashscope", "easydict", "egogpt", "librosa", "litellm", "llamavid", "llava"),
    *("lmms_engine", "longva", "mantis", "moviepy", "omegaconf", "peft", "qwen_omni_utils", "reka", "remote_code"),
    *("ross", "sglang", "soundfile", "tinyllava", "torchaudio", "ujson", "uni_moe", "vita", "vllm", "vllm_omni"),
    *("VQToken", "whisper"),
)
"""Packages that a stand-in replaces where they are not installed."""

CURRENT: dict[str, Any] = {}
"""What names mean in the present run."""


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder of packages in place of those that are not installed."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """Claim a module of an absent package."""
        root = name.partition(".")[0]
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if root in ABSENT else None

    def create_module(self, spec: Any) -> None:
        """Leave it to Python to make an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Let the module have every name."""

        def named(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return CURRENT.get(name) or type(name, (Anything,), {"from_pretrained": classmethod(_from_pretrained)})

        module.__getattr__ = named  # type: ignore[method-assign]


def _from_pretrained(cls: Any, *_: Any, **__: Any) -> Any:
    return cls()


class Conversation:
    """Conversation of LLaVA's family: the texts in their order."""

    roles: ClassVar[tuple[str, str]] = ("USER", "ASSISTANT")
    sep, sep2, sep_style = "###", "###", 0

    def __init__(self) -> None:
        self.messages: list[str] = []

    def append_message(self, role: str, message: str | None) -> None:
        """Add a text."""
        self.messages.append(message or "")

    def add_message(self, message: str) -> None:
        """Add a text of the user's."""
        self.messages.append(message)

    def get_prompt(self, *_: Any) -> str:
        """Every text."""
        return "\n".join(self.messages)

    def copy(self) -> Conversation:
        """A conversation of its own."""
        return Conversation()


class Templates(dict[str, Conversation]):
    """A conversation under every name."""

    def __missing__(self, name: str) -> Conversation:
        return Conversation()


class ImageProcessor(Anything):
    """Processor of pictures that only makes them a tensor of (n, 3, height, width), from 0 to 255."""

    image_mean: ClassVar[list[float]] = [0.0, 0.0, 0.0]
    crop_size: ClassVar[dict[str, int]] = {"height": 256, "width": 256}

    def preprocess(self, images: Any, **_: Any) -> BatchFeature:
        """Tensor of all pictures."""
        images = [images] if isinstance(images, Image.Image) else images
        rows = [torch.from_numpy(np.array(image)).permute(2, 0, 1) for image in images]
        return BatchFeature({"pixel_values": torch.stack(rows).float()})

    def __call__(self, images: Any, **_: Any) -> Any:
        """As :meth:`preprocess`."""
        return self.preprocess(images)


class Engine:
    """Engine of vLLM or SGLang: one numbered reply for each request."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes

    def _outputs(self, requests: list[Any], parameters: Any) -> list[Any]:
        each = parameters if isinstance(parameters, list) else [parameters] * len(requests)
        texts = [
            self.notes.answer(given if isinstance(given, dict) else vars(given), request)
            for request, given in zip(requests, each, strict=True)
        ]
        return [Anything(outputs=[Anything(text=text)]) for text in texts]

    def chat(self, messages: list[Any], sampling_params: Any, **_: Any) -> list[Any]:
        """Replies to conversations."""
        return self._outputs(messages, sampling_params)

    def get_metrics(self) -> list[Any]:
        """No measurements."""
        return []

    def generate(self, prompts: Any = None, sampling_params: Any = None, **media: Any) -> list[Any]:
        """Replies to prompts: vLLM's inputs, or SGLang's lists of prompts and media."""
        if "prompt" not in media:
            return self._outputs(prompts, sampling_params)
        shown = media.get("image_data") or media["video_data"]
        outputs = self._outputs(list(zip(media["prompt"], shown, strict=True)), sampling_params)
        return [{"text": output.outputs[0].text, "meta_info": {"completion_tokens": 2}} for output in outputs]


def tokenized(prompt: str, *_: Any, **__: Any) -> torch.Tensor:
    """One token for each byte."""
    return torch.tensor(list(prompt.encode()))


def loaded(notes: Notes, order: str, echoes: bool) -> tuple[Any, ...]:
    """Tokenizer, weights, image processor (or a list of it) and length: what ``load_pretrained_model`` returns.

    ``order`` has a letter for each, in the order of a family: ``t``, ``w``, ``i`` (``I``) and ``n``.
    """
    weights, images = Weights(notes, echoes), ImageProcessor()
    weights.image_processor = images
    parts = {"t": Tokenizer(), "w": weights, "i": images, "I": [images], "n": 8192}
    return tuple(parts[letter] for letter in order)


def media_of(messages: Any, **_: Any) -> tuple[list[Any] | None, list[Any] | None, list[Any] | None]:
    """Sound, pictures and files of a conversation, as ``process_mm_info`` of Qwen's Omni models returns them."""
    turns = messages if isinstance(messages[0], dict) else messages[0]
    parts = [part for turn in turns if isinstance(turn["content"], list) for part in turn["content"]]
    sounds, images, videos = (
        [part[kind] for part in parts if part.get("type") == kind] for kind in ("audio", "image", "video")
    )
    heard = [read_sound(sound)[0] if isinstance(sound, str) else sound for sound in sounds]
    return heard or None, images or None, videos or None


def read_sound(path: str, **_: Any) -> tuple[Any, int]:
    """Samples of a WAV file from -1 to 1, and their rate: what ``soundfile.read`` and ``librosa.load`` return."""
    samples = sound_of(path)
    assert samples is not None, path
    return samples.astype(np.float32) / 32768, 16_000


def resampled(samples: Any, *, orig_sr: int, target_sr: int) -> Any:
    """Samples at another rate: of which there is none, because nothing is to be resampled twice."""
    assert orig_sr == target_sr == 16_000, (orig_sr, target_sr)
    return samples


def save_sound(path: str, samples: torch.Tensor, rate: int, **_: Any) -> None:
    """Write a WAV file, as ``torchaudio.save`` does with 16 bits a sample."""
    with wave.open(path, "wb") as file:
        file.setparams((len(samples), 2, rate, 0, "NONE", ""))
        file.writeframes((samples.numpy().T * 32768).round().astype("<i2").tobytes())


class TextProcessor:
    """Text processor of TinyLLaVA."""

    template = Anything(tokenizer_image_token=tokenized)

    def __call__(self, messages: list[str], **_: Any) -> dict[str, str]:
        """Every text."""
        return {"prompt": "\n".join(messages)}


def names(notes: Notes, order: str, echoes: bool) -> dict[str, Any]:
    """Meaning of the names that modules import from absent packages."""
    return {
        "DEFAULT_IMAGE_TOKEN": "<image>",
        "DEFAULT_IM_END_TOKEN": "<im_end>",
        "DEFAULT_IM_START_TOKEN": "<im_start>",
        "EasyDict": lambda values: Anything(**values),
        "Engine": lambda **_: Engine(notes),
        "IMAGE_TOKEN_INDEX": -200,
        "ImagePreprocess": lambda *_: lambda image: ImageProcessor().preprocess(image)["pixel_values"][0],
        "KeywordsStoppingCriteria": Anything,
        "LLM": lambda **_: Engine(notes),
        "Message": Conversation,
        "SPEECH_TOKEN_INDEX": -201,
        "SamplingParams": Anything,
        "SeparatorStyle": Anything(TWO=1),
        "TextPreprocess": lambda *_: TextProcessor(),
        "VQTOKEN_CAPABILITIES": {"modes": ["attention"], "selection_methods": ["fixed", "elbow", "silhouette"]},
        "VideoFileClip": lambda path: Anything(audio=None),
        "conv_templates": Templates(),
        "default_conv": Conversation(),
        "dumps": json.dumps,
        "expand2square": lambda image, colour: image,
        "get_model_name_from_path": lambda path: "llava_qwen",
        "load_pretrained_model": lambda *_, **__: loaded(notes, order, echoes),
        "process_images": lambda images, *_, **__: ImageProcessor().preprocess(images)["pixel_values"],
        "process_mm_info": media_of,
        "read": read_sound,
        "resample": resampled,
        "save": save_sound,
        "tokenizer_image_token": tokenized,
    }


def installed() -> None:
    """Let absent packages be found from now on; those that are installed stay themselves."""
    sys.meta_path.append(Absent())


def is_absent(name: str) -> bool:
    """Test whether a package is a stand-in's."""
    spec = importlib.util.find_spec(name)
    return bool(spec and isinstance(spec.loader, Absent))
