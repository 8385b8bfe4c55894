"""Published figures about models: tokens of an image by formula, and the frames that the paper gave each model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

PAPER_FRAMES: Mapping[str, int] = MappingProxyType(
    {
        "LLaVA-Video": 64,
        "LLaVA-OneVision": 64,
        "Qwen3-VL": 64,
        "Qwen3-Omni": 60,
        "GPT-4o": 50,
        "UniMed-VL": 30,
        "MedGemma": 30,
        "MediX-R1": 30,
        "Doubao-1.6-Vision": 240,
        "Gemini-3 Pro": 120,
        "GPT-5.2": 50,
    }
)
"""Model name as the table prints it -> input frames. The table does not say what a clip was given."""


def qwen2_5_vl(width: int, height: int, max_pixels: int = 1_605_632, factor: int = 28) -> int:
    """Qwen2-VL and Qwen2.5-VL: one token per 28 x 28 pixels of the image resized to multiples of 28.

    Source: ``smart_resize`` of qwen-vl-utils; ``max_pixels`` is the default of lmms-eval's ``qwen2_5_vl``. In video
    mode two frames share their tokens and frames are smaller; as separate images, which this counts, they cost more.
    """
    across, down = (max(1, round(side / factor)) for side in (width, height))
    min_pixels = 4 * factor**2
    if across * down * factor**2 > max_pixels:
        scale = math.sqrt(width * height / max_pixels)
        across, down = (max(1, math.floor(side / scale / factor)) for side in (width, height))
    elif across * down * factor**2 < min_pixels:
        scale = math.sqrt(min_pixels / (width * height))
        across, down = (math.ceil(side * scale / factor) for side in (width, height))
    return across * down


def qwen3_vl(width: int, height: int) -> int:
    """Qwen3-VL: as Qwen2.5-VL with 32 x 32 pixels per token (patches of 16, merged two by two)."""
    return qwen2_5_vl(width, height, max_pixels=16_384 * 32 * 32, factor=32)


def openai_tiles(width: int, height: int) -> int:
    """GPT-4o with high detail: shrunk into 2048 x 2048, then to a short side of 768; 85 + 170 per tile of 512 x 512.

    Source: OpenAI's vision guide. Later models use other constants; see their price pages.
    """
    shrink = min(1.0, 2048 / max(width, height))
    shrink *= min(1.0, 768 / (min(width, height) * shrink))
    across, down = (math.ceil(round(side * shrink) / 512) for side in (width, height))
    return 85 + 170 * across * down


TOKEN_FORMULAS: Mapping[str, Callable[[int, int], int]] = MappingProxyType({
    **{formula.__name__: formula for formula in (qwen2_5_vl, qwen3_vl, openai_tiles)},
    "openai_low": lambda width, height: 85,
    "gemini_video": lambda width, height: 258,
    "llava_video": lambda width, height: 196,
})  # fmt: skip
"""Formula name -> ``(width, height) -> tokens of one image``.

Three do not ask for the size: GPT-4o with low detail; Gemini's video frames at default resolution (Google's guide to
tokens); LLaVA-Video and LLaVA-OneVision, with 27 x 27 patches of a 384-pixel square, pooled two by two, rounded up.
"""
