"""Tiny models of other families than Qwen's."""

from __future__ import annotations

from pathlib import Path

import transformers as t
from tiny.common import PATCH, SIDE, TILES, VISION, save, template, text, tokens

SQUARE = {"height": SIDE, "width": SIDE}
SIGLIP = {**VISION, "image_size": SIDE, "patch_size": PATCH}


def llava_onevision(out: Path) -> None:
    """LLaVA-OneVision."""
    chat = template("<image>\n", "<video>\n")
    words = tokens(["<image>", "<video>"], chat)
    config = t.LlavaOnevisionConfig(
        vision_config=t.SiglipVisionConfig(**SIGLIP, vision_use_head=False), text_config=t.Qwen2Config(**text(words)),
        image_token_index=words.convert_tokens_to_ids("<image>"), vision_feature_layer=-1,
        video_token_index=words.convert_tokens_to_ids("<video>"), image_grid_pinpoints=TILES,
        vision_aspect_ratio="anyres_max_9",
    )  # fmt: skip
    processor = t.LlavaOnevisionProcessor(
        image_processor=t.LlavaOnevisionImageProcessor(size=SQUARE, image_grid_pinpoints=TILES), tokenizer=words,
        video_processor=t.LlavaOnevisionVideoProcessor(size=SQUARE), num_image_tokens=(SIDE // PATCH) ** 2,
        vision_feature_select_strategy="full", chat_template=chat,
    )  # fmt: skip
    save(out, t.LlavaOnevisionForConditionalGeneration, config, processor)


def internvl(out: Path) -> None:
    """InternVL (as transformers has it)."""
    named = {
        "start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }  # fmt: skip
    chat = template("<IMG_CONTEXT>\n", "<video>\n")
    words = tokens(list(named.values()), chat, named)
    config = t.InternVLConfig(
        vision_config={**VISION, "image_size": [SIDE, SIDE], "patch_size": [PATCH, PATCH]},
        text_config=t.Qwen2Config(**text(words)), image_token_id=words.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=16,
    )  # fmt: skip
    processor = t.InternVLProcessor(
        image_processor=t.GotOcr2ImageProcessor(size=SQUARE, crop_to_patches=True), tokenizer=words,
        video_processor=t.InternVLVideoProcessor(size=SQUARE), image_seq_length=16, chat_template=chat,
    )  # fmt: skip
    save(out, t.InternVLForConditionalGeneration, config, processor)


def gemma3(out: Path) -> None:
    """Gemma 3."""
    named = {"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"}
    chat = template("<start_of_image>")
    words = tokens(list(named.values()), chat, named)
    ids = {name: words.convert_tokens_to_ids(word) for name, word in named.items()}
    config = t.Gemma3Config(
        text_config=t.Gemma3TextConfig(**text(words, head_dim=16, sliding_window=4096)),
        vision_config=t.SiglipVisionConfig(**SIGLIP, vision_use_head=False), mm_tokens_per_image=16,
        boi_token_index=ids["boi_token"], eoi_token_index=ids["eoi_token"], image_token_index=ids["image_token"],
    )  # fmt: skip
    processor = t.Gemma3Processor(
        image_processor=t.Gemma3ImageProcessor(size=SQUARE), tokenizer=words, image_seq_length=16, chat_template=chat
    )
    save(out, t.Gemma3ForConditionalGeneration, config, processor)


def gemma4(out: Path) -> None:
    """Gemma 4."""
    named = {
        "boi_token": "<|image>", "eoi_token": "<image|>", "image_token": "<|image|>", "boa_token": "<|audio>",
        "eoa_token": "<audio|>", "audio_token": "<|audio|>", "video_token": "<|video|>",
    }  # fmt: skip
    chat = template("<|image|>", "<|video|>")
    words = tokens(list(named.values()), chat, named)
    ids = {f"{name}_id": words.convert_tokens_to_ids(word) for name, word in named.items()}
    llm = text(
        words, head_dim=16, hidden_size_per_layer_input=0, num_kv_shared_layers=0, global_head_dim=16,
        layer_types=["sliding_attention", "full_attention"], num_global_key_value_heads=2,
    )  # fmt: skip
    config = t.Gemma4Config(
        text_config=llm, vision_config={**VISION, "num_key_value_heads": 4, "head_dim": 16, "patch_size": 16},
        audio_config=None, **{name: ids[name] for name in ids if not name.startswith(("boa", "eoa"))},
    )  # fmt: skip
    processor = t.Gemma4Processor(
        feature_extractor=t.Gemma4AudioFeatureExtractor(), image_processor=t.Gemma4ImageProcessor(), tokenizer=words,
        video_processor=t.Gemma4VideoProcessor(), chat_template=chat,
    )  # fmt: skip
    save(out, t.Gemma4ForConditionalGeneration, config, processor)


def glm4v(out: Path) -> None:
    """GLM-4V."""
    kinds = ("image", "video")
    chat = template(*(f"<|begin_of_{kind}|><|{kind}|><|end_of_{kind}|>" for kind in kinds))
    named = {f"{kind}_token": f"<|{kind}|>" for kind in kinds}
    extra = [word for kind in kinds for word in (f"<|begin_of_{kind}|>", f"<|end_of_{kind}|>", f"<|{kind}|>")]
    words = tokens(extra, chat, named)
    id_of = words.convert_tokens_to_ids
    ids = {f"{kind}_token_id": id_of(f"<|{kind}|>") for kind in kinds}
    for kind in kinds:
        ids |= {
            f"{kind}_start_token_id": id_of(f"<|begin_of_{kind}|>"),
            f"{kind}_end_token_id": id_of(f"<|end_of_{kind}|>"),
        }
    rope = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5, "mrope_section": [2, 1, 1]}
    eyes = {"depth": 2, "hidden_size": 64, "intermediate_size": 128, "num_heads": 4, "out_hidden_size": 64}
    config = t.Glm4vConfig(text_config=text(words, rope_parameters=rope), vision_config=eyes, **ids)
    processor = t.Glm4vProcessor(
        image_processor=t.Glm4vImageProcessor(), tokenizer=words, video_processor=t.Glm4vVideoProcessor(),
        chat_template=chat,
    )  # fmt: skip
    save(out, t.Glm4vForConditionalGeneration, config, processor)


def mistral3(out: Path) -> None:
    """Mistral 3."""
    words = tokens(["[IMG]", "[IMG_BREAK]", "[IMG_END]"], template("[IMG]"))
    config = t.Mistral3Config(
        text_config=t.MistralConfig(**text(words, head_dim=16)), spatial_merge_size=2,
        vision_config=t.PixtralVisionConfig(**VISION, image_size=2 * SIDE, patch_size=PATCH),
        image_token_index=words.convert_tokens_to_ids("[IMG]"),
    )  # fmt: skip
    processor = t.PixtralProcessor(
        image_processor=t.PixtralImageProcessor(patch_size=PATCH, size={"longest_edge": 2 * SIDE}), tokenizer=words,
        patch_size=PATCH, spatial_merge_size=2,
    )  # fmt: skip
    save(out, t.Mistral3ForConditionalGeneration, config, processor)


def idefics2(out: Path) -> None:
    """Idefics2."""
    chat = template("<image>")
    words = tokens(["<image>", "<fake_token_around_image>", "<end_of_utterance>"], chat)
    perceiver = {
        "hidden_size": 64, "resampler_n_latents": 8, "resampler_depth": 1, "resampler_n_heads": 4,
        "resampler_head_dim": 16, "num_key_value_heads": 2,
    }  # fmt: skip
    config = t.Idefics2Config(
        vision_config={**VISION, "image_size": SIDE, "patch_size": PATCH}, perceiver_config=perceiver,
        text_config=text(words, model_type="mistral"), image_token_id=words.convert_tokens_to_ids("<image>"),
    )  # fmt: skip
    size = {"longest_edge": SIDE, "shortest_edge": SIDE // 2}
    processor = t.Idefics2Processor(
        image_processor=t.Idefics2ImageProcessor(do_image_splitting=False, size=size), tokenizer=words, image_seq_len=8,
        chat_template=chat,
    )  # fmt: skip
    save(out, t.Idefics2ForConditionalGeneration, config, processor)


def aria(out: Path) -> None:
    """Aria."""
    chat = template("<|img|>")
    words = tokens(["<|img|>"], chat, {"image_token": "<|img|>"})
    config = t.AriaConfig(
        text_config=text(words, moe_num_experts=4, moe_topk=2, moe_num_shared_experts=1),
        vision_config={**VISION, "model_type": "idefics3_vision", "image_size": 980, "patch_size": PATCH},
        image_token_index=words.convert_tokens_to_ids("<|img|>"),
        projector_patch_to_query_dict={1225: 128, 4900: 256},
    )  # fmt: skip
    processor = t.AriaProcessor(image_processor=t.AriaImageProcessor(), tokenizer=words, chat_template=chat)
    save(out, t.AriaForConditionalGeneration, config, processor)


def mllama(out: Path) -> None:
    """Llama 3.2 Vision."""
    chat = template("<|image|>")
    words = tokens(["<|image|>"], chat, bos_token="<|im_start|>")
    ratios = [[width, height] for width in range(1, 5) for height in range(1, 5) if width * height <= 4]
    eyes = {
        "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_global_layers": 1,
        "attention_heads": 4, "image_size": SIDE, "patch_size": PATCH, "vision_output_dim": 128,
        "intermediate_layers_indices": [1], "supported_aspect_ratios": ratios,
        "max_num_tiles": 4,
    }  # fmt: skip
    llm = text(
        words, cross_attention_layers=[1], rope_parameters={"rope_type": "default", "rope_theta": 5e5},
    )  # fmt: skip
    image_id = words.convert_tokens_to_ids("<|image|>")
    config = t.MllamaConfig(text_config=llm, vision_config=eyes, image_token_index=image_id)
    processor = t.MllamaProcessor(
        image_processor=t.MllamaImageProcessor(size=SQUARE, max_image_tiles=4), tokenizer=words, chat_template=chat
    )
    save(out, t.MllamaForConditionalGeneration, config, processor)
