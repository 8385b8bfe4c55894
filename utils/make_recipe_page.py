"""Write docs/howto/recipes.md from the recipes.

python utils/make_recipe_page.py
"""

from __future__ import annotations

from pathlib import Path

from siming_tasks.models.recipes import as_page

if __name__ == "__main__":
    (Path(__file__).parents[1] / "docs" / "howto" / "recipes.md").write_text(as_page())
