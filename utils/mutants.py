"""Mutation score of the rooms on which numbers depend: what tests do when one operator of the code is another.

    python utils/mutants.py OUT.jsonl [--draw 300] [--seed 1] [--only 100] [--room NAME]

A mutant changes one comparison, operator, number, truth value, condition, or returned value of a module of
:data:`ROOMS`; a seed draws them. The tests of its room run on a copy of the checkout, without the weekly ones, until
one fails, first those that execute the changed line. OUT gets a line for each mutant, and one that stands there is not
tried again. Survivors are printed with their lines. Exit code 1: fewer than 90 % died.

Some survivors change nothing: ``return BROKEN`` (it is None); ``<`` for ``<=`` where rounding is told from variation
(no number lies on 1e-9 or 1e-12); a shift in ``_moments`` (a correlation does not know it); an upper end of a rule of
three above 1 (it is cut to the range); another share where ``known`` is False (only known ones are counted); ``None not
in pair[:3]`` in ``comparable`` (the third is a request's id, never None); a limit of sizes that is one larger; a slice
that ends behind its text; what tells that a reply needs no look at its thinking (it is read alike with one);
``ensure_ascii`` (the JSON is equal); ``strict`` of a zip of equal lengths; ``allow_inf_nan`` behind a reader that makes
None of both.
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
from pathlib import Path
from types import FrameType
from typing import Any

import av  # noqa: F401 - what takes long to import is imported once, before the forks
import pydantic  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import sklearn.metrics  # noqa: F401
import statsmodels.api  # noqa: F401

ROOT = Path(__file__).parents[1]

ROOMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "metrics": (("benchmark/metrics/*.py",), ("tests/benchmark/metrics",)),
    "parsing": (("benchmark/parsing/*.py",), ("tests/benchmark/parsing",)),
    "results": (("study/results/*.py",), ("tests/study/results", "tests/data/test_sound_facts.py")),
    "sampling": (("media/sampler.py", "media/motion.py", "media/timeline.py"), ("tests/media",)),
    "labels": (
        ("data/withholding.py", "data/splits.py", "tools/board/disclosure.py"),
        (
            "tests/data",
            "tests/study/results/test_splits.py",
            "tests/study/report/test_submission.py",
            "tests/tools/exchange/test_push.py",
        ),
    ),
    "keys": (("plugin/response_cache/key.py",), ("tests/plugin/response_cache",)),
}
"""Modules below ``siming_tasks/`` and tests by room."""

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
FIRST = 400  # tests that execute a line, before all of the room
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
            for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                for_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
                if isinstance(child, ast.AST) and not for_types:
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


class Recorder:
    """Plugin of pytest: seconds, name and executed ``[module, line]`` of each test, its fixtures included."""

    def __init__(self, room: str, where: Path) -> None:
        self.modules = {str(path) for each in ROOMS[room][0] for path in where.glob(f"siming_tasks/{each}")}
        self.skip = len(str(where)) + 1
        self.tests: list[tuple[float, str, list[tuple[str, int]]]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Run a test under a trace of the room's modules."""
        lines: set[tuple[str, int]] = set()

        def trace(frame: FrameType, event: str, argument: object) -> Any:
            if frame.f_code.co_filename in self.modules:
                lines.add((frame.f_code.co_filename[self.skip :], frame.f_lineno))
                return trace
            return None

        began = time.monotonic()
        sys.settrace(trace)
        result = yield
        sys.settrace(None)
        self.tests.append((time.monotonic() - began, item.nodeid, sorted(lines)))
        return result


def run_tests(room: str, where: Path, tests: list[str], recorder: Recorder | None) -> None:
    """Body of a forked process: the libraries are imported, the package is not. Bytecode is that of no mutant."""
    os.chdir(where)
    sys.path.insert(0, str(where))
    sys.dont_write_bytecode = recorder is None
    os.environ.update(PYTHONPATH=str(where), PYTHONDONTWRITEBYTECODE="1")
    if recorder is None:
        resource.setrlimit(resource.RLIMIT_CPU, (SLOWEST, SLOWEST))
    with (where / "mutant.log").open("w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    chosen = "not weekly" if room == "keys" else "not weekly and not host"  # keys are tried through the host
    arguments = ["-x", "-q", "-p", "no:cacheprovider", "-m", chosen, *(tests or ROOMS[room][1])]
    code = pytest.main(arguments, plugins=[recorder] if recorder else [])
    if recorder:
        (where / f"{room}.json").write_text(json.dumps(sorted(recorder.tests)))
    os._exit(code)


def ends(room: str, where: Path, tests: list[str], recorder: Recorder | None = None) -> tuple[int | None, str]:
    """Exit code of tests of a room (none: all; negative: they do not end), and the line of the first that failed."""
    process = FORK.Process(target=run_tests, args=(room, where, tests, recorder))
    process.start()
    process.join()
    lines = (where / "mutant.log").read_text(errors="replace").splitlines()
    return process.exitcode, next((line[:200] for line in lines if line.startswith(("FAILED", "ERROR"))), "")


def try_mutant(name: str, room: str, source: str, where: Path) -> dict[str, object]:
    """Run tests on a mutant, first those that execute its line, then all of the room; whether it died, and of which.

    Only the whole room lets one live: what runs while a module is imported, in a process of its own or in what tests
    share is on no line of the test that would see it.
    """
    recorded, (module, line, *_) = json.loads((where / f"{room}.json").read_text()), name.split(":")
    above = [at for *_, lines in recorded for path, at in lines if path == module and at <= int(line)]
    near = [test for _, test, lines in recorded if [module, max(above, default=0)] in lines][:FIRST]
    place, began = where / module, time.monotonic()
    original, times = place.read_text(encoding="utf-8"), place.stat()
    place.write_text(source, encoding="utf-8")
    code, by = ends(room, where, near)
    if near and code in (0, 4, 5):  # none of them failed, or pytest does not find one by its name
        code, by = ends(room, where, [])
    place.write_text(original, encoding="utf-8")
    os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))  # its bytecode holds again
    return {"mutant": name, "room": room, "died": code != 0, "by": by, "seconds": round(time.monotonic() - began, 1)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for flag, default in (("--draw", 300), ("--seed", 1), ("--only", 10**9)):
        parser.add_argument(flag, type=int, default=default)
    parser.add_argument("--room", choices=ROOMS, action="append")
    args = parser.parse_args()

    everything = [
        (name, room, source)
        for room, (patterns, _) in ROOMS.items()
        for path in (path for pattern in patterns for path in sorted((ROOT / "siming_tasks").glob(pattern)))
        for name, source in (mutants_of(path) if path.name != "__init__.py" else ())
    ]
    drawn = random.Random(args.seed).sample(everything, min(args.draw, len(everything)))  # noqa: S311
    drawn = [one for one in drawn[: args.only] if one[1] in (args.room or ROOMS)]
    tried = args.out.read_text().splitlines() if args.out.exists() else []
    known = {one["mutant"]: one for one in map(json.loads, tried)}
    with tempfile.TemporaryDirectory() as folder, args.out.open("a") as out:
        where = Path(shutil.copytree(ROOT, Path(folder, "copy"), ignore=UNREAD))
        for name, room, source in (one for one in drawn if one[0] not in known):
            if not (where / f"{room}.json").exists() and (ended := ends(room, where, [], Recorder(room, where)))[0]:
                sys.exit(f"The tests of {room} fail without a mutant: {ended}.")
            known[name] = try_mutant(name, room, source, where)
            print(json.dumps(known[name]), file=out, flush=True)
    ended = [known[name] for name, _, _ in drawn]
    alive = [one for one in ended if not one["died"]]
    print(*(f"{one['room']}: {one['mutant']}" for one in alive), sep="\n")
    print(f"{len(ended) - len(alive)} of {len(ended)} mutants died, of {len(everything)} that there are")
    sys.exit(len(alive) > 0.1 * len(ended))
