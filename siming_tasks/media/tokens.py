"""What an image costs a model, by published formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

__all__ = ["TOKEN_FORMULAS", "gemini_video", "llava_video", "openai_low", "openai_tiles", "qwen2_5_vl", "qwen3_vl"]


def qwen2_5_vl(width: int, height: int, max_pixels: int = 1_605_632, min_pixels: int = 4 * 28 * 28) -> int:
    """Qwen2-VL and Qwen2.5-VL: one token per 28 x 28 pixels of the image resized to multiples of 28.

    Source: ``smart_resize`` of qwen-vl-utils; ``max_pixels`` is the default of lmms-eval's ``qwen2_5_vl``. In video
    mode two frames share their tokens and frames are smaller; as separate images, which this counts, they cost more.
    """
    return _merged(width, height, 28, min_pixels, max_pixels)


def qwen3_vl(width: int, height: int, max_pixels: int = 16_384 * 32 * 32, min_pixels: int = 4 * 32 * 32) -> int:
    """Qwen3-VL: as Qwen2.5-VL with 32 x 32 pixels per token (patches of 16, merged two by two)."""
    return _merged(width, height, 32, min_pixels, max_pixels)


def _merged(width: int, height: int, factor: int, min_pixels: int, max_pixels: int) -> int:
    across, down = (max(1, round(side / factor)) for side in (width, height))
    if across * down * factor**2 > max_pixels:
        scale = math.sqrt(width * height / max_pixels)
        across, down = (max(1, math.floor(side / scale / factor)) for side in (width, height))
    elif across * down * factor**2 < min_pixels:
        scale = math.sqrt(min_pixels / (width * height))
        across, down = (math.ceil(side * scale / factor) for side in (width, height))
    return across * down


def openai_tiles(width: int, height: int) -> int:
    """GPT-4o with high detail: shrunk into 2048 x 2048, then to a short side of 768; 85 + 170 per tile of 512 x 512.

    Source: OpenAI's vision guide. Later models use other constants; see their price pages.
    """
    shrink = min(1.0, 2048 / max(width, height))
    shrink *= min(1.0, 768 / (min(width, height) * shrink))
    across, down = (math.ceil(round(side * shrink) / 512) for side in (width, height))
    return 85 + 170 * across * down


def openai_low(width: int, height: int) -> int:
    """GPT-4o with low detail: 85 whatever the size."""
    return 85


def gemini_video(width: int, height: int) -> int:
    """Gemini: 258 for every video frame at default resolution. Source: Google's guide to tokens."""
    return 258


def llava_video(width: int, height: int) -> int:
    """LLaVA-Video, LLaVA-OneVision: 27 x 27 patches of a 384-pixel square, pooled two by two, rounded up: 14 x 14."""
    return 196


TOKEN_FORMULAS: Mapping[str, Callable[[int, int], int]] = MappingProxyType(
    {
        formula.__name__: formula
        for formula in (qwen2_5_vl, qwen3_vl, openai_tiles, openai_low, gemini_video, llava_video)
    }
)
"""Formula name -> ``(width, height) -> tokens of one image``."""
