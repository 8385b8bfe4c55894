"""Answers without JSON: a table, or blocks of text that each belong to a step; for a clip the whole text is one block.

Within a block the values that :mod:`stated_answers` finds must agree. A step without one is missing alone; where the
text's structure is in doubt (a title of something else, two different lists), all steps are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.bracket_roles import FENCE, introduces_aside
from siming_tasks.parsing.grammar import key_of
from siming_tasks.parsing.json_answers import Collector, Reading
from siming_tasks.parsing.lenient_json import Group, Scalar, Value
from siming_tasks.parsing.lexicon import SYMBOLS, fold_name
from siming_tasks.parsing.parsed_reply import ABSTAINED
from siming_tasks.parsing.stated_answers import (
    alone_at,
    concluded_in,
    is_lead,
    led_by_step,
    led_by_text,
    sentences,
    stated_in,
    title_answers,
    titled_at,
    value_behind,
    withdrawn_in,
)
from siming_tasks.parsing.step_matching import StepNames
from siming_tasks.parsing.text_blocks import (
    FOREIGN,
    STEP,
    UNCERTAIN,
    Block,
    Line,
    Marks,
    begins,
    cut_in_blocks,
    mark_subject,
    plain_lines,
)
from siming_tasks.parsing.text_markup import without_markup
from siming_tasks.parsing.text_values import SIGNS, Stated, names_other_scale, supposes, takes_back
from siming_tasks.parsing.titles import QUANTITIES, title_role
from siming_tasks.parsing.values import abstains

MAX_PLAIN = 20_000  # in a longer text no plain answer is looked for
_JSON = re.compile(r"[{｛]\s*[\"'“‘]|[{｛][^{}]{0,80}[\"'”’]?\s*[:：]")
_RULE = re.compile(r"\s*\|?\s*:?-{2,}[-:|\s]*")
_EMPHASIS = re.compile(r"\*\*|__|`")


def read_text_answers(text: str, names: StepNames, answer: Answer, abstain: bool = False) -> dict[str, Reading]:
    """Step id -> reading, of a text in which no JSON answers; {} if it holds no plain answer."""
    if len(text) > MAX_PLAIN or _JSON.search(text):
        return {}
    marks = Marks(names.steps)
    text = without_markup(FENCE.sub("", text))
    if (root := _table(text.split("\n"), names, marks)) is not None:
        return Collector(names, answer, abstain).read_bracket(root)
    if len(names.steps) == 1 and abstain and abstains(text.strip()):
        return {names.steps[0].id: ABSTAINED}
    lines = plain_lines(text, marks)
    readings = _Reader(marks, answer, abstain).readings(lines) if lines else {}
    if readings and _is_about_else(lines, names, answer):
        return {name: "ambiguous" if isinstance(reading, float) else reading for name, reading in readings.items()}
    return readings


def _table(lines: Sequence[str], names: StepNames, marks: Marks) -> Group | None:
    """Markdown tables: one object per row, its keys from the header; a cell in it names the step."""
    if any(introduces_aside(line, names) for line in lines if line.strip() and "|" not in line):
        return None
    rows: list[tuple[str | None, Value]] = []
    header: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        cells = [_EMPHASIS.sub("", cell).strip() for cell in line.strip().strip("|").split("|")]
        if "|" not in line:
            header = []
        elif _RULE.fullmatch(following) and "|" in following:
            header = cells
        elif header and not _RULE.fullmatch(line):
            row = list(zip(header, cells, strict=False))
            steps = [marks.only(cell) for _, cell in row]
            own = next((at for at, step in enumerate(steps) if step is not None), None)
            if own is not None and (step := steps[own]) is not None:
                entries: list[tuple[str | None, Value]] = [("step", Scalar(step.id, quoted=True))]
                for at, (key, cell) in enumerate(row):
                    if at != own and key_of(key).family.name != "step":
                        entries.append((key, Scalar(cell, quoted=True)))
                rows.append((None, Group("{", 0, 0, closed=True, entries=entries)))
    return Group("[", 0, 0, closed=True, entries=rows) if rows else None


# --- what a text is about ---------------------------------------------------------------------------------------------

_CELLS = re.compile(r"\s*[,\t|]\s*|\s{2,}")
_LEGEND = re.compile(r"[(]([^()]{3,60})[)]$")
_COUNTS = re.compile(r"(?:the |in |all )*(?:numbers?|seconds?|frames?|times?|minutes?|counts?|weights?|indices)\b")
_SIGN_MEANS = re.compile(rf"({SIGNS})\s*(?:=|:|means|stands for)\s*([a-z ]{{2,30}})")
_POSSIBLE = re.compile(r"\byou can\b|\bcan be (?:earned|reached|achieved|awarded|had)\b|\b(?:possible|available)\b")
_SHORT = 80
"""Characters of a line that may say what bare numbers count."""
_UNTITLED = re.compile(r"[0-9](?!.*(?:point|pts|分|/|of|score))")


def _is_about_else(lines: Sequence[Line], names: StepNames, answer: Answer) -> bool:
    """Test whether a title, a header or a legend says that the values are something else."""
    others = [line for line in lines if not begins(line.text)]
    heads = [line for line in lines if begins(line.text)]
    if any(_is_of_else(line, following, names, answer) for line, following in _titles(lines)):
        return True
    legend = "\n".join(line.text for line in others)
    for sign, word in _SIGN_MEANS.findall(legend):
        if (polarity := _polarity(word)) is not None and polarity != SYMBOLS[sign]:
            return True
    last = _LEGEND.search(lines[-1].text.rstrip(" .")) if heads else None
    if last and (_COUNTS.match(last[1]) or title_role(last[1]) == "aside"):
        return True
    if not heads or not others:
        return False
    cells = _CELLS.split(lines[0].text) if lines[0] is others[0] and not lines[0].is_title else []
    if len(cells) in (2, 3) and all(len(cell.split()) < 3 for cell in cells):
        return not any(key_of(cell).family.answers(answer) for cell in cells)
    is_bare = answer == "score" and all(_UNTITLED.search(line.text[1:]) for line in heads)
    ends = [line for line in (others[0], others[-1]) if line in (lines[0], lines[-1])]
    near = [line.text for line in ends if len(line.text) < _SHORT]
    beside = re.findall("[a-z]+", " ".join(near))
    return is_bare and any(word.rstrip("s") in QUANTITIES | {"frame"} or word in QUANTITIES for word in beside)


def _titles(lines: Sequence[Line]) -> Iterable[tuple[Line, Line]]:
    """Lines right above a step or a value that are titles, or stand before the first step."""
    started = False
    for line, following in pairwise(lines):
        started = started or begins(line.text) is not None
        if begins(line.text) is None and (line.is_title or (not started and ":" not in line.text)):
            yield line, following


def _is_of_else(line: Line, following: Line, names: StepNames, answer: Answer) -> bool:
    step = names.steps[0]
    leads = begins(following.text) or titled_at(following.text, step, answer) or alone_at(following.text, step, answer)
    if not leads or (answer == "error" and _polarity(line.text) is not None):
        return False
    if answer == "score" and key_of(line.text.strip(" :")).polarity:  # "Errors per step:"
        return True
    return (
        _POSSIBLE.search(line.text) is not None
        or introduces_aside(line.raw, names)
        or UNCERTAIN.search(line.text) is not None
    )


def _polarity(title: str) -> float | None:
    """The verdict that a title gives to what stands below or behind it: ``Incorrect steps (2):``, ``No errors``."""
    polarity = key_of(re.sub(r"\([0-9]*\)|[:()*]|^\W+", " ", title).strip()).polarity
    return None if not polarity else float(polarity < 0)


# --- its blocks -------------------------------------------------------------------------------------------------------

_SEGMENT = re.compile(
    rf"(?:[.;,|!)]\s*|\band\s+|\s{{2,}}|[\n\t])(?:and\s+)?(?:step\s+)?(?:[0-9][.)]\s*)?[\[(\"']?(?P<step>{STEP})"
)
_NEGATIVE = re.compile(r"\s*[:=|]\s*[-−–](?=[0-9])")
_LED = re.compile(rf":\s*[\[(\"']?(?P<step>{STEP})")
_NUMBERING = re.compile(r"\(?[0-9]{1,2}[.)]\s+(?=[a-z])")
_VERDICT_LIST = re.compile(
    rf"\W*(?P<title>[^:\n\ue000-\uf8ff]{{2,50}}?)\s*(?::|[-–—]|\bare\b|\bis\b)\s*\W{{0,3}}(?P<step>{STEP})[\])]?\W*"
    r"(?:$|[(;.,])"
)
_DENIED = re.compile(r"\W*(?:(?:none|no|nil|n/?a|no errors?|minor|maybe)\b|无|没有)\W*$")
"""The rest of a line below "Errors:" that need not be an error."""
_EXCEPT = re.compile(
    r"\b(?:all|every)\b[^.\n]{0,40}\bcorrect(?:ly)?\b[^.\n]{0,20}\b(?:except|apart from|but|other than)\b(?: for)?"
    rf"[\W]{{0,3}}(?:steps? )?(?P<step>{STEP})|除了?(?P<han>{STEP})(?:以?外|之外)[^.\n]{{0,12}}正确"
)
_ALL = re.compile(
    r"(?<!not )\b(?:all|every)(?: of the| the)?(?: [a-z0-9]+)? steps?\b(?! (?:could|would"
    r"|should|must|need))[^.,;\n]{0,40}?"
    r"\b(?<!not )(?<!in)correct(?:ly)?\b\W*$"
)
_REST = re.compile(
    r"\b(?:all (?:the )?(?:other|remaining)(?: steps| others| ones)?"
    r"|(?:the |all )?(?:others|rest|remaining (?:steps|ones)|other steps))\b"
    r"[^.\n]{0,30}?\b(?P<word>incorrect|correct)(?:ly)?\b|其[余他](?:的?步骤)?[^.\n]{0,6}?(?P<han>不正确|错误|正确)"
)


class _Reader:
    """Collects the values of a text per step; steps are places in the list of those asked."""

    def __init__(self, marks: Marks, answer: Answer, abstain: bool) -> None:
        self.marks, self.answer, self.abstain = marks, answer, abstain
        self.steps = marks.steps
        self.is_clip = len(marks.steps) == 1
        self.stated: defaultdict[int, list[Reading]] = defaultdict(list)
        self.listed: defaultdict[int, list[Reading]] = defaultdict(list)  # by verdict: "Incorrect: cpr_02, aed_02"
        self.in_brackets: dict[int, float] = {}  # "(2 points)", which may be the maximum
        self.called: defaultdict[str, set[int]] = defaultdict(set)
        self.rest: float | None = None  # what is said of all other steps
        self.every = False  # "The trainee performed all five steps correctly."

    def readings(self, lines: Sequence[Line]) -> dict[str, Reading]:
        """Step id -> reading, of all lines of a text."""
        section: float | None = None
        if self.is_clip and not begins(lines[0].text):
            self._add((0,), led_by_text(lines[0].text, self.steps[0], self.answer))
        for block in cut_in_blocks(lines, self.marks):
            before = self._count()
            self._read_block(block)
            if not block.places and block.lines:
                title = block.lines[-1]
                section = _polarity(title.text) if self.answer == "error" and title.is_title else None
            elif section is not None and self._count() == before:
                rest = re.sub(rf".*?{STEP}", "", block.lines[0].text, count=1)
                for place in block.places:
                    self.listed[place].append("ambiguous" if _DENIED.match(rest) else section)
        self._sort_lists()
        self._doubt_two_lists(lines)
        tops = {place: self.steps[place].max_score for place in self.in_brackets}
        if not self.stated and self.in_brackets != tops:
            for place, said in self.in_brackets.items():
                self.stated[place].append(said if said <= tops[place] else "off_scale")
        return {self.steps[place].id: reading for place, reading in self._agreed().items()}

    def _doubt_two_lists(self, lines: Sequence[Line]) -> None:
        """Doubt steps that have different values right behind their names, wherever in the text they stand."""
        beside: defaultdict[int, set[float]] = defaultdict(set)
        for line in lines if not self.is_clip else ():
            for mark in () if UNCERTAIN.search(line.text) else re.finditer(STEP, line.text):
                places = self.marks.places(mark[0])
                value = value_behind(line.text, mark.end(), self.steps[places[0]], self.answer)
                if value is not None and isinstance(value.reading, float):
                    for place in places:
                        beside[place].add(value.reading)
        for place, said in beside.items():
            if len(said) > 1 and place in self.stated:
                self.stated[place].extend(said)

    def _agreed(self) -> dict[int, Reading]:
        """The one reading of every step; two lists, another scale or one title for several steps leave all in doubt."""
        readings = {place: said[0] if len(set(said)) == 1 else "ambiguous" for place, said in self.stated.items()}
        doubled = [said for said in self.stated.values() if len({x for x in said if isinstance(x, float)}) > 1]
        off_scale = sum(reading == "off_scale" for reading in readings.values())
        repeated = any(len(places) > 1 for places in self.called.values())
        if len(doubled) > 1 or off_scale > 1 or repeated:
            return {place: "ambiguous" if isinstance(said, float) else said for place, said in readings.items()}
        return readings

    def _read_block(self, block: Block) -> None:
        is_foreign = bool(block.lines) and FOREIGN in block.lines[0].text[:12]
        owner = block.places or ((0,) if self.is_clip and not is_foreign else ())
        for number, line in enumerate(block.lines):
            current, topic, label, segments = owner, [*owner], "", 0
            parts = sentences(line.text)
            for place, written in enumerate(parts):
                sentence = written if owner else mark_subject(written, self.steps)
                before, known, head = self._count(), {*self.stated}, begins(sentence)
                if head is not None and head["step"] != FOREIGN and (place or number == 0):
                    current = self.marks.places(head["step"])
                parts_here = self._read_segments(sentence)
                segments += parts_here
                topic = [at for mark in re.findall(STEP, sentence) for at in self.marks.places(mark)] or topic
                if self._read_lists(sentence):
                    continue
                role = title_role(fold_name(label))
                is_else = UNCERTAIN.search(label) if block.places else role in ("aside", "draft")
                if current and parts_here < 2 and not is_else:
                    self._read_sentence(sentence, current, is_line=len(parts) == 1)
                for stated in stated_in(sentence, self.marks, current, self.answer):
                    self._add(stated.places, stated)
                self._take_back(sentence, topic or [*current], known, is_new=self._count() > before)
                label = sentence
            if segments > 1:  # "cpr_01: 2, cpr_02: 3" owns nothing below it
                owner = ()

    def _read_sentence(self, sentence: str, owner: tuple[int, ...], *, is_line: bool) -> None:
        """A titled value, a concluding one, or one that is all of a line."""
        step = self.steps[owner[0]]
        text = _NUMBERING.sub("", sentence)
        self._add(owner, titled_at(text, step, self.answer) or concluded_in(sentence, step, self.answer))
        if is_line:
            self._add(owner, alone_at(text, step, self.answer))
            title, colon, value = text.rpartition(":")
            if self.abstain and abstains(value) and (not colon or title_answers(title, self.answer)):
                self._say(owner, ABSTAINED)

    def _read_segments(self, sentence: str) -> int:
        """``cpr_01: 2, cpr_02: 3``: the number of steps that begin a part of the sentence; their values are added."""
        first = begins(sentence)
        if (
            first is None
            and (led := _LED.search(sentence)) is not None
            and is_lead(sentence[: led.start()], self.answer)
        ):
            first = led
        if first is None or first["step"] == FOREIGN:
            return 0
        found = [first, *_SEGMENT.finditer(sentence, first.end())]
        ends = [*(match.start() for match in found[1:]), len(sentence)]
        for match, end in zip(found, ends, strict=True):
            places = self.marks.places(match["step"])
            text = sentence[match.end("step") : end]
            if self.answer == "score" and _NEGATIVE.match(text):
                self._say(places, "off_scale")
            value = led_by_step(text, self.steps[places[0]], self.answer, alone=self.is_clip)
            if self.abstain and abstains(text.lstrip(" :-])")):
                self._say(places, ABSTAINED)
            signs = set(match[0]) & SYMBOLS.keys()
            if value.stated is None and self.answer == "error" and signs:  # "✅ cpr_01"
                self._say(places, SYMBOLS[signs.pop()] if len(signs) == 1 else "ambiguous")
            if value.in_brackets is not None:
                self.in_brackets |= dict.fromkeys(places, value.in_brackets)
            self._add(places, value.stated)
            if value.stated is not None and re.search(r"[^\W\d_]", value.called):
                self.called[value.called] |= {*places}
        return len(found)

    def _read_lists(self, sentence: str) -> bool:
        """``Incorrect: cpr_02, aed_02; all others are correct``: whether the sentence is such a list."""
        if self.answer != "error":
            return False
        match = _VERDICT_LIST.match(sentence)
        verdict = _polarity(match["title"]) if match else None
        if match is not None and verdict is not None:
            for place in self.marks.places(match["step"]):
                self.listed[place].append(verdict)
        if excepted := _EXCEPT.search(sentence):
            for place in self.marks.places(excepted["step"] or excepted["han"]):
                self.listed[place].append(1.0)
            self.rest = 0.0
        elif _ALL.search(sentence) and not UNCERTAIN.search(sentence):
            self.every = True
        elif rest := _REST.search(sentence):
            self.rest = float((rest["word"] or rest["han"]) not in ("correct", "正确"))
        return verdict is not None

    def _sort_lists(self) -> None:
        """Take verdicts with steps behind them, if with the others they cover every step."""
        every = set(range(len(self.steps)))
        if self.every and not self.stated and not self.listed:
            self._say(every, 0.0)
        if self.rest is not None and (self.listed or self.stated):
            for place in every - self.listed.keys() - self.stated.keys():
                self.listed[place].append(self.rest)
        if self.listed.keys() | self.stated.keys() == every:
            for place, verdicts in self.listed.items():
                self.stated[place].extend(verdicts)

    def _take_back(self, sentence: str, topic: Sequence[int], known: set[int], *, is_new: bool) -> None:
        """Doubt the steps whose answer a sentence corrects, supposes to be another, withdraws or puts on a scale."""
        doubted = [*withdrawn_in(sentence, self.marks)]
        if takes_back(sentence, self.answer) or (not is_new and supposes(sentence)):
            doubted += [place for place in topic if place in known]
        if self.answer == "score" and topic and names_other_scale(sentence, self.steps[topic[0]]):
            doubted += topic
        self._say(doubted, "ambiguous")

    def _count(self) -> int:
        return sum(map(len, self.stated.values()))

    def _add(self, places: Iterable[int], stated: Stated | None) -> None:
        if stated is not None:
            self._say(places, stated.reading)

    def _say(self, places: Iterable[int], reading: Reading) -> None:
        for place in places:
            self.stated[place].append(reading)
