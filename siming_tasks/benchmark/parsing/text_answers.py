"""Answers in a reply without JSON: one step per line, table row or headed block; about one step, its closing value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from siming_tasks.benchmark.parsing.json_values import GAP
from siming_tasks.benchmark.parsing.side_remarks import ASIDE
from siming_tasks.benchmark.parsing.steps import SAID, TITLES, Reading, StepNames, fold, read_value
from siming_tasks.benchmark.rubrics import RubricStep
from siming_tasks.benchmark.types import Answer

_MARKUP = re.compile(r"\*\*|__|`{1,3}|\\text\{|[${}\\]|<\|(?:begin|end)_of_box\|>|</\w{1,20}>")
_ANSWER_TAG = re.compile(r"\\boxed\s{0,9}\{|<(answer|score|verdict|[a-z]{2,9}_[0-9]{1,3})>")
_BULLET = re.compile(r"[\s>#*•+\-]{0,20}(?:\(?[0-9]{1,2}[.)]\s)?\s{0,9}")
_VALUE = {answer: re.compile(said) for answer, said in SAID.items()}
_TITLE = {answer: re.compile(title) for answer, title in TITLES.items()}
_AT_END = {
    answer: re.compile(
        r"(?:^|[.!?:;。–—]\s{0,3}|[,，]\s{0,3}(?!i\b|it\b|th(?:e|is) (?:step|trainee|student)\b))"
        r"(?:(?:therefore|thus|so|hence|and|yes|no|based on the [a-z]{3,9}(?: [a-z]{3,9})?|因此),? ?)?"
        rf"(?P<title>{title}(?:\s?[:=]\s?|\sis:?\s|[为為是]|(?<=[得给給打满分])|(?<=[a-z]) ))?[\s\"'“「]{{0,3}}"
        rf"(?P<said>{SAID[answer]})(?: here| for this step)?[\s\"'”」.。!)]{{0,9}}\Z"
    )
    for answer, title in TITLES.items()
}
"""A value that ends a line, behind a title (``therefore the score is 4``) or another mark."""
_SUPPOSED = re.compile(r"\bif\b|若|如果")
_UNSURE = re.compile(r"\b(?:would|should|deduct\w*|minus|most|not sure|probably|perhaps|maybe)\b|扣|可能")
"""Words of a line that keep a value at its end from being one; without a title, also these."""
_SEPARATOR = {
    answer: re.compile(
        r"[:=]|\s(?:[-–—]{1,3}|→|->)(?=\s)|[–—]"
        r"|(?P<weak>[\s,]\s{0,2}(?:\((?![0-9.]{1,5}\s?[a-z分]{0,6}\)))?(?:(?:is|was|gets) )?)"
        rf"(?=(?:{title}[:\s]{{1,3}})?{SAID[answer]})"
    )
    for answer, title in TITLES.items()
}
"""Text allowed between a step and its value, a weak mark only directly before it; "(2 points)" may be the maximum."""
_HEADING = re.compile(r"\s{0,9}(?:#{1,6}\s|(?:-{3,99}|_{3,99}|\*{3,99})\Z)")  # or a rule
_NUMBERED = re.compile(r"[0-9]{1,2}[.)]\s")  # a title, if no sentence ends there
_OF_ALL = re.compile(r"overall|total|final|(?:in )?(?:summary|conclusion)|综合|总|最终|结论")  # begins a line about all


def read_text(text: str, names: StepNames, answer: Answer, abstain: bool) -> dict[str, Reading]:
    """Step id -> reading; the last answer of a step counts."""
    lines, readings = _lines(text, answer), dict[str, Reading]()
    plain = [part for line in _without_tables(lines, names, answer) for part in names.apart(line)]
    if len(names.steps) == 1 and lines and not any(map(names.is_other, lines)):
        reading = read_value(lines[0], names.steps[0], answer, abstain)
        readings |= {} if reading in ("absent", "unreadable") else {names.steps[0].id: reading}
    for step, written in _statements(plain, names, answer):
        reading = read_value(written, step, answer, abstain)
        if reading not in ("absent", "unreadable"):
            readings[step.id] = reading
        elif reading == "unreadable":
            readings.setdefault(step.id, reading)
    return readings


def _lines(text: str, answer: Answer) -> list[str]:
    """The lines of a text, folded, without markup and blank ones; a value on its own line joins the one before."""
    lines: list[str] = []
    for line in fold(_ANSWER_TAG.sub(lambda tag: f"\n{tag[1] or 'answer'} ", text)).splitlines():
        line = _MARKUP.sub("", line).rstrip()
        if lines and _VALUE[answer].fullmatch(line.strip(" \t.")):
            lines[-1] = f"{lines[-1].rstrip(' :')}: {line.strip()}"
        elif line.strip():
            lines.append(line)
    return lines


def _without_tables(lines: Iterable[str], names: StepNames, answer: Answer) -> Iterator[str]:
    """The lines, with ``id: value`` for each row of a table that has one; its other rows are left out."""
    column = None  # the one whose head says that it has the answers
    for line in lines:
        if "|" not in line:
            yield line
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        owner = next((owner for cell in cells[:3] if (owner := names.find_in(cell)) is not None), None)
        heads = [place for place, cell in enumerate(cells) if _TITLE[answer].fullmatch(cell)]
        if owner is None:
            column = heads[0] if len(heads) == 1 else column
        elif column is not None and column < len(cells):
            yield f"{fold(owner.id)}: {cells[column]}"
        if len(names.steps) == 1 and len(cells) == 2 and (answer == "error" or "/" in cells[1]):  # "Points | 2/5"
            yield ": ".join(cells)


def _statements(lines: Iterable[str], names: StepNames, answer: Answer) -> Iterator[tuple[RubricStep, str]]:
    """Every line that is about a step, with what may be its value; most is none."""
    title, is_clip = _TITLE[answer], len(names.steps) == 1
    step = names.steps[0] if is_clip else None  # the one that the block is about
    aside, listed = False, True  # the last title is of something else; it is of answers, or there is none
    for line in lines:
        heading = _HEADING.match(line) or (_NUMBERED.match(line) and line[-1] not in ".!;。")
        line = line[_BULLET.match(line).end() :]  # type: ignore[union-attr]
        of_many = _OF_ALL.match(line) or (heading and not title.match(line)) or len({*names.named_in(line)}) > 1
        if GAP in line or names.is_other(line) or (of_many and not is_clip):
            step = None  # what follows is about several steps, or about none that was asked
        if (owner := names.find_in(line.rstrip(" :"))) is not None:
            step = owner
            continue
        if not names.named_in(line) and line[-1:] not in ".!;。":
            aside, listed = ASIDE.search(line) is not None, title.search(line) is not None
        if aside:
            continue
        begins = False  # with a step and no value of it
        for mark in _SEPARATOR[answer].finditer(line):
            key, written = line[: mark.start()].rstrip(), line[mark.end() :]
            if mark["weak"] and not listed:
                continue
            if (owner := names.find_in(key)) is not None:
                step, begins = owner, read_value(written, owner, answer) == "unreadable"
                yield owner, written
            elif step is not None and not mark["weak"] and title.fullmatch(key.strip("\"'* ")):
                yield step, written
        end = _AT_END[answer].search(line) if step is not None and not _SUPPOSED.search(line) else None
        whole = [said[0] for said in _VALUE[answer].finditer(line) if not said[0].isdecimal()]
        alone = end and whole == [end["said"]] and not _UNSURE.search(line)
        if step is not None and end and (end["title"] or (begins and alone)):
            yield step, end["said"]
