"""Every expression of the room, and the reader as a whole, take time linear in the text, whatever the text is."""

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


@pytest.mark.parametrize(("size", "seconds"), SIZES)
@pytest.mark.parametrize("name", PATTERNS.values())
def test_an_expression_on_separators_alone_and_on_its_own_words(name: str, size: int, seconds: float) -> None:
    pattern = NAMED[name]
    words = re.findall(r"\w+", re.sub(r"\\\w", " ", pattern.pattern)) or ["a"]
    for text in (*SEPARATORS, *words[:9], "".join(words), " ".join(words)):
        with within_cpu_seconds(f"{name} on {size:,} characters of {text!r}", seconds):
            sum(1 for _ in pattern.finditer(text * (size // len(text) + 1)))


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
