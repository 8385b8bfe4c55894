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
from siming_tasks.parsing.lexicon import CORRECT, ERROR, INCORRECT, SYMBOLS, fold_name, fold_value
from siming_tasks.parsing.parsed_reply import ABSTAINED
from siming_tasks.parsing.stated_answers import stated_answer, without_reason
from siming_tasks.parsing.step_matching import StepNames, words
from siming_tasks.parsing.titles import QUANTITIES, title_role
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
_SCORED = re.compile(
    r"(?P<named>.{2,120}?)[\s:：–—-]*[(（\[]\s*(?P<value>[0-9]{1,3}\s*/\s*[0-9]{1,3})\s*[)）\]]"
    r"\s*(?:(?:[:：.。]|\s[–—-]\s).*)?"
)
_PAIR = re.compile(r"\W{0,2}(?P<named>[A-Za-z]{1,12}[_-]?[0-9]{1,3})\]?(?:\s*[,\t]\s*|\s+)(?P<value>\S[^:：=,]{0,40})")
_TOGETHER = re.compile(r"\s*[,，;；]\s*(?:and\s+)?(?=\[?[A-Za-z]{1,12}[_-]?[0-9]{1,3}\]?(?:\s*[:：=→]|\s+-\s))")
_XML = re.compile(r"<(?P<tag>[\w-]{2,40})>\s*(?P<value>[^<>{}\n]{1,80}?)\s*</(?P=tag)>")
_OPENED = re.compile(r"</[\w-]{2,40}>|<(?P<tag>[\w-]{2,40})>")
_ALL = re.compile(r"\b(?:total|overall|sum)\b|总", re.IGNORECASE)
_EXPLAINS = re.compile(
    r"\W*(?:reason(?:s|ing)?|explanations?|justifications?|rationale|analysis|observations?|comments?|feedback|理由|说明|解释)\W*",
    re.IGNORECASE,
)
"""The heading of the words behind an answer."""
_SAID_BEFORE = re.compile(r".*[.!。！]\s+(?=[^.!?。！？]{1,40}[:：][^.!?。！？:：]{1,20}$)")
_FEW = 3
"""Spaces of a text that may be a title."""
_COUNTS = re.compile(r"(?:the |in |all )*(?:numbers?|seconds?|frames?|times?|minutes?|counts?|weights?|indices)\b")
_LEGEND = re.compile(r"[(（]([^()（）]{3,60})[)）]$")
_WITH_UNIT = re.compile(r"\s*[0-9]{1,3}(?:\.[0-9])?\s*(?:points?|pts|分)\s*")
_LATIN = frozenset(word for word in ERROR if word.isascii())  # alone they may be the beginning of a failure's report
_KINDS: tuple[Answer, ...] = ("score", "error")
_Entry = tuple[str | None, Value]


def read_text_answers(text: str, names: StepNames, answer: Answer, abstain: bool = False) -> dict[str, Reading]:
    """Step id -> reading, of a text in which no JSON answers; {} if it holds no plain answer."""
    if len(text) > MAX_PLAIN or _JSON.search(text):
        return {}
    text = _TAGGED.sub(r"\nanswer: \g<value>\n", FENCE.sub("", text))
    text = _TOGETHER.sub("\n", _without_tags(text, names))
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


def _without_tags(text: str, names: StepNames) -> str:
    """``<cpr_01>2</cpr_01>`` as a line of a list, and the tag around such lines as their title."""
    if not any(names.exact(element["tag"]) for element in _XML.finditer(text)):
        return text
    text = _XML.sub(r"\n\g<tag>: \g<value>\n", text)
    return _OPENED.sub(lambda tag: f"\n{tag['tag'].replace('_', ' ')}:\n" if tag["tag"] else "\n", text)


def _between(marks: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return marks[-2][1], marks[-1][0]


def _heads_answers(line: str) -> bool:
    """Test whether a line above pairs of a step and a value is no header of columns, or one of answers."""
    cells = re.split(r"\s*[,\t]\s*|\s{2,}", line.strip())
    return len(cells) != 2 or any(key_of(cells[1]).family.answers(kind) for kind in _KINDS)


def _names_quantity(lines: Sequence[str], names: StepNames) -> bool:
    """Test whether a line without a step's id says what the numbers count: seconds, frames, weights."""
    ids = [re.compile(rf"\W*{re.escape(step.id)}\b", re.IGNORECASE) for step in names.steps]
    rest = [line for line in lines if not any(step.match(line) for step in ids)]
    return any(word.rstrip("s") in QUANTITIES | {"frame"} or word in QUANTITIES for word in _latin(rest))


def _latin(lines: Iterable[str]) -> list[str]:
    return [word for line in lines for word in re.findall(r"[a-z]+", fold_name(line))]


def _is_value(text: str) -> bool:
    """Test whether a text is nothing but a number or a verdict."""
    return _NUMBER.fullmatch(text) is not None or fold_value(text) in CORRECT | INCORRECT | SYMBOLS.keys()


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
    for above, line in zip(["", *lines], lines, strict=False):
        text = "" if line.lstrip().startswith("|") else _clean(line)
        marks = [mark.span() for _, mark in zip(range(8), _SPLIT.finditer(text), strict=False)]
        # The line names a step and goes on with a value; the longest name counts.
        named = [span for span in marks if names.find(text[: span[0]]) is not None]
        split = named[-1] if named else None
        if (
            len(named) > 1
            and (
                _NUMBER.fullmatch(text, named[-2][1], named[-1][0])  # "aed_02: 2 - fine" is no "aed_02: 2"
                or (_WITH_UNIT.fullmatch(text, *_between(named)) and not re.match(r"\s*[0-9]", text[named[-1][1] :]))
            )
        ):
            split = named[-2]
        spoken = words(line[:400])
        pair = _SCORED.fullmatch(text) or _PAIR.fullmatch(text)
        if pair and names.exact(pair["named"]) and (pair.re is _SCORED or _is_value(pair["value"])):
            if pair.re is _PAIR and not entries and not (_heads_answers(above) and not _names_quantity(lines, names)):
                return None
            entries.append((pair["named"], Scalar(pair["value"], quoted=True)))
        elif split is not None:
            entries.append((text[: split[0]], Scalar(text[split[1] :].strip(), quoted=True)))
        elif introduces_aside(line, names) or any(
            spoken[at : at + len(name)] == name for name in ids for at in range(len(spoken) - len(name) + 1)
        ):
            return None
    legend = _LEGEND.search(lines[-1].rstrip(" .。")) if entries else None
    if legend and (
        _COUNTS.match(fold_name(legend[1])) or title_role(fold_name(legend[1])) == "aside"
    ):  # "cpr_01: 1, cpr_02: 2 (numbers of frames)"
        return None
    if len(entries) > 1 and _is_cut([value.text for _, value in entries if isinstance(value, Scalar)]):
        del entries[-1]
    return _group("{", entries) if entries else None


def _is_cut(values: Sequence[str]) -> bool:
    """Test whether the last value is only the question of the others: ``错误：无``, ``错误：有``, ``错误``."""
    last = fold_value(values[-1])
    return last in ERROR and any(re.match(rf"{re.escape(last)}\s*[:?=]", fold_value(value)) for value in values[:-1])


def _blocks(lines: Sequence[str], names: StepNames) -> Group | None:
    """A heading for each step with the answer below it, in a titled line or alone in bold; None if a step has two."""
    entries: list[_Entry] = []
    step_id = None
    is_below = False  # the line above is a heading
    for line in lines:
        text = _clean(line)
        if step_id is None and introduces_aside(line, names):
            return None
        heading = names.exact(_NUMBERED.sub("", text.rstrip(":："))) if len(text) < 120 else None
        title = _TITLED.fullmatch(text)
        family = key_of(title["title"]).family if title else None
        is_bold = line.strip().startswith("**") and line.strip().endswith("**")
        value = text if is_bold or (is_below and _is_value(text)) else None
        if is_below and not is_bold and value is not None and _names_quantity(lines, names):
            return None
        is_below = heading is not None
        if (
            title
            and family
            and not _ALL.search(title["title"])
            and (family.answers("score") or family.answers("error"))
        ):
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
    lines = _with_headings([*lines[:1], *(line for line in lines[1:] if not _EXPLAINS.fullmatch(line))], answer)
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


def _with_headings(lines: Sequence[str], answer: Answer) -> list[str]:
    """The lines, with a heading that asks for the answer before the value on the line below it."""
    joined: list[str] = []
    for line in lines:
        above = joined[-1].strip() if joined else ""
        title = _clean(above).rstrip(":： ")
        is_heading = above.startswith("#") or (above.startswith("**") and above.endswith(("**", ":", "：")))
        if (
            is_heading
            and title
            and key_of(title).family.answers(answer)
            and len(line) < 120
            and line.lstrip()[:1] != "#"
        ):
            joined[-1] = f"{title}: {_clean(line)}"
        else:
            joined.append(line)
    return joined


def _titled(text: str, answer: Answer) -> _Entry | None:
    said = _SAID_BEFORE.match(text)  # "The depth is adequate. Score: 4"
    if said and title_role(fold_name(said[0])) is None and said[0].count(" ") > _FEW:
        text = text[said.end() :]
    match = _TITLED.fullmatch(text)
    key = key_of(match["title"]) if match else None
    if match is None or key is None or fold_value(match["title"]) in CORRECT | INCORRECT:
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
