"""Mutation score of the rooms on which numbers depend: what tests do when one operator of the code is another.

    python utils/mutants.py OUT.jsonl [--draw 300] [--seed 1] [--only 100] [--processes 2] [--room NAME]

A mutant changes one comparison, operator, number, truth value, condition, or returned value of a module of
:data:`ROOMS`; a seed draws them. The tests of its room run on a copy of the checkout, without the weekly ones, until
one fails. OUT gets a line for each, and one that stands there is not tried again. Survivors are printed with their
lines. Exit code 1: fewer than 90 % died.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import multiprocessing
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import pytest
import scipy.stats  # noqa: F401 - what takes seconds to import is imported once, before the forks
import sklearn.metrics  # noqa: F401
import statsmodels.api  # noqa: F401

ROOT = Path(__file__).parents[1]

ROOMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "metrics": (("metrics/*.py",), ("metrics", "frozen")),
    "parsing": (("parsing/*.py",), ("parsing",)),
    "results": (("results/*.py",), ("results",)),
    "sampling": (("media/sampler.py", "media/motion.py", "media/timeline.py"), ("media",)),
    "labels": (
        ("data/withholding.py", "data/splits.py", "tools/board/disclosure.py"),
        ("data", "results/test_splits.py", "report/test_submission.py"),
    ),
    "keys": (("plugin/response_cache/key.py",), ("plugin/response_cache",)),
}
"""Modules below ``siming_tasks/`` and tests below ``tests/`` by room."""

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
FORK = multiprocessing.get_context("fork")
UNREAD = shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "build", "*.egg-info")
SLOWEST = 300  # seconds of a processor, after which tests do not end and a mutant counts as dead


def mutated(node: ast.AST) -> Iterator[ast.AST]:
    """Every mutant of one node, without those of what it holds."""
    if isinstance(node, ast.Compare):
        for number, operator in enumerate(node.ops):
            new = copy.deepcopy(node)
            new.ops[number] = COMPARISONS[type(operator)]()
            yield new
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        yield node.values[0]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        new = copy.copy(node)
        new.test = ast.UnaryOp(ast.Not(), node.test)
        yield new
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield ast.comprehension(node.target, node.iter, node.ifs[1:], node.is_async)
    elif isinstance(node, ast.Return) and node.value and not isinstance(node.value, ast.Constant):
        yield ast.Return(ast.Constant(None))


def mutants_of(path: Path) -> Iterator[tuple[str, str]]:
    """Name and source of each mutant of a module; annotations and what only a type checker reads are left alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))

    def walk(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list") or isinstance(node, ast.JoinedStr | ast.Raise):
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                continue
            for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(child, ast.AST):
                    yield node, field, place
                    yield from walk(child)

    for parent, field, place in list(walk(tree)):
        holder, key = (vars(parent), field) if place is None else (getattr(parent, field), place)
        node = holder[key]
        for number, new in enumerate(mutated(node)):
            line = getattr(node, "lineno", None) or node.target.lineno
            holder[key] = new
            said = " ".join(ast.unparse(new).split())[:120] if not isinstance(new, ast.If | ast.While) else "if not"
            name = f"{path.relative_to(ROOT)}:{line}:{getattr(node, 'col_offset', 0)}:{number} {said}"
            yield name, ast.unparse(ast.fix_missing_locations(tree))
            holder[key] = node


def all_mutants() -> Iterator[tuple[str, str, str]]:
    """Name, room and source of every mutant that there is."""
    for room, (patterns, _) in ROOMS.items():
        for path in (path for pattern in patterns for path in sorted((ROOT / "siming_tasks").glob(pattern))):
            yield from ((name, room, source) for name, source in mutants_of(path) if path.name != "__init__.py")


def tests_of(room: str, module: str) -> list[str]:
    """Files of tests in the order in which they run: that of the module's name, those that name it, the others."""
    files = [path for name in ROOMS[room][1] for path in sorted((ROOT / "tests").glob(name))]
    files = [test for path in files for test in ([path] if path.is_file() else sorted(path.rglob("test_*.py")))]
    near = {path: (path.stem != f"test_{module}", f".{module} import" not in path.read_text("utf-8")) for path in files}
    return [str(path.relative_to(ROOT)) for path in sorted(files, key=near.__getitem__)]


def run_tests(arguments: list[str], where: Path, log: Path) -> None:
    """Body of a forked process: the libraries are imported, the package is not."""
    os.chdir(where)
    os.environ.update(PYTHONPATH=str(where), PYTHONDONTWRITEBYTECODE="1")
    sys.path.insert(0, str(where))
    resource.setrlimit(resource.RLIMIT_CPU, (SLOWEST, SLOWEST))
    with log.open("w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    os._exit(pytest.main(arguments))


def ends(room: str, module: str, where: Path, *flags: str) -> tuple[int | None, str]:
    """Exit code of the tests of a room (negative: they do not end), and the line of the first that failed."""
    chosen = "not weekly" if room == "keys" else "not weekly and not host"  # keys are tried through the host
    arguments = ["-x", "-q", "-p", "no:cacheprovider", "-m", chosen, *flags, *tests_of(room, module)]
    process = FORK.Process(target=run_tests, args=(arguments, where, log := where / "mutant.log"))
    process.start()
    process.join()
    lines = log.read_text(errors="replace").splitlines()
    return process.exitcode, next((line[:200] for line in lines if line.startswith(("FAILED", "ERROR"))), "")


def try_mutant(name: str, room: str, source: str, where: Path) -> dict[str, object]:
    """Run the tests of a room on a mutant; whether it died, of which test, after how many seconds."""
    place, began = where / name.partition(":")[0], time.monotonic()
    original = place.read_text(encoding="utf-8")
    place.write_text(source, encoding="utf-8")
    code, by = ends(room, place.stem, where)
    place.write_text(original, encoding="utf-8")
    return {"mutant": name, "room": room, "died": code != 0, "by": by, "seconds": round(time.monotonic() - began, 1)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for flag, default in (("--draw", 300), ("--seed", 1), ("--only", 10**9), ("--processes", 1)):
        parser.add_argument(flag, type=int, default=default)
    parser.add_argument("--room", choices=ROOMS, action="append")
    args = parser.parse_args()

    everything = list(all_mutants())
    drawn = random.Random(args.seed).sample(everything, min(args.draw, len(everything)))  # noqa: S311
    drawn = [one for one in drawn[: args.only] if one[1] in (args.room or ROOMS)]
    tried = args.out.read_text().splitlines() if args.out.exists() else []
    known = {one["mutant"]: one for one in map(json.loads, tried)}
    with tempfile.TemporaryDirectory() as folder, args.out.open("a") as out:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(args.processes):
            copies.put(place := Path(shutil.copytree(ROOT, Path(folder, str(number)), ignore=UNREAD)))
        for room in {room for _, room, _ in drawn}:
            if (ended := ends(room, "", place, "--collect-only"))[0] != 0:
                sys.exit(f"The tests of {room} cannot be collected without a mutant: {ended}.")

        def attempt(one: tuple[str, str, str]) -> None:
            """Try a mutant in a copy that is free."""
            where = copies.get()
            known[one[0]] = try_mutant(*one, where)
            copies.put(where)
            print(json.dumps(known[one[0]]), file=out, flush=True)

        with ThreadPoolExecutor(args.processes) as pool:
            list(pool.map(attempt, [one for one in drawn if one[0] not in known]))
    ended = [known[name] for name, _, _ in drawn]
    alive = [one for one in ended if not one["died"]]
    print(*(f"{one['room']}: {one['mutant']}" for one in alive), sep="\n")
    print(f"{len(ended) - len(alive)} of {len(ended)} mutants died, of {len(everything)} that there are")
    sys.exit(len(alive) > 0.1 * len(ended))
