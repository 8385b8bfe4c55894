"""Write a tiny random-weight Qwen2.5-VL to a folder: a real model path for tests, nothing downloaded.

    python utils/make_tiny_vlm.py OUT [--head 64] [--says TEXT]
    lmms-eval --model qwen2_5_vl --model_args pretrained=OUT,device=cpu,device_map=cpu,max_num_frames=8 --tasks siming

Two layers, four heads of size 16, a byte-level BPE tokenizer trained on the rubric's own words. Its replies are noise,
unless it is told what to say: then attention and feed-forward layers add nothing, so that the next token follows from
the last one alone: end of the prompt, the text (one token), end of the turn. vLLM wants heads of 32, 64 or 128.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
)

from siming_tasks.rubrics import default_rubric
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.prompt import build_prompt

SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
]

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for item in message['content'] %}"
    "{% if item['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif item['type'] == 'video' %}<|vision_start|><|video_pad|><|vision_end|>"
    "{% elif 'text' in item %}{{ item['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer of 1,000 entries, trained on our prompts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=1000, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([build_prompt(TASKS["full_score"], default_rubric().steps)], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.add_special_tokens({"additional_special_tokens": SPECIAL})
    fast.chat_template = CHAT_TEMPLATE
    return fast


def make_tiny_vlm(out: Path, seed: int = 0, head: int = 16, says: str | None = None) -> None:
    """Write model, tokenizer and processors to ``out``; ``head``: size of an attention head; ``says``: its reply."""
    torch.manual_seed(seed)
    tokenizer, hidden, part = make_tokenizer(), 4 * head, head // 16
    sections = [2 * part, 3 * part, 3 * part]  # of a rotary position: time, height, width
    if says:
        tokenizer.add_tokens([says])
    token = {name: tokenizer.convert_tokens_to_ids(name) for name in SPECIAL}
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": hidden,
            "intermediate_size": 2 * hidden,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 65536,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 1e6,
                "mrope_section": sections,
            },
            "bos_token_id": token["<|im_start|>"],
            "eos_token_id": token["<|im_end|>"],
            "pad_token_id": token["<|endoftext|>"],
        },
        vision_config={
            "depth": 2,
            "hidden_size": hidden,
            "intermediate_size": 128,
            "num_heads": 4,
            "out_hidden_size": hidden,
            "fullatt_block_indexes": [1],
        },
        image_token_id=token["<|image_pad|>"],
        video_token_id=token["<|video_pad|>"],
        vision_start_token_id=token["<|vision_start|>"],
        vision_end_token_id=token["<|vision_end|>"],
    )
    config.architectures = ["Qwen2_5_VLForConditionalGeneration"]
    model = Qwen2_5_VLForConditionalGeneration(config)
    if says:
        _teach(model, tokenizer, says)
    model.to(torch.bfloat16).save_pretrained(out)
    processor = Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(patch_size=14, merge_size=2, temporal_patch_size=2),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(patch_size=14, merge_size=2, temporal_patch_size=2),
        chat_template=CHAT_TEMPLATE,
    )
    processor.save_pretrained(out)
    (out / "generation_config.json").write_text(json.dumps({"eos_token_id": token["<|im_end|>"], "do_sample": False}))


def _teach(model: Qwen2_5_VLForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, text: str) -> None:
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "x"}], add_generation_prompt=True, tokenize=False
    )
    last = tokenizer(prompt, add_special_tokens=False)["input_ids"][-1]
    say, end = tokenizer.convert_tokens_to_ids([text, "<|im_end|>"])
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "language_model" in name and ("o_proj" in name or "down_proj" in name):
                weight.zero_()
        embeddings, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
        embeddings.normal_()
        embeddings /= embeddings.norm(dim=1, keepdim=True)
        head.zero_()
        head[say], head[end] = 50 * embeddings[last], 50 * embeddings[say]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--head", type=int, default=16, help="size of an attention head")
    parser.add_argument("--says", metavar="TEXT", help="the one reply that it gives")
    arguments = parser.parse_args()
    make_tiny_vlm(arguments.out, arguments.seed, arguments.head, arguments.says)
    print(f"Wrote {arguments.out}")
