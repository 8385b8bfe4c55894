"""Try every import of lmms-eval's core and of this package, late ones included: ``python utils/check_imports.py``.

Prints MISSING for a name that the installed packages lack, PRIVATE for one of another package that begins with an
underscore, MOVED for a name of lmms-eval that ``siming_tasks/plugin/host.py`` touches and that is not there any more.
The exit code is 1 if there is any. An import passes whose error is caught, that is only for type checking, or whose
name is a row of the table of bounds and shields (docs/howto/release.md).
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import re
import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
CORE = (
    *("__main__.py", "evaluator*.py", "imports.py", "protocol.py", "utils.py", "api/*.py", "baselines/*.py"),
    *("caching/*.py", "cli/*.py", "filters/*.py", "llm_judge/*.py", "loggers/*.py"),
    *("models/__init__.py", "models/registry_v2.py", "models/model_utils/*.py", "tasks/__init__.py"),
)
"""Modules of lmms-eval that a run goes through, whatever its model and task."""
EXTRAS = {
    Requirement(text).name.lower().replace("-", "_")
    for package in ("lmms-eval", "siming-tasks")
    for text in requires(package) or ()
    if "extra ==" in text
}
"""Packages that an installation may lack: those of an extra, of lmms-eval or of ours."""
CATCHES = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


def unguarded(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports below a node, but for those whose error is caught and those for type checking."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
    caught = [ast.unparse(one.type) if one.type else "Exception" for one in getattr(node, "handlers", ())]
    is_caught = isinstance(node, ast.Try) and CATCHES & set(re.findall(r"\w+", " ".join(caught)))
    is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    skipped = node.body if is_caught or is_for_types else []
    for child in ast.iter_child_nodes(node):
        if child not in skipped:
            yield from unguarded(child)


def names_of(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[tuple[str, str]]:
    """Module and name ("" for the module itself) of everything that an import takes."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, "") for alias in node.names)
        return
    parents = package.split(".")[: len(package.split(".")) - node.level + 1]
    module = ".".join([*(parents if node.level else []), *([node.module] if node.module else [])])
    yield from ((module, "" if alias.name == "*" else alias.name) for alias in node.names)


def found(module: str, name: str) -> bool:
    """Test whether a name can be imported; a package that an installation may lack counts as there."""
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            if name and not hasattr(importlib.import_module(module), name):
                module = f"{module}.{name}"
            importlib.import_module(module)
    except ImportError as error:
        return str(error.name).partition(".")[0] in EXTRAS
    return True


def faults(folder: Path, patterns: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each import of a package that is PRIVATE or MISSING, with its file and line."""
    for path in sorted({path for pattern in patterns for path in folder.glob(pattern)}):
        package = ".".join(path.relative_to(folder.parent).parts[:-1])
        for node in unguarded(ast.parse(path.read_text(encoding="utf-8"))):
            for module, name in names_of(node, package):
                whole = f"{module}.{name}" if name else module
                foreign = module.partition(".")[0] not in (folder.name, "__future__")
                private = foreign and re.search(r"\._(?!_)", f".{whole}")
                if kind := "MISSING" if not found(module, name) else "PRIVATE" if private else "":
                    yield whole, f"{kind} {whole} ({path.relative_to(folder.parent)}, line {node.lineno})"


def moved() -> Iterator[tuple[str, str]]:
    """Each name of lmms-eval that we touch and that is gone; of classes whose packages are installed."""
    from siming_tasks.plugin import host

    for name, touch in host.TOUCH_POINTS.items():
        try:
            host.fetch(name)
        except (ImportError, AttributeError) as error:
            if isinstance(error, AttributeError) or str(error.name).startswith("lmms_eval"):
                yield name, f"MOVED {name} ({touch.why})"


def main() -> int:
    """Print every import that fails or may; the exit code."""
    importlib.import_module("lmms_eval.evaluator")
    table = Path(*sys.argv[1:] or [ROOT / "docs" / "howto" / "release.md"]).read_text(encoding="utf-8")
    table = table.partition("## Bounds and shields")[2]
    shielded = set(re.findall(r"^\| `([\w.]+)`", table, flags=re.MULTILINE))
    spec = importlib.util.find_spec("lmms_eval")
    host_folder = Path((spec and spec.origin) or "").parent
    every = [*faults(host_folder, CORE), *faults(ROOT / "siming_tasks", ("**/*.py",)), *moved()]
    left = [line for name, line in every if name not in shielded]
    print(*left, f"{len(every) - len(left)} others have a shield", sep="\n")
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
