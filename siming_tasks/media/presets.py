"""How many frames of a full video the paper gave each model (its table 6)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from siming_tasks.common.errors import OptionsError

if TYPE_CHECKING:
    from siming_tasks.media.sampler import Budget

__all__ = ["PAPER_FRAMES", "preset"]

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


def preset(model: str) -> Budget:
    """The paper's frame budget for a model; case, spaces, dashes and dots in its name do not matter.

    Raises:
        OptionsError: the table does not list the model; names those it lists.

    Example:
        >>> preset("qwen3_vl")
        Budget(frames=64, fps=None)
    """
    from siming_tasks.media.sampler import Budget  # and with it arrays, which a list of names does without

    known = {_plain(name): frames for name, frames in PAPER_FRAMES.items()}
    if _plain(model) not in known:
        raise OptionsError(f"The paper's table 6 has no model {model!r}. It lists {', '.join(PAPER_FRAMES)}.")
    return Budget(frames=known[_plain(model)])


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
