"""Every expression of the room, and the reader as a whole, take time linear in the text, whatever the text is."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import siming_tasks.benchmark.parsing as room
from siming_tasks.benchmark.parsing import parse_reply
from siming_tasks.benchmark.parsing.steps import StepNames
from siming_tasks.benchmark.rubrics import default_rubric

try:
    from re import _constants as sre  # type: ignore[attr-defined]
    from re import _parser as sre_parser
except ImportError:  # Python 3.10
    import sre_constants as sre
    import sre_parse as sre_parser

STEPS = default_rubric().steps
MODULES = [importlib.import_module(f"{room.__name__}.{info.name}") for info in pkgutil.iter_modules(room.__path__)]
SEPARATORS = [
    *(" ", "\t", "\n", "\r\n", " \n", "* ", "*\n", ":", ":\n", "- ", "—", "|", ", ", ";", ". ", "。", "#", "_", "`"),
    *('"', '": "', "'", "“", "(", "[", "{", "{ ", "}", "\\", "/", "<", "0", "0 ", "1.\n", "a", "a ", "好"),
]  # fmt: skip
# at most 50,000 characters of a reply are read; a quadratic expression takes seconds at the first, hours at the second
SIZES = [(30_000, 1), pytest.param(1_000_000, 3, marks=pytest.mark.weekly)]
"""Characters, and seconds of a processor for them."""


def compiled_in(value: Any) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict | list | tuple | set | frozenset):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from compiled_in(inner)


NAMED = {
    f"{module.__name__.rpartition('.')[2]}.{name}.{number}": pattern
    for module in MODULES for name, value in vars(module).items() for number, pattern in enumerate(compiled_in(value))
} | {"steps.ids": StepNames(STEPS)._id}  # fmt: skip
PATTERNS = {pattern: name for name, pattern in NAMED.items()}  # each once, where modules share one


def test_no_expression_escapes_this_test() -> None:
    """All are constants of their modules, but the ids of a rubric, which are among ``NAMED``."""
    for module in MODULES:
        tree = ast.parse(inspect.getsource(module))
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            calls = [ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)]
            used = [call for call in calls if call.startswith("re.") and call != "re.escape"]
            assert not used or (used, function.name) == (["re.compile"], "_spellings"), (module, function.name)
    assert len(PATTERNS) > 40


def example(node: Any) -> str:
    """A short text that a part of an expression matches, look-arounds aside."""
    operation, value = node
    if operation in (sre.LITERAL,):
        return chr(value)
    if operation is sre.NOT_LITERAL:
        return "x" if value != ord("x") else "y"
    if operation is sre.ANY:
        return "x"
    if operation is sre.RANGE:
        return chr(value[0])
    if operation is sre.IN:
        return example(value[0]) if value[0][0] is not sre.NEGATE else _outside(value[1:])
    if operation is sre.CATEGORY:
        name = str(value)
        return {"DIGIT": "0", "SPACE": " ", "WORD": "a"}[name.rpartition("_")[2]] if "NOT" not in name else ":"
    if operation is sre.BRANCH:
        return text_of(value[1][0])
    if operation is sre.SUBPATTERN:
        return text_of(value[-1])
    if operation in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        return text_of(value[2]) * max(value[0], 1)
    return ""


def _outside(members: Any) -> str:
    """A character that a negated set leaves in."""
    spelt = {"SPACE": r"\s", "WORD": r"\w", "DIGIT": r"\d"}
    out = "".join(spelt[str(value).rpartition("_")[2]] if kind is sre.CATEGORY else re.escape(example((kind, value)))
                  for kind, value in members)  # fmt: skip
    return next((letter for letter in " a0:\n*好" if not re.fullmatch(f"[{out}]", letter)), "")


def text_of(nodes: Any) -> str:
    return "".join(map(example, nodes))


def alternatives(nodes: Any) -> Iterator[str]:
    """A text for the whole, each alternative of it, and each thing that it repeats."""
    yield text_of(nodes)
    for operation, value in nodes:
        if operation is sre.BRANCH:
            for branch in value[1]:
                yield from alternatives(branch)
        elif operation in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            yield from alternatives(value[2])
        elif operation is sre.SUBPATTERN:
            yield from alternatives(value[-1])
        elif operation in (sre.ASSERT, sre.ASSERT_NOT):
            yield from alternatives(value[1])


@contextmanager
def within_cpu_seconds(what: str, seconds: float = 1) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {seconds} CPU seconds: {what}")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def find_all(pattern: re.Pattern[str], text: str) -> None:
    for _ in pattern.finditer(text):
        pass


@pytest.mark.parametrize("name", PATTERNS.values())
def test_an_expression_on_its_own_alternatives(name: str) -> None:
    pattern = NAMED[name]
    texts = {text for text in alternatives(sre_parser.parse(pattern.pattern, pattern.flags)) if text}
    assert texts
    for text in sorted(texts):
        for tail in ("", "\x00"):
            with within_cpu_seconds(f"{name} on {text!r} * 1,000"):
                find_all(pattern, text * 1_000 + tail)


@pytest.mark.parametrize(("size", "seconds"), SIZES)
@pytest.mark.parametrize("name", PATTERNS.values())
def test_an_expression_on_nothing_but_separators(name: str, size: int, seconds: float) -> None:
    for text in SEPARATORS:
        with within_cpu_seconds(f"{name} on {size:,} characters of {text!r}", seconds):
            find_all(NAMED[name], text * (size // len(text)))


PIECES = [
    *("作为一个AI", "i'm sorry, ", "since ", '": "since, ', "user:\n", "assistant:\n", "<s>", "wait, cpr_01\n", "**"),
    *("correction: ", "cpr_01: 2, ", "cpr_01, ", "[cpr_01] ", "| cpr_01 | 2 |\n", "# cpr_01\n", "score is 4 "),
    *("should be 2 ", "<think>", "</think>", '{"cpr_01": 1}', '{"scores": {"cpr_01": 1}}', '{"arguments": "{'),
    *('{"a": "<think>"},', "{/*", '":"', "{}", "[{"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("head", "size"),
    [("x", 20_000), *(pytest.param(head, 1_000_000, marks=pytest.mark.weekly) for head in ("x", '{"a": ', '{"a": "'))],
)
def test_a_reply_of_one_piece_repeated(head: str, size: int) -> None:
    for text in (*SEPARATORS, *PIECES):
        for steps, answer in ((STEPS, "score"), (STEPS[:1], "error")):
            with within_cpu_seconds(f"{head!r} and {size:,} characters of {text!r}"):
                parse_reply(head + text * (size // len(text)), steps, answer)  # type: ignore[arg-type]
