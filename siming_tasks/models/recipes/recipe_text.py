"""The recipes as text: one on a terminal, all as the page ``docs/howto/recipes.md``."""

from __future__ import annotations

from collections.abc import Iterator

from siming_tasks.models.recipes.run_recipes import Recipe, recipes
from siming_tasks.models.recipes.services import services

__all__ = ["as_page", "as_text"]

INTRO = """# Recipes

How to run the paper's twelve models and some successors. `siming run recipe` lists them, `siming run recipe NAME`
prints one; both and this page are made of `siming_tasks/models/recipes/recipes.yaml` (`python
utils/make_recipe_page.py`). A test parses
every command against the installed lmms-eval: its backend exists and its class takes the arguments. Another runs it.

What the paper does not say of any model: the size of the images, how many frames a clip was given, the snapshot of a
service, the length of replies, the effort of reasoning. Ours are 896 pixels (`SIMING_FRAME_SIZE`), 16 frames
(`SIMING_CLIP_FRAMES`) and 4,096 tokens.

The command: *run* to its end as printed, all four tasks, at a server on loopback that stands for the service or for
vLLM (`tests/models/recipes/test_dry_run.py`: the model's name, number of frames, tokens and replies are what they
should be);
*read* in the code of its class; *not verified*. The facts (names, dates, memory, licence): *read* in pages and code, or
*not verified*. No recipe was run with the real weights or the real service.
"""

LIMITS = """## What services accept

Before its first request a run encodes a few of its requests, from different videos; if the service that the model
object asks would refuse one, the run ends with one sentence that says how many frames fit. `siming run plan --model
NAME` estimates the same without a model. Limits change: `SIMING_LIMITS=off` asks all the same.

| service | MB a request | images | as of | source |
|---|---|---|---|---|
"""


def as_text(recipe: Recipe) -> str:
    """One recipe for a terminal."""
    return "\n".join(
        [f"{recipe.title} ({recipe.name})", *(f"{key}: {value}" for key, value in _facts(recipe)), *_commands(recipe)]
    )


def as_page() -> str:
    """The whole page."""
    parts = [INTRO, "## The paper's models\n"]
    parts += [_section(recipe) for recipe in recipes().values() if recipe.paper]
    parts += ["## Successors\n", *(_section(recipe) for recipe in recipes().values() if not recipe.paper)]
    rows = [
        f"| {service.title} | {service.request_mb:g} | {service.images} | {service.checked} | {service.source}"
        f"{f'. {service.note}' if service.note else ''} |\n"
        for service in services().values()
    ]
    return "\n".join(parts) + "\n" + LIMITS + "".join(rows)


def _section(recipe: Recipe) -> str:
    facts = "\n".join(f"* {key}: {value}" for key, value in _facts(recipe))
    commands = "\n".join(_commands(recipe))
    return f"### {recipe.title}\n\n{facts}\n" + (f"\n```sh\n{commands}\n```\n" if commands else "")


def _facts(recipe: Recipe) -> Iterator[tuple[str, str]]:
    yield "model", recipe.where
    yield "as of", f"{recipe.checked}; command {recipe.how}, facts {recipe.facts}"
    if recipe.undone:
        yield "no dry run", recipe.undone
    if recipe.successor_of:
        yield "after", recipes()[recipe.successor_of].title
    yield "frames of a full video", f"{recipe.full_frames}{' (table 6 of the paper)' if recipe.paper else ''}"
    if recipe.context:
        yield "context", f"{recipe.context:,} tokens"
    if recipe.memory:
        yield "memory", recipe.memory
    yield "licence", recipe.licence
    if recipe.retired:
        tense = "CANNOT be run again: retired" if recipe.retired <= recipe.checked else "will be retired"
        yield "service", f"{tense} on {recipe.retired}"
    yield from (("note", note) for note in recipe.notes)


def _commands(recipe: Recipe) -> list[str]:
    return [line for line in (recipe.server, recipe.command()) if line]
