"""``siming run recipe``: how to run a model."""

from __future__ import annotations

import click

from siming_tasks.cli.parameters import command
from siming_tasks.cli.terminal import show_markdown

__all__ = ["recipe"]


@command()
@click.argument("model", required=False, metavar="[MODEL]", help="one of them; without it, a list")
def recipe(model: str | None) -> None:
    """Print a recipe, or the table of all."""
    from siming_tasks.models.recipes import recipe as find_recipe
    from siming_tasks.models.recipes import recipes
    from siming_tasks.models.recipes.recipe_text import as_text

    if model:
        print(as_text(find_recipe(model)))
        return
    from siming_tasks.report.table import Table

    rows = []
    for name, model_recipe in recipes().items():
        gone = model_recipe.retired and model_recipe.retired <= model_recipe.checked
        state = f"retired {model_recipe.retired}" if gone else model_recipe.how if model_recipe.model else "no backend"
        rows.append([name, model_recipe.title, str(model_recipe.full_frames), model_recipe.model or "-", state])
    show_markdown(Table.of(["recipe", "model", "frames", "--model", "state"], rows, left=(0, 1, 3, 4)))
