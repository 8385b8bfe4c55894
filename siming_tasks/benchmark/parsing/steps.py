"""Keys and values: the step that a key names, and the points or verdict on its scale that a value states."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from siming_tasks.benchmark.parsing.parsed_reply import ABSTAINED, NOT_VISIBLE
from siming_tasks.benchmark.rubrics import RubricStep
from siming_tasks.benchmark.types import Answer

Reading = float | str
"""Points, or 1.0 for incorrect and 0.0 for correct; otherwise a reason of ``MISSING`` or ``abstained``."""

MAX_KEY, MAX_VALUE = 300, 300  # characters of a longer text are an explanation
MARKS = re.compile(r"[\W_]{0,20}")
_WORD = re.compile(r"[^\W\d_]+|[0-9]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MAXIMUM = re.compile(
    r"[(\[]?\s?(?:maximum|max\.?|满分|out of)\s?:?\s?(?P<top>[0-9]{1,4}(?:\.[0-9]{1,4})?)\s?(?:points?|分)?"
    r"(?:, half points allowed)?\s?[)\]]?\s?$"
)
_ANY_ID = re.compile(
    r"(?:[0-9]{1,2}[.)]\W{1,9})?(?:(?:step|步骤)[\W_]{1,9})?"
    r"(?P<id>(?!step|frame|clip|video|part)[^\W\d_]{2,16}[_-][0-9]{1,3})(?![0-9])"
)
"""A text that begins with an id as rubrics write them, of a step that was asked about or of another."""
_BESIDE_ID = re.compile(r"[\])]?\s?(?:\([^()]*\)|[\u4e00-\u9fff]\w*)?")


def fold(text: str) -> str:
    """A text in lower case, with characters of full width as plain ones."""
    return unicodedata.normalize("NFKC", text).casefold()


@lru_cache(maxsize=4096)  # the same few keys stand in every reply
def words(text: str) -> tuple[str, ...]:
    """Words and numbers of a key: ``CPR-01``, ``cpr 1`` and ``cpr_01`` are all ``("cpr", "1")``."""
    found = _WORD.findall(fold(_CAMEL.sub("_", text)))
    return tuple(word.lstrip("0") or "0" if word[0].isdigit() else word for word in found)


def key_name(key: str) -> str:
    """A key in one form: ``Max Score`` is ``max_score``."""
    return "_".join(words(key[:MAX_KEY]))


class StepNames:
    """The names of the asked steps: id, name in either language, or the id and (the beginning of) a name.

    A maximum behind it, as the prompt has it, and the word "step" before it are left out. A place in a list is not a
    name; a name that two steps share means neither.
    """

    def __init__(self, steps: Sequence[RubricStep]) -> None:
        self.steps = tuple(steps)
        self._places, self._id = _spellings(tuple((step.id, step.name, step.name_zh or "") for step in steps))

    def find(self, key: str) -> RubricStep | None:
        """The step that a key names, or None."""
        if len(key) > MAX_KEY:
            return None
        place, top = self._places.get(words(key)), None
        if place is None:
            key = fold(key)
            top = _MAXIMUM.search(key)
            named = words(key[: top.start()] if top else key)
            while named and (named[0] in ("step", "步骤") or named[0].isdecimal()):  # "Step 3: Power on at once"
                named = named[1:]
            place = self._places.get(named)
        step = None if place is None else self.steps[place]
        return None if step is None or (top and float(top["top"]) != step.max_score) else step

    def find_in(self, title: str) -> RubricStep | None:
        """The step that a folded title names, also as ``id (words)`` or ``words (id)``."""
        if (step := self.find(title)) is not None or len(title) > MAX_KEY:
            return step
        named = list(self._id.finditer(title))
        if len(named) != 1:
            return None
        before, after = title[: named[0].start()].rstrip(), title[named[0].end() :].strip()
        begins = not words(before) and _BESIDE_ID.fullmatch(after)
        ends = before[-1:] in ("(", "[") and after in (")", "]")
        return self.find(named[0][0]) if begins or ends else None

    def is_other(self, text: str) -> bool:
        """Test whether a text begins with the id of a step that was not asked about."""
        match = _ANY_ID.match(text, MARKS.match(text).end())  # type: ignore[union-attr]
        return match is not None and self.find(match["id"]) is None

    def named_in(self, text: str) -> list[str]:
        """The ids of the steps whose ids a text has."""
        return [step.id for match in self._id.finditer(fold(text)) if (step := self.find(match[0])) is not None]

    def apart(self, line: str) -> list[str]:
        """The parts of a folded line that enumerates steps (``cpr_01: 2, cpr_02: 3``).

        Where one is but named (``cpr_01, cpr_02: 2``), the step of the value is unclear: the line stays as it is.
        """
        places = [match.start() for match in self._id.finditer(line)]
        if not places or words(line[: places[0]]):
            return [line]
        before = {place: line[max(place - 9, 0) : place].rstrip("[( \t")[-1:] for place in places[1:]}
        ends = [0, *(place for place, mark in before.items() if mark and mark in ",;.。"), len(line)]
        parts = [line[start:end].rstrip(" \t,;[(") for start, end in pairwise(ends)]
        return [line] if any(map(self.find, parts)) else parts

    def is_skill(self, key: str) -> bool:
        """Test whether a key is the beginning that ids of one skill share: ``cpr`` of ``cpr_01``."""
        return any(words(step.id)[:-1] == words(key[:MAX_KEY]) for step in self.steps)


@lru_cache(maxsize=512)
def _spellings(named: tuple[tuple[str, str, str], ...]) -> tuple[dict[tuple[str, ...], int | None], re.Pattern[str]]:
    """Words that name a step -> its place among the asked ones, None where they name two; a pattern of ids."""
    places: dict[tuple[str, ...], int | None] = {}
    for place, (step_id, *both) in enumerate(named):
        own, titles = words(step_id), [title for name in both if (title := words(name))]
        forms = {own, *titles}
        for title in [*titles, *(first + second for first in titles for second in titles)]:
            forms |= {own + title[:length] for length in range(1, len(title) + 1)}
        for form in forms:
            places[form] = place if places.get(form, place) == place else None
    spelt = (  # CPR-01, cpr 1
        r"[\s_-]?".join(f"0{{0,3}}{word}" if word.isdecimal() else re.escape(word) for word in words(step_id))
        for step_id, *_ in named
    )
    either = "|".join(sorted(spelt, key=len, reverse=True))
    return places, re.compile(rf"(?<![a-z0-9_])(?:{either})(?![a-z0-9]|[_-][a-z0-9])")


_NUMBER = r"[0-9]{1,4}(?:\.[0-9]{1,4})?"
_UNIT = r"(?:points?|pts?\.?|marks?|分)"
_POINTS = (
    rf"(?P<points>-?{_NUMBER})(?:\s?{_UNIT})?"
    rf"(?:\s?\(?\s?(?:/|out of|of|max(?:imum)?\.?(?: of)?:?|满分)\s?(?P<top>{_NUMBER})(?:\s?{_UNIT})?\s?\)?)?"
)
_VERDICT = (
    r"(?:(?P<wrong>(?:performed )?incorrect(?:ly)?|(?:not|n't) (?:perform(?:ed)? )?(?:(?:this|the) step )?(?:fully )?"
    r"correct(?:ly)?|不正[确確]|错误|錯誤)|(?:performed )?(?:fully )?correct(?:ly)?|正[确確])"
)
SAID: dict[str, str] = {"score": _POINTS, "error": _VERDICT}
"""Points and verdicts as they are written."""
_BESIDE = r"(?:(?:final|my|the|overall|该步骤|本步[骤驟]|最终|综合)\s?){0,4}"
_BEHIND = r"(?:[结結]果)?(?: for (?:this|the) step)?(?: is)?"
_THIS = r"(?:the|this) (?:step|(?:trainee|student)(?:'s performance)?)"
TITLES = {
    "score": rf"(?:{_BESIDE}(?:score|points(?: awarded)?|rating|answer|得分|应?[得给給打](?:满分)?|分数|[评評]分|答案)"
    rf"{_BEHIND}|i(?:'d| would)?(?: therefore)? (?:give|award|score)(?: it| this| the (?:trainee|student)| step){{0,2}}"
    rf"(?: an?| the full)?(?: score of)?|(?:it|{_THIS}) (?:gets|receives|earns|merits)|i'd say it's(?: an?)?)",
    "error": rf"(?:{_BESIDE}(?:verdict|judge?ment|conclusion|answer|判断|判斷|判定|结论|結論|答案){_BEHIND}"
    rf"|{_THIS} (?:is|was|did|performed (?:this|the) step)(?: done| carried out)?|it(?:'s| is)"
    r"|i(?: therefore)? judge (?:it|(?:the|this) step)(?: as)?)",
}
"""What a value may be called before it."""
_REASON = r"(?:\s{0,9}(?:[(,;:。#]|\.\s|(?<=\s)-{1,3}\s|[–—]|(?<=\n)|(?<=\s)(?=because\b|due to\b))(?P<reason>.*))?"
_TITLE = {of: re.compile(rf"\A(?:(?:yes|no), )?{title}\s{{0,9}}[:=为為]?\s{{0,9}}") for of, title in TITLES.items()}
_VALUE = {answer: re.compile(said + _REASON, re.DOTALL) for answer, said in SAID.items()}
_DENIES = re.compile(r"(?:no|none|not|false|否|无|没有)\s{0,3}(?:[,.;:!。]|\s-|\Z)|or\b|或")
"""Beginning of a text that is not a reason, but takes back its answer or gives another one."""
_DOUBT = {
    0.0: re.compile(  # of correct: a contrast that begins a clause, an error
        r"(?:\A|[,;.:(!]\s?)(?:but|however|except|although|though|yet|unless|provided|但|然而|不过|除)|\A(?:not|if)\b|\A不"
        r"|\b(?:wait|actually|placeholder|minor|errors?|mistakes?|incorrect(?:ly)?|incomplete|insufficient|partial(?:ly)?"
        r"|wrong)\b|\?|但是|错误|失误|不足|不够"
    ),
    1.0: re.compile(r"\b(?:wait|actually)\b"),  # of incorrect
    None: re.compile(r"\b(?:deducted|lost|wait|actually)\b|扣"),  # of points
}
"""Words of a reason that may take back what it is a reason for."""
MEASURE = re.compile(
    r"(?<![0-9.,])(?:[0-9]{1,2}:[0-9]{2}|[0-9.]{1,5}(?:\s?(?:-|–|to)\s?[0-9.]{1,5})?\s?(?:s|sec|seconds?|min|minutes?|cm"
    r"|mm|%|bpm|/min|per minute|compressions|breaths|times|秒|厘米|分钟|次))(?![a-z0-9])"
)
"""A time or a quantity within a reason, which is no other number of points."""
_MARKS = " \t\r\n*_`'\"“”‘’。.!\\✅❌✓✔✗✘"
_NO_VALUE = {"", "null", "none", "n/a", "na", "unknown", "-"}
_ABSTAINS = re.compile(
    rf"(?:{NOT_VISIBLE}|not[_-]visible|不可见)(?: in (?:the|this) \w+)?[\s*_]{{0,9}}(?:[:,(.](?!.*correct)[^0-9]*)?",
    re.DOTALL,
)


def read_value(text: str, step: RubricStep, answer: Answer, abstain: bool = False) -> Reading:
    """Read points or a verdict, or why a value says nothing of a step.

    A title may precede it; a mark and a reason may follow that neither takes it back nor has further numbers but
    times and quantities.
    """
    written = fold(text[:MAX_VALUE]).strip(_MARKS)
    if written in _NO_VALUE:
        return "absent"
    if abstain and _ABSTAINS.fullmatch(written):
        return ABSTAINED
    written = _TITLE[answer].sub("", written).strip(_MARKS)
    match = _VALUE[answer].fullmatch(written)
    if match is None:
        return "unreadable"
    reason = (match["reason"] or "").strip(_MARKS + "()")
    if _DENIES.match(reason):
        return "unreadable"
    if answer == "error":
        wrong, again = match["wrong"] is not None, _VALUE["error"].fullmatch(reason)
        contradicted = again is not None and (again["wrong"] is not None) != wrong
        return "unreadable" if contradicted or _DOUBT[float(wrong)].search(reason) else float(wrong)
    value, top = float(match["points"]), match["top"]
    further = reason[:1].isdecimal() or any(map(str.isdecimal, MEASURE.sub("", reason)))
    if _DOUBT[None].search(reason) or (top is None and further):
        return "unreadable"
    allowed = (top is None or float(top) == step.max_score) and step.on_scale(value)
    return abs(value) if allowed else "off_scale"  # no -0.0
