"""Shared parts of all tiny models: a tokenizer, a chat template, sizes, and saving. Weights are random."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from make_tiny_vlm import SPECIAL, make_tokenizer
from transformers import PreTrainedTokenizerFast

SIDE, PATCH = 112, 14
TEXT = {
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 65536,
}  # fmt: skip
VISION = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
TILES = [[SIDE, SIDE], [SIDE, 2 * SIDE], [2 * SIDE, SIDE], [2 * SIDE, 2 * SIDE]]


def template(image: str, video: str = "") -> str:
    """A chat template with these words for a picture and a video."""
    return (
        "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{% if message['content'] is string %}"
        "{{ message['content'] }}{% else %}{% for item in message['content'] %}{% if item['type'] == 'image' %}"
        f"{image}{{% elif item['type'] == 'video' %}}{video}"
        "{% elif 'text' in item %}{{ item['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )


def tokens(extra: list[str], chat: str, named: dict[str, str] | None = None, **more: str) -> PreTrainedTokenizerFast:
    """The tokenizer with further special tokens; ``named`` are those that a processor asks for by an attribute."""
    fast = PreTrainedTokenizerFast(
        tokenizer_object=make_tokenizer().backend_tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>",
        extra_special_tokens=SPECIAL + extra, model_specific_special_tokens=named or {}, **more,
    )  # fmt: skip
    fast.chat_template = chat
    return fast


def text(tokenizer: PreTrainedTokenizerFast, **more: Any) -> dict[str, Any]:
    """Configuration of a small language model over a tokenizer's vocabulary."""
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    begin = {"bos_token_id": tokenizer.convert_tokens_to_ids("<|im_start|>")}
    return {**TEXT, "vocab_size": len(tokenizer), **ends, **begin, **more}


def save(out: Path, model: Any, config: Any, processor: Any, dtype: torch.dtype = torch.bfloat16) -> None:
    """Write a model of this class with random weights, and its processor."""
    torch.manual_seed(0)
    model(config).to(dtype).save_pretrained(out)
    processor.save_pretrained(out)
    end = processor.tokenizer.eos_token_id
    (out / "generation_config.json").write_text(json.dumps({"eos_token_id": end, "do_sample": False}))
