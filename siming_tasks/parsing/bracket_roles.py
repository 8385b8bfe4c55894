"""The role of a bracket by the words around it: the answer, a draft, a revision, or something else."""

from __future__ import annotations

import re

from siming_tasks.parsing.context import AFTERWARDS, LABELS, NAMED_TOP, SHORT_LABEL
from siming_tasks.parsing.lenient_json import Group
from siming_tasks.parsing.normalize import fold_name
from siming_tasks.parsing.step_matching import StepNames

__all__ = ["bracket_role", "introduces_aside", "stands_alone"]

_MANY = 5
_ENDED = re.compile(r"[:：=!！.。*`]\s*\n\s*\Z|\A\s*\Z")
_FENCE = re.compile(r"(?:```|~~~)[\w+-]*")
_INTRODUCES = re.compile(r".*[:：=]\W*$|\s*\#.*|\W*\*\*.*\*\*\W*$", re.DOTALL)
_WORD = re.compile(r"[a-z']+|[\u3400-\u9fff]")


def bracket_role(text: str, group: Group, previous: int, names: StepNames) -> str:
    """``answer``, ``revision`` (replaces what stands before), ``draft`` (counts only until replaced) or ``aside``.

    Args:
        text: the answer that the bracket stands in.
        group: the bracket.
        previous: where the bracket before it ends.
        names: what the asked steps are called.
    """
    label = _label(text[max(previous, group.start - 300) : group.start])
    after = fold_name(text[group.end : group.end + 80])
    by_label = _role_of(label, names)
    if by_label == "aside":
        return by_label
    tops = {step.max_score for step in names.steps}
    around = [*NAMED_TOP.finditer(fold_name(label[-100:])), *filter(None, [NAMED_TOP.match(after.lstrip("(（ \n`"))])]
    if any(float(named["top"]) not in tops | {sum(tops)} for named in around):
        return "draft"
    return "draft" if by_label == "answer" and AFTERWARDS.match(after) else by_label


def introduces_aside(line: str, names: StepNames) -> bool:
    """Test whether a line introduces something else than an answer: ``Maximum points:``, ``Deductions by step``."""
    introduces = _INTRODUCES.match(line) is not None or len(_WORD.findall(line)) <= 5
    return introduces and _role_of(line, names) == "aside"


def stands_alone(text: str, group: Group, asked: int) -> bool:
    """Test whether a bare list of one value per asked step can be the answer.

    It is all of the text, but for fences and a title in front; or, where five steps or more are asked, it stands on
    lines of its own.
    """
    before = _FENCE.sub("", text[max(0, group.start - 300) : group.start])
    after = _FENCE.sub("", text[group.end : group.end + 300])
    if asked >= _MANY and _ENDED.search(before):
        before, after = "", after.partition("\n")[0]
    title = before.strip().endswith((":", "：", "=", "**")) and "\n" not in before.strip()
    return (not before.strip() or title) and not after.strip("`.。; \t\r\n")


def _label(before: str) -> str:
    """The words that a bracket follows on its line, or else the line above if that introduces it."""
    lines = _FENCE.sub("", before).split("\n")
    if lines[-1].strip():
        return lines[-1]
    above = next((line for line in reversed(lines) if line.strip()), "")
    return above if _INTRODUCES.match(above) else ""


def _role_of(label: str, names: StepNames) -> str:
    label = fold_name(label[-300:])
    if not label:
        return "answer"
    sentence = re.split(r"[.!?。！？;；](?=\s|$)", label.rstrip(".!?。！？;； "))[-1] + " "
    if len(_WORD.findall(sentence)) <= 5 and SHORT_LABEL.search(sentence) and names.exact(sentence) is None:
        return "aside"
    return next((name for name, _, words in LABELS if words.search(sentence)), "answer")
