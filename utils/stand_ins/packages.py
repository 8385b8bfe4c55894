"""Packages that are not installed: every name in them is an object that allows everything, or one that notes.

What a name means (``process_images``, ``LLM``, ...) is the same in whatever package it stands: :func:`names`.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import sys
import wave
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import torch

from stand_ins.notes import Notes, sound_of
from stand_ins.weights import Anything, ImageProcessor, RowProcessor, Tokenizer, Weights

ABSENT = (
    *("apps", "cambrian", "core", "dashscope", "egogpt", "librosa", "litellm", "llava", "lmms_engine", "longva"),
    *("mantis", "moviepy", "omegaconf", "peft", "qwen_omni_utils", "reka", "remote_code", "ross", "sglang"),
    *("soundfile", "tinyllava", "torchaudio", "ujson", "uni_moe", "vita", "vllm", "VQToken", "whisper"),
)
"""Packages that a stand-in replaces where they are not installed."""

CURRENT: dict[str, Any] = {}
"""What names mean in the present run."""


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder of packages in place of those that are not installed; a module has every name."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        root = name.partition(".")[0]
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if root in ABSENT else None

    def create_module(self, spec: Any) -> None: ...

    def exec_module(self, module: ModuleType) -> None:
        def named(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return CURRENT.get(name) or loader(name, Anything)

        module.__getattr__ = named  # type: ignore[method-assign]


def installed() -> None:
    """Let absent packages be found from now on; those that are installed stay themselves."""
    sys.meta_path.append(Absent())


def loader(name: str, load: Callable[[], Any]) -> type:
    """Class of this name whose ``from_pretrained`` gives what a function makes."""
    made = staticmethod(lambda *_, **__: load())
    return type(name, (Anything,), {"from_pretrained": made, "_tp_plan": [], "_model_mapping": {}})


class Conversation:
    """Conversation of LLaVA's family: the texts in their order."""

    roles, sep, sep2, sep_style = ("USER", "ASSISTANT"), "###", "###", 0

    def __init__(self) -> None:
        self.messages: list[str] = []

    def append_message(self, role: str, message: str | None) -> None:
        self.messages.append(message or "")

    def add_message(self, message: str) -> None:
        self.messages.append(message)

    def get_prompt(self, *_: Any) -> str:
        return "\n".join(self.messages)

    def copy(self) -> Conversation:
        return Conversation()


class Templates(dict[str, Conversation]):
    """A conversation under every name."""

    def __missing__(self, name: str) -> Conversation:
        return Conversation()


class Engine:
    """Engine of vLLM or SGLang: one numbered reply for each request."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes

    def chat(self, messages: list[Any], sampling_params: Any, **_: Any) -> list[Any]:
        each = sampling_params if isinstance(sampling_params, list) else [sampling_params] * len(messages)
        texts = [
            self.notes.answer(given if isinstance(given, dict) else vars(given), request)
            for request, given in zip(messages, each, strict=True)
        ]
        return [Anything(outputs=[Anything(text=text)]) for text in texts]

    def get_metrics(self) -> list[Any]:
        return []

    def generate(self, prompts: Any = None, sampling_params: Any = None, **media: Any) -> list[Any]:
        """Replies to prompts: vLLM's inputs, or SGLang's lists of prompts and media."""
        if "prompt" not in media:
            return self.chat(prompts, sampling_params)
        shown = media.get("image_data") or media["video_data"]
        outputs = self.chat(list(zip(media["prompt"], shown, strict=True)), sampling_params)
        return [{"text": output.outputs[0].text, "meta_info": {"completion_tokens": 2}} for output in outputs]


def tokenized(prompt: str, *_: Any, **__: Any) -> torch.Tensor:
    """One token for each byte."""
    return torch.tensor(list(prompt.encode()))


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


def names(notes: Notes, order: str, echoes: bool) -> dict[str, Any]:
    """Meaning of the names that modules import from absent packages.

    ``order`` has a letter for each part that a family's ``load_pretrained_model`` returns: tokenizer (``t``), weights,
    image processor (``i``, ``I``: a list of it) and length (``n``).
    """
    weights, images = Weights(notes, echoes), ImageProcessor()
    weights.image_processor = images
    side = "right" if order == "wtin" else "left"  # TinyLLaVA's, which pads on the right
    parts = {"t": Tokenizer(padding_side=side), "w": weights, "i": images, "I": [images], "n": 8192}

    def asked(messages: Any, **kwargs: Any) -> Any:
        choice = Anything(message=Anything(content=notes.answer(kwargs, messages), refusal=None), finish_reason="stop")
        return Anything(choices=[choice], responses=[choice], usage=None, model="stand-in", id="1")

    def dashscope_call(**kwargs: Any) -> Any:
        content = [{"text": asked(**kwargs).choices[0].message.content}]
        return {"output": {"choices": [{"message": {"content": content}}]}}

    class Generator(Anything):
        """PLM's generator of texts for pairs of a question and its frames."""

        def generate(self, messages: list[Any]) -> Any:
            given = {"max_new_tokens": self.max_gen_len, "temperature": self.temperature}
            return [notes.answer(given, message) for message in messages], None, None

    class TextProcessor:
        """Text processor of TinyLLaVA."""

        template = Anything(tokenizer_image_token=tokenized)

        def __call__(self, messages: list[str], **_: Any) -> dict[str, str]:
            return {"prompt": "\n".join(messages)}

    def longvila_media(conversation: Any, config: Any) -> dict[str, Any]:
        paths = [part["path"] for turn in conversation for part in turn["value"] if isinstance(part, dict)]
        return {"paths": paths, "asked": f" {config.num_video_frames} frames"}

    def longvila_tokens(conversation: Any, *_: Any, **__: Any) -> Any:
        return tokenized("".join(part for turn in conversation for part in turn["value"] if isinstance(part, str)))

    return {
        "ChatMessage": lambda **fields: fields,
        "DEFAULT_IMAGE_TOKEN": "<image>",
        "DEFAULT_IM_END_TOKEN": "<im_end>",
        "DEFAULT_IM_START_TOKEN": "<im_start>",
        "Engine": lambda **_: Engine(notes),
        "GrinQwen2VLOutForConditionalGeneration": loader("Grin", lambda: Weights(notes)),
        "IMAGE_TOKEN_INDEX": -200,
        "ImagePreprocess": lambda *_: lambda image: ImageProcessor().preprocess(image)["pixel_values"][0],
        "KeywordsStoppingCriteria": Anything,
        "LLM": lambda **_: Engine(notes),
        "Message": Conversation,
        "NUM_SECONDS_TO_SLEEP": 0,
        "OmegaConf": Anything(),
        "PackedCausalTransformerGenerator": lambda *_: Generator(),
        "PeftModel": loader("PeftModel", lambda: Weights(notes)),
        "Qwen2VLProcessor": loader("Qwen2VLProcessor", lambda: RowProcessor(notes)),
        "RekaClient": lambda **_: Anything(chat=Anything(create=asked)),
        "SPEECH_TOKEN_INDEX": -201,
        "SamplingParams": Anything,
        "SeparatorStyle": Anything(TWO=1),
        "TextPreprocess": lambda *_: TextProcessor(),
        "VQTOKEN_CAPABILITIES": {"modes": ["attention"], "selection_methods": ["fixed", "elbow", "silhouette"]},
        "VideoFileClip": lambda path: Anything(audio=None),
        "completion": asked,
        "conv_templates": Templates(),
        "dashscope": Anything(MultiModalConversation=Anything(call=dashscope_call)),
        "dataclass_from_dict": Anything(),
        "default_conv": Conversation(),
        "dumps": json.dumps,
        "expand2square": lambda image, colour: image,
        "extract_media": longvila_media,
        "get_image_transform": Anything(),
        "get_model_name_from_path": lambda path: "llava_qwen",
        "get_video_transform": lambda **_: lambda video: (video[0], None),
        "load_consolidated_model_and_tokenizer": lambda *_: (
            Anything(vision_model=Anything(image_size=448)), Tokenizer(), {"data": {"max_video_frames": 32}},
        ),
        "load_pretrained_model": lambda *_, **__: tuple(parts[letter] for letter in order),
        "process_images": lambda images, *_, **__: ImageProcessor().preprocess(images)["pixel_values"],
        "process_mm_info": media_of,
        "read": read_sound,
        "resample": resampled,
        "save": save_sound,
        "tokenize_conversation": longvila_tokens,
        "tokenizer_image_token": tokenized,
    }  # fmt: skip
