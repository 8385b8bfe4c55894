"""Layers of the package: the imports of each folder, libraries that stay unloaded, and the words of docstrings."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "siming_tasks"
MODULES = sorted(PACKAGE.rglob("*.py"))

LAYERS = (
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
)
"""Folders from the bottom to the top; a folder imports from its own level and below. A request travels upwards."""
LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}
UPWARDS = {("data/resolve.py", f"siming_tasks.tools.{maker}") for maker in ("simulator", "public_sets")}
"""The declared exceptions: the demo that is made when no data are named, and the public set that a name means."""
FRAMEWORK = {"models", "plugin"}
"""Folders that may import lmms_eval."""


@dataclass(frozen=True)
class Import:
    """One import of a module: the dotted name and, by its first folder, the place that it comes from."""

    file: str
    folder: str
    name: str

    @property
    def target(self) -> str | None:
        """Folder of this package that is imported; None for other packages and for the version."""
        parts = self.name.split(".")
        return parts[1] if parts[0] == "siming_tasks" and parts[1:] not in ([], ["__version__"]) else None

    @property
    def is_declared(self) -> bool:
        """True for the exception that is allowed to point upwards."""
        return (self.file, self.name) in UPWARDS


def read_imports(package: Path) -> Iterator[Import]:
    """Every import below a folder, those for type checking too."""
    for path in sorted(package.rglob("*.py")):
        file = path.relative_to(package)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: relative import"
                # `from siming_tasks import data` imports a folder, not a name of one
                is_folder = node.module in ("siming_tasks", "siming_tasks.tools")
                names = [f"{node.module}.{alias.name}" for alias in node.names] if is_folder else [node.module or ""]
            for name in names:
                yield Import(file.as_posix(), file.parts[0].removesuffix(".py"), name)


def upward_imports(package: Path) -> list[str]:
    """Imports that point to a higher level, and imports of lmms_eval from folders that must not know it."""
    upward = []
    for line in read_imports(package):
        is_upward = line.target is not None and LEVEL[line.target] > LEVEL[line.folder] and not line.is_declared
        if is_upward or (line.name.split(".")[0] == "lmms_eval" and line.folder not in FRAMEWORK):
            upward.append(f"{line.file} imports {line.name}")
    return upward


def circles(package: Path) -> list[str]:
    """Folders that import each other, directly or through others."""
    edges: dict[str, set[str]] = {}
    for line in read_imports(package):
        if line.target not in (None, line.folder) and not line.is_declared:
            edges.setdefault(line.folder, set()).add(str(line.target))

    def reachable(start: str, seen: frozenset[str] = frozenset()) -> set[str]:
        targets = edges.get(start, set()) - seen
        return targets | {other for target in targets for other in reachable(target, seen | targets)}

    return sorted(folder for folder in edges if folder in reachable(folder))


def module_circle(package: Path) -> list[str]:
    """Modules that import each other, for annotations too; a package stands for the modules that it hands on."""
    graph: dict[str, set[str]] = {}
    for line in read_imports(package):
        target = f"{line.name.removeprefix('siming_tasks.').replace('.', '/')}.py"
        if line.target and not line.is_declared and (package / target).is_file():
            graph.setdefault(line.file, set()).add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_folder_has_a_level() -> None:
    assert {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in MODULES} == set(LEVEL)


def test_imports_point_downwards_and_two_folders_alone_import_lmms_eval() -> None:
    assert upward_imports(PACKAGE) == []
    assert len(list(read_imports(PACKAGE))) > 1000


def test_folders_do_not_import_each_other_in_a_circle() -> None:
    assert circles(PACKAGE) == []


def test_modules_do_not_import_each_other_in_a_circle(tmp_path: Path) -> None:
    assert module_circle(PACKAGE) == []
    (tmp_path / "data").mkdir()
    for name, other in ("a", "b"), ("b", "c"), ("c", "a"):
        line = f"if TYPE_CHECKING:\n    from siming_tasks.data.{other} import x\n"
        (tmp_path / "data" / f"{name}.py").write_text(line)
    assert set(module_circle(tmp_path)) == {"data/a.py", "data/b.py", "data/c.py"}


@pytest.mark.parametrize(
    ("file", "line", "problem"),
    [
        ("metrics/labels.py", "from siming_tasks.report.build import write_report", "siming_tasks.report.build"),
        ("data/resolve.py", "from siming_tasks.tools import board", "siming_tasks.tools.board"),
        ("results/run.py", "import lmms_eval.tasks", "lmms_eval.tasks"),
        ("media/x.py", "if TYPE_CHECKING:\n    from siming_tasks.data import Dataset", "siming_tasks.data"),
        ("tasks/x.py", "def late():\n    from siming_tasks.media import view", "siming_tasks.media"),
    ],
)
def test_an_import_that_points_upwards_is_seen(tmp_path: Path, file: str, line: str, problem: str) -> None:
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_text(line + "\n")
    assert upward_imports(tmp_path) == [f"{file} imports {problem}"]


def test_a_circle_is_seen(tmp_path: Path) -> None:
    for folder, line in (("parsing", "siming_tasks.rubrics"), ("rubrics", "siming_tasks.metrics.x"),
                         ("metrics", "siming_tasks.parsing")):  # fmt: skip
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text(f"import {line}\n")
    assert circles(tmp_path) == ["metrics", "parsing", "rubrics"]


def run(code: str) -> str:
    """What a new Python process prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.strip()


def test_scoring_rating_building_and_reporting_load_no_framework() -> None:
    """All in one process, with what each one adds."""
    modules = (
        *("results.run", "data", "cli", "plugin.hooks", "report.build"),
        *("tools.builder", "tools.station.app", "tools.board.build"),
    )
    heavy = "{'torch', 'lmms_eval', 'decord', 'transformers', 'datasets', 'cv2'}"
    lines = "".join(
        f"import siming_tasks.{module}; print('{module}', sorted({heavy} & set(sys.modules)))\n" for module in modules
    )
    assert run(f"import sys\n{lines}").splitlines() == [f"{module} []" for module in modules]


def test_the_check_for_loaded_libraries_can_fail() -> None:
    assert run("import sys, torch; print(sorted({'torch', 'lmms_eval'} & set(sys.modules)))") == "['torch']"


def test_commands_that_only_print_load_neither_arrays_nor_models() -> None:
    slow = "{'numpy', 'pydantic', 'PIL', 'scipy'}"
    listed = (
        "import sys; from siming_tasks.cli import main; "
        f"print('exit', main(['docs', 'recipes'])); print(sorted({slow} & set(sys.modules)))"
    )
    assert run(listed).splitlines()[-2:] == ["exit 0", "[]"]
    assert run(f"import sys, siming_tasks.media.policy; print(sorted({slow} & set(sys.modules)))") != "[]"


@pytest.mark.parametrize("name", ["media", "parsing"])
def test_lazily_loaded_names_exist_and_no_module_takes_the_place_of_one(name: str) -> None:
    modules = {path.stem for path in (PACKAGE / name).glob("*.py")}
    late = run(
        f"import siming_tasks.{name} as folder;"
        "print(len(folder.__all__) > 4, set(folder.__all__) <= set(dir(folder)));"
        f"[__import__(f'siming_tasks.{name}.{{module}}') for module in {sorted(modules - {'__init__'})}];"
        "print([name for name in folder.__all__ if type(getattr(folder, name)).__name__ == 'module']);"
        "print(hasattr(folder, 'no_such_name'))"
    )
    assert late.splitlines() == ["True True", "[]", "False"]


def test_environment_variables_are_read_by_the_options_alone() -> None:
    readers = [
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        if re.search(r"os\.environ|getenv", path.read_text(encoding="utf-8"))
    ]
    assert readers == ["options.py"]


def docstrings(path: Path) -> Iterator[tuple[str, str]]:
    """Name and docstring of a module and of everything in it that has one."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and (text := ast.get_docstring(node)):
            yield getattr(node, "name", "module"), text


QUESTION = re.compile(r"(What|Whether|How|Where|Why|Which|When|Who|Nothing|Of)\b")


def test_docstrings_begin_with_what_the_thing_is_or_does() -> None:
    questions = [
        f"{path.relative_to(ROOT)}: {name}: {text.splitlines()[0]}"
        for path in (*MODULES, *sorted((ROOT / "utils").glob("*.py")))
        for name, text in docstrings(path)
        if QUESTION.match(text)
    ]
    assert questions == []
    assert QUESTION.match("Whether a file is an SQLite file.")
