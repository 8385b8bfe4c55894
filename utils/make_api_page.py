"""Write docs/reference/api.md: every public name, its methods and what comes back, as the docstrings tell it.

python utils/make_api_page.py            # writes the page
python utils/make_api_page.py --check    # exit code 1 if it is not what the docstrings say
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import siming_tasks
from siming_tasks.benchmark.parsing import Parsed
from siming_tasks.benchmark.rubrics import Rubric
from siming_tasks.benchmark.tasks import TaskSpec
from siming_tasks.data import CheckReport
from siming_tasks.study.analysis.comparison import Comparison
from siming_tasks.study.results.run import Scores
from siming_tasks.tools.builder import Built

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"
RETURNED = (Built, CheckReport, Comparison, Parsed, Rubric, Scores, TaskSpec)
"""Classes without a public name that public functions return."""
FIELDS = {
    "Options": "[options](commands.md#options)",
    "Estimate": "[those of a row](records.md#a-row)",
    "Comparison": "[those of its JSON](records.md#a-comparison)",
}
"""Where the fields of a class are explained, if not here."""

HEAD = """# Python interface

`import siming_tasks as st` offers these names and loads each when it is first used; everything else is private.
`help(st.load)` adds arguments, errors and an example, which a test runs. `utils/make_api_page.py` makes this page.

```python
import siming_tasks as st

run = st.load("runs/qwen")
print(st.score_run(run).rows("full_score").one("ranked", "all steps", "qwk"))
table = run.to_pandas()
```

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


def parts(item: Any) -> dict[str, str]:
    """Sections of a docstring by title; the first paragraph is ``""``."""
    first, _, rest = (inspect.getdoc(item) or "").partition("\n\n")
    sections = re.findall(r"^([A-Z]\w+):\n(.*?)(?=^\S|\Z)", rest, re.MULTILINE | re.DOTALL)
    return {"": first, **dict(sections)}


def function(name: str) -> str:
    """A function: how it is called, what it does and what it returns."""
    item = getattr(siming_tasks, name)
    told = parts(item)
    returns = f" Returns: {plain(told['Returns']).split('. ')[0].rstrip('.')}." if "Returns" in told else ""
    return f"**`{name}{signature(item)}`**\n\n{plain(told[''])}{returns}\n"


def members(item: type) -> Iterator[str]:
    """A line for each attribute, property and method of a class."""
    attributes = "" if item.__name__ in FIELDS else parts(item).get("Attributes", "")
    for names, text in re.findall(r"^    (\w[\w, ]*): (.*?)(?=^    \w|\Z)", attributes, re.MULTILINE | re.DOTALL):
        yield f"* `{names}`: {plain(text).split('. ')[0].rstrip('.')}."
    for name, member in vars(item).items():
        wrapped = member.fget if isinstance(member, property) else getattr(member, "func", member)
        wrapped = getattr(wrapped, "__func__", wrapped)
        if name.startswith("_") or not inspect.isfunction(wrapped):
            continue
        called = "" if isinstance(member, property | cached_property) else signature(wrapped)
        yield f"* `{name}{called}`: {plain(parts(wrapped)[''])}"


def section(item: type) -> str:
    """A class: what it is, and its members."""
    more = f" Its fields are {FIELDS[item.__name__]}." if item.__name__ in FIELDS else ""
    if is_dataclass(item) and not more and "Attributes" not in parts(item):
        more = f" Fields: {', '.join(f'`{field.name}`' for field in fields(item) if field.repr)}."
    return "\n".join([f"### {item.__name__}\n\n{plain(parts(item)[''])}{more}\n", *members(item), ""])


def page() -> str:
    """The whole page."""
    items = {name: getattr(siming_tasks, name) for name in siming_tasks.__all__}
    classes = [item for item in items.values() if inspect.isclass(item)]
    functions = [function(name) for name, item in items.items() if not inspect.isclass(item)]
    returned = ["## What else they return\n", *map(section, RETURNED)]
    return "\n".join([HEAD, *functions, "## Classes\n", *map(section, classes), *returned])


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
