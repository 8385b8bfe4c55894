"""Write docs/reference/api.md: every public name, its methods and what comes back, as the docstrings tell it.

python utils/make_api_page.py            # writes the page
python utils/make_api_page.py --check    # exit code 1 if it is not what the docstrings say
"""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

from made_pages import wrapped, write

import siming_tasks
from siming_tasks.benchmark.parsing import Parsed
from siming_tasks.benchmark.rubrics import Rubric
from siming_tasks.benchmark.tasks import TaskSpec
from siming_tasks.data import CheckReport
from siming_tasks.study.analysis.comparison import Comparison
from siming_tasks.study.results.run import Scores
from siming_tasks.tools.builder import Built

RETURNED = (Built, CheckReport, Comparison, Parsed, Rubric, Scores, TaskSpec)
"""Classes without a public name that public functions return."""
FIELDS = {
    "Options": "Its fields are the [options](commands.md#options).",
    "Estimate": "Its fields are those of [a row](records.md#a-row).",
    "Comparison": "Its fields are those of [its JSON](records.md#a-comparison).",
}
"""Where the fields of a class are explained, if not here."""

ALIKE = ("card", "from_json", "to_json", "keys")
"""Members that many classes have, explained once, or that only other code calls."""

MOST_NAMES = 8
"""Attributes beyond which a class is left to ``help``."""

HEAD = """# Python interface

Look here for a function or class of `siming_tasks`; all other names are private. `help(st.load)` explains parameters,
attributes, methods, shapes and errors, and has an example.

```python
import siming_tasks as st

run = st.load("runs/qwen")
print(st.score_run(run).rows("full_score").one("ranked", "all steps", "qwk"))
table = run.to_pandas()
```

Results also have `to_json()` (plain JSON types without NaN). Notebooks show data sets, runs and results as cards.

## Functions
"""


def signature(item: Any) -> str:
    """Names and defaults of the parameters, and the type of what comes back."""
    found = inspect.signature(item)
    words = [word.replace(annotation=inspect.Parameter.empty) for name, word in found.parameters.items()]
    words = [word for word in words if word.name not in ("self", "cls")]
    returned = str(found.return_annotation).strip("'")
    return f"{found.replace(parameters=words, return_annotation=inspect.Signature.empty)} -> {returned}"


def plain(text: str) -> str:
    """Text of a docstring on one line; what it refers to is code."""
    text = re.sub(r":\w+:`~?!?([^`]+)`", lambda name: f"`{name[1].split('.')[-1]}`", text)
    return " ".join(text.replace("``", "`").split())


def first_paragraph(found: Any) -> str:
    """First paragraph of a docstring, on one line."""
    return plain((inspect.getdoc(found) or "").partition("\n\n")[0])


def in_short(text: str) -> str:
    """First clause of a sentence, without what is in brackets."""
    return re.split(r"[;.](?: |$)", re.sub(r" \([^)]*\)", "", text))[0]


def entry(found: type) -> str:
    """A class: what it is, and the names of its fields, properties and methods."""
    facts = [field.name for field in fields(found) if field.name[0] != "_"] if is_dataclass(found) else []
    methods = []
    for name, member in vars(found).items():
        function = getattr(member, "__func__", member)
        if name.startswith("_") or name in ALIKE:
            continue
        if isinstance(member, property | cached_property):
            facts.append(name)
        elif inspect.isfunction(function):
            methods.append(name + signature(function).partition(" -> ")[0])
    facts = [] if found.__name__ in FIELDS or len(facts) > MOST_NAMES else facts
    names = {"Attributes": facts, "Methods": methods}
    listed = (f"{kind}: {', '.join(f'`{name}`' for name in of)}." for kind, of in names.items() if of)
    about = (f"* `{found.__name__}`: {in_short(first_paragraph(found))}.", FIELDS.get(found.__name__), *listed)
    return wrapped(" ".join(part for part in about if part))


def page() -> str:
    """The whole page."""
    items = {name: getattr(siming_tasks, name) for name in siming_tasks.__all__}
    classes = [found for found in items.values() if inspect.isclass(found)]
    functions = [
        wrapped(f"* `{name}{signature(found)}`: {in_short(first_paragraph(found))}")
        for name, found in items.items()
        if not inspect.isclass(found)
    ]
    returned = ["\nFunctions also return these:\n", *map(entry, RETURNED)]
    return "\n".join([HEAD, *functions, "\n## Classes\n", *map(entry, classes), *returned]) + "\n"


if __name__ == "__main__":
    write({"api.md": page()})
