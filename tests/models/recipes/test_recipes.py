"""Recipes against the installed lmms-eval; limits against requests of known weight."""

import re
import shlex
from itertools import pairwise

import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import OptionsError
from siming_tasks.media import PAPER_FRAMES
from siming_tasks.models.recipes import Weight, recipe, recipes, services
from tests.plugin.test_backends import source

MB = 1_000_000


def test_the_papers_twelve_models() -> None:
    ours = [entry for entry in recipes().values() if entry.paper]
    assert len(ours) == 12  # table 4 has LLaVA-Video in two sizes
    assert {entry.paper for entry in ours} == set(PAPER_FRAMES)
    assert all(entry.full_frames == PAPER_FRAMES[entry.paper] and entry.frames is None for entry in ours)
    assert recipe("GPT 4o").name == "gpt-4o" and recipe("gpt-4o").full_frames == 50
    assert (recipe("LLaVA-Video").name, recipe("doubao 1.6 vision").full_frames) == ("llava-video-7b", 240)
    assert all(recipe(entry.title) is entry for entry in recipes().values())
    with pytest.raises(OptionsError, match="There is no recipe 'gpt-1'"):
        recipe("gpt-1")


@pytest.mark.host
@pytest.mark.filterwarnings("ignore")  # of the host's own imports
def test_the_host_has_each_class_which_takes_the_arguments_and_a_server_allows_the_frames() -> None:
    from lmms_eval.models import MODEL_REGISTRY_V2

    for entry in recipes().values():
        if entry.model:
            path = MODEL_REGISTRY_V2.resolve(entry.model).class_path.rpartition(".")[0]
            name = path.removeprefix("lmms_eval.models.")
            text = source(name) + source(name.replace("chat.", "simple."))  # chat classes inherit arguments
            for argument in entry.model_args:
                assert re.search(rf"^        {argument}[:=]", text, re.MULTILINE), (entry.name, argument)
        if entry.server:
            words = shlex.split(entry.server)
            assert words[:3] == ["vllm", "serve", entry.where] == ["vllm", "serve", entry.model_args["model_version"]]
            assert words[words.index("--limit-mm-per-prompt") + 1] == f'{{"image": {entry.full_frames}}}'
            assert words[words.index("--max-model-len") + 1] == str(entry.context)
        assert entry.service in ("", *services())
        assert not entry.successor_of or recipes()[entry.successor_of].paper


def test_the_plan_has_the_command_of_a_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    for name, lines in (("gpt-4o", 1), ("qwen3-vl-30b", 2), ("UniMed-VL", 0), ("anthropic", 0)):
        assert main(["run", "plan", "--videos", "1", "--model", name]) == 0
        said = capsys.readouterr().out.splitlines()
        commands = [line.strip() for line in said if re.match(r"  (vllm|SIMING_FRAMES)", line)]
        assert len(commands) == lines and (not lines or commands[-1] == recipe(name).command())


def test_limits_by_hand() -> None:
    """32 MB for Anthropic: base64 makes 4/3 of 23.9 MB, and 0.1 MB are left for words."""
    service = services()["anthropic"]
    assert service.refuses(Weight(80, 23_900_000, 300_000, 896)) == []
    assert service.refuses(Weight(80, 24_000_000, 300_000, 896)) == ["32.1 MB; the limit is 32 MB (79 such images)"]
    assert service.fitting(Weight(80, 24_000_000, 300_000, 896)) == int((32 * MB - 100_000) / (300_000 * 4 / 3)) == 79
    assert service.refuses(Weight(120, 1 * MB, 9_000, 896)) == ["120 images; the limit is 100"]
    assert service.refuses(Weight(2, 8 * MB, 4 * MB, 896)) == ["an image of 5.3 MB; the limit is 5 MB"]
    assert service.refuses(Weight(21, 1 * MB, 9_000, 2001)) == ["more than 20 images with a side above 2000 pixels"]


def test_the_plan_states_the_frames_that_fit(capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str) -> dict[str, str]:
        assert main(["run", "plan", "--videos", "2", *arguments]) == 0
        lines = [*capsys.readouterr().out.partition(" per request\n(")[2].splitlines(), ""]
        return {
            line.split()[0]: line + after * ("would fit" in after)
            for line, after in pairwise(lines)
            if line.startswith(("  full_", "  clip_"))
        }

    gemini = said("--model", "gemini", "--frames", "120")
    assert "DOES NOT FIT" in gemini["full_score"] and "the limit is 20 MB" in gemini["full_score"]
    assert "would fit" in gemini["full_score"] and "fits" in gemini["clip_score"].split(":")[1]
    fits = int(gemini["full_score"].partition("the limit is 20 MB (")[2].split()[0])
    assert "DOES NOT FIT" not in said("--model", "gemini", "--frames", str(fits))["full_score"]
    assert "DOES NOT FIT" in said("--model", "gemini", "--frames", str(fits + 1))["full_score"]
    claude = said("--model", "anthropic", "--frames", "120")
    assert "120 images; the limit is 100" in claude["full_score"]
    assert said("--model", "Gemini-3 Pro").keys() == gemini.keys()  # a name of the paper asks its recipe's service
