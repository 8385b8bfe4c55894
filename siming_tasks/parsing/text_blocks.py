"""Text without JSON as lines and blocks: steps marked, each line under the step that owns it.

A block begins with a line that names exactly one asked step before anything else, and goes on to the next such line.
Steps stand in the lines as one character each (:data:`STEP`), so that patterns can speak of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from siming_tasks.parsing.grammar import key_of
from siming_tasks.parsing.lexicon import fold_value
from siming_tasks.parsing.step_matching import IN_RINGS, words
from siming_tasks.rubrics import RubricStep

_BY_ID, _BY_NAME = 0xE000, 0xE400  # what stands for the first step, called by its id or by its name
_SEVERAL, _MOST_LISTS = 0xE800, 0x700  # the first list of steps ("cpr_01, cpr_02 and aed_01")
STEP = "[\ue000-\uefff]"
FOREIGN = "\uf8ff"  # an id of a step that was not asked

_EMPHASIS = re.compile(r"\*\*|__|`|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])")
_BULLET = re.compile(r"^\s*(?:(?:[-*•·+>▪◦●○■–—▶➤◆]|\[[ x]?\])\s+|#{1,6}\s*|>+\s*)+")
_KEYCAP = re.compile("([0-9])\u20e3")
_RULE = re.compile(r"\s*\|?\s*:?-{2,}[-:|\s]*")
_IN_BRACKETS = re.compile(rf"[(\[【（<][ \t]*({STEP})[ \t]*[)\]】）>]")
_ONE = "[\ue000-\ue7ff]"
_REPEATED = re.compile(rf"{_ONE}(?:[ \t\-–—:(\[/|]{{0,4}}{_ONE}[)\]]?)+")
_AND = r"(?:[ \t]?(?:,|;|/|&|\band\b|\bund\b|\bet\b|\by\b|和|与|及|以及)){1,2}[ \t]*(?:also |steps? )?"
_LIST = re.compile(rf"{_ONE}(?:{_AND}{_ONE})+(?![ \t]*[(:=])")
_LONG_WORD = 10
_SMALL = frozenset(("the", "a", "an", "of", "for", "and", "to", "at", "step", "chec", "with", "in"))
_SHORT_TITLE = re.compile(r"(?:(?:step )?[0-9]{1,2}[.):]?\s*)?(?P<title>[a-z][a-z ,&/-]{3,60}?)\s*(?:[:(|]|\s[-–—]|$)")
_HEAD = re.compile(
    r"[^\w\ue000-\uf8ff]{0,6}(?:(?:step|item|no\.?|第)?\s*[#(]?[0-9]{1,2}\s*(?:[.):/]|[-–—]|步骤?|\s)\s*)?"
    r"(?:(?:and|then|finally|next|first|second|third|lastly|also|for|regarding|as for|in|on|concerning|about|step|steps"
    r"|item|name|id|对于|关于|在|步骤|对|首先|最后)[\s:,#]*){0,3}[^\w\ue000-\uf8ff]{0,4}"
    rf"(?P<step>[\ue000-\uefff{FOREIGN}])"
)
_TITLED_HEAD = re.compile(
    r"(?P<head>[\W0-9]{0,5}[^\W\d_][^:.,;!?=\n\ue000-\uf8ff]{1,60}?[\s(\[])(?P<step>[\ue000-\ue3ff])"
    r"(?=\s*(?:$|[:(|→]|->|=>|[-–—]\s))"
)
_OF_OTHERS = re.compile(
    r"\b(?:students?|trainees?|candidates?|raters?|examiners?|reviewers?|attempts?|videos?|judges?|annotators?|groups?|teams?)\b"
)
_NUMBERED = re.compile(r"[^\w\ue000-\uf8ff]{0,4}(?:step\s*|第\s*|步骤\s*)(?P<number>[0-9]{1,2})\s*步?(?=\W|$)")
_ENDS_BLOCK = re.compile(
    r"#{1,3}\s|-{3,}$|\*{3,}$|\W*(?:total|overall|in total|summary|in summary|final|总分|总计|总体|合计|总结|最终)",
    re.IGNORECASE,
)
"""The heading of another section, or the sum."""

UNCERTAIN = re.compile(
    r"\b(?:if|unless|whether|were to|perhaps|maybe|might|possibly|probably|presumably|examples?|e\.g|previous(?:ly)?"
    r"|ground truth|references?|official|experts?|labels?|average|ideal|perfect|friend|colleague|classmate|peer"
    r"|instructor|teacher|another|other (?:rater|examiner|judge|model|trainee|student)"
    r"|(?:first|second|third|chief|senior|human) (?:rater|examiner|judge|attempt)|prior|earlier"
    r"|last (?:time|year|attempt)|answer key|would have (?:given|been|got|scored|earned)|co-?examiner"
    r"|examiner (?:\w+ ){0,2}(?:says?|said|tells?|told|calls|gives|gave|marked)"
    r"|according to (?:the )?(?:examiner|rater|judge|label|key|sheet)"
    r"|hypothetical\w*|provided that"
    r"|otherwise|assum\w+|guess\w*|(?:rubric|criteri(?:on|a)) (?:says?|states?|gives?|allows?|offers?|lists?)"
    r"|any (?:step|trainee)"
    r"|every trainee|cannot (?:say|tell|judge|decide|determine|be)|can't (?:say|tell|judge)|not sure|unsure|hard to"
    r"|difficult to|doubt|scale|next (?:step|time|attempt|trainee))\b"
    r"|如果|可能|是否|无法|平均|上次|专家|参考|标准答案|同学|别人|他人|另一|考官|假设|例如|示例"
)
"""A source that is not the model, a condition, or a doubt."""


@dataclass
class Line:
    """One line: its text folded, without markup, steps marked."""

    text: str
    is_title: bool  # a heading, all in bold, or ends with a colon
    raw: str


@dataclass
class Block:
    """Lines that a step owns; none owns what stands before the first step."""

    places: tuple[int, ...] = ()  # of the steps in the list of asked steps
    lines: list[Line] = field(default_factory=list)
    is_sentence: bool = False  # it begins with a sentence about the step, and no title


class Marks:
    """Marks for the asked steps in folded text: one character for a step, or for a list of several."""

    def __init__(self, steps: Sequence[RubricStep]) -> None:
        self.steps = tuple(steps)
        self._pattern, self._places = _names(tuple((step.id, step.name, step.name_zh) for step in steps))
        self._lists: list[tuple[int, ...]] = []

    def places(self, mark: str) -> tuple[int, ...]:
        """The places in the list of asked steps that a mark stands for."""
        code = ord(mark)
        return self._lists[code - _SEVERAL] if code >= _SEVERAL else (code - (_BY_ID if code < _BY_NAME else _BY_NAME),)

    def only(self, written: str) -> RubricStep | None:
        """The one step that a text names before anything else, or None."""
        head = _HEAD.match(self.put(fold_value(written)))
        places = self.places(head["step"]) if head is not None and head["step"] != FOREIGN else ()
        return self.steps[places[0]] if len(places) == 1 else None

    def put(self, text: str) -> str:
        """A folded text with marks for what names asked steps; a step that is named twice has one."""
        text = _IN_BRACKETS.sub(r" \1", self._pattern.sub(self._mark, text))
        return _LIST.sub(self._list, _IN_BRACKETS.sub(r"\1", _REPEATED.sub(self._once, text)))

    def _mark(self, match: re.Match[str]) -> str:
        if match["foreign"]:
            return FOREIGN
        place = self._places.get(words(match[0]))
        return match[0] if place is None else chr((_BY_ID if match["id"] else _BY_NAME) + place)

    def _once(self, match: re.Match[str]) -> str:
        marks = re.findall(_ONE, match[0])
        if len({self.places(mark) for mark in marks}) > 1:
            return match[0]
        opened = match[0].count("[") - match[0].count("]") + match[0].count("(") - match[0].count(")")
        return f"{'(' * opened}{min(marks)}{')' * -opened}"

    def _list(self, match: re.Match[str]) -> str:
        places = tuple(place for mark in re.findall(_ONE, match[0]) for place in self.places(mark))
        if len(self._lists) == _MOST_LISTS or len(set(places)) < len(places):
            return match[0]
        self._lists.append(places)
        return chr(_SEVERAL + len(self._lists) - 1)


@lru_cache(maxsize=512)
def _names(
    written: tuple[tuple[str, str, str | None], ...],
) -> tuple[re.Pattern[str], dict[tuple[str, ...], int | None]]:
    """The pattern of all ids and names, and the step that the words of each mean, None for several."""
    places: dict[tuple[str, ...], int | None] = {}
    ids: list[str] = []
    called: list[str] = []
    skills: set[str] = set()
    for place, (step_id, *names) in enumerate(written):
        parts = re.findall(r"[a-z]+|[0-9]+", step_id.casefold())
        pattern = re.escape(step_id.casefold())
        if len(parts) == 2 and parts[1].isdecimal():
            skills.add(re.escape(parts[0]))
            pattern = rf"{re.escape(parts[0])}(?:[_\-.]{{0,2}}0*{int(parts[1])}|[^\S\n]{parts[1]})"
        ids.append(rf"{pattern}(?![0-9])")
        called += [re.escape(fold_value(name)) for name in names if name]
        for name in filter(None, (step_id, *names)):
            places[words(name)] = place if places.get(words(name), place) == place else None
    foreign = rf"(?:{'|'.join(skills)})[_-]?[0-9]{{1,3}}(?![0-9])" if skills else "(?!)"
    by_name = f"|(?:{'|'.join(sorted(called, key=len, reverse=True))})(?![a-z])" if called else ""
    by_id = "|".join(ids) or "(?!)"
    return re.compile(rf"(?<![a-z0-9_])(?:(?P<id>{by_id})|(?P<foreign>{foreign}){by_name})"), places


def plain_lines(text: str, marks: Marks) -> list[Line]:
    """The lines of a text that hold anything."""
    raws = text.split("\n")
    folded = "\n".join(fold_value(_EMPHASIS.sub("", raw), "\r") for raw in raws)
    lines = []
    for raw, line in zip(raws, marks.put(folded).split("\n"), strict=True):
        content = _KEYCAP.sub(r"\1", _BULLET.sub("", line)).translate(IN_RINGS).strip()
        if content and not _RULE.fullmatch(content):
            stripped = raw.strip()
            is_bold = stripped.startswith("**") and stripped.endswith("**") and stripped.count("**") == 2
            lines.append(Line(content, stripped.startswith("#") or is_bold or content.endswith((":", "=")), raw))
    if len(marks.steps) > 1:
        _mark_short_titles(lines, marks.steps)
        _mark_numbers(lines, len(marks.steps))
    return lines


def _mark_numbers(lines: Sequence[Line], asked: int) -> None:
    """Mark "Step 1", "Step 2", ... where no line names a step and all of them stand there in order."""
    numbered = [(line, match) for line in lines if (match := _NUMBERED.match(line.text))]
    if [int(match["number"]) for _, match in numbered] != list(range(1, asked + 1)):
        return
    if not any(re.search(f"{STEP}|{FOREIGN}", line.text) for line in lines):
        for line, match in numbered:
            line.text = chr(_BY_ID + int(match["number"]) - 1) + line.text[match.end() :]


def _mark_short_titles(lines: Sequence[Line], steps: Sequence[RubricStep]) -> None:
    """Mark titles that are made of words of one asked step's name: ``Call for help: 2/3``."""
    for line in lines:
        match = None if re.search(f"{STEP}|{FOREIGN}", line.text[:80]) else _SHORT_TITLE.match(line.text)
        place = _place_of(match["title"], steps) if match else None
        if match and place is not None:
            line.text = line.text[: match.start("title")] + chr(_BY_NAME + place) + line.text[match.end("title") :]


_SUBJECT = re.compile(
    r"(?:(?:\W|and|lastly|finally|next|then|also|for|as for|the)\s*){0,5}?\b(?P<title>[a-z][a-z ]{3,40}?)"
    r"(?=,?\s+(?:is|was|gets?|earns?|deserves?|receives?|scores?|i'd|i would|i give|step)\b)"
)


def mark_subject(sentence: str, steps: Sequence[RubricStep]) -> str:
    """A sentence whose subject is made of words of one asked step's name, with the mark for it."""
    match = _SUBJECT.match(sentence) if len(steps) > 1 and not re.search(STEP, sentence) else None
    place = _place_of(match["title"], steps) if match else None
    if match is None or place is None:
        return sentence
    return sentence[: match.start("title")] + chr(_BY_NAME + place) + sentence[match.end("title") :]


def _place_of(title: str, steps: Sequence[RubricStep]) -> int | None:
    """The place of the one step whose name has all words of a title, at least two or one long one."""
    skills = {words(step.id)[0] for step in steps if words(step.id)}
    own = [word for word in words(title) if word[:4] not in _SMALL | skills]
    if not own or (len(own) == 1 and len(own[0]) < _LONG_WORD):
        return None
    fits = [place for place, step in enumerate(steps) if {w[:4] for w in own} <= {w[:4] for w in words(step.name)}]
    return fits[0] if len(fits) == 1 else None


def begins(text: str) -> re.Match[str] | None:
    """The match of a step's mark at the beginning of a line or sentence, but for bullets, numbers and "step".

    Its id may follow a title of its own: ``Call for help (cpr_03): 2/3``, ``Score for cpr_03: 2``.
    """
    match = _HEAD.match(text) or _TITLED_HEAD.match(text)
    if match is None or match.re is _HEAD:
        return match
    title = re.sub(r"\W*\b(?:for|of|on)\W*$|^[\W0-9]+", "", match["head"])
    is_own = key_of(title).family.name in ("unknown", "points", "verdict", "assessment", "step")
    return match if is_own and not UNCERTAIN.search(title) and not _OF_OTHERS.search(title) else None


def cut_in_blocks(lines: Sequence[Line], marks: Marks) -> Iterator[Block]:
    """The blocks of a text; the first has no step, nor has one that begins with the heading of something else."""
    block = Block()
    for number, line in enumerate(lines):
        match = begins(line.text)
        is_bare = line.is_title and not _TOLD.search(line.text)
        heads = is_bare and number + 1 < len(lines) and begins(lines[number + 1].text)
        if match is None and not heads and not _ENDS_BLOCK.match(line.raw.strip()):
            block.lines.append(line)
            continue
        yield block
        places = marks.places(match["step"]) if match and match["step"] != FOREIGN else ()
        # A sentence about another step ("cpr_01 was done before.") does not end the block of a heading.
        is_aside = match is not None and not line.is_title and _SAYS.match(line.text, match.end()) is not None
        if is_aside and block.places and not block.is_sentence:
            yield Block(places, [line], is_sentence=True)
            block = Block(block.places)
        else:
            block = Block(places, [line], is_sentence=is_aside)
    yield block


_TOLD = re.compile(r"[:=]\s*\S")
"""What follows the colon of a title that is no heading of what stands below it."""
_SAYS = re.compile(r"\s+[a-z]")
"""A step's mark goes on with words, and no mark or value of its own."""
