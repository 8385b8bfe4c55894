"""Write a tiny random-weight model of some architecture to a folder: a real model path for tests, nothing downloaded.

    python utils/make_tiny_model.py qwen2_5_vl OUT [--head 64] [--says TEXT]
    lmms-eval --model qwen2_5_vl --model_args pretrained=OUT,device=cpu,device_map=cpu,max_num_frames=8 --tasks siming

Two or three layers, four heads of size 16, a byte-level BPE tokenizer trained on the rubric's own words. Replies are
noise, unless a Qwen2.5-VL is told what to say: then attention and feed-forward layers add nothing, so that the next
token follows from the last one alone: end of the prompt, the text (one token), end of the turn. vLLM wants heads of 32,
64 or 128. Where the host goes by a folder's name (``A3B``), OUT must be named likewise.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
import transformers as t
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.tasks.prompt import build_prompt

SPECIAL = [
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
    *("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"),
]
EYES = {"depth": 2, "hidden_size": 64, "intermediate_size": 128, "num_heads": 4, "out_hidden_size": 64}
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for item in message['content'] %}"
    "{% if item['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif item['type'] == 'video' %}<|vision_start|><|video_pad|><|vision_end|>"
    "{% elif 'text' in item %}{{ item['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_tokenizer() -> t.PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer of 1,000 entries, trained on our prompts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=1000, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([build_prompt(TASKS["full_score"], default_rubric().steps)], trainer)
    fast = t.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.add_special_tokens({"additional_special_tokens": SPECIAL})
    fast.chat_template = CHAT_TEMPLATE
    return fast


def text(words: t.PreTrainedTokenizerFast, head: int = 16, **more: Any) -> dict[str, Any]:
    """Configuration of a small language model over a tokenizer's vocabulary."""
    return {
        "hidden_size": 4 * head, "intermediate_size": 8 * head, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "max_position_embeddings": 65536, "vocab_size": len(words),
        "eos_token_id": words.eos_token_id, "pad_token_id": words.pad_token_id,
        "bos_token_id": words.convert_tokens_to_ids("<|im_start|>"), **more,
    }  # fmt: skip


def rope(section: list[int], **more: Any) -> dict[str, Any]:
    """Axes of position (time, height, width) in the rotary embedding."""
    return {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": section, **more}}


def places(words: t.PreTrainedTokenizerFast) -> dict[str, int]:
    """The tokens that stand for pictures and films in Qwen's models."""
    ids = {f"{kind}_token_id": words.convert_tokens_to_ids(f"<|{kind}_pad|>") for kind in ("image", "video")}
    ends = {f"vision_{end}_token_id": words.convert_tokens_to_ids(f"<|vision_{end}|>") for end in ("start", "end")}
    return {**ids, **ends}


def save(out: Path, model: Any, processor: Any) -> None:
    """Write a model, and its processor."""
    model.to(torch.bfloat16).save_pretrained(out)
    processor.save_pretrained(out)
    end = processor.tokenizer.eos_token_id
    (out / "generation_config.json").write_text(json.dumps({"eos_token_id": end, "do_sample": False}))


def qwen2_5_vl(out: Path, head: int = 16, says: str = "") -> None:
    """Qwen2.5-VL; ``head``: size of an attention head; ``says``: its reply."""
    words = make_tokenizer()
    if says:
        words.add_tokens([says])
    llm = text(words, head, **rope([part * head // 16 for part in (2, 3, 3)]))
    eyes = {**EYES, "hidden_size": 4 * head, "out_hidden_size": 4 * head, "fullatt_block_indexes": [1]}
    model = t.Qwen2_5_VLForConditionalGeneration(
        t.Qwen2_5_VLConfig(text_config=llm, vision_config=eyes, **places(words))
    )
    if says:
        _teach(model, words, says)
    sizes = {"patch_size": 14, "merge_size": 2, "temporal_patch_size": 2}
    processor = t.Qwen2_5_VLProcessor(
        image_processor=t.Qwen2VLImageProcessor(**sizes), video_processor=t.Qwen2VLVideoProcessor(**sizes),
        tokenizer=words, chat_template=words.chat_template,
    )  # fmt: skip
    save(out, model, processor)


def _teach(model: t.PreTrainedModel, words: t.PreTrainedTokenizerFast, says: str) -> None:
    asked = [{"role": "user", "content": "x"}]
    prompt = words.apply_chat_template(asked, add_generation_prompt=True, tokenize=False)
    last = words(prompt, add_special_tokens=False)["input_ids"][-1]
    say, end = words.convert_tokens_to_ids([says, "<|im_end|>"])
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "language_model" in name and ("o_proj" in name or "down_proj" in name):
                weight.zero_()
        embeddings, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
        embeddings.normal_()
        embeddings /= embeddings.norm(dim=1, keepdim=True)
        head.zero_()
        head[say], head[end] = 50 * embeddings[last], 50 * embeddings[say]


def qwen3_vl(out: Path, experts: int = 0) -> None:
    """Qwen3-VL, dense or with experts."""
    words, eyes = make_tokenizer(), {**EYES, "depth": 3, "deepstack_visual_indexes": [0, 1]}
    mixture = {"num_experts": experts, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "decoder_sparse_step": 1}
    llm = text(words, num_hidden_layers=3, head_dim=16, **rope([3, 3, 2], mrope_interleaved=True))
    if experts:
        model: Any = t.Qwen3VLMoeForConditionalGeneration(
            t.Qwen3VLMoeConfig(text_config={**llm, **mixture}, vision_config=eyes, **places(words))
        )
    else:
        model = t.Qwen3VLForConditionalGeneration(t.Qwen3VLConfig(text_config=llm, vision_config=eyes, **places(words)))
    save(out, model, _qwen3_processor(words))


def _qwen3_processor(words: t.PreTrainedTokenizerFast) -> Any:
    return t.Qwen3VLProcessor(
        image_processor=t.Qwen2VLImageProcessor(patch_size=16), tokenizer=words,
        video_processor=t.Qwen3VLVideoProcessor(patch_size=16), chat_template=words.chat_template,
    )  # fmt: skip


def qwen3_5(out: Path) -> None:
    """Qwen3.5."""
    words = make_tokenizer()
    linear = {"linear_key_head_dim": 16, "linear_value_head_dim": 16, "linear_num_key_heads": 2}
    llm = text(words, num_hidden_layers=4, head_dim=32, linear_num_value_heads=4, **linear)
    config = t.Qwen3_5Config(text_config=llm, vision_config=EYES, **places(words))
    save(out, t.Qwen3_5ForConditionalGeneration(config), _qwen3_processor(words))


def qwen3_vl_moe(out: Path) -> None:
    """Qwen3-VL with four experts."""
    qwen3_vl(out, experts=4)


MAKERS = {maker.__name__: maker for maker in (qwen2_5_vl, qwen3_vl, qwen3_vl_moe, qwen3_5)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=sorted(MAKERS))
    parser.add_argument("out", type=Path)
    parser.add_argument("--head", type=int, help="size of an attention head (qwen2_5_vl)")
    parser.add_argument("--says", metavar="TEXT", help="the one reply that it gives (qwen2_5_vl)")
    arguments = parser.parse_args()
    more = {name: value for name in ("head", "says") if (value := getattr(arguments, name)) is not None}
    torch.manual_seed(0)
    MAKERS[arguments.name](arguments.out, **more)
    print(f"Wrote {arguments.out}")
