"""Table of the model classes that are run with stand-ins, and what is peculiar to each."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest.mock import patch

from siming_tasks.media import backends
from siming_tasks.models.recipes.transport import transports
from stand_ins import packages, weights
from stand_ins.notes import Notes
from stand_ins.weights import Anything, ImageProcessor, Processor, Tokenizer, Weights

CPU = "pretrained=stand-in,device=cpu,device_map=cpu"


@dataclass(frozen=True)
class Case:
    """A class with a stand-in behind it.

    Attributes:
        row: its name in the table of backends.
        arguments: ``model_args`` without which it cannot be made here.
        echoes: what its weights generate begins with the prompt.
        order: what its ``load_pretrained_model`` returns (:func:`packages.names`).
        weights, processor, tokenizer: what it loads.
        names: further meanings of names in its module.
    """

    row: str
    arguments: str
    echoes: bool
    order: str
    weights: type[Weights]
    processor: type[Processor]
    tokenizer: type[Tokenizer]
    names: Callable[[Notes], dict[str, Any]]

    @property
    def model(self) -> str:
        """Its name for ``--model``."""
        return self.row.partition(".")[2]


def _uni_moe(notes: Notes) -> dict[str, Any]:
    def media(messages: Any) -> Any:
        sounds, _, videos = packages.media_of(messages)
        return None, videos, sounds

    return {"process_mm_info": media}


def _llava_hf(notes: Notes) -> dict[str, Any]:
    return {"model_map": {"llava": packages.loader("Llava", lambda: Weights(notes))}}


TINY = tuple(f"{kind}.{model}" for kind in ("chat", "simple") for model in ("qwen2_5_vl", "qwen3_vl", "qwen3_5"))
"""Rows of classes for which there are tiny weights."""

_ARGUMENTS = {
    CPU: (
        *("chat.huggingface", "chat.internvl_hf", "chat.llava_hf", "chat.llava_onevision1_5", "chat.llava_onevision2"),
        *("simple.aria", "simple.gemma3", "simple.gemma4", "simple.glm4v", "simple.idefics2", "simple.llama4_scout"),
        *("simple.llama_vision", "simple.llava_hf", "simple.llava_onevision1_5", "simple.mistral3_vl"),
        *("simple.penguinvl", "simple.qwen2_vl", "simple.video_salmonn_2"),
    ),
    "pretrained=stand-in,device=cpu": (
        *("chat.async_hf_model", "chat.nanovlm", "simple.ovis_u1", "simple.uni_moe_2_omni"),
    ),
    "model=stand-in": ("chat.longvila", "chat.sglang", "chat.vllm", "chat.vllm_generate", "simple.vllm"),
    "model=openai/stand-in,api_key=none": ("chat.litellm", "simple.litellm"),
    "model_version=stand-in": ("simple.qwen_vl_api", "simple.reka"),
    "model_id_name=stand-in,device=cpu": ("simple.phi3v",),
    "": ("simple.vqtoken",),
}
_WITHOUT_ECHO = (
    *("cambrians", "egogpt", "llava", "llava_onevision", "llava_vid", "longva", "omnivinci", "ovis_u1", "ross"),
    *("slime", "tinyllava", "videollama3", "vila", "vita", "vqtoken"),
)
_ORDERS = {"simple.cambrians": "twIn", "simple.egogpt": "twn", "simple.tinyllava": "wtin"}
_WEIGHTS = {
    "baichuan_omni": weights.BaichuanWeights, "longvila": weights.LongVilaWeights, "ovis_u1": weights.OvisWeights,
}  # fmt: skip
_PROCESSORS = {
    "aria": weights.PixelProcessor, "omnivinci": weights.TemplateProcessor, "video_llava": weights.PixelProcessor,
}  # fmt: skip
_NAMES = {"llava_hf": _llava_hf, "uni_moe_2_omni": _uni_moe}


def _case(row: str) -> Case:
    model = row.partition(".")[2]
    return Case(
        row,
        next((given for given, rows in _ARGUMENTS.items() if row in rows), "pretrained=stand-in"),
        echoes=model not in _WITHOUT_ECHO,
        order=_ORDERS.get(row, "twin"),
        weights=_WEIGHTS.get(model, Weights),
        processor=_PROCESSORS.get(model, Processor),
        tokenizer=weights.ListTokenizer if model == "nanovlm" else Tokenizer,
        names=_NAMES.get(model, lambda notes: {}),
    )


_ASKED = {row for rows in _ARGUMENTS.values() for row in rows}
CASES = {
    name: _case(name)
    for name, row in backends().items()
    if not row.why_refused and name not in TINY and (name not in transports() or name in _ASKED)
}
"""Every class of the table that is not refused, has no tiny weights and asks no service that a test can stand for."""


def _modules(row: str) -> list[ModuleType]:
    """Module of a class and those of its bases within lmms-eval."""
    module = importlib.import_module(f"lmms_eval.models.{row}")
    made_here = (value for value in vars(module).values() if isinstance(value, type))
    named = {base.__module__ for value in made_here if value.__module__ == module.__name__ for base in value.__mro__}
    return [module, *(sys.modules[name] for name in named - {module.__name__} if ".models." in name)]


@contextmanager
def stand_ins(case: Case, notes: Notes) -> Iterator[None]:
    """Put stand-ins in place of what a class's module loads."""
    kinds: dict[str, Callable[[], Any]] = {  # by what is in the name of a class
        "Tokenizer": case.tokenizer,
        "ImageProcessor": ImageProcessor,
        "Processor": lambda: case.processor(notes),
        "Config": lambda: Anything(model_type="llava"),
        "": lambda: case.weights(notes, case.echoes),
    }
    meant = {**packages.names(notes, case.order, case.echoes), **case.names(notes)}
    packages.CURRENT.clear()
    packages.CURRENT.update(meant)
    config = patch("transformers.AutoConfig.from_pretrained", lambda *_, **__: Anything())
    with patch.dict(sys.modules), config:
        modules = _modules(case.row)
        saved = [(place, dict(vars(place))) for place in modules]
        for place in modules:
            for name, value in list(vars(place).items()):
                if name in meant:
                    vars(place)[name] = meant[name]
                elif isinstance(value, type) and hasattr(value, "from_pretrained"):
                    vars(place)[name] = packages.loader(name, next(kinds[word] for word in kinds if word in name))
        try:
            yield
        finally:
            for place, before in saved:
                vars(place).update(before)
