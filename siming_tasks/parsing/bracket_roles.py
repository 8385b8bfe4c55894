"""The role of a bracket by the words around it: the answer, a draft, a revision, or something else."""

from __future__ import annotations

import math
import re

from siming_tasks.parsing.lenient_json import Group
from siming_tasks.parsing.lexicon import fold_name
from siming_tasks.parsing.step_matching import StepNames
from siming_tasks.parsing.titles import title_role, without_speech
from siming_tasks.parsing.withdrawals import speaks_otherwise

LABELS = (
    (
        "aside",
        "an example or a form: never an answer",
        re.compile(
            r"\b(?:examples?|e\.g|for instance|templates?|placeholders?|samples?|hypothetical|illustrat\w*|schema)\b"
            r"|\b(?:opposite|inverse|each step is worth|points? (?:lost|deducted)|number of)\b"
            r"|\b(?:max|maximum|possible|available|full) (?:points?|scores?|marks?)\b"
            r"|\blooks? like\b|\bsuch as\W*$|\b(?<!in )the (?:output|answer|response|json|required) format is\b"
            r"|示例|样例|例如|比如|模板|参考.{0,6}格式"
        ),
    ),
    (
        "aside",
        "of somebody else",
        re.compile(
            r"\b(?:colleague|friend|classmate|peer|instructor|teacher|tutor|examiner|rater|assessor|physician"
            r"|doctor|dr)"
            r"(?:s|'s|s')?\b"
            r"|\b(?:worst|best|average|typical|another|other|previous|last|ideal|perfect)"
            r" (?:trainee|student|candidate|attempt|rater|examiner|judge|assistant|model|ai|llm|system|reviewer"
            r"|assessor"
            r"|annotator|expert|physician|doctor|agent|person)s?\b|同学|同事|别人|他人"
        ),
    ),
    (
        "aside",
        "not, if, instead of, or",
        re.compile(
            r"(?:\b(?:not|never|than|instead of|unlike|if|unless|from|versus|vs)|n't)\W+(?:\w+\W+){0,2}$"
            r"|(?:不是|而非|如果)\W*$"
        ),
    ),
    (
        "draft",
        "counts only until it is replaced: alone it is ambiguous",
        re.compile(
            r"\b(?:draft|initial|initially|preliminary|tentative|at first|first impression|could|might|may be|perhaps"
            r"|either|possibly|if|else|otherwise|whether|suppose|imagine|pretend|hypothetically)\b|\bwould be\W*$"
            r"|^\W*or\W*$"
            r"|初步|草稿|最初|起初|可能|如果|假如|假设|要是"
        ),
    ),
    (
        "revision",
        "replaces what was said before",
        re.compile(
            r"\b(?:final|finally|correct(?:ed|ion)|revised|revision|updated?|reconsider\w*|reflection|actually|amended"
            r"|adjusted|after review\w*|now all)\b|最终|修正|更正|改为|重新|修改后"
        ),
    ),
)
"""Roles of a bracket by the words before it (its line, or the line that introduces it); the first that fits counts."""

_SUPPOSED = re.compile(r"\b(?:suppose|imagine|pretend|let us assume|let's (?:say|assume))\b|假如|要是")
"""Words of a line that make all of it a supposition."""
_NAMED_TOP = re.compile(
    r"(?:\bout of|/|\bmax(?:imum)?\b(?: is| of)?:?|满分|\b0 ?(?:-|–|to)|(?P<one>\b1 ?(?:-|–|to))|至|到)"
    r" ?(?P<top>[0-9]{1,4}(?:\.5)?)(?![0-9.]| ?%)"
)
"""A maximum in the words around a bracket: it must be that of every step in it, or of the exam."""
_SCALE = re.compile(
    r"\b(?:scale|scored?|rated?|graded?|scores|points)\b[^.\n0-9]{0,24}\b(?:from|of|between|on)?\s?(?P<low>[0-9])\s?"
    r"(?:\([^()\n]{0,20}\)\s?)?(?:-|–|to|and)\s?(?P<high>[0-9]{1,3})\b(?= scale|[^0-9]{0,12}(?:$|[.,;:)(\n]))"
    r"|\b(?P<points>[0-9]{1,3})[- ]point(?:s)? scale|(?P<han>[0-9]{1,3}|十|百|五)\s?分制"
    r"|\bout of (?P<each>[0-9]{1,3})(?: points)? (?:each|per step|for each|for every)\b"
    r"|\beach (?:\w+ ){0,2}out of (?P<all>[0-9]{1,3})\b",
    re.IGNORECASE,
)
"""A scale that a sentence names for all points."""
_HAN_TOPS = {"五": 5.0, "十": 10.0, "百": 100.0}
_FAR = 2000
"""Characters around a bracket in which a scale is looked for."""
_COUNTED = re.compile(r"(?:steps?|items?|frames?|images?|clips?|videos?|numbers?|步骤?|第)(?:\W+from)?\W*$")
"""Words before "1 to 33" that count something else than points."""

_AFTERWARDS = re.compile(
    r"[\s`*.,，。]{0,4}(?:[(（](?![^()（）]{0,60}(?:total|overall|总))"
    r"\s*(?:max|possible|deduct|lost|example|format|满分|扣|示例)"
    r"|(?:where|with|each|the) [^.:]{0,40}\b(?:lost|deducted|deductions?|maximum)\b)|[\s`*.,，。]{0,4}"
    r"(?:(?:would|could|if)\b(?! you| i)|(?:might|unless|or|seems?|或|如果(?!您|你|需)|表示|代表)\b"
    r"|(?:this )?is (?:only |just |merely )?(?:the|an?|too) |(?:would|could)n't\b)"
)
"""Words right after a bracket that make it a draft."""

_MANY = 5
_ENDED = re.compile(r"[:：=!！.。*`]\s*\n\s*\Z|\A\s*\Z")
FENCE = re.compile(r"(?:```|~~~)[\w+-]*")
_INTRODUCES = re.compile(r".*[:：=]\W*$|\s*\#.*|\W*\*\*.*\*\*\W*$", re.DOTALL)
_OR = re.compile(r"\W*(?:(?:or|alternatively|either|otherwise)\b(?:\W+alternatively\b)?|或者?|或是)\W*", re.IGNORECASE)
"""A line that puts another answer beside the one above it."""
_REMARK = re.compile(r".*[.。!]\s*|\s+[-*•+]\s.*")
_WORD = re.compile(r"[a-z']+|[\u3400-\u9fff]")


def bracket_role(text: str, group: Group, previous: int, names: StepNames) -> tuple[str, str]:
    """The role of a bracket, and the words that give it, as written.

    ``answer``, ``revision`` (replaces what stands before), ``draft`` (counts only until replaced) or ``aside``.
    ``text`` is the answer that the bracket stands in, ``previous`` where the bracket before it ends.
    """
    label = _label(text, group, previous)
    role = _role_of(label, names)
    written = text[group.end : group.end + 80]
    if role == "answer" and _AFTERWARDS.match(fold_name(written)):
        return "draft", written.strip().partition("\n")[0]
    return role, label.strip()


def named_scales(text: str, group: Group, previous: int) -> list[tuple[str, float]]:
    """Words around a bracket that name a maximum, and the maximum; infinity for a scale from 1."""
    label = fold_name(_label(text, group, previous))[-100:]
    after = fold_name(text[group.end : group.end + 80]).lstrip("(（ \n`") if group.closed else ""
    scales = []
    for match in [*_NAMED_TOP.finditer(label), *filter(None, [_NAMED_TOP.match(after)])]:
        if not match["one"]:
            scales.append((match[0].strip(), float(match["top"])))
        elif not _COUNTED.search(label[: match.start()]):
            scales.append((match[0].strip(), math.inf))
    following = text.find("{", group.end, group.end + _FAR)
    behind = text[group.end : following if following >= 0 else group.end + _FAR]
    for part in (text[max(previous, group.start - _FAR) : group.start], behind):
        for match in _SCALE.finditer(part):
            low, top = (
                match["low"],
                next(filter(None, (match["high"], match["points"], match["han"], match["each"], match["all"]))),
            )
            scales.append((match[0], math.inf if low and low != "0" else _HAN_TOPS.get(top) or float(top)))
    return scales


def _label(text: str, group: Group, previous: int) -> str:
    """The line that a bracket stands on, up to it, or else the line above if that introduces it."""
    *above, label = FENCE.sub("", text[max(previous, group.start - 300) : group.start]).split("\n")
    if not label.strip():
        label = next((line for line in reversed(above) if line.strip()), "")
        label = label if _INTRODUCES.match(label) or _OR.fullmatch(label) else ""
    return label


def introduces_aside(line: str, names: StepNames) -> bool:
    """Test whether a line introduces something else than an answer: ``Maximum points:``, ``Deductions by step``."""
    introduces = _INTRODUCES.match(line) is not None
    if not introduces and len(_WORD.findall(line)) > 5:
        return False
    if not introduces and _REMARK.fullmatch(line):  # "The AED is not requested." and "- Not dried" name nothing
        folded = without_speech(fold_name(line))
        role = None if line[:1].isspace() else title_role(folded)
        if role is None and not any(words.search(folded) for _, _, words in LABELS[:2]):
            return False
    names_value = re.search(r"[:：=]\W*\w", line) is not None
    is_title = introduces and not names_value and names.exact(line) is None
    is_foreign = is_title and title_role(without_speech(fold_name(line))) == "draft"
    return is_foreign or _role_of(line, names) == "aside"


def stands_alone(text: str, group: Group, asked: int) -> bool:
    """Test whether a bare list of one value per asked step can be the answer.

    It is all of the text, but for fences and a title in front; or, where five steps or more are asked, it stands on
    lines of its own.
    """
    before = FENCE.sub("", text[max(0, group.start - 300) : group.start])
    after = FENCE.sub("", text[group.end : group.end + 300])
    if asked >= _MANY and _ENDED.search(before):
        before, after = "", after.partition("\n")[0]
    title = before.strip().endswith((":", "：", "=", "**")) and "\n" not in before.strip()
    return (not before.strip() or title) and not after.strip("`.。; \t\r\n")


def _role_of(label: str, names: StepNames) -> str:
    introduces = _INTRODUCES.match(label) is not None
    label = without_speech(fold_name(label[-300:]))
    if not label.strip():
        return "answer"
    sentence = re.split(r"[.!?。！？;；](?=\s|$)", label.rstrip(".!?。！？;； "))[-1] + " "
    title = None if names.exact(sentence) is not None else title_role(sentence)
    if title == "aside":
        return title
    unknown = title if introduces else None  # "Hm." is no heading
    labelled = next((name for name, _, words in LABELS if words.search(sentence)), None)
    supposed = _SUPPOSED.search(label) or (introduces and title is None and speaks_otherwise(sentence))
    return labelled or unknown or ("draft" if supposed else "answer")
