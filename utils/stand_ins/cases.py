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

from stand_ins import packages, weights
from stand_ins.notes import Notes
from stand_ins.weights import Anything, ImageProcessor, Processor, Tokenizer, Weights

CPU = "pretrained=stand-in,device=cpu,device_map=cpu"
ON_CPU = "pretrained=stand-in,device=cpu"


@dataclass(frozen=True)
class Case:
    """A class with a stand-in behind it.

    Attributes:
        row: its name in the table of backends.
        arguments: ``model_args`` without which it cannot be made here.
        echoes: what its weights generate begins with the prompt.
        order: what its ``load_pretrained_model`` returns (:func:`packages.names`).
        weights, processor, tokenizer: what it loads, where not the common ones.
        names: further meanings of names in its module.
    """

    row: str
    arguments: str = "pretrained=stand-in"
    echoes: bool = True
    order: str = "twin"
    weights: type[Weights] = Weights
    processor: type[Processor] = Processor
    tokenizer: type[Tokenizer] = Tokenizer
    names: Callable[[Notes], dict[str, Any]] = lambda notes: {}

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


BAICHUAN, OMNIVINCI = {"weights": weights.BaichuanWeights}, {"processor": weights.TemplateProcessor, "echoes": False}
CASES = {
    case.row: case
    for case in (
        Case("chat.async_hf_model", ON_CPU),
        Case("chat.baichuan_omni", **BAICHUAN),
        Case("chat.huggingface", CPU),
        Case("chat.internvl_hf", CPU),
        Case("chat.litellm", "model=openai/stand-in,api_key=none"),
        Case("chat.llava_hf", CPU, names=_llava_hf),
        Case("chat.llava_onevision1_5", CPU),
        Case("chat.llava_onevision2", CPU),
        Case("chat.longvila", "model=stand-in", weights=weights.LongVilaWeights),
        Case("chat.minicpm_o"),
        Case("chat.nanovlm", ON_CPU, tokenizer=weights.ListTokenizer),
        Case("chat.omnivinci", **OMNIVINCI),
        Case("chat.phi4_multimodal"),
        Case("chat.qwen2_5_omni"),
        Case("chat.qwen3_omni"),
        Case("chat.sglang", "model=stand-in"),
        Case("chat.vllm", "model=stand-in"),
        Case("chat.vllm_generate", "model=stand-in"),
        Case("simple.aria", CPU, processor=weights.PixelProcessor),
        Case("simple.baichuan_omni", **BAICHUAN),
        Case("simple.cambrians", echoes=False, order="twIn"),
        Case("simple.egogpt", echoes=False, order="twn"),
        Case("simple.gemma3", CPU),
        Case("simple.gemma4", CPU),
        Case("simple.glm4v", CPU),
        Case("simple.idefics2", CPU),
        Case("simple.internvl2"),
        Case("simple.internvl3"),
        Case("simple.internvl3_5"),
        Case("simple.litellm", "model=openai/stand-in,api_key=none"),
        Case("simple.llama4_scout", CPU),
        Case("simple.llama_vision", CPU),
        Case("simple.llava", echoes=False),
        Case("simple.llava_hf", CPU, names=_llava_hf),
        Case("simple.llava_onevision", echoes=False),
        Case("simple.llava_onevision1_5", CPU),
        Case("simple.llava_vid", echoes=False),
        Case("simple.longva", echoes=False),
        Case("simple.mantis"),
        Case("simple.minicpm_o"),
        Case("simple.mistral3_vl", CPU),
        Case("simple.omnivinci", **OMNIVINCI),
        Case("simple.ovis_u1", ON_CPU, echoes=False, weights=weights.OvisWeights),
        Case("simple.penguinvl", CPU),
        Case("simple.phi3v", "model_id_name=stand-in,device=cpu"),
        Case("simple.phi4_multimodal"),
        Case("simple.plm"),
        Case("simple.qwen2_5_omni"),
        Case("simple.qwen2_audio"),
        Case("simple.qwen2_vl", CPU),
        Case("simple.qwen3_omni"),
        Case("simple.qwen_vl_api", "model_version=stand-in"),
        Case("simple.reka", "model_version=stand-in"),
        Case("simple.ross", echoes=False),
        Case("simple.slime", echoes=False),
        Case("simple.tinyllava", echoes=False, order="wtin"),
        Case("simple.uni_moe_2_omni", ON_CPU, names=_uni_moe),
        Case("simple.video_llava", processor=weights.PixelProcessor),
        Case("simple.video_salmonn_2", CPU),
        Case("simple.videollama3", echoes=False),
        Case("simple.vila", echoes=False),
        Case("simple.vita", echoes=False),
        Case("simple.vllm", "model=stand-in"),
        Case("simple.vqtoken", "", echoes=False),
        Case("simple.xcomposer2d5"),
    )
}
"""Classes that can be measured, by row."""


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
