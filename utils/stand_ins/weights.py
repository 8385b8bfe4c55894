"""What a class loads by ``from_pretrained``: tokenizer, processor and weights, which note all and number replies.

Their methods are called as those of transformers, which says what they do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import BatchFeature

from stand_ins.notes import Notes

MEDIA = ("audio", "image", "image_path", "path", "url", "video", "video_path")
"""Keys of a conversation under which media stand."""


class Anything:
    """Object that has every attribute, can be called, and is itself whatever is asked of it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.__dict__.update(kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __getitem__(self, key: Any) -> Any:
        return Anything()

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class Tokenizer(Anything):
    """Tokenizer of one token for each byte; conversations are their texts."""

    eos_token, eos_token_id, pad_token, pad_token_id, padding_side, bos_token_id = "\0", 0, "\0", 0, "left", None

    def __len__(self) -> int:
        return 256

    def encode(self, text: str, **_: Any) -> list[int]:
        return list(text.encode())

    def convert_ids_to_tokens(self, *_: Any) -> str:
        return "<token>"

    def convert_tokens_to_ids(self, *_: Any) -> int:
        return 999  # a special token, which no text has

    def decode(self, tokens: Any, **_: Any) -> str:
        tokens = [tokens] if isinstance(tokens, int) else tokens
        return bytes(int(token) for token in tokens if 0 < token < 256).decode()

    def batch_decode(self, rows: Any, **_: Any) -> list[str]:
        return [self.decode(row) for row in rows]

    def apply_chat_template(self, messages: Any, tokenize: bool = True, **kwargs: Any) -> Any:
        several = messages and isinstance(messages[0], list)
        end = "\nassistant\n" if kwargs.pop("add_generation_prompt", False) else ""
        texts = ["".join(_strings(each)) + end for each in (messages if several else [messages])]
        return Tokenizer.__call__(self, texts, **kwargs) if tokenize else texts if several else texts[0]

    def __call__(self, text: Any = "", *args: Any, **kwargs: Any) -> BatchFeature:
        if isinstance(text, str) and "return_tensors" not in kwargs:
            return BatchFeature({"input_ids": self.encode(text), "attention_mask": [1] * len(text.encode())})
        texts = [text] if isinstance(text, str) else list(text)
        width = max(len(item.encode()) for item in texts)
        ids = torch.tensor([[0] * (width - len(item.encode())) + list(item.encode()) for item in texts])
        return BatchFeature({"input_ids": ids, "attention_mask": (ids != 0).long()})


class ListTokenizer(Tokenizer):
    """Tokenizer of transformers 4, whose template gives a list."""

    def apply_chat_template(self, messages: Any, tokenize: bool = True, **_: Any) -> Any:
        return super().apply_chat_template(messages)["input_ids"][0].tolist()


class Processor(Tokenizer):
    """Processor that notes all that it is given, and returns the tokens of the texts."""

    def __init__(self, notes: Notes) -> None:
        self.notes, self.tokenizer = notes, Tokenizer()
        self.audio_processor = self.feature_extractor = Anything(sampling_rate=16_000, n_samples=480_000)

    def apply_chat_template(self, messages: Any, tokenize: bool = False, **kwargs: Any) -> Any:
        if tokenize:
            self.notes.note(messages)
        return super().apply_chat_template(messages, tokenize, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> BatchFeature:
        self.notes.note(*args, *(value for name, value in kwargs.items() if name not in ("return_tensors", "padding")))
        texts = list(_strings([*args, kwargs.get("text"), kwargs.get("conversation")]))
        batch = kwargs.get("text") if isinstance(kwargs.get("text"), list) else ["".join(texts) or " "]
        return Tokenizer.__call__(self, batch)


class TemplateProcessor(Processor):
    """Processor that gets its media with the conversation, hence notes it there."""

    def apply_chat_template(self, messages: Any, tokenize: bool = False, **kwargs: Any) -> Any:
        self.notes.note(messages)
        return Tokenizer.apply_chat_template(self, messages, tokenize, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> BatchFeature:
        return Tokenizer.__call__(self, *args)


class PixelProcessor(Processor):
    """Processor that gives pixels beside the tokens: none, or those of a video, one by one."""

    def __call__(self, *args: Any, **kwargs: Any) -> BatchFeature:
        shown = torch.zeros(1, len(kwargs.get("videos", ())), 1)
        tokens = super().__call__(*args, **kwargs)
        return BatchFeature({**tokens, "pixel_values": torch.zeros(1), "pixel_values_videos": shown})


class RowProcessor(Processor):
    """Processor that gives the tokens of one prompt as a row, not as a batch."""

    def __call__(self, *args: Any, **kwargs: Any) -> BatchFeature:
        return BatchFeature({"input_ids": super().__call__(*args, **kwargs)["input_ids"][0]})


class ImageProcessor(Anything):
    """Processor of pictures that only makes them a tensor of (n, 3, height, width), from 0 to 255."""

    image_mean, crop_size = (0.0, 0.0, 0.0), {"height": 256, "width": 256}

    def preprocess(self, images: Any, **_: Any) -> BatchFeature:
        images = [images] if isinstance(images, Image.Image) else images
        rows = [torch.from_numpy(np.array(image)).permute(2, 0, 1) for image in images]
        return BatchFeature({"pixel_values": torch.stack(rows).float()})

    def __call__(self, images: Any, **_: Any) -> Any:
        return self.preprocess(images)


class Weights(torch.nn.Module):
    """Weights that answer with the number of the reply; ``echoes``: the prompt comes first, as transformers does."""

    def __init__(self, notes: Notes, echoes: bool = True) -> None:
        super().__init__()
        self.notes, self.echoes = notes, echoes
        self.config = Anything(mm_use_im_start_end=False, image_aspect_ratio="pad", num_video_frames=8)
        self.generation_config, self.device, self.dtype = Anything(), "cpu", torch.float32
        self.language_model = Anything(name_or_path="", config=Anything())
        self.image_processor: Any = None

    def to(self, *_: Any, **__: Any) -> Any:
        return self

    cuda = half = bfloat16 = float = to

    def generate(self, *args: Any, **kwargs: Any) -> Any:
        """Token ids of one reply for each row of the input; what no processor has noted is noted here."""
        ids = next((kwargs[name] for name in ("input_ids", "inputs") if name in kwargs), args[0] if args else None)
        pending = self.notes.pending
        if ids is not None and not pending.text:
            self.notes.note("".join(Tokenizer().batch_decode(ids if ids.ndim > 1 else ids[None])))
        if not pending.pictures and not pending.files:
            self.notes.note(*(value for value in kwargs.values() if not isinstance(value, str)))
        reply = self.notes.reply({**kwargs, **vars(kwargs.get("generation_config") or Anything())})
        rows = 1 if ids is None or ids.ndim == 1 else len(ids)
        answers = torch.tensor([list(reply.encode())] * rows)
        tokens = torch.cat([ids, answers], 1) if self.echoes and ids is not None else answers
        return Anything(sequences=tokens) if kwargs.get("return_dict_in_generate") else tokens

    def get_vision_tower(self) -> Any:
        return Anything(image_processor=self.image_processor, is_loaded=True)

    def get_audio_encoder(self) -> Any:
        return Anything()

    def tie_weights(self, *_: Any) -> None: ...

    resize_token_embeddings = disable_talker = tie_weights

    def chat(self, *args: Any, **kwargs: Any) -> tuple[str, None]:
        """Reply as text and no history, the way of many models whose code comes with their weights."""
        generation = next((value for value in args if isinstance(value, dict)), kwargs.get("generation_config", {}))
        shown = [value for value in (*args, *kwargs.values()) if value is not generation]
        self.notes.note(*(value for value in shown if not isinstance(value, Tokenizer)))
        return self.notes.reply({**kwargs, **generation}), None


class BaichuanWeights(Weights):
    """Weights with a processor of prompts that name their media in JSON."""

    bind_processor = Anything()

    def processor(self, prompts: list[str]) -> Any:
        self.notes.note(prompts[0], *re.findall(r'"(?:local|path)": "([^"]+)"', prompts[0]))
        none = dict.fromkeys(("audios", "encoder_length", "bridge_length", "images", "videos"))
        return Anything(**Tokenizer()(prompts), **none)


class OvisWeights(Weights):
    """Weights that prepare their own inputs."""

    text_tokenizer = Tokenizer()

    def preprocess_inputs(self, text_or_conversations: str, images: Any) -> Any:
        self.notes.note(text_or_conversations, images)
        return "", torch.tensor(list(text_or_conversations.encode())), None, None


class LongVilaWeights(Weights):
    """Weights that embed a prompt and its media before they answer."""

    vision_tower, tokenizer = Anything(), Tokenizer()

    def _embed(self, ids: Any, media: Any, *_: Any) -> Any:
        class Prompt(dict[str, Any]):
            def squeeze(self, _: int) -> Prompt:
                return self

        return Prompt(text=Tokenizer().decode(ids[0].tolist()), **media), None, None


def _strings(value: Any) -> Iterator[str]:
    """All texts of a conversation, without roles and media."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in ("type", "role", *MEDIA):
                yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
