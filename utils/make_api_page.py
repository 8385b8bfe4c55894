"""Write docs/reference/api.md: the public names with their signatures, as their docstrings tell them.

python utils/make_api_page.py            # writes the page
python utils/make_api_page.py --check    # exit code 1 if it is not what the docstrings say
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import siming_tasks

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"

HEAD = """# Python interface

`import siming_tasks as st` offers these names and loads each when it is first used. Everything else is a room of the
house (see `CONTRIBUTING.md`) or private. In the examples `exams` is a dataset folder, `physician`
and `constant` are prediction files, `sheet` is a table of labels and `out` a new folder; a test runs them all.

This page is made by `utils/make_api_page.py` of the docstrings.
"""


def section(name: str) -> str:
    """One public name: heading, signature, docstring as it stands."""
    item = getattr(siming_tasks, name)
    if item.__name__ != name:
        return f"## {name}\n\nAnother name of `{item.__name__}`.\n"
    kind = "class " if inspect.isclass(item) else ""
    signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(item)))
    return f"## {name}\n\n```\n{kind}{name}{signature}\n\n{inspect.getdoc(item)}\n```\n"


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *map(section, siming_tasks.__all__)])


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
