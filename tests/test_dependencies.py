"""What is declared in pyproject.toml is what is imported, and the constraints pin it."""

import ast
import re
import sys
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as canonical

tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no TOML reader")

ROOT = Path(__file__).parents[1]

UNIMPORTED = {"decord": "lmms-eval's video readers import it and do not require it"}
"""Declared, though the package never imports them, and why."""


def imported(folder: str) -> set[str]:
    found = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module or "")
    return {name.partition(".")[0] for name in found} - set(sys.stdlib_module_names) - {"siming_tasks"}


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
    known = packages_distributions()
    providers = {name: {canonical(one) for one in known.get(name, [name])} for name in imported("siming_tasks")}
    names = set(declared("inspect", "station"))
    assert {module for module, found in providers.items() if not found & names} == set()
    assert names - set().union(*providers.values()) == set(UNIMPORTED)


def bounds_of(name: str, wanted: Requirement) -> set[tuple[str, str]]:
    return {(name, str(one)) for one in wanted.specifier if one.operator not in (">=", ">")}


def test_every_bound_has_its_row_and_every_row_its_bound() -> None:
    page = (ROOT / "docs" / "howto" / "release.md").read_text(encoding="utf-8").partition("\n## Bounds and shields")[2]
    rows = re.findall(r"^\| `([\w.-]+)` \| `?([^|`]+)`? \| ([^|]+) \| ([^|]+) \|$", page, flags=re.MULTILINE)
    assert len(rows) == page.count("\n| `")
    bounds = {(name, bound) for name, bound, *_ in rows if bound not in ("none", "shields")}
    extras = project()["project"]["optional-dependencies"]
    assert bounds == set().union(*(bounds_of(*one) for one in declared(*extras).items()))


BUILDS = ("torch", "torchvision", "triton", "nvidia-", "cuda-", "setuptools")
"""Packages of which people have builds for their machine: the constraints must not replace them."""


@pytest.mark.parametrize("python", re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text()))
def test_the_constraints_pin_every_declared_dependency_once_for_each_python(python: str) -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    here = {"python_version": python, "python_full_version": f"{python}.11"}
    valid = [pin for pin in pins if pin.marker is None or pin.marker.evaluate(here)]
    versions = {canonical(pin.name): str(pin.specifier).removeprefix("==") for pin in valid}
    assert len(versions) == len(valid) and not [name for name in versions if name.startswith(BUILDS)]
    for name, wanted in declared("test", "dev", "station").items():
        if not name.startswith(BUILDS):
            assert wanted.specifier.contains(versions[name]), name
