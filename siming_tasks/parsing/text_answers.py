"""Answers in a reply without JSON: one step a line, table row or headed block; about one step, its closing value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.steps import POINTS, VERDICT, Reading, StepNames, fold, read_value
from siming_tasks.rubrics import RubricStep

MAX_TEXT = 50_000  # characters of a reply that are looked at
_MARKUP = re.compile(r"\*\*|__|`+|\\text\{|[${}\\]|<\|(?:begin|end)_of_box\|>|</answer>")
_ANSWER_TAG = re.compile(r"\\boxed\s*\{|<answer>")
_BULLET = re.compile(r"[\s>#*•+\-]*(?:\(?[0-9]{1,2}[.)]\s+)?")
_BESIDE = r"(?:(?:final|my|the|overall|该步骤|本步骤|最终|综合)\s?)*"
_BEHIND = r"(?:结果)?(?: for (?:this|the) step)?(?: is)?"
_TITLES = {
    "score": rf"{_BESIDE}(?:score|points(?: awarded)?|rating|answer|得分|分数|评分|答案){_BEHIND}",
    "error": rf"{_BESIDE}(?:verdict|judge?ment|conclusion|answer|判断|判定|结论|答案){_BEHIND}",
}
_SAID = {"score": POINTS, "error": VERDICT}
_SEPARATOR = re.compile(r"\s*[:=]\s*|\s+(?:[-–—]+|→|->)\s*|\s*[–—]+\s*")
_MOST_SEPARATORS = 4
_HEADING = re.compile(r"\s*#{1,6}\s|\s*(?:-{3,}|_{3,}|\*{3,})\s*\Z")
_OF_ALL = re.compile(r"(?:overall|total|final|in (?:summary|conclusion)|summary|conclusion|综合|总|最终|结论)")


def read_text(text: str, names: StepNames, answer: Answer, abstain: bool = False) -> dict[str, Reading]:
    """Step id -> reading; the last answer of a step counts."""
    if len(text) > MAX_TEXT:
        return {}
    text = _MARKUP.sub("", _ANSWER_TAG.sub("\nanswer: ", fold(text))).strip()
    text = re.sub(rf"[ \t:]*\n\s*(?={_SAID[answer]}[ \t.]*(?:\n|\Z))", ": ", text)  # a value on a line of its own
    readings: dict[str, Reading] = {}
    for step, written in _statements(names.one_a_line(text), names, answer):
        if (reading := read_value(written, step, answer, abstain)) not in ("absent", "unreadable"):
            readings[step.id] = reading
    if len(names.steps) == 1 and not readings:
        step = names.steps[0]
        closing = _at_end(answer).search(text[-300:])
        for written in (text.partition("\n")[0], closing["said"] if closing else ""):
            if (reading := read_value(written, step, answer, abstain)) not in ("absent", "unreadable"):
                readings[step.id] = reading
    return readings


def _statements(text: str, names: StepNames, answer: Answer) -> Iterator[tuple[RubricStep, str]]:
    """Every line or row that is about a step, with what may be its value; most is none."""
    title, at_end = re.compile(_TITLES[answer]), _at_end(answer)
    step = names.steps[0] if len(names.steps) == 1 else None  # the one that the block is about
    column = None  # of a table, the one whose head says that it has the answers
    for line in text.splitlines():
        if "|" in line:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            owner = next((owner for cell in cells[:3] if (owner := names.find_in(cell)) is not None), None)
            heads = [place for place, cell in enumerate(cells) if title.fullmatch(cell)]
            if owner is None:
                column = heads[0] if len(heads) == 1 else column
            elif column is not None and column < len(cells):
                yield owner, cells[column]
            continue
        heading = _HEADING.match(line) is not None
        line = line[_BULLET.match(line).end() :]  # type: ignore[union-attr]
        if len(names.steps) > 1 and (_OF_ALL.match(line) or (heading and not title.match(line))):
            step = None  # what follows is about all steps, or about none that was asked
        step = names.find_in(line.rstrip(" :")) or step
        for mark in list(_SEPARATOR.finditer(line))[:_MOST_SEPARATORS]:
            key, written = line[: mark.start()], line[mark.end() :]
            if (owner := names.find_in(key)) is not None:
                step = owner
                yield owner, title.sub("", written, count=1) if title.match(written) else written
            elif step is not None and title.fullmatch(key.strip("\"'* ")):
                yield step, written
        if step is not None and (said := at_end.search(line)):
            yield step, said["said"]


def _at_end(answer: Answer) -> re.Pattern[str]:
    """A value behind a title that ends a text, such as ``therefore the score is 4``."""
    opening = r"(?:^|[\n.!?:,;。，]\s*)(?:(?:therefore|thus|so|hence|因此),? ?)?"
    title = rf"{_TITLES[answer]}(?:\s*[:=]\s*|\s+is:?\s+|[为是]\s*)"
    return re.compile(rf"{opening}{title}[\s\"'“]*(?P<said>{_SAID[answer]})[\s\"'”.。!)]*\Z")
