"""What is declared in pyproject.toml is what is imported, and the constraints pin it."""

from __future__ import annotations

import ast
import sys
from functools import cache
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as canonical

tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no TOML reader")

ROOT = Path(__file__).parents[1]
OURS = {"siming_tasks", "tests"}

UNIMPORTED = {"decord": "lmms-eval's video readers import it and do not require it"}
"""Declared, though the package never imports them, and why."""
COMMANDS = {"black", "build", "isort", "setuptools", "pytest-timeout", "pytest-xdist", "twine"}
"""What the tests need without importing it: builder and checker of the files, formatters, pytest's plugins."""
FRAMEWORK = {"openai", "qwen-vl-utils", "tokenizers", "torch", "transformers"}
"""What tests and utils import and leave to lmms-eval to bring."""
OPTIONAL = {"torchcodec", "inspect-ai", "pandas", "vllm"}
"""What a test looks at where it happens to be installed."""


def imported(folder: str) -> set[str]:
    """Top-level names that a folder's modules import or, with ``importorskip``, would."""
    found = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module or "")
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.importorskip":
                name = node.args[0]
                either = (name.body, name.orelse) if isinstance(name, ast.IfExp) else (name,)
                found |= set(map(ast.literal_eval, either))
    beside = {path.stem for path in (ROOT / "utils").iterdir()} if folder == "utils" else set()
    return {name.partition(".")[0] for name in found} - set(sys.stdlib_module_names) - OURS - beside


def distributions(modules: set[str]) -> dict[str, set[str]]:
    """By module, the distributions that provide it here."""
    known = packages_distributions()
    return {name: {canonical(one) for one in known.get(name, [name])} for name in modules}


@cache
def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def declared(*extras: str) -> dict[str, Requirement]:
    table = project()["project"]
    files = [ROOT / name for name in project()["tool"]["setuptools"]["dynamic"]["dependencies"]["file"]]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    required = [line.partition("  #")[0] for line in lines if not line.startswith("#")]
    texts = [*required, *(text for extra in extras for text in table["optional-dependencies"][extra])]
    found = [Requirement(text) for text in texts]
    return {canonical(one.name): one for one in found if one.name != table["name"]}


def test_what_the_package_imports_is_what_it_declares() -> None:
    providers = distributions(imported("siming_tasks"))
    names = set(declared("inspect", "station"))
    assert {module for module, found in providers.items() if not found & names} == set()
    assert names - set().union(*providers.values()) == set(UNIMPORTED)


def test_what_the_tests_import_is_declared_for_them() -> None:
    own = {path.stem for path in [*(ROOT / "tests").rglob("*.py"), *(ROOT / "utils").iterdir()]}  # which tests share
    providers = distributions((imported("tests") | imported("utils")) - own)
    names = set(declared("test", "station"))
    assert {module for module, found in providers.items() if not found & (names | FRAMEWORK | OPTIONAL)} == set()
    assert names - set(declared("station")) - set().union(*providers.values()) == COMMANDS
    assert set().union(*providers.values()) >= FRAMEWORK | OPTIONAL


def test_the_framework_brings_what_is_left_to_it() -> None:
    lines = [Requirement(text) for name in ("lmms-eval", "transformers") for text in requires(name) or ()]
    brought = {canonical(one.name) for one in lines if one.marker is None or one.marker.evaluate({"extra": ""})}
    assert brought >= FRAMEWORK and brought.isdisjoint(UNIMPORTED)


def test_the_constraints_pin_every_declared_dependency() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    versions = {canonical(pin.name): str(pin.specifier).removeprefix("==") for pin in pins}
    assert len(versions) == len(pins)
    for name, wanted in declared("test", "dev", "station").items():
        if name != "setuptools":  # left to isolated builds
            assert wanted.specifier.contains(versions[name]), name
