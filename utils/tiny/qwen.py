"""Tiny Qwen2-VL, Qwen2.5-VL, Qwen3-VL (dense and with experts), Qwen3.5, Qwen2-Audio, Qwen2.5-Omni and Qwen3-Omni."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers as t
from make_tiny_vlm import CHAT_TEMPLATE, make_tiny_vlm, make_tokenizer
from tiny.common import save, text, tokens

EYES = {"depth": 2, "hidden_size": 64, "intermediate_size": 128, "num_heads": 4, "out_hidden_size": 64}
DEEP = {**EYES, "depth": 3, "deepstack_visual_indexes": [0, 1]}


def rope(section: list[int], **more: Any) -> dict[str, Any]:
    """Axes of position (time, height, width) in the rotary embedding."""
    return {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": section, **more}}


def places(tokenizer: Any) -> dict[str, int]:
    """The tokens that stand for pictures and films."""
    token_ids = {name: tokenizer.convert_tokens_to_ids(f"<|{name}|>") for name in ("image_pad", "video_pad")}
    ends = {f"vision_{end}_token_id": tokenizer.convert_tokens_to_ids(f"<|vision_{end}|>") for end in ("start", "end")}
    return {"image_token_id": token_ids["image_pad"], "video_token_id": token_ids["video_pad"], **ends}


def qwen2_5_vl(out: Path) -> None:
    """Qwen2.5-VL."""
    make_tiny_vlm(out)


def qwen2_vl(out: Path) -> None:
    """Qwen2-VL."""
    words = make_tokenizer()
    eyes = {"depth": 2, "embed_dim": 64, "hidden_size": 64, "num_heads": 4, "mlp_ratio": 2}
    config = t.Qwen2VLConfig(text_config=text(words, **rope([2, 3, 3])), vision_config=eyes, **places(words))
    processor = t.Qwen2VLProcessor(
        image_processor=t.Qwen2VLImageProcessor(), tokenizer=words, video_processor=t.Qwen2VLVideoProcessor(),
        chat_template=CHAT_TEMPLATE,
    )  # fmt: skip
    save(out, t.Qwen2VLForConditionalGeneration, config, processor)


def _qwen3_processor(words: Any) -> Any:
    return t.Qwen3VLProcessor(
        image_processor=t.Qwen2VLImageProcessor(patch_size=16), tokenizer=words,
        video_processor=t.Qwen3VLVideoProcessor(patch_size=16), chat_template=CHAT_TEMPLATE,
    )  # fmt: skip


def qwen3_vl(out: Path) -> None:
    """Qwen3-VL, dense."""
    words = make_tokenizer()
    llm = text(words, num_hidden_layers=3, head_dim=16, **rope([3, 3, 2], mrope_interleaved=True))
    config = t.Qwen3VLConfig(text_config=llm, vision_config=DEEP, **places(words))
    save(out, t.Qwen3VLForConditionalGeneration, config, _qwen3_processor(words))


def qwen3_vl_moe(out: Path) -> None:
    """Qwen3-VL with four experts."""
    words = make_tokenizer()
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "decoder_sparse_step": 1}
    llm = text(words, num_hidden_layers=3, head_dim=16, **experts, **rope([3, 3, 2], mrope_interleaved=True))
    config = t.Qwen3VLMoeConfig(text_config=llm, vision_config=DEEP, **places(words))
    save(out, t.Qwen3VLMoeForConditionalGeneration, config, _qwen3_processor(words))


def qwen3_5(out: Path) -> None:
    """Qwen3.5."""
    words = make_tokenizer()
    linear = {"linear_key_head_dim": 16, "linear_value_head_dim": 16, "linear_num_key_heads": 2}
    llm = text(words, num_hidden_layers=4, head_dim=32, linear_num_value_heads=4, **linear)
    config = t.Qwen3_5Config(text_config=llm, vision_config=EYES, **places(words))
    save(out, t.Qwen3_5ForConditionalGeneration, config, _qwen3_processor(words))


EARS = {"d_model": 32, "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 64, "num_mel_bins": 128}


def _ears(pad: str, start: str, end: str) -> tuple[Any, str, list[int]]:
    """Tokenizer with words for a sound and its ends, a template that puts them, and their numbers."""
    named = {f"{kind}_token": f"<|{kind}_pad|>" for kind in ("image", "video")} | {"audio_token": pad}
    named |= {"vision_bos_token": "<|vision_start|>", "vision_eos_token": "<|vision_end|>"}
    named |= {"audio_bos_token": start, "audio_eos_token": end}
    text_part = "{% elif 'text' in item %}"
    chat = CHAT_TEMPLATE.replace(text_part, f"{{% elif item['type'] == 'audio' %}}{start}{pad}{end}{text_part}")
    words = tokens([pad, start, end], chat, named)
    return words, chat, [words.convert_tokens_to_ids(word) for word in (pad, start, end)]


def qwen2_audio(out: Path) -> None:
    """Qwen2-Audio."""
    words, chat, (pad, _, _) = _ears("<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>")
    ears = {**EARS, "model_type": "qwen2_audio_encoder"}
    llm = {**text(words), "model_type": "qwen2"}
    config = t.Qwen2AudioConfig(audio_config=ears, text_config=llm, audio_token_index=pad)
    processor = t.Qwen2AudioProcessor(t.WhisperFeatureExtractor(feature_size=128), words, chat_template=chat)
    save(out, t.Qwen2AudioForConditionalGeneration, config, processor)


def _omni(words: Any, sound: list[int], **parts: Any) -> dict[str, Any]:
    """Configuration of an Omni model that thinks and does not speak."""
    pad, start, end = sound
    thinker = {"audio_token_id": pad, "audio_start_token_id": start, "audio_end_token_id": end, **places(words)}
    ends = {f"im_{end}_token_id": words.convert_tokens_to_ids(f"<|im_{end}|>") for end in ("start", "end")}
    return {"thinker_config": {**parts, **thinker}, "enable_audio_output": False, **ends}


def qwen2_5_omni(out: Path) -> None:
    """Qwen2.5-Omni without a voice."""
    words, chat, sound = _ears("<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>")
    llm, eyes = text(words, **rope([2, 3, 3])), {**EYES, "fullatt_block_indexes": [1]}
    ears = {**EARS, "output_dim": 64, "n_window": 100}
    thinker = _omni(words, sound, text_config=llm, vision_config=eyes, audio_config=ears)
    thinker["thinker_config"] |= {"audio_token_index": sound[0], "image_token_index": places(words)["image_token_id"],
                                  "video_token_index": places(words)["video_token_id"]}  # fmt: skip
    processor = t.Qwen2_5OmniProcessor(
        image_processor=t.Qwen2VLImageProcessor(), video_processor=t.Qwen2VLVideoProcessor(),
        feature_extractor=t.WhisperFeatureExtractor(feature_size=128, chunk_length=300), tokenizer=words,
        chat_template=chat,
    )  # fmt: skip
    save(out, t.Qwen2_5OmniForConditionalGeneration, t.Qwen2_5OmniConfig(**thinker), processor)
    torch.save({"Chelsie": {}}, out / "spk_dict.pt")  # its voice


def qwen3_omni(out: Path) -> None:
    """Qwen3-Omni without a voice."""
    words, chat, sound = _ears("<|audio_pad|>", "<|audio_start|>", "<|audio_end|>")
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    ears = {**EARS, "output_dim": 64, "downsample_hidden_size": 16}
    llm = text(words, head_dim=16, **experts, **rope([3, 3, 2], mrope_interleaved=True))
    config = t.Qwen3OmniMoeConfig(**_omni(words, sound, text_config=llm, vision_config=DEEP, audio_config=ears))
    processor = t.Qwen3OmniMoeProcessor(
        image_processor=t.Qwen2VLImageProcessor(patch_size=16), video_processor=t.Qwen2VLVideoProcessor(patch_size=16),
        feature_extractor=t.WhisperFeatureExtractor(feature_size=128), tokenizer=words, chat_template=chat,
    )  # fmt: skip
    save(out, t.Qwen3OmniMoeForConditionalGeneration, config, processor)
