"""Answers in a reply without JSON: one step a line, table row or headed block; about one step, its closing value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from siming_tasks.benchmark.parsing.steps import POINTS, TITLES, VERDICT, Reading, StepNames, fold, read_value
from siming_tasks.benchmark.rubrics import RubricStep
from siming_tasks.benchmark.types import Answer

MAX_TEXT = 50_000  # characters at the end of a reply that are looked at
_MARKUP = re.compile(r"\*\*|__|`+|\\text\{|[${}\\]|<\|(?:begin|end)_of_box\|>|</answer>")
_ANSWER_TAG = re.compile(r"\\boxed\s*\{|<answer>")
_BULLET = re.compile(r"[\s>#*•+\-]*(?:\(?[0-9]{1,2}[.)]\s+)?")
_SAID = {"score": POINTS, "error": VERDICT}
_SEPARATOR = re.compile(r"\s*[:=]\s*|\s+(?:[-–—]+|→|->)\s*|\s*[–—]+\s*")
_MOST_SEPARATORS = 4
_NUMBER = r"(?:[0-9]{1,2}[.)] ?)?"
_BOLD = re.compile(rf"^[ \t]*{_NUMBER}\*\*{_NUMBER}(?!{VERDICT})([^\W\d][^*\n]*)\*\*:?[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"\s*#{1,6}\s|\s*(?:-{3,}|_{3,}|\*{3,})\s*\Z|[0-9]{1,2}[.)]\s(?!.*[.!;。；]\s*\Z)")
"""A heading, a rule, or a numbered title."""
_OF_ALL = re.compile(r"(?:overall|total|final|in (?:summary|conclusion)|summary|conclusion|综合|总|最终|结论)")
_OF_STEP = re.compile(
    r"(?:reason|explan|rationale|justif|observ|evidence|analysis|assess|comment|note|理由|依据|说明|观察|分析)"
)
"""Beginning of a heading of all steps, and of one within a step's block."""


def read_text(text: str, names: StepNames, answer: Answer, abstain: bool) -> dict[str, Reading]:
    """Step id -> reading; the last answer of a step counts."""
    text = _BOLD.sub(lambda title: f"# {title[2]}", fold(text[-MAX_TEXT:]))
    text = _MARKUP.sub("", _ANSWER_TAG.sub("\nanswer: ", text)).strip()
    text = re.sub(rf"[ \t:]{{0,9}}\n\s*(?={_SAID[answer]}[ \t.]*(?:\n|\Z))", ": ", text)  # a value on a line of its own
    readings: dict[str, Reading] = {}
    for step, written in _statements(names.one_a_line(text), names, answer):
        reading = read_value(written, step, answer, abstain)
        if reading not in ("absent", "unreadable"):
            readings[step.id] = reading
        elif reading == "unreadable":
            readings.setdefault(step.id, reading)
    said = {*readings.values()} - {"unreadable"}
    if len(names.steps) == 1 and not said and not any(map(names.is_other, text.splitlines())):
        step = names.steps[0]
        closing = _at_end(answer).search(text[-300:])
        for written in (text.partition("\n")[0], closing["said"] if closing else ""):
            if (reading := read_value(written, step, answer, abstain)) not in ("absent", "unreadable"):
                readings[step.id] = reading
    return readings


def _statements(text: str, names: StepNames, answer: Answer) -> Iterator[tuple[RubricStep, str]]:
    """Every line or row that is about a step, with what may be its value; most is none."""
    title, at_end, is_clip = re.compile(TITLES[answer]), _at_end(answer), len(names.steps) == 1
    step = names.steps[0] if is_clip else None  # the one that the block is about
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
        own_part = title.match(line) or _OF_STEP.match(line)
        of_many = _OF_ALL.match(line) or (heading and not own_part) or len({*names.named_in(line)}) > 1
        if names.is_other(line) or (of_many and not is_clip):
            step = None  # what follows is about several steps, or about none that was asked
        if (owner := names.find_in(line.rstrip(" :"))) is not None:
            step = owner
            continue
        for mark in list(_SEPARATOR.finditer(line))[:_MOST_SEPARATORS]:
            key, written = line[: mark.start()], line[mark.end() :]
            if (owner := names.find_in(key)) is not None:
                step = owner
                yield owner, written
            elif step is not None and title.fullmatch(key.strip("\"'* ")):
                yield step, written
        if step is not None and (said := at_end.search(line)):
            yield step, said["said"]


def _at_end(answer: Answer) -> re.Pattern[str]:
    """A value behind a title that ends a text, such as ``therefore the score is 4``."""
    opening = r"(?:^|[\n.!?:,;。，]\s*)(?:(?:therefore|thus|so|hence|因此),? ?)?"
    title = rf"{TITLES[answer]}(?:\s*[:=]\s*|\s+is:?\s+|[为是]\s*)"
    return re.compile(rf"{opening}{title}[\s\"'“]*(?P<said>{_SAID[answer]})[\s\"'”.。!)]*\Z")
