"""Replies in the style of a dozen model families, each with what a careful person reads in it.

Written by hand before the rules, and kept apart from them, in ``replies.txt``: *natural* ones, and *traps*, which have
something that misleads a naive reader. Each takes its own way through the reader, or has its own outcome.

A reply follows a line ``%% setting | kind:family | reading`` (``| u``: ``\\uXXXX`` stands for a character that an
editor hides). The reading names, per asked step, points, ``c``orrect, ``i``ncorrect or ``-`` for no answer; ``3?`` is
an answer that a person may read or not. Full settings ask for five steps, clips for one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from siming_tasks.benchmark.rubrics import RubricStep, default_rubric
from siming_tasks.benchmark.types import Answer

FILE = Path(__file__).with_name("replies.txt")
ASKED = {"full": ("cpr_01", "cpr_02", "cpr_03", "aed_01", "aed_02"), "clip": ("cpr_11",)}
_SAID = {"c": 0.0, "i": 1.0}


@dataclass(frozen=True)
class Reply:
    """One reply; ``answers`` is what a careful person reads, ``possible`` what one may read or not."""

    name: str
    kind: str  # "natural" or "trap"
    text: str
    steps: tuple[RubricStep, ...]
    answer: Answer
    answers: dict[str, float]
    possible: dict[str, float]


def replies(kind: str) -> Iterator[Reply]:
    """Every reply of a kind, in the order of the file."""
    by_id = {step.id: step for step in default_rubric().steps}
    _, *blocks = re.split(r"^%% ", FILE.read_text("utf-8"), flags=re.MULTILINE)
    for number, block in enumerate(blocks, start=1):
        head, text = block.split("\n", 1)
        setting, family, reading, *escaped = (part.strip() for part in head.split("|"))
        if family.partition(":")[0] != kind:
            continue
        scope, answer = setting.split("_")
        steps, text = tuple(by_id[name] for name in ASKED[scope]), text.removesuffix("\n")
        if escaped:
            text = re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), text)
        readings = dict(zip(ASKED[scope], reading.split(), strict=True))
        said = {name: _said(word.rstrip("?")) for name, word in readings.items() if word != "-"}
        possible = {name: value for name, value in said.items() if readings[name].endswith("?")}
        certain = {name: value for name, value in said.items() if name not in possible}
        yield Reply(f"{number}: {family}", kind, text, steps, cast(Answer, answer), certain, possible)


def _said(word: str) -> float:
    return _SAID[word] if word in _SAID else float(word)


def verdict_on(reply: Reply, answers: dict[str, float]) -> str:
    """``right``: the person's reading; ``wrong``: an answer that the person does not read; else ``missing``."""
    readable = reply.answers | reply.possible
    if any(readable.get(name) != value for name, value in answers.items()):
        return "wrong"
    return "right" if reply.answers.keys() <= answers.keys() else "missing"
