"""Table of the model classes that are run with stand-ins, and what is peculiar to each."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from PIL import Image
from transformers import BatchFeature

from stand_ins import packages
from stand_ins.notes import Notes, image_of
from stand_ins.packages import ImageProcessor
from stand_ins.weights import Anything, Processor, TemplateProcessor, Tokenizer, Weights

CPU = "pretrained=stand-in,device=cpu,device_map=cpu"


@dataclass(frozen=True)
class Case:
    """A class with a stand-in behind it.

    Attributes:
        row: its name in the table of backends.
        arguments: ``model_args`` without which it cannot be made here.
        echoes: what its weights generate begins with the prompt.
        order: what its ``load_pretrained_model`` returns (:func:`packages.loaded`).
        prepare: replaces further names of its module.
    """

    row: str
    arguments: str = "pretrained=stand-in"
    echoes: bool = True
    order: str = "twin"
    prepare: Callable[[ModuleType, Notes], None] = lambda module, notes: None

    @property
    def model(self) -> str:
        """Its name for ``--model``."""
        return self.row.partition(".")[2]


def _reka(module: ModuleType, notes: Notes) -> None:
    def create(messages: Any, **kwargs: Any) -> Any:
        for part in messages[0].content:
            notes.note(image_of(part["image_url"]) if "image_url" in part else part["text"])
        text = notes.reply(kwargs)
        return Anything(usage=None, responses=[Anything(message=Anything(content=text))])

    vars(module).update(ChatMessage=Anything, RekaClient=lambda **_: Anything(chat=Anything(create=create)))
    vars(module)["NUM_SECONDS_TO_SLEEP"] = 0


def _qwen_vl_api(module: ModuleType, notes: Notes) -> None:
    def call(messages: Any, **kwargs: Any) -> Any:
        notes.note([part.get("text") or Image.open(part["image"]) for part in messages[0]["content"]])
        text = notes.reply(kwargs)
        return {"output": {"choices": [{"message": {"content": [{"text": text}]}}]}}

    vars(module).update(dashscope=Anything(MultiModalConversation=Anything(call=call)), NUM_SECONDS_TO_SLEEP=0)


def _litellm(module: ModuleType, notes: Notes) -> None:
    def completion(messages: Any, **kwargs: Any) -> Any:
        text = notes.answer(kwargs, messages)
        choice = Anything(message=Anything(content=text, refusal=None), finish_reason="stop")
        return Anything(choices=[choice], usage=None, model="stand-in", id="1")

    packages.CURRENT["completion"] = completion


def _loader(name: str, load: Callable[..., Any]) -> type:
    """Class that loads something else."""
    return type(name, (Anything,), {"from_pretrained": staticmethod(load), "_tp_plan": [], "_model_mapping": {}})


def _replaced(module: ModuleType, **makers: Callable[[], Any]) -> None:
    """Let classes of a module load what these functions make."""
    for name, make in makers.items():
        vars(module)[name] = _loader(name, lambda *_, make=make, **__: make())


def _neo_ov(module: ModuleType, notes: Notes) -> None:
    class NeoWeights(Weights):
        """Weights that get patches of 16 x 16 pixels."""

        def chat(self, tokenizer: Any, pixel_values: Any, grid_hw: Any, question: str, **kwargs: Any) -> Any:
            start = 0
            for height, width in grid_hw.tolist():
                rows = pixel_values[start : start + height * width].float()
                patches = rows.reshape(height, width, 3, 16, 16).permute(2, 0, 3, 1, 4)
                notes.note(patches.reshape(3, height * 16, width * 16))
                start += height * width
            notes.note(question)
            return notes.reply(kwargs["generation_config"])

    _replaced(module, AutoModel=lambda: NeoWeights(notes))


def _nanovlm(module: ModuleType, notes: Notes) -> None:
    class ListTokenizer(Tokenizer):
        """Tokenizer of transformers 4, whose template gives a list."""

        def apply_chat_template(self, messages: Any, **_: Any) -> Any:
            return super().apply_chat_template(messages)["input_ids"][0].tolist()

    _replaced(module, AutoTokenizer=ListTokenizer)


def _omnivinci(module: ModuleType, notes: Notes) -> None:
    _replaced(module, AutoProcessor=lambda: TemplateProcessor(notes))


def _baichuan(module: ModuleType, notes: Notes) -> None:
    def processor(prompts: list[str]) -> Any:
        notes.note(prompts[0])
        for path in re.findall(r'"(?:local|path)": "([^"]+)"', prompts[0]):
            notes.note(path if path.endswith((".mp4", ".wav")) else Image.open(path))
        none = dict.fromkeys(("audios", "encoder_length", "bridge_length", "images", "videos"))
        return Anything(**Tokenizer()(prompts), **none)

    weights = Weights(notes)
    weights.processor, weights.bind_processor = processor, Anything()
    _replaced(module, AutoModelForCausalLM=lambda: weights)


def _plm(module: ModuleType, notes: Notes) -> None:
    class Generator(Anything):
        """Generator of texts for pairs of a question and its frames."""

        def generate(self, messages: list[Any]) -> Any:
            given = {"max_new_tokens": self.max_gen_len, "temperature": self.temperature}
            return [notes.answer(given, message) for message in messages], None, None

    model = Anything(vision_model=Anything(image_size=448))
    vars(module).update(
        OmegaConf=Anything(), dataclass_from_dict=Anything(),
        PackedCausalTransformerGenerator=lambda *_: Generator(),
        load_consolidated_model_and_tokenizer=lambda *_: (model, Tokenizer(), {"data": {"max_video_frames": 32}}),
        get_image_transform=Anything(), get_video_transform=lambda **_: lambda video: (video[0], None),
    )  # fmt: skip


def _ovis(module: ModuleType, notes: Notes) -> None:
    class OvisWeights(Weights):
        """Weights that prepare their own inputs."""

        text_tokenizer = Tokenizer()

        def preprocess_inputs(self, text_or_conversations: str, images: Any) -> Any:
            notes.note(text_or_conversations, images)
            return "", packages.tokenized(text_or_conversations), None, None

    _replaced(module, AutoModelForCausalLM=lambda: OvisWeights(notes, echoes=False))


def _llama_vid(module: ModuleType, notes: Notes) -> None:
    class Halves(ImageProcessor):
        """Processor whose pictures are sent to a graphics card as half numbers."""

        def preprocess(self, images: Any, **_: Any) -> BatchFeature:
            pixels = super().preprocess(list(map(Image.fromarray, images)))["pixel_values"]
            return BatchFeature({"pixel_values": pixels})

    weights = Weights(notes)
    weights.update_prompt = lambda prompts: None
    parts = Tokenizer(), weights, Halves(), 8192
    vars(module).update(load_pretrained_model=lambda *_, **__: parts, snapshot_download=lambda path: path,
                        subprocess=Anything())  # fmt: skip


def _video_llava(module: ModuleType, notes: Notes) -> None:
    class VideoProcessor(Processor):
        """Processor that gives the pixels of a video, one by one."""

        def __call__(self, text: str, videos: Any, **_: Any) -> BatchFeature:
            notes.note(text, videos)
            return BatchFeature(
                {**Tokenizer.__call__(self, [text]), "pixel_values_videos": torch.zeros(1, len(videos), 1)}
            )

    _replaced(module, VideoLlavaProcessor=lambda: VideoProcessor(notes))


def _salmonn(module: ModuleType, notes: Notes) -> None:
    vars(module)["PeftModel"] = _loader("PeftModel", lambda *_, **__: Weights(notes))


def _tinyllava(module: ModuleType, notes: Notes) -> None:
    class RightTokenizer(Tokenizer):
        """Tokenizer that pads on the right."""

        padding_side = "right"

    parts = Weights(notes, echoes=False), RightTokenizer(), ImageProcessor(), 8192
    vars(module)["load_pretrained_model"] = lambda *_, **__: parts


def _longvila(module: ModuleType, notes: Notes) -> None:
    class Prompt(dict[str, Any]):
        """Embeddings of a prompt: its text and its media."""

        def squeeze(self, _: int) -> Prompt:
            return self

    def extract(conversation: Any, config: Any) -> dict[str, Any]:
        paths = [part["path"] for turn in conversation for part in turn["value"] if isinstance(part, dict)]
        return {"paths": paths, "asked": f" {config.num_video_frames} frames"}

    def tokens(conversation: Any, *_: Any, **__: Any) -> Any:
        texts = [part for turn in conversation for part in turn["value"] if isinstance(part, str)]
        return packages.tokenized("".join(texts))

    def embed(ids: Any, media: Any, *_: Any) -> Any:
        return Prompt(text=Tokenizer().decode(ids[0].tolist()), **media), None, None

    encoder = Weights(notes)
    encoder.vision_tower, encoder.tokenizer, encoder._embed = Anything(), Tokenizer(), embed
    packages.CURRENT.update(extract_media=extract, tokenize_conversation=tokens)
    _replaced(module, AutoModel=lambda: encoder)


def _uni_moe(module: ModuleType, notes: Notes) -> None:
    class RowProcessor(Processor):
        """Processor that gives the tokens of one prompt as a row, not as a batch."""

        def __call__(self, *args: Any, **kwargs: Any) -> BatchFeature:
            return BatchFeature({"input_ids": super().__call__(*args, **kwargs)["input_ids"][0]})

    def media(messages: Any) -> Any:
        sounds, _, videos = packages.media_of(messages)
        return None, videos, sounds

    packages.CURRENT.update(
        Qwen2VLProcessor=_loader("Qwen2VLProcessor", lambda *_, **__: RowProcessor(notes)),
        GrinQwen2VLOutForConditionalGeneration=_loader("Grin", lambda *_, **__: Weights(notes)),
        process_mm_info=media,
    )


def _videochat2(module: ModuleType, notes: Notes) -> None:
    def encode(pixels: Any, instruction: str) -> Any:
        notes.note(pixels)
        return torch.zeros(1, 1, 1, 1), None, None

    def generate(inputs_embeds: Any, **kwargs: Any) -> Any:
        notes.note(Tokenizer().decode(inputs_embeds[0, :, 0].int().tolist()))
        return [torch.tensor(list(notes.reply(kwargs).encode()))]

    weights = Weights(notes)
    weights.mistral_tokenizer, weights.encode_img = Tokenizer(), encode
    weights.vision_encoder = Anything(encoder=Anything())
    embed = Anything(embed_tokens=lambda ids: ids[..., None].float())
    weights.mistral_model = Anything(model=embed, generate=generate)
    _replaced(module, AutoModel=lambda: weights)


def _aero(module: ModuleType, notes: Notes) -> None:
    async def buffered(chunks: Any, *_: Any, **__: Any) -> Any:
        async for chunk in chunks:
            yield chunk

    async def rendered(prompts: Any) -> Any:
        return prompts

    async def generate(stream: Any, sampling_params_list: Any, **_: Any) -> Any:
        chunks = [item.prompt async for item in stream]
        asked = next(number for number, chunk in enumerate(chunks) if chunk.get("text"))
        steps = sum(chunk["audio"] is chunks[-1]["audio"] for chunk in chunks)  # silence for a token each, one object
        given = {"max_new_tokens": steps, "temperature": sampling_params_list[0].temperature}
        frames = [chunk["video"][0] for chunk in chunks if "video" in chunk]
        heard = np.concatenate([chunk["audio"] for chunk in chunks if chunk["audio"] is not chunks[-1]["audio"]])
        reply = notes.answer(given, frames, chunks[asked]["text"], *([heard] if heard.any() else []))
        yield Anything(outputs=[Anything(token_ids=list(reply.encode()))])

    omni = Anything(generate=generate, renderer=Anything(render_cmpl_async=rendered))
    vars(module).update(
        AsyncOmni=lambda **_: omni, AeroRealtimeForConditionalGeneration=Anything(buffer_realtime_omni=buffered),
        StreamingInput=Anything, RequestOutputKind=Anything(), cached_tokenizer_from_config=lambda _: Tokenizer(),
        parse_model_prompt=lambda _, prompt: prompt,
    )  # fmt: skip


CASES = {
    case.row: case
    for case in (
        Case("chat.aero_realtime_vllm", prepare=_aero),
        Case("chat.async_hf_model", "pretrained=stand-in,device=cpu"),
        Case("chat.baichuan_omni", prepare=_baichuan),
        Case("chat.huggingface", CPU),
        Case("chat.litellm", "model=openai/stand-in,api_key=none", prepare=_litellm),
        Case("chat.llava_onevision1_5", CPU),
        Case("chat.llava_onevision2", CPU),
        Case("chat.longvila", "model=stand-in", prepare=_longvila),
        Case("chat.minicpm_o"),
        Case("chat.nanovlm", "pretrained=stand-in,device=cpu", prepare=_nanovlm),
        Case("chat.neo_ov", CPU, prepare=_neo_ov),
        Case("chat.omnivinci", echoes=False, prepare=_omnivinci),
        Case("chat.phi4_multimodal"),
        Case("chat.qwen2_5_omni"),
        Case("chat.sglang", "model=stand-in"),
        Case("chat.vllm", "model=stand-in"),
        Case("chat.vllm_generate", "model=stand-in"),
        Case("simple.baichuan_omni", prepare=_baichuan),
        Case("simple.cambrians", echoes=False, order="twIn"),
        Case("simple.egogpt", echoes=False, order="twn"),
        Case("simple.internvl2"),
        Case("simple.internvl3"),
        Case("simple.internvl3_5"),
        Case("simple.litellm", "model=openai/stand-in,api_key=none", prepare=_litellm),
        Case("simple.llama4_scout", CPU),
        Case("simple.llava", echoes=False),
        Case("simple.llava_onevision", echoes=False),
        Case("simple.llava_onevision1_5", CPU),
        Case("simple.llava_vid", echoes=False),
        Case("simple.longva", echoes=False),
        Case("simple.llama_vid", prepare=_llama_vid),
        Case("simple.mantis"),
        Case("simple.minicpm_o"),
        Case("simple.omnivinci", echoes=False, prepare=_omnivinci),
        Case("simple.ovis_u1", "pretrained=stand-in,device=cpu", prepare=_ovis),
        Case("simple.penguinvl", CPU),
        Case("simple.phi3v", "model_id_name=stand-in,device=cpu"),
        Case("simple.phi4_multimodal"),
        Case("simple.plm", prepare=_plm),
        Case("simple.qwen2_5_omni"),
        Case("simple.qwen3_omni"),
        Case("simple.qwen_vl_api", "model_version=stand-in", prepare=_qwen_vl_api),
        Case("simple.reka", "model_version=stand-in", prepare=_reka),
        Case("simple.ross", echoes=False),
        Case("simple.slime", echoes=False),
        Case("simple.tinyllava", prepare=_tinyllava),
        Case("simple.uni_moe_2_omni", "pretrained=stand-in,device=cpu", prepare=_uni_moe),
        Case("simple.video_llava", prepare=_video_llava),
        Case("simple.video_salmonn_2", CPU, prepare=_salmonn),
        Case("simple.videochat2", prepare=_videochat2),
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
    kinds: list[tuple[str, Callable[..., Any]]] = [
        ("Tokenizer", lambda *_, **__: Tokenizer()),
        ("ImageProcessor", lambda *_, **__: ImageProcessor()),
        ("Processor", lambda *_, **__: Processor(notes)),
        ("Config", lambda *_, **__: Anything()),
        ("", lambda *_, **__: Weights(notes, case.echoes)),
    ]
    meant = packages.names(notes, case.order, case.echoes)
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
                    load = next(load for word, load in kinds if word in name)
                    vars(place)[name] = _loader(name, load)
            case.prepare(place, notes)
        try:
            yield
        finally:
            for place, names in saved:
                vars(place).update(names)
