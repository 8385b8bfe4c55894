"""Answers without JSON, as brackets that the collector can read: a table, a list of steps, titled lines, a bare value.

Each counts only where it is the whole answer: nothing else in the text answers, and every asked step is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.bracket_roles import introduces_aside
from siming_tasks.parsing.json_answers import Collector, Reading
from siming_tasks.parsing.keys import key_of
from siming_tasks.parsing.lenient_json import Group, Scalar, Value
from siming_tasks.parsing.lexicon import ERROR
from siming_tasks.parsing.parsed_reply import ABSTAINED
from siming_tasks.parsing.step_matching import StepNames, words
from siming_tasks.parsing.values import abstains, points, verdict
from siming_tasks.rubrics import RubricStep

__all__ = ["read_text_answers"]

MAX_PLAIN = 20_000
"""In a longer text no plain answer is looked for."""

_JSON = re.compile(r"[{｛]\s*[\"'“‘]|[{｛][^{}]{0,80}[\"'”’]?\s*[:：]")
_RULE = re.compile(r"\s*\|?\s*:?-{2,}[-:|\s]*")
_MARKDOWN = re.compile(r"\*\*|__|`|^\s*(?:[-*•·+>]\s+|#{1,6}\s+)")
_SPLIT = re.compile(r"[:：=→|]|\s[-–—]\s")
_TITLED = re.compile(r"(?P<title>[^:：=?？]{1,60}?)\s*(?:[:：=?？]+|\bis\b:?|为|是(?!否))\s*(?P<value>.{1,200})")
_BOXED = re.compile(r"\$*\\boxed\{(?:\\text\{)?([^{}]{1,80})\}*\$*\.?")
_LATIN = frozenset(word for word in ERROR if word.isascii())
"""Alone they may be the beginning of a failure's report."""
_FENCE = re.compile(r"(?:```|~~~)[\w+-]*")


def read_text_answers(text: str, names: StepNames, answer: Answer, abstain: bool = False) -> dict[str, Reading]:
    """Step id -> reading, of a text in which no JSON answers; {} if it holds no plain answer."""
    if len(text) > MAX_PLAIN or _JSON.search(text):
        return {}
    lines = [line for line in _FENCE.sub("", text).split("\n") if line.strip()]
    collector = Collector(names, answer, abstain)
    for form in (_table, _list):
        root = form(lines, names)
        if root is not None:
            readings = collector.read_bracket(root, stands_alone=False)
            if len(readings) == len(names.steps) and all(_answers(reading) for reading in readings.values()):
                return readings
    return _for_one_step(lines, names, answer, collector) if len(names.steps) == 1 else {}


def _answers(reading: Reading) -> bool:
    return isinstance(reading, float) or reading in ("off_scale", ABSTAINED)


def _group(bracket: str, entries: Iterable[tuple[str | None, Value]]) -> Group:
    return Group(bracket, 0, 0, closed=True, entries=list(entries))


def _clean(line: str) -> str:
    return _MARKDOWN.sub("", line).strip()


def _table(lines: Sequence[str], names: StepNames) -> Group | None:
    """Markdown tables: one object per row, its keys from the header."""
    if any(introduces_aside(line, names) for line in lines if "|" not in line):
        return None
    rows: list[tuple[str | None, Value]] = []
    header: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        if _RULE.fullmatch(line):
            continue
        if line.count("|") < 1:
            header = []
        elif _RULE.fullmatch(following) and following.count("|"):
            header = _cells(line)
        elif header:
            rows.append((None, _group("{", _row(header, _cells(line)))))
    return _group("[", rows) if rows else None


def _cells(line: str) -> list[str]:
    return [_clean(cell) for cell in line.strip().strip("|").split("|")]


def _row(header: Sequence[str], cells: Sequence[str]) -> Iterator[tuple[str | None, Value]]:
    """The cells under their headers; the first column names the step whatever it is called."""
    for place, (title, cell) in enumerate(zip(header, cells, strict=False)):
        yield ("step" if place == 0 else title, Scalar(cell, quoted=True))


def _list(lines: Sequence[str], names: StepNames) -> Group | None:
    """``- cpr_01: 3/5`` and the like: one entry per line; None if another line speaks of an asked step."""
    ids = {words(step.id) for step in names.steps}
    entries: list[tuple[str | None, Value]] = []
    for line in lines:
        entry = None if line.lstrip().startswith("|") else _entry(_clean(line), names)
        if entry is not None:
            entries.append(entry)
        elif introduces_aside(line, names) or _speaks_of(line, ids):
            return None
    return _group("{", entries) if entries else None


def _speaks_of(line: str, ids: set[tuple[str, ...]]) -> bool:
    spoken = words(line[:400])
    return any(spoken[at : at + len(name)] == name for name in ids for at in range(len(spoken) - len(name) + 1))


def _entry(line: str, names: StepNames) -> tuple[str, Value] | None:
    """A line that names a step and goes on with a value; the longest name counts."""
    marks = [mark.span() for _, mark in zip(range(8), _SPLIT.finditer(line), strict=False)]
    for start, end in reversed(marks):
        key = line[:start]
        if names.find(key) is not None:
            return key, Scalar(line[end:].strip(), quoted=True)
    return None


def _for_one_step(lines: Sequence[str], names: StepNames, answer: Answer, collector: Collector) -> dict[str, Reading]:
    """Titled lines (``**Score: 4/5**``), boxed values and lines that are a verdict, which must all agree."""
    step = names.steps[0]
    texts = [_clean(line) for line in lines]
    abstentions = [collector.abstain and abstains(re.split("[:：]", text, maxsplit=1)[-1]) for text in texts]
    judged = [line for line, abstention in zip(lines, abstentions, strict=True) if not abstention]
    if any(introduces_aside(line, names) for line in judged):
        return {}
    entries = [entry for text in texts if (entry := _titled(text, answer)) is not None]
    titled = [
        collector.read_bracket(_group("{", [entry]), stands_alone=False).get(step.id, "absent")
        for entry in entries
        if key_of(entry[0]).family.answers(answer)
    ]
    bare = ABSTAINED if collector.abstain and abstains("\n".join(texts)) else _bare(texts, step, answer)
    if not titled:
        return {step.id: bare} if bare is not None and _answers(bare) else {}
    reading = collector.read_bracket(_group("{", entries), stands_alone=False)[step.id]
    agreed = all(map(_answers, titled)) and _answers(reading) and (bare in (None, reading) or _titled(texts[0], answer))
    return {step.id: reading if agreed else "ambiguous"} if any(map(_answers, titled)) else {}


def _titled(text: str, answer: Answer) -> tuple[str, Value] | None:
    if boxed := _BOXED.fullmatch(text):
        return "answer", Scalar(boxed[1], quoted=True)
    match = _TITLED.fullmatch(text)
    key = key_of(match["title"]) if match else None
    if match is None or key is None:
        return None
    counts = key.family.answers(answer) or (answer == "score" and key.family.name in ("maximum", "scale"))
    return (match["title"], Scalar(match["value"], quoted=True)) if counts else None


def _bare(texts: Sequence[str], step: RubricStep, answer: Answer) -> Reading | None:
    """The whole text is a number; or it begins with a verdict and goes on with the reason for it."""
    text = "\n".join(texts)
    if answer == "score":
        return points(text, step.max_score, step.score_increment) if len(texts) == 1 and len(text) <= 60 else None
    if not texts or not isinstance(_verdict(texts[0]), float):
        return None
    others = {_verdict(line) for line in texts} - {"unreadable", "absent"}
    return _verdict(text) if len(others) == 1 else "ambiguous"


def _verdict(text: str) -> float | str:
    """A verdict without a title; the English word "error" alone may begin the report of a failure."""
    return 1.0 if text.strip("。.* ") in ERROR - _LATIN else verdict(text, longest=2000, nouns=False)
