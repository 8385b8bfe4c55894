"""Values in running text: points or a verdict at one place of a folded text, if only its end or its reason follows.

:mod:`values` reads a text that is a value; here a value is found where a sentence, a title or a step has led to it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.json_answers import Reading
from siming_tasks.parsing.lexicon import CORRECT, ERROR, INCORRECT, NO, SYMBOLS, YES
from siming_tasks.parsing.values import contradicts, points
from siming_tasks.rubrics import RubricStep


class Stated(NamedTuple):
    """A value of a text: what it says, where it ends, and the steps that its sentence names."""

    reading: Reading
    end: int
    places: tuple[int, ...] = ()


NUMBER = r"[0-9]{1,3}(?:\.[0-9]{1,2})?"
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBER_WORDS = {word: str(number) for number, word in enumerate(_WORDS)}
UNIT = r"(?:points?\b|pts?\b\.?|marks?\b|分(?!钟)|p\b)"
SIGNS = f"[{''.join(SYMBOLS)}]"


def alternatives(words: set[str] | frozenset[str] | list[str]) -> str:
    """A pattern of any of the words, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_WORD = alternatives([*NUMBER_WORDS])
_QUOTES = r"\"'“”‘’「」『』"
_OF = r"(?:/|out\sof\b|of\b)(?:\s(?:a|the))?(?:\s(?:possible|maximum|max\.?|total))?(?:\sof)?"
_INSIDE = (
    r"[(\[,]?\s*(?:out\sof|/|max(?:imum)?\.?|满分|total)(?:\s(?:of|is|points:?))?\s*[为:=]?"
    rf"\s*(?P<inside>{NUMBER})\s*{UNIT}?\s*[)\]]?"
)
_TOP = rf"(?:\s*{_OF}\s*(?P<top>{NUMBER}|(?:{_WORD})\b)\s*{UNIT}?|\s*{_INSIDE})?"
_FULL = (
    r"(?P<full>(?:the\s)?(?:full\s(?:points?|marks?|scores?|credit)|maximum\spoints)|满分(?!\s*[0-9:]))"
    rf"(?:\s*[:=(]\s*(?P<number>{NUMBER})\s*{UNIT}?(?=\s*[)/]))?"
)
_NONE = rf"(?P<none>no\s(?:points?|marks?|credit)|(?:zero|0)\s(?:points?|marks?))(?:\s*[(]\s*0\s*{UNIT}?(?=\s*[)/]))?"
_SUM = rf"(?:{NUMBER}\s*[-+]\s*)+{NUMBER}\s*=\s*(?P<sum>{NUMBER})\s*{UNIT}?"
_PLAIN = rf"(?P<value>{NUMBER}|(?:{_WORD})\b)(?:\s*-?\s*{UNIT})?"
_POINTS = re.compile(rf"[\s{_QUOTES}(\[*~]*?(?:{_FULL}|{_NONE}|{_SUM}|{_PLAIN}){_TOP}[{_QUOTES})\]*]{{0,3}}")
_GOES_ON = re.compile(
    r"\s*(?:$|#|[.;!](?!\s?[0-9])|[,:](?!\s?[0-9])|\)|\]|\}|"
    r"\((?!\s*(?:or|maybe|max|rather|was|attempts?|frames?|tries|s|sec(?:ond)?s?|minutes?|times?)\b)|"
    rf"\|(?!\s*(?:[0-9.]+\s*(?:\||$)|(?:in)?correct|{SIGNS}))"
    rf"|(?:(?<=\s)[-–—]+|[-–—]+(?=\s))(?!\s?[0-9])|{SIGNS}"
    r"|(?:because|since|as|due|given|with|for|on|to\s(?:the|this|him|her)|and(?!\s[0-9])|but|here|awarded|overall"
    r"|is\s(?:appropriate|awarded|warranted|justified|given)|in\s(?:total|this\sstep)|would\sbe\smy|in\s[\ue000-\uefff]"
    r"|reason|justification|explanation|rationale|comment|evidence|so|while|which)\b|因为|由于|因|理由|原因|说明)"
)
"""What may stand behind a value: the end, a mark, or the beginning of its reason."""

_ADVERB = (
    r"(?:(?:fully|completely|entirely|totally|absolutely|all|clearly|both|performed|done|executed|carried\sout"
    r"|完全|操作|执行)\s*)"
)
_NOUNS = frozenset(word for word in ERROR if not word.isascii() or " " in word)
"""Nouns that are verdicts without a title; "error" alone may begin the report of a failure."""
_VERDICTS = alternatives(CORRECT | INCORRECT | _NOUNS | {"correctly", "incorrectly"})
_VERDICT = re.compile(
    rf"[\s{_QUOTES}(\[*]*?(?P<sign>{SIGNS})?\s*[{_QUOTES}(\[*]*"
    r"(?P<not>(?:is\s|was\s)?(?:not|n't)\s(?=fully|comp|enti|total|all|corr|perf|done|exec|carr))?"
    rf"{_ADVERB}{{0,2}}(?P<word>{_VERDICTS})(?![a-z_0-9])(?:\s(?:performed|executed|done|step))?[{_QUOTES})\]*]{{0,3}}\s*"
    rf"(?:[(/]?\s*(?P<again>{_VERDICTS})(?![a-z])\s*[)]?)?\s*(?P<behind>{SIGNS})?"
)
_SIGN = re.compile(rf"\s*(?P<sign>{SIGNS})(?=\s*(?:$|[-–—:,.(|;]))")
_ASSERTED = re.compile(rf"\s*[:=?]+\s*(?:(?:{alternatives(YES | NO)})(?=\s*(?:$|[.,;:!)]))|\[\]|\{{\}}|{SIGNS})")
_LATER = (
    r"(?:\bno(?=,|\s[0-9])|wait\b|actually\b|make (?:that|it)\b|should (?:be|have been)\b|correction\b|i meant?\b"
    r"|rather\b|scratch that|更正|应为|应该是|改为|不对)"
)
_VALUE = {
    "score": rf"(?:{NUMBER}|\b(?:{_WORD})\b)(?!\s*(?:cm|mm|s\b|sec|:|%))",
    "error": r"(?:correct\b|incorrect|wrong|正确|错)",
}
_TAKES_BACK = {kind: re.compile(rf"{_LATER}[^.\n]{{0,30}}?{value}") for kind, value in _VALUE.items()}
_CORRECTS = {kind: re.compile(rf"{_LATER}[^.\n]{{0,80}}?{value}") for kind, value in _VALUE.items()}


def value_at(text: str, start: int, step: RubricStep, answer: Answer, *, remark: bool = True) -> Stated | None:
    """The value that begins at a place of a folded text; ``remark``: what follows may take it away."""
    return _verdict_at(text, start, remark=remark) if answer == "error" else _points_at(text, start, step)


def _points_at(text: str, start: int, step: RubricStep) -> Stated | None:
    match = _POINTS.match(text, start)
    behind = _GOES_ON.match(text, match.end()) if match else None
    if match is None or behind is None or (match["sum"] and not _adds_up(match[0])):
        return None
    number = match["sum"] or match["value"] or match["number"] or (str(step.max_score) if match["full"] else "0")
    reading = points(NUMBER_WORDS.get(number, number), step.max_score, step.score_increment)
    if match["full"] and reading != step.max_score:
        reading = "ambiguous"
    top = match["top"] or match["inside"]
    if top is not None and float(NUMBER_WORDS.get(top, top)) != step.max_score:
        reading = "off_scale"
    if _TAKES_BACK["score"].search(text, match.end(), match.end() + 300):
        reading = "ambiguous"
    return Stated(reading, match.end())


def _adds_up(written: str) -> bool:
    terms, _, total = written.partition("=")
    numbers = re.findall(rf"[-+]?\s*{NUMBER}", terms)
    found = re.search(NUMBER, total)
    return found is not None and sum(float(number.replace(" ", "")) for number in numbers) == float(found[0])


_NOUN = re.compile(r"(?:error|mistake|deviation)(?=\W{0,3}(?:$|\n))")


def _verdict_at(text: str, start: int, *, remark: bool) -> Stated | None:
    match = _VERDICT.match(text, start)
    if match is None:
        sign = _SIGN.match(text, start)
        if sign is None and text[:start].rstrip(" *`\"'")[-1:] in (":", "=", "|", "-"):  # "cpr_01: error"
            noun = _NOUN.match(text, start)
            return Stated(1.0, noun.end()) if noun else None
        return Stated(SYMBOLS[sign["sign"]], sign.end()) if sign else None
    end = match.end()
    if _ASSERTED.match(text, end):  # "failed: False"
        return Stated("ambiguous", end)
    if not _GOES_ON.match(text, end) and not (match["behind"] or text[end - 1 : end] in ")\"'”」』"):
        return None
    said = {float(_is_wrong(match["word"]) != bool(match["not"]))}
    said |= {float(_is_wrong(match["again"]))} if match["again"] else set()
    said |= {SYMBOLS[sign] for sign in (match["sign"], match["behind"]) if sign}
    reading: Reading = said.pop() if len(said) == 1 else "ambiguous"
    rest = text[end : end + 600]
    if remark and isinstance(reading, float) and (_TAKES_BACK["error"].search(rest) or contradicts(rest, reading)):
        reading = "ambiguous"
    return Stated(reading, end)


def _is_wrong(word: str) -> bool:
    return word in INCORRECT | ERROR or word == "incorrectly"


def adds_noun(text: str, start: int) -> Stated | None:
    """The verdict "error" that is all that stands behind a title: ``Verdict: error``."""
    match = re.compile(r"\W{0,3}(?:an )?(?:error|mistake|deviation)s?\W{0,3}$").match(text, start)
    return Stated(1.0, match.end()) if match else None


def takes_back(sentence: str, answer: Answer) -> bool:
    """Test whether a sentence has a word of correction and a value behind it."""
    return _CORRECTS[answer].search(sentence) is not None


_SUPPOSED = re.compile(
    rf"\b(?:perhaps|maybe|might|possibly|probably|could be)\b[^.\n]{{0,40}}(?:{NUMBER}|correct|wrong)"
    r"|(?:可能|也许)[^.\n]{0,12}(?:[0-9]|正确|错)"
)


def supposes(sentence: str) -> bool:
    """Test whether a sentence supposes a value that may be another than the one that is stated."""
    return _SUPPOSED.search(sentence) is not None


_OTHER_TOP = re.compile(rf"满分(?:为|是|:)?\s*({NUMBER})\s*分|\bscale (?:of|from) (?:[01]\s?(?:-|–|to)\s?)?({NUMBER})")


def names_other_scale(text: str, step: RubricStep) -> bool:
    """Test whether a text says that the points are out of another maximum than the step's."""
    return any(float(han or latin) != step.max_score for han, latin in _OTHER_TOP.findall(text))
