"""Recipes against the installed lmms-eval; limits against requests of known weight."""

from __future__ import annotations

import ast
import importlib.util
import io
import shlex
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from siming_tasks.cli import main
from siming_tasks.common.errors import OptionsError
from siming_tasks.media import PAPER_FRAMES
from siming_tasks.models.recipes import Weight, as_page, recipe, recipes, services

MB = 1_000_000


def accepted(path: str) -> set[str]:
    """The named parameters of a class's ``__init__`` and, where it has ``**kwargs``, of its base's, by the source."""
    module, _, name = path.rpartition(".")
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None, path
    tree = ast.parse(Path(spec.origin).read_text())
    (node,) = (cls for cls in tree.body if isinstance(cls, ast.ClassDef) and cls.name == name)
    init = next((cls for cls in node.body if isinstance(cls, ast.FunctionDef) and cls.name == "__init__"), None)
    names = {arg.arg for arg in (*init.args.args, *init.args.kwonlyargs)} if init else set()
    if init is None or init.args.kwarg:
        imported = {
            (alias.asname or alias.name): f"{cls.module}.{alias.name}"
            for cls in tree.body
            if isinstance(cls, ast.ImportFrom)
            for alias in cls.names
        }
        for base in (cls.id for cls in node.bases if isinstance(cls, ast.Name)):
            if imported.get(base, "").startswith("lmms_eval.models."):
                names |= accepted(imported[base])
    return names - {"self"}


def test_the_papers_twelve_models() -> None:
    ours = [entry for entry in recipes().values() if entry.paper]
    assert len(ours) == 12  # table 4 has LLaVA-Video in two sizes
    assert {entry.paper for entry in ours} == set(PAPER_FRAMES)
    assert all(entry.full_frames == PAPER_FRAMES[entry.paper] and entry.frames is None for entry in ours)
    assert recipe("GPT 4o").name == "gpt-4o" and recipe("gpt-4o").full_frames == 50
    with pytest.raises(OptionsError, match="There is no recipe 'gpt-1'"):
        recipe("gpt-1")


@pytest.mark.host
@pytest.mark.filterwarnings("ignore")  # of the host's own imports
@pytest.mark.parametrize("name", [name for name, entry in recipes().items() if entry.model])
def test_the_host_has_the_backend_and_its_class_takes_the_arguments(name: str) -> None:
    from lmms_eval.models import MODEL_REGISTRY_V2

    recipe = recipes()[name]
    path = MODEL_REGISTRY_V2.resolve(recipe.model).class_path
    unknown = set(recipe.model_args) - accepted(path)
    assert not unknown, f"{recipe.model} does not take {unknown}"
    words = shlex.split(recipe.command())
    assert (
        dict(part.split("=", 1) for part in words[words.index("--model_args") + 1].split(",")).keys()
        == recipe.model_args.keys()
    )


def test_arguments_of_a_class_are_read_from_its_source() -> None:
    """The test above can fail: a class that inherits, one that does not, and a wrong argument."""
    chat = accepted("lmms_eval.models.chat.openai.OpenAICompatible")
    assert {"pass_video_url", "model_version", "timeout"} <= chat and "pretrained" not in chat
    assert "force_sample" in accepted("lmms_eval.models.simple.llava_vid.LlavaVid")


def test_server_limits_allow_the_frames_and_context() -> None:
    assert any(entry.server for entry in recipes().values())
    for entry in recipes().values():
        if entry.server:
            words = shlex.split(entry.server)
            assert words[:3] == ["vllm", "serve", entry.where] == ["vllm", "serve", entry.model_args["model_version"]]
            assert words[words.index("--limit-mm-per-prompt") + 1] == f'{{"image": {entry.full_frames}}}'
            assert words[words.index("--max-model-len") + 1] == str(entry.context)
        assert entry.service in ("", *services())
        assert not entry.successor_of or recipes()[entry.successor_of].paper


def test_the_page_is_made_of_the_file() -> None:
    assert (Path(__file__).parents[3] / "docs" / "howto" / "recipes.md").read_text() == as_page()


def test_the_command_prints_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "recipes"]) == 0
    printed = capsys.readouterr().out
    assert "CANNOT be run again: retired on 2026-03-09" in printed
    assert "SIMING_FRAMES=120 lmms-eval --model gemini" in printed


def test_limits_by_hand() -> None:
    """32 MB for Anthropic: base64 makes 4/3 of 23.9 MB, and 0.1 MB are left for words."""
    service = services()["anthropic"]
    assert service.refuses(Weight(80, 23_900_000, 300_000, 896)) == []
    assert service.refuses(Weight(80, 24_000_000, 300_000, 896)) == [
        "32.1 MB, and at most 32 MB are taken: 79 such images fit"
    ]
    assert service.fitting(Weight(80, 24_000_000, 300_000, 896)) == int((32 * MB - 100_000) / (300_000 * 4 / 3)) == 79
    assert service.refuses(Weight(120, 1 * MB, 9_000, 896)) == ["120 images, and at most 100 are taken"]
    assert service.refuses(Weight(2, 8 * MB, 4 * MB, 896)) == ["an image of 5.3 MB, and at most 5 are taken"]
    assert service.refuses(Weight(21, 1 * MB, 9_000, 2001)) == ["more than 20 images with a side above 2000 pixels"]


def photograph(shape: tuple[int, int], quality: int) -> float:
    """Bytes a pixel of a noisy picture."""
    rng = np.random.default_rng(0)
    side = 1024
    distance = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)[None]) + 1 / side
    world = np.fft.irfft2(np.fft.rfft2(rng.standard_normal((side, side))) / distance**1.1)
    grey = np.clip(world / world.std() * 42 + 120 + rng.normal(0, 3, world.shape), 0, 255).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(grey[: shape[1], : shape[0]]).convert("RGB").save(stream, "JPEG", quality=quality)
    return len(stream.getvalue()) / (shape[0] * shape[1])


def test_the_plan_states_the_frames_that_fit(capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str) -> dict[str, str]:
        assert main(["run", "plan", "--videos", "2", *arguments]) == 0
        lines = [*capsys.readouterr().out.partition(" a request\n(")[2].splitlines(), ""]
        return {
            line.split()[0]: line + after * ("would fit" in after)
            for line, after in pairwise(lines)
            if line.startswith(("  full_", "  clip_"))
        }

    gemini = said("--model", "gemini", "--frames", "120")
    assert "DOES NOT FIT" in gemini["full_score"] and "at most 20 MB are taken" in gemini["full_score"]
    assert "would fit" in gemini["full_score"] and "fits" in gemini["clip_score"].split(":")[1]
    fits = int(gemini["full_score"].partition("taken: ")[2].split()[0])
    assert "DOES NOT FIT" not in said("--model", "gemini", "--frames", str(fits))["full_score"]
    assert "DOES NOT FIT" in said("--model", "gemini", "--frames", str(fits + 1))["full_score"]
    claude = said("--model", "anthropic", "--frames", "120")
    assert "120 images, and at most 100" in claude["full_score"]
    assert said("--model", "Gemini-3 Pro").keys() == gemini.keys()  # a name of the paper asks its recipe's service
    with_frames = photograph((896, 504), 90)
    assert 0.33 / 2.5 < with_frames < 0.33 * 2.5
