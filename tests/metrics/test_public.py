from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from siming_tasks import metrics


def test_every_name_in_all_exists():
    assert list(metrics.__all__) == sorted(metrics.__all__)
    assert all(hasattr(metrics, name) for name in metrics.__all__)


@pytest.mark.parametrize("name", sorted(module.name for module in pkgutil.iter_modules(metrics.__path__)))
def test_examples_in_docstrings_run(name):
    module = importlib.import_module(f"siming_tasks.metrics.{name}")
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
    assert all(hasattr(module, public) for public in getattr(module, "__all__", ()))


def test_import_is_light():
    """Aggregators of lmms-eval import this; SciPy alone takes most of a second."""
    heavy = ("scipy", "pandas", "torch", "lmms_eval")
    code = f"import sys, siming_tasks.metrics; print([name for name in {heavy} if name in sys.modules])"
    run = [sys.executable, "-c"]
    assert subprocess.run([*run, code], capture_output=True, text=True, check=True).stdout == "[]\n"
    loaded = code.replace("siming_tasks.metrics", "scipy.special")
    assert subprocess.run([*run, loaded], capture_output=True, text=True, check=True).stdout == "['scipy']\n"


def test_example_of_the_documentation_prints_what_it_says(capsys):
    text = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    code = text.split("```python\n")[1].split("```")[0]
    exec(compile(code, "docs/reference/metrics.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert f'print(evaluation.metrics["qwk"])          # {printed[0]}' in code
    assert printed[1].startswith("('Fewer than 10 videos")
