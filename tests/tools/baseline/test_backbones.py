"""Backbones of the usual library, tiny and with random weights, against direct calls of the same classes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertModel,
    BitImageProcessor,
    CLIPConfig,
    CLIPImageProcessor,
    CLIPModel,
    CLIPVisionConfig,
    CLIPVisionModel,
    ConvNextImageProcessor,
    Dinov2Config,
    Dinov2Model,
    ResNetConfig,
    ResNetModel,
    SiglipImageProcessor,
    SiglipVisionConfig,
    SiglipVisionModel,
    VideoMAEConfig,
    VideoMAEImageProcessor,
    VideoMAEModel,
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessor,
    ViTModel,
)

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.tools.baseline.features import BackboneFeatures

WIDTH = 16
SMALL: dict[str, Any] = {"hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2,
                         "intermediate_size": 24, "image_size": 32, "patch_size": 16}  # fmt: skip
TEXT = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 20}
SQUARE, CROPPED = {"height": 32, "width": 32}, {"shortest_edge": 32}
MADE: dict[str, Any] = {
    "vit": lambda: (ViTModel(ViTConfig(**SMALL)), ViTImageProcessor(size=SQUARE)),
    "labelled": lambda: (ViTForImageClassification(ViTConfig(**SMALL)), ViTImageProcessor(size=SQUARE)),
    "dino": lambda: (Dinov2Model(Dinov2Config(**SMALL)), BitImageProcessor(size=CROPPED, crop_size=SQUARE)),
    "siglip": lambda: (SiglipVisionModel(SiglipVisionConfig(**SMALL)), SiglipImageProcessor(size=SQUARE)),
    "clip": lambda: (CLIPVisionModel(CLIPVisionConfig(**SMALL)), CLIPImageProcessor(size=CROPPED, crop_size=SQUARE)),
    "both": lambda: (
        CLIPModel(CLIPConfig(text_config=TEXT, vision_config=SMALL)),
        CLIPImageProcessor(size=CROPPED, crop_size=SQUARE),
    ),
    "resnet": lambda: (
        ResNetModel(ResNetConfig(embedding_size=8, hidden_sizes=[8, WIDTH], depths=[1, 1])),
        ConvNextImageProcessor(size=CROPPED),
    ),
    "video": lambda: (
        VideoMAEModel(VideoMAEConfig(**SMALL, num_frames=4)),
        VideoMAEImageProcessor(size=CROPPED, crop_size=SQUARE),
    ),
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backbones")
    torch.manual_seed(3)
    for name, make in MADE.items():
        for part in make():
            part.save_pretrained(folder / name)
    BertModel(BertConfig(**TEXT)).save_pretrained(folder / "words")
    return folder


@pytest.fixture(scope="module")
def pictures() -> list[Image.Image]:
    rng = np.random.default_rng(2)
    return [Image.fromarray(rng.integers(0, 256, (48, 64, 3), np.uint8)) for _ in range(19)]


@pytest.mark.parametrize("name", ["vit", "dino", "siglip", "clip", "resnet"])
def test_features_are_the_mean_of_the_hidden_state(shelf: Path, pictures: list[Image.Image], name: str) -> None:
    """Nineteen pictures are more than go through together; the direct call takes them one by one."""
    found = BackboneFeatures(str(shelf / name), "cpu")(pictures)
    kinds = {"vit": (ViTModel, ViTImageProcessor), "dino": (Dinov2Model, BitImageProcessor),
             "siglip": (SiglipVisionModel, SiglipImageProcessor), "clip": (CLIPVisionModel, CLIPImageProcessor),
             "resnet": (ResNetModel, ConvNextImageProcessor)}  # fmt: skip
    net, processor = (kind.from_pretrained(shelf / name) for kind in kinds[name])
    net.eval()
    assert found.shape == (19, WIDTH) and found.dtype == np.float32
    for picture, vector in zip(pictures, found, strict=True):
        with torch.no_grad():
            hidden = net(**processor(images=picture, return_tensors="pt")).last_hidden_state[0]
        expected = hidden.mean((1, 2)) if name == "resnet" else hidden.mean(0)
        np.testing.assert_allclose(vector, expected.numpy(), atol=2e-6)
    assert np.abs(found[0] - found[1]).max() > 1e-3


def test_of_pictures_and_text_it_is_the_half_that_sees(shelf: Path, pictures: list[Image.Image]) -> None:
    net, processor = CLIPModel.from_pretrained(shelf / "both"), CLIPImageProcessor.from_pretrained(shelf / "both")
    with torch.no_grad():
        hidden = net.eval().vision_model(**processor(images=pictures, return_tensors="pt")).last_hidden_state
    found = BackboneFeatures(str(shelf / "both"), "cpu")(pictures)
    np.testing.assert_allclose(found, hidden.mean(1).numpy(), atol=2e-6)


def test_the_digest_is_of_weights_and_of_how_pictures_are_prepared(
    shelf: Path, pictures: list[Image.Image], tmp_path: Path
) -> None:
    own = BackboneFeatures(str(shelf / "vit"), "cpu")
    copied = shutil.copytree(shelf / "vit", tmp_path / "vit")
    (copied / "notes.md").write_text("nothing of the model")
    again = BackboneFeatures(str(copied), "cpu")
    assert (again.digest, again.name) == (own.digest, "vit") and np.array_equal(again(pictures), own(pictures))
    facts = json.loads((copied / "preprocessor_config.json").read_text())
    (copied / "preprocessor_config.json").write_text(json.dumps({**facts, "image_mean": [0.4, 0.5, 0.6]}))
    prepared = BackboneFeatures(str(copied), "cpu").digest
    tensors = load_file(copied / "model.safetensors")
    save_file(
        {**tensors, "layernorm.bias": tensors["layernorm.bias"] + 1}, copied / "model.safetensors", {"format": "pt"}
    )
    assert len({own.digest, prepared, BackboneFeatures(str(copied), "cpu").digest}) == 3


def test_what_is_behind_the_hidden_state_may_be_missing_and_nothing_else(shelf: Path, tmp_path: Path) -> None:
    BackboneFeatures(str(shelf / "labelled"), "cpu")  # a classifier has no pooler
    torn = shutil.copytree(shelf / "vit", tmp_path / "torn")
    tensors = load_file(torn / "model.safetensors")
    name = next(name for name in tensors if "pooler" not in name and name.endswith("bias"))
    save_file(
        {key: value for key, value in tensors.items() if key != name}, torn / "model.safetensors", {"format": "pt"}
    )
    with pytest.raises(DataError, match=r"--backbone torn: is no model .* \(the file lacks 1 of its weights, such as "):
        BackboneFeatures(str(torn), "cpu")


def test_what_is_no_backbone_is_said(shelf: Path, tmp_path: Path) -> None:
    def refusal(source: Path | str) -> str:
        with pytest.raises(DataError) as found:
            BackboneFeatures(str(source), "cpu")
        assert "\n" not in str(found.value) and len(str(found.value)) < 500
        return str(found.value)

    assert "not a folder. Give the folder that save_pretrained wrote." in refusal(shelf / "vit" / "config.json")
    assert "no such folder, and not the name of a repository on the hub" in refusal(tmp_path / "gone")
    assert "--backbone words: is no model of pictures that can be loaded" in refusal(shelf / "words")
    assert "--backbone video: cannot be run on single pictures" in refusal(shelf / "video")
    pickled = shutil.copytree(shelf / "vit", tmp_path / "pickled")
    torch.save(load_file(pickled / "model.safetensors"), pickled / "pytorch_model.bin")
    (pickled / "model.safetensors").unlink()
    assert "no weights: the folder holds no model.safetensors." in refusal(pickled)
    shutil.copy(shelf / "vit" / "config.json", pickled / "model.safetensors")
    assert "--backbone pickled: is no model of pictures that can be loaded" in refusal(pickled)
    foreign = shutil.copytree(shelf / "vit", tmp_path / "foreign")
    (foreign / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').write('')\nclass Own: pass\n")
    facts = {"model_type": "own", "auto_map": dict.fromkeys(("AutoConfig", "AutoModel"), "own.Own")}
    (foreign / "config.json").write_text(json.dumps(facts))
    assert "--backbone foreign: is no model" in refusal(foreign) and not (tmp_path / "ran").exists()
    with pytest.raises(OptionsError, match=r"--device 'nowhere' cannot be used here"):
        BackboneFeatures(str(shelf / "vit"), "nowhere")


def test_a_name_on_the_hub(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Offline, as the hub's own library keeps it: what is in its cache is found, what is not is said."""
    commit = "0" * 40
    kept = tmp_path / "models--org--tiny"
    shutil.copytree(shelf / "dino", kept / "snapshots" / commit)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(commit)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    found = BackboneFeatures("org/tiny", "cpu")
    assert (found.name, found.digest) == ("org/tiny", BackboneFeatures(str(shelf / "dino"), "cpu").digest)
    with pytest.raises(DataError, match=r"--backbone org/other: not in the local cache and the hub cannot be reached"):
        BackboneFeatures("org/other", "cpu")


def test_the_command_takes_a_backbone(
    shelf: Path, short_demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"run baseline {short_demo} --folds 2 --frames 2 --clip-frames 1 --frame-size 64 --device cpu".split()
    command += ["--cache", str(tmp_path / "cache"), "--out", str(tmp_path / "out.jsonl")]
    assert main([*command, "--backbone", str(shelf / "siglip")]) == 0
    digest = BackboneFeatures(str(shelf / "siglip"), "cpu").digest
    first = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert first["judge"]["features"] == f"siglip {digest[:12]}"
    with np.load(next((tmp_path / "cache" / "baseline").iterdir())) as kept:
        assert kept["vectors"].shape == (34, 6 * WIDTH)
    capsys.readouterr()
    assert main([*command, "--backbone", str(shelf / "words")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
