"""Every name of a model leads to a class."""

import ast
import importlib.util
from pathlib import Path

import pytest

from lmms_eval.models import MODEL_REGISTRY_V2


def _class_exists(path: str) -> bool:
    module, _, name = path.rpartition(".")
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return False
    return any(isinstance(node, ast.ClassDef) and node.name == name for node in ast.walk(ast.parse(Path(spec.origin).read_text())))


def test_every_registered_model_has_a_class() -> None:
    manifests = [MODEL_REGISTRY_V2.get_manifest(name) for name in MODEL_REGISTRY_V2.list_canonical_model_ids()]
    paths = [path for manifest in manifests for path in (manifest.simple_class_path, manifest.chat_class_path) if path]
    assert len(paths) > 100
    missing = sorted(path.removeprefix("lmms_eval.models.") for path in paths if not _class_exists(path))
    assert not missing, f"names without a class: {missing}"


@pytest.mark.parametrize("name", ["bagel", "bagel_umm"])
def test_bagel_leads_to_its_class(name: str) -> None:
    assert MODEL_REGISTRY_V2.resolve(name).class_path == "lmms_eval.models.simple.bagel.BagelUMM"


def test_the_names_in_use_stay() -> None:
    assert MODEL_REGISTRY_V2.resolve("videoChatGPT").class_path == "lmms_eval.models.simple.video_chatgpt.VideoChatGPT"
    assert MODEL_REGISTRY_V2.resolve("whisper_tt").class_path == "lmms_eval.models.whisper_tt.WhisperTT"
