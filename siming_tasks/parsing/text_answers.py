"""Answers without JSON, as brackets that the collector can read: a table, a list of steps, titled lines, a bare value.

Each counts only where it is the whole answer: nothing else in the text answers, and every asked step is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.bracket_roles import FENCE, introduces_aside
from siming_tasks.parsing.grammar import key_of
from siming_tasks.parsing.json_answers import Collector, Reading
from siming_tasks.parsing.lenient_json import Group, Scalar, Value
from siming_tasks.parsing.lexicon import ERROR
from siming_tasks.parsing.parsed_reply import ABSTAINED
from siming_tasks.parsing.stated_answers import stated_answer, without_reason
from siming_tasks.parsing.step_matching import StepNames, words
from siming_tasks.parsing.values import abstains, points, verdict
from siming_tasks.rubrics import RubricStep

MAX_PLAIN = 20_000  # in a longer text no plain answer is looked for
_JSON = re.compile(r"[{｛]\s*[\"'“‘]|[{｛][^{}]{0,80}[\"'”’]?\s*[:：]")
_RULE = re.compile(r"\s*\|?\s*:?-{2,}[-:|\s]*")
_MARKDOWN = re.compile(r"\*\*|__|`|^\s*(?:[-*•·+>]\s+|#{1,6}\s+)")
_SPLIT = re.compile(r"[:：=→|]|\s[-–—]\s")
_TITLED = re.compile(r"(?P<title>[^:：=?？]{1,60}?)\s*(?:[:：=?？]+|\bis\b:?|为|是(?!否))\s*(?P<value>.{1,200})")
_TAGGED = re.compile(
    r"<(?P<tag>answer|final_answer|score|verdict|output|result)>\s*(?P<value>[^<>{}]{1,200}?)\s*</(?P=tag)>",
    re.IGNORECASE,
)
_BOXED = re.compile(r"\$*\\boxed\{(?:\\text\{)?([^{}]{1,80})\}*\$*")
_NUMBERED = re.compile(r"^(?:step\s*)?[0-9]{1,2}[.):]\s*", re.IGNORECASE)
_NUMBER = re.compile(r"\s*[0-9]{1,3}(?:\.[0-9])?(?:\s*/\s*[0-9]{1,3}(?:\.[0-9])?)?\s*")
_LATIN = frozenset(word for word in ERROR if word.isascii())  # alone they may be the beginning of a failure's report
_Entry = tuple[str | None, Value]


def read_text_answers(text: str, names: StepNames, answer: Answer, abstain: bool = False) -> dict[str, Reading]:
    """Step id -> reading, of a text in which no JSON answers; {} if it holds no plain answer."""
    if len(text) > MAX_PLAIN or _JSON.search(text):
        return {}
    text = _TAGGED.sub(r"\nanswer: \g<value>\n", FENCE.sub("", text))
    lines = [line for line in text.split("\n") if line.strip()]
    collector = Collector(names, answer, abstain)
    for form in (_table, _list, _blocks):
        root = form(lines, names)
        if root is not None:
            readings = collector.read_bracket(root)
            if len(readings) == len(names.steps) and all(map(_answers, readings.values())):
                return readings
    return _for_one_step(lines, names, answer, collector) if len(names.steps) == 1 else {}


def _answers(reading: Reading | None) -> bool:
    return isinstance(reading, float) or reading in ("off_scale", ABSTAINED)


def _group(bracket: str, entries: Iterable[_Entry]) -> Group:
    return Group(bracket, 0, 0, closed=True, entries=list(entries))


def _clean(line: str) -> str:
    return _MARKDOWN.sub("", line).strip()


def _table(lines: Sequence[str], names: StepNames) -> Group | None:
    """Markdown tables: one object per row, its keys from the header."""
    if any(introduces_aside(line, names) for line in lines if "|" not in line):
        return None
    rows: list[_Entry] = []
    header: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        if _RULE.fullmatch(line):
            continue
        cells = [_clean(cell) for cell in line.strip().strip("|").split("|")]
        if "|" not in line:
            header = []
        elif _RULE.fullmatch(following) and "|" in following:
            header = ["step", *cells[1:]]  # the first column names the step whatever it is called
        elif header:
            row = zip(header, (Scalar(cell, quoted=True) for cell in cells), strict=False)
            rows.append((None, _group("{", row)))
    return _group("[", rows) if rows else None


def _list(lines: Sequence[str], names: StepNames) -> Group | None:
    """``- cpr_01: 3/5`` and the like: one entry per line; None if another line speaks of an asked step."""
    ids = {words(step.id) for step in names.steps}
    entries: list[_Entry] = []
    for line in lines:
        text = "" if line.lstrip().startswith("|") else _clean(line)
        marks = [mark.span() for _, mark in zip(range(8), _SPLIT.finditer(text), strict=False)]
        # The line names a step and goes on with a value; the longest name counts.
        named = [span for span in marks if names.find(text[: span[0]]) is not None]
        split = named[-1] if named else None
        if len(named) > 1 and _NUMBER.fullmatch(
            text, named[-2][1], named[-1][0]
        ):  # "aed_02: 2 - fine" is no "aed_02: 2"
            split = named[-2]
        spoken = words(line[:400])
        if split is not None:
            entries.append((text[: split[0]], Scalar(text[split[1] :].strip(), quoted=True)))
        elif introduces_aside(line, names) or any(
            spoken[at : at + len(name)] == name for name in ids for at in range(len(spoken) - len(name) + 1)
        ):
            return None
    return _group("{", entries) if entries else None


def _blocks(lines: Sequence[str], names: StepNames) -> Group | None:
    """A heading for each step with the answer below it, in a titled line or alone in bold; None if a step has two."""
    entries: list[_Entry] = []
    step_id = None
    for line in lines:
        text = _clean(line)
        heading = names.exact(_NUMBERED.sub("", text.rstrip(":："))) if len(text) < 120 else None
        title = _TITLED.fullmatch(text)
        family = key_of(title["title"]).family if title else None
        value = text if line.strip().startswith("**") and line.strip().endswith("**") else None
        if title and family and (family.answers("score") or family.answers("error")):
            value = title["value"]
        if heading is not None:
            step_id = heading.id
        elif value is not None and step_id is not None:
            if any(key == step_id for key, _ in entries):
                return None
            entries.append((step_id, Scalar(without_reason(value), quoted=True)))
    return _group("{", entries) if entries else None


def _for_one_step(lines: Sequence[str], names: StepNames, answer: Answer, collector: Collector) -> dict[str, Reading]:
    """Titled lines (``**Score: 4/5**``), boxed values and lines that are a verdict, which must all agree."""
    step = names.steps[0]
    texts = [_clean(line) for line in lines]
    for line, text in zip(lines, texts, strict=True):
        abstention = collector.abstain and abstains(re.split("[:：]", text, maxsplit=1)[-1])
        if not abstention and introduces_aside(line, names):
            return {}
    entries = [entry for text in texts if (entry := _titled(text, answer)) is not None]
    if boxes := _BOXED.findall("\n".join(lines)):
        entries = [("answer", Scalar(box, quoted=True)) for box in boxes]
    titled = [
        collector.read_bracket(_group("{", [entry])).get(step.id, "absent")
        for entry in entries
        if key_of(entry[0]).family.answers(answer)
    ]
    bare = ABSTAINED if collector.abstain and abstains("\n".join(texts)) else _bare(texts, step, answer)
    bare = None if boxes else bare
    if not titled:
        bare = bare if _answers(bare) else stated_answer("\n".join(texts), step, answer)
        return {step.id: bare} if bare is not None and _answers(bare) else {}
    if not any(map(_answers, titled)):
        return {}
    reading = collector.read_bracket(_group("{", entries))[step.id]
    agreed = all(map(_answers, [*titled, reading])) and (bare in (None, reading) or _titled(texts[0], answer))
    return {step.id: reading if agreed else "ambiguous"}


def _titled(text: str, answer: Answer) -> _Entry | None:
    match = _TITLED.fullmatch(text)
    key = key_of(match["title"]) if match else None
    if match is None or key is None:
        return None
    counts = key.family.answers(answer) or (answer == "score" and key.family.name in ("maximum", "scale"))
    return (match["title"], Scalar(without_reason(match["value"]), quoted=True)) if counts else None


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
