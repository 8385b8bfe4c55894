"""Recipes run: each command as it is printed, at a server on loopback that takes the service's place."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.parsing import format_answers
from siming_tasks.data import open_dataset
from siming_tasks.models.recipes import recipes
from tests.plugin.serving import Server, completion, generated

TASKS = ("full_score", "full_error", "clip_score", "clip_error")
OFTEN = ("gpt-5.2", "gemini-3.1-pro")
"""Models that their classes treat in ways of their own; the rest is weekly: ``test_api_models`` runs those classes."""

NAMES = [name for name, one in recipes().items() if one.model and not one.undone]
CASES = [pytest.param(name, marks=() if name in OFTEN else pytest.mark.weekly) for name in NAMES]


@pytest.mark.host
@pytest.mark.parametrize("name", CASES)
def test_the_printed_command_runs_to_its_end(
    host: Callable[..., Any], serve: Callable[..., Server], short_demo: Path, name: str
) -> None:
    """The model's name, the number of frames and the tokens arrive as the recipe says, and every reply is read."""
    recipe, dataset = recipes()[name], open_dataset(short_demo)
    if recipe.model == "gemini":
        pytest.importorskip("google.genai")

    def answer(_: tuple[str, ...], text: str, __: int) -> Any:
        steps = [step for step in dataset.rubric.steps if f"[{step.id}]" in text]
        kind = "error" if '"verdict' in text else "score"
        reply = format_answers(dict.fromkeys((step.id for step in steps), 1.0), steps, kind)
        return generated(reply) if recipe.model == "gemini" else completion(reply)

    server = serve(answer)
    words = shlex.split(recipe.command())
    variables = dict(word.split("=", 1) for word in words[: words.index("lmms-eval")])
    flags = words[words.index("lmms-eval") + 1 : words.index("--log_samples")]
    place = flags.index("--model_args") + 1
    arguments = dict(part.split("=", 1) for part in flags[place].split(","))
    arguments |= {"base_url": server.url} if "base_url" in arguments else {}
    flags[place] = ",".join(f"{key}={value}" for key, value in arguments.items())
    addresses = {"OPENAI_BASE_URL": server.url, "GOOGLE_GEMINI_BASE_URL": server.url.removesuffix("/v1")}
    small = {"SIMING_FRAME_SIZE": "64", "SIMING_CLIP_FRAMES": "5", "OPENAI_API_KEY": "k", "GOOGLE_API_KEY": "k"}
    run = host(*flags, "--limit", "1", data=short_demo, **small, **variables, **addresses)
    for task in TASKS:
        assert run.task(task)["coverage"] == 1.0
        assert run.task(task)["siming_stderr"]["statuses"]["ok"] == 1
    shown = [run.samples(task)[0]["siming_stderr"]["media"]["n_frames"] for task in TASKS]
    assert shown == [recipe.full_frames, recipe.full_frames, 5, 5]
    assert sorted(len(images) for images, _ in server.received) == sorted(shown)
    assert all(len(texts) == len(images) + 1 for images, texts in server.received)  # a time each, and the prompt
    for asked in server.options:
        if recipe.model == "gemini":
            assert asked["path"].endswith(f"/models/{recipe.model_args['model_version']}:generateContent")
            assert asked["generationConfig"]["maxOutputTokens"] == 4096
        else:
            assert asked["model"] == recipe.model_args["model_version"]
            assert 4096 in (asked.get("max_tokens"), asked.get("max_completion_tokens"))


def test_every_recipe_records_a_dry_run_or_the_reason_for_none() -> None:
    assert {name for name, recipe in recipes().items() if recipe.how == "run"} == set(NAMES)
    assert {*OFTEN} < {*NAMES}
    for recipe in recipes().values():
        assert bool(recipe.undone) == (recipe.how != "run"), recipe.name
