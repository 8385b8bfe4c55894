"""What is loaded is what is stored, whatever the folder is called."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from transformers import (
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLMoeConfig,
    Qwen3VLMoeForConditionalGeneration,
)

from lmms_eval.models.simple import qwen3_vl

TEXT = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "decoder_sparse_step": 1}
VISION = {"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 16, "num_position_embeddings": 16, "deepstack_visual_indexes": [0]}


def _loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    """The weights of the backend's model; its processor and tokenizer take no part in this."""
    nothing = SimpleNamespace(from_pretrained=lambda *args, **kwargs: None)
    monkeypatch.setattr(qwen3_vl, "AutoProcessor", nothing)
    monkeypatch.setattr(qwen3_vl, "AutoTokenizer", nothing)
    return qwen3_vl.Qwen3_VL(str(folder), device="cpu", device_map="cpu").model.state_dict()


def _same(found: dict, stored: dict) -> bool:
    return found.keys() == stored.keys() and all(torch.equal(found[name], tensor.to(found[name].dtype)) for name, tensor in stored.items())


def test_a_mixture_of_experts_without_the_letters_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Qwen3VLMoeConfig(text_config={**TEXT, **EXPERTS}, vision_config=VISION)
    model = Qwen3VLMoeForConditionalGeneration(config).bfloat16()
    model.save_pretrained(tmp_path / "fine-tuned-30B")
    assert _same(_loaded(tmp_path / "fine-tuned-30B", monkeypatch), model.state_dict()), "the model does not have the stored weights"


def test_a_dense_model_with_the_letters_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Qwen3VLForConditionalGeneration(Qwen3VLConfig(text_config=TEXT, vision_config=VISION)).bfloat16()
    model.save_pretrained(tmp_path / "distilled-from-A3B")
    assert _same(_loaded(tmp_path / "distilled-from-A3B", monkeypatch), model.state_dict()), "the model does not have the stored weights"
