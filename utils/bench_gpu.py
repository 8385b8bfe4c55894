"""GPU load of a run: a random-weight Qwen2.5-VL through the four settings, naive and prepared media.

    python utils/bench_gpu.py --data DIR [--videos 24] [--reply 128]          # on a GPU: the 3B architecture
    python utils/bench_gpu.py --data DIR --tiny --device cpu --videos 1       # tries the script without one

Random weights take as long as trained ones. For every request three things are timed in turn: getting the media (and
only here the three ways differ), the processor, and the model (prefill and a reply of fixed length, synchronised).

* ``naive``: qwen-vl-utils opens the original file for each request and seeks to the step's span
* ``frames``: our images from a prepared store
* ``video``: qwen-vl-utils opens a prepared clip, or for a full video a frame-exact proxy
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from make_tiny_vlm import SPECIAL, make_tokenizer
from qwen_vl_utils import process_vision_info
from transformers import (
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
)

from siming_tasks.common.schema import ANSWERS, Scope, Video
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.media import PROXY, VIDEO, Budget, Job, Policy, Request, prepare, view
from siming_tasks.tasks import benchmark_task
from siming_tasks.tasks.prompt import build_prompt

TEXT = {
    "3b": {"hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 16},
    "tiny": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4},
}
VISION = {
    "3b": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 2048},
    "tiny": {"depth": 2, "hidden_size": 64, "intermediate_size": 128, "num_heads": 4, "out_hidden_size": 64},
}
SECTIONS = {"3b": [16, 24, 24], "tiny": [2, 3, 3]}
WAYS = ("naive", "frames", "video")
PIXELS = 256 * 28 * 28
"""Most pixels of a frame, the same for all three ways: 256 tokens, so that 64 frames make a context of 16,000."""


def make_model(name: str, device: str) -> tuple[Any, Any]:
    """A model with random weights, and its processor."""
    tokenizer = make_tokenizer()
    token = {word: tokenizer.convert_tokens_to_ids(word) for word in SPECIAL}
    config = Qwen2_5_VLConfig(
        text_config={
            **TEXT[name],
            "vocab_size": 151_936 if name == "3b" else len(tokenizer),
            "num_key_value_heads": 2,
            "max_position_embeddings": 128_000,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": SECTIONS[name]},
            "bos_token_id": token["<|im_start|>"],
            "eos_token_id": token["<|im_end|>"],
            "pad_token_id": token["<|endoftext|>"],
        },
        vision_config={**VISION[name], "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2},
        image_token_id=token["<|image_pad|>"],
        video_token_id=token["<|video_pad|>"],
        vision_start_token_id=token["<|vision_start|>"],
        vision_end_token_id=token["<|vision_end|>"],
    )
    kind = torch.bfloat16 if device == "cuda" else torch.float32
    torch.manual_seed(0)
    with torch.device(device):
        model = Qwen2_5_VLForConditionalGeneration._from_config(config, dtype=kind).eval()
    limits = {"min_pixels": 28 * 28, "max_pixels": PIXELS}
    processor = Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(**limits),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(**limits),
        chat_template=tokenizer.chat_template,
    )
    return model, processor


def visual(way: str, path: Path, digest: str, request: Request, cache: Path) -> list[dict[str, Any]]:
    """The media items of one request's message."""
    if way == "frames":
        shown = view(path, digest=digest, span=request.span, budget=request.budget, cache=cache)
        return [{"type": "image", "image": image, "max_pixels": PIXELS} for image in shown.images()]
    frames = request.budget.frames or 2
    if way == "naive":
        span = {"video_start": request.span[0], "video_end": request.span[1]} if request.span else {}
        return [{"type": "video", "video": str(path), "nframes": frames, "max_pixels": PIXELS, **span}]
    mode = VIDEO if request.span else PROXY
    shown = view(path, digest=digest, span=request.span, budget=request.budget, mode=mode, cache=cache)
    frames = min(frames, len(shown.indices)) if len(shown.indices) > 1 else 2
    return [{"type": "video", "video": str(shown.path), "nframes": frames - frames % 2, "max_pixels": PIXELS}]


def ask(model: Any, processor: Any, items: Callable[[], list[dict[str, Any]]], prompt: str, reply: int) -> list[float]:
    """Seconds of media, processor and model for one request."""
    marks = [time.perf_counter()]
    message = [{"role": "user", "content": [*items(), {"type": "text", "text": prompt}]}]
    images, videos = process_vision_info(message)
    marks.append(time.perf_counter())
    text = processor.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
    inputs = processor(text=[text], images=images, videos=videos, return_tensors="pt").to(model.device)
    marks.append(time.perf_counter())
    with torch.inference_mode():
        model.generate(**inputs, max_new_tokens=reply, min_new_tokens=reply, do_sample=False)
    if model.device.type == "cuda":
        torch.cuda.synchronize()
    marks.append(time.perf_counter())
    return [after - before for before, after in pairwise(marks)]


def prompts(dataset: Dataset, video: Video, request: Request) -> list[str]:
    """The score and the error prompt of a request."""
    asked = [step for step in video.applicable if request.span is None or step.span == request.span]
    steps = tuple(dataset.rubric.by_id[step.step_id] for step in asked)
    scope: Scope = "full" if request.span is None else "clip"
    steps = steps if scope == "full" else steps[:1]
    return [build_prompt(benchmark_task(scope, answer), steps) for answer in ANSWERS]


def main() -> None:
    """Prepare, run the three ways, print where the time went."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="a dataset folder; `siming data demo DIR` makes one")
    options.add_argument("--videos", type=int, default=24)
    options.add_argument("--clips", type=int, default=33, help="clips of each video")
    options.add_argument("--frames", type=int, default=64)
    options.add_argument("--clip-frames", type=int, default=16)
    options.add_argument("--reply", type=int, default=128, help="tokens of each reply")
    options.add_argument("--device", default="cuda")
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--cache", type=Path, help="keep prepared media here")
    arguments = options.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("No GPU here. `--tiny --device cpu --videos 1 --clips 2` tries the script without one.")
    dataset = open_dataset(arguments.data)
    videos = dataset.videos[: arguments.videos]
    model, processor = make_model("tiny" if arguments.tiny else "3b", arguments.device)
    with tempfile.TemporaryDirectory() as name:
        cache = arguments.cache or Path(name)
        began = time.perf_counter()
        work, policy = [], Policy(arguments.frames, arguments.clip_frames)
        for video in videos:
            asked = policy.requests(video)
            work.append((video, dataset.media_path(video), dataset.media_digest(video), asked[: arguments.clips + 1]))
        prepare([Job(path, asked, digest) for _, path, digest, asked in work], cache)
        for _, path, digest, asked in work:
            prepare([Job(path, asked[1:], digest, VIDEO)], cache)
            prepare([Job(path, (Request(None, Budget(arguments.frames)),), digest, PROXY)], cache)
        print(f"{len(work)} videos prepared for both modes in {time.perf_counter() - began:.1f} s")
        print(f"{'':8}{'requests':>9}{'media s':>9}{'processor':>10}{'model s':>9}{'media':>8}{'model':>8}")
        for way in WAYS:
            rows = []
            for video, path, digest, asked in work:
                for request in asked:
                    for prompt in prompts(dataset, video, request):

                        def items(path: Path = path, digest: str = digest, request: Request = request) -> Any:
                            return visual(way, path, digest, request, cache)  # noqa: B023 - called in this turn

                        rows.append(ask(model, processor, items, prompt, arguments.reply))
            media, shaping, thinking = (sum(column) for column in zip(*rows, strict=True))
            total = media + shaping + thinking
            print(f"{way:8}{len(rows):9}{media:9.1f}{shaping:10.1f}{thinking:9.1f}", end="")
            print(f"{media / total:8.1%}{thinking / total:8.1%}")


if __name__ == "__main__":
    main()
