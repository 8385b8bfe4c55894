"""Walls of the package: who imports whom, the size of modules, libraries that stay unloaded."""

import ast
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "siming_tasks"
MODULES = sorted(PACKAGE.rglob("*.py"))

LAYERS = (
    {"common"},
    {"benchmark/types"},
    {"benchmark/rubrics", "benchmark/metrics", "benchmark/parsing"},
    {"benchmark/exams"},
    {"benchmark/tasks", "benchmark/clusters"},
    {"benchmark/record"},
    {"benchmark/scoring", "benchmark"},
    {"options"},
    {"media"},
    {"data"},
    {"study", "study/words"},
    {"study/results"},
    {"study/analysis"},
    {"study/report", "models"},
    {"plugin"},
    {"tools"},
    {"cli", "__init__"},
)
"""Folders from the bottom to the top; a folder imports from its own level and below. A request travels upwards."""
NESTED = {"benchmark", "study"}
"""Rooms whose folders and modules have levels of their own."""
LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}
FRAMEWORK = {"models", "plugin"}
"""Folders that may import lmms_eval."""
WALL = {"siming_tasks", "numpy", "scipy", "pydantic", "sklearn"} | sys.stdlib_module_names
"""Packages that the benchmark imports; of this one it imports itself and `common`. scikit-learn has the forest of one
no-video baseline. YAML is read by `common`."""


def folder_of(parts: tuple[str, ...]) -> str:
    """Folder of a module, or a module beside the folders, by the parts of its path or dotted name in the package."""
    is_nested = parts[0] in NESTED and parts[1:2] not in ((), ("__init__.py",))
    return "/".join(parts[: 2 if is_nested else 1]).removesuffix(".py")


@dataclass(frozen=True)
class Import:
    """One import of a module: the dotted name and, by its first folder, the place that it comes from."""

    file: str
    folder: str
    name: str

    @property
    def target(self) -> str | None:
        """Folder of this package that is imported; None for other packages and for the version."""
        first, *parts = self.name.split(".")
        return folder_of((*parts,)) if first == "siming_tasks" and parts not in ([], ["__version__"]) else None


@cache
def read_imports(package: Path) -> tuple[Import, ...]:
    """Every import below a folder, those for type checking too."""
    found = []
    for path in sorted(package.rglob("*.py")):
        file = path.relative_to(package)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: relative import"
                # `from siming_tasks import data` imports a folder, not a name of one
                is_folder = node.module in ("siming_tasks", *(f"siming_tasks.{room}" for room in ("tools", *NESTED)))
                names = [f"{node.module}.{alias.name}" for alias in node.names] if is_folder else [node.module or ""]
            found += [Import(file.as_posix(), folder_of(file.parts), name) for name in names]
    return tuple(found)


def upward_imports(package: Path) -> list[str]:
    """Imports that point to a higher level, and imports of lmms_eval from folders that must not know it."""
    upward = []
    for line in read_imports(package):
        is_upward = line.target is not None and LEVEL[line.target] > LEVEL[line.folder]
        if is_upward or (line.name.split(".")[0] == "lmms_eval" and line.folder not in FRAMEWORK):
            upward.append(f"{line.file} imports {line.name}")
    return upward


def breaches_of_the_wall(package: Path) -> list[str]:
    """Imports of the benchmark from other rooms and of libraries that it does without, those for types and late too."""
    breaches = []
    for line in read_imports(package):
        room = (line.target or "").partition("/")[0]
        inside = room in ("benchmark", "common") if line.target else line.name.split(".")[0] in WALL
        if line.folder.partition("/")[0] == "benchmark" and not inside:
            breaches.append(f"{line.file} imports {line.name}")
    return breaches


def circle_of_modules(package: Path) -> list[str]:
    """Modules that import each other, for annotations too; a package stands for the modules that it hands on."""
    graph: dict[str, set[str]] = {}
    for line in read_imports(package):
        target = f"{line.name.removeprefix('siming_tasks.').replace('.', '/')}.py"
        if line.target and (package / target).is_file():
            graph.setdefault(line.file, set()).add(target)
    return _circle(graph)


def circle_of_folders(package: Path) -> list[str]:
    graph: dict[str, set[str]] = {}
    for line in read_imports(package):
        if line.target not in (None, line.folder):
            graph.setdefault(line.folder, set()).add(str(line.target))
    return _circle(graph)


def _circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_imports_point_downwards_in_no_circle_and_two_folders_alone_import_lmms_eval() -> None:
    assert {folder_of(path.relative_to(PACKAGE).parts) for path in MODULES} == set(LEVEL)
    assert len(read_imports(PACKAGE)) > 1000
    assert upward_imports(PACKAGE) == circle_of_folders(PACKAGE) == circle_of_modules(PACKAGE) == []
    users_of_tools = {line.folder for line in read_imports(PACKAGE) if line.target == "tools"} - {"tools"}
    assert breaches_of_the_wall(PACKAGE) == [] and users_of_tools == {"cli"}


def test_modules_and_functions_can_be_read_at_one_sitting() -> None:
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= 460, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 80, (path, node.name)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.strip()


def test_rooms_load_no_framework_and_commands_that_only_print_no_arrays() -> None:
    """All in one process, with what each one adds; the package itself loads no room."""
    modules = (
        *("study.results.run", "data", "cli", "plugin.hooks", "study.report.build"),
        *("tools.builder", "tools.station.app", "tools.board.build"),
    )
    heavy = "{'torch', 'lmms_eval', 'decord', 'transformers', 'datasets', 'cv2'}"
    slow = "{'numpy', 'pydantic', 'yaml', 'PIL', 'av', 'jinja2', 'tqdm', 'scipy', 'rich', 'starlette'}"
    start = "import sys, siming_tasks; print([name for name in sys.modules if name.startswith('siming_tasks.')])\n"
    start += "from siming_tasks.cli import main; main(['--help']); main(['score', '--help'])\n"
    start += "print('exit', main(['docs', 'models']))\n"
    start += f"print(sorted({slow} & set(sys.modules)))\n"
    lines = "".join(
        f"import siming_tasks.{module}; print('{module}', sorted({heavy} & set(sys.modules)))\n" for module in modules
    )
    said = run(start + lines + "print('numpy' in sys.modules)").splitlines()
    assert said[0] == "[]" and said[-len(modules) - 3 : -len(modules) - 1] == ["exit 0", "[]"]
    assert said[-len(modules) - 1 :] == [*(f"{module} []" for module in modules), "True"]  # the check can fail


def test_lazily_loaded_names_exist_and_no_module_takes_the_place_of_one() -> None:
    for name in ("media", "benchmark.parsing"):
        modules = sorted({path.stem for path in (PACKAGE / name.replace(".", "/")).glob("*.py")} - {"__init__"})
        late = run(
            f"import siming_tasks.{name} as room; assert set(room.__all__) <= set(dir(room));"
            f"[__import__(f'siming_tasks.{name}.{{module}}') for module in {modules}];"
            "print([name for name in room.__all__ if type(getattr(room, name)).__name__ == 'module'])"
        )
        assert late == "[]"


def test_environment_variables_are_read_by_the_options_alone() -> None:
    readers = [
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        if re.search(r"os\.environ|getenv", path.read_text(encoding="utf-8"))
    ]
    assert readers == ["options.py"]
