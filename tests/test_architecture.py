"""The plan of the house: who may import whom, what stays unloaded, what is packaged."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "siming_tasks"

LAYERS = [
    {"common"},
    {"options", "rubrics", "metrics", "parsing"},
    {"tasks"},
    {"media"},
    {"data"},
    {"results"},
    {"analysis"},
    {"report", "models"},
    {"plugin"},
    {"tools"},
    {"cli", "__init__"},
]
"""Folders from the bottom to the top; one imports from its own level and below. The road of a request runs upwards."""
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
UPWARDS = {("data/resolve.py", "siming_tasks.tools.simulator")}
"""The declared exception: the demo that is made when no data are named."""
FRAMEWORK = {"models", "plugin"}


def imports(path: Path) -> list[tuple[str, bool]]:
    """Every imported module of a file, and whether the import runs when the file is imported."""
    tree = ast.parse(path.read_text())
    found = []

    def visit(node: ast.AST, at_import: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend((alias.name, at_import) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            packages = node.module in ("siming_tasks", "siming_tasks.tools")  # what is imported is a folder
            names = [f"{node.module}.{alias.name}" for alias in node.names] if packages else [node.module or ""]
            found.extend((name, at_import) for name in names)
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            visit(child, at_import and not inside)

    visit(tree, True)
    return found


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


MODULES = sorted(PACKAGE.rglob("*.py"))


def test_every_room_has_a_level() -> None:
    assert {room(path) for path in MODULES} <= set(LEVEL)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path: Path) -> None:
    for name, _ in imports(path):
        parts = name.split(".")
        if parts[0] == "siming_tasks" and parts[1:] not in ([], ["__version__"]):
            allowed = (str(path.relative_to(PACKAGE)), name) in UPWARDS
            assert allowed or LEVEL[parts[1]] <= LEVEL[room(path)], f"{room(path)} imports {name}"
        if parts[0] == "lmms_eval":
            assert room(path) in FRAMEWORK, f"{room(path)} imports {name}"


def test_rooms_of_one_level_do_not_form_a_circle() -> None:
    edges: dict[str, set[str]] = {}
    for path in MODULES:
        for name, _ in imports(path):
            parts = name.split(".")
            declared = (str(path.relative_to(PACKAGE)), name) in UPWARDS
            outside = parts[0] == "siming_tasks" and parts[1:] not in ([], ["__version__"], [room(path)])
            if outside and parts[1] != room(path) and not declared:
                edges.setdefault(room(path), set()).add(parts[1])

    def reach(start: str, seen: frozenset[str] = frozenset()) -> set[str]:
        return {
            target
            for step in edges.get(start, set()) - seen
            for target in {step} | reach(step, seen | {step})
        }  # fmt: skip

    assert [name for name in edges if name in reach(name)] == []


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.strip()


@pytest.mark.parametrize(
    "module",
    ["siming_tasks.results.run", "siming_tasks.data", "siming_tasks.cli", "siming_tasks.plugin.hooks"],
)
def test_importing_loads_no_heavy_library(module: str) -> None:
    heavy = "{'torch', 'lmms_eval', 'decord', 'transformers', 'datasets', 'cv2'}"
    assert run(f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))") == "[]"


def test_the_check_above_can_fail() -> None:
    assert run("import sys, torch; print(sorted({'torch', 'lmms_eval'} & set(sys.modules)))") == "['torch']"


def test_commands_that_only_print_load_neither_arrays_nor_models() -> None:
    slow = "{'numpy', 'pydantic', 'PIL', 'scipy'}"
    listed = (
        f"import sys; from siming_tasks.cli import main; main(['recipe']); print(sorted({slow} & set(sys.modules)))"
    )
    assert run(listed).splitlines()[-1] == "[]"
    assert run(f"import sys, siming_tasks.media.policy; print(sorted({slow} & set(sys.modules)))") != "[]"


@pytest.mark.parametrize("name", ["media", "parsing"])
def test_names_that_are_loaded_late_are_all_there_and_no_module_takes_the_place_of_one(name: str) -> None:
    modules = {path.stem for path in (PACKAGE / name).glob("*.py")}
    late = run(
        f"import siming_tasks.{name} as room; print(len(room.__all__) > 4, set(room.__all__) <= set(dir(room)));"
        f"[__import__(f'siming_tasks.{name}.{{one}}') for one in {sorted(modules - {'__init__'})}];"
        "print([one for one in room.__all__ if type(getattr(room, one)).__name__ == 'module']);"
        "print(hasattr(room, 'no_such_name'))"
    )
    assert late.splitlines() == ["True True", "[]", "False"]


def test_nothing_is_read_from_the_environment_outside_options() -> None:
    for path in MODULES:
        text = path.read_text()
        if room(path) != "options":
            assert "os.environ" not in text and "getenv" not in text, path
