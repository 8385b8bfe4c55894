"""Reading of one written value: points, a verdict, or why it is neither. The words stand in :mod:`grammar`."""

from __future__ import annotations

import math
import re

from siming_tasks.parsing.grammar import DENIED, NEUTRAL, key_of
from siming_tasks.parsing.lexicon import ABSTENTIONS, CORRECT, ERROR, INCORRECT, NO, NO_VALUE, SYMBOLS, YES, fold_value
from siming_tasks.rubrics.rubric import WHOLE, is_on_increment

MAX_VALUE = 256  # A longer text is an explanation, not a value
_NUM = r"(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:e[+-]?[0-9]{1,4})?"
_UNIT = r"(?: (?:points?|pts?\.?|marks?|分) \s* )?"
_OF = r"(?: / | out\ of\b (?:\ a\ (?:possible|maximum|total)\b (?:\ of\b)?)? | of\b )"
_POINTS = re.compile(
    rf"""(?: (?:score|points?|得分|分数|评分|得) \s* [:=]? \s* )?
         (?P<value> [-+]?{_NUM} ) \s* {_UNIT}
         (?: {_OF} \s* (?P<maximum>{_NUM}) \s* {_UNIT}
           | \( \s* (?: {_OF} | max(?:imum)?\b (?:\ of\b)? | 满分 ) [\s:]* (?P<inside>{_NUM}) \s* {_UNIT} \) \s* )?
         (?: (?: \( | \s[-#]\s | [—–:;,] | 。 | \.\s ) (?P<remark>.*) )?""",
    re.VERBOSE | re.DOTALL,
)
_VERDICTS = CORRECT | INCORRECT | ERROR
_DIGIT = re.compile(r"[0-9]")
_TWO = re.compile(r"\s*(?:or|to|-|/|或|到)?\s*[0-9.]+\s*(?:/|out of|分|points?|pts?|$|\))")
_DEDUCTED = re.compile(r"扣\s*([0-9](?:\.5)?)\s*分|(?<=[(（\s])[-−]([0-9](?:\.5)?)(?: points?)?(?=[)）])")
"""Points of a remark that were lost: together they must be what the value lacks of the maximum."""
_LOST = re.compile(
    r"\W*(?:points?\W+)?(?:are |is |were |was |been |to be )?(?:deducted|lost|off|minus|subtracted|max)"
    r"|\W*[被共]?(?:扣|满分|失)"
)
_OTHERWISE = re.compile(
    r"\bno(?=,| wait)|\bwait\b|\bactually\b|\bmake (?:that|it)\b|\bshould (?:be|have been)\b|\bcorrection\b"
    r"|\bi meant?\b|更正|应为"
)
"""Words of a remark that take the number back."""
_UNSEEN = re.compile(
    r"(?P<word>[^:,.;(，。；：—–\n]{1,40}?)"
    r"(?:\s(?:in|on|from|within)\s(?:the\s|this\s)?(?:video|clip|footage|frames?|images?|recording)(?:\sframes)?)?"
    r"[.。]?(?:\s*(?:\s-\s|[:,.;(，。；：—–])(?P<remark>.*))?",
    re.DOTALL,
)
_ANSWERED = re.compile(
    r"correct|wrong|error|\bright\b|fail|pass|point|score|mark|full|zero|\bbut\b|assum|probab|likel|对|错|分"
)

_ASSERTS = re.compile(rf"\W*(?:{'|'.join(sorted(YES | NO))})\W*")
_FIELD = re.compile(r"(?P<key>[^:?=]{1,60}?)\s*[:=?]+\s*(?P<word>[^:?=]{1,40})", re.DOTALL)
_EXPLAINED = re.compile(
    r"(?P<verdict>[^:,.;(，。；：—–\n]{1,40}?)\s*"
    r"(?:\s-\s|[:,.;(，。；：—–\n]|\s(?=(?:because|due to|since|as)\b))(?P<remark>.*)",
    re.DOTALL,
)
_DOUBT = re.compile(
    r"incorrect|wrong|error|mistake|fault|deviat|\bnot?\b|n't\b|\bbut\b|however|except|partial|\btoo\b|insufficient"
    r"|inadequate|slight|minor|\blate\b|delay|\bmiss|\black|omit|\bfail|although|though|\byet\b|\bshould(?!ers?\b)|could|deduct"
    r"|incomplete|unclear|cannot|unable|shallow|hesita|错|误|不|但|除|部分|略|稍|偏|缺|漏|未|没|扣|过[浅深快慢早晚]|无法|延迟"
)
_TAKEN_BACK = re.compile(
    r"\b(?:actually|rather|in fact|should be|changed? to|instead|on reflection)\b[^.]{0,30}\b(?:in)?correct\b"
    r"|^\W*(?:no|none|nil|zero|without)\b(?:(?:\W+\w+)?\W+(?:errors?|mistakes?|deviations?|issues?|problems?)\b|\W*$)"
    r"|^\W*(?:无|没有|未见|未发现)(?:明显|任何)?(?:错误|偏差|问题|失误|$)|^\W*(?:or|and|yes)\b"
)
_RATIO = re.compile(r"(?<![0-9.:/])([0-9]{1,2})\s?/\s?([1-9][0-9]?)(?![0-9.:/]|\s*(?:frames?|times|sec))")
_HARMLESS = re.compile(
    r"\b(?:without|no|not|never|nothing|none|neither|nor|n't)\s+(?:\w+\s+){0,2}?(?:delay|hesitat|shak|error|deviat|mistake|pause|interrupt"
    r"|issue|problem|fault|block|obstruct|touch|wrong|incorrect|unsafe|fad(?:e|ing)|shallow|too|excess|sign|miss)\w*"
    r"|(?:没有|无|未见|未发现|未出现|不)(?:任何|明显)?(?:不正确|错误|偏差|延迟|延误|停顿|中断|摇晃|失误|问题|过[浅深])的?(?:操作|之处|地方)?"
)
"""Words of a remark that deny a fault."""
_DENIED = re.compile(
    r"\W*(?:无|没有|未发现|未见|未检|否|不是|不存在|不对|是否|none|no\b|nil|zero|without|not\b|yes|maybe)"
)
"""The beginning of a remark that answers the question whether there is an error."""
_NEGATED = re.compile(
    r"\bno\b|\bnot\b|\bnone\b|\bnil\b|n't\b|\bzero\b|without|\bmaybe\b|\byes\b|\?|无|没|未|不|否|是否"
)
_FAILURE = re.compile(
    r"time[d]?[ -]?out|connect|request|server|upstream|\bapi\b|rate.?limit|http|token|exception|invalid|network|refused"
    r"|unavailable|overload|parse|load|超时|请求|服务|网络|连接|接口|异常|加载|解析"
)


def last_number(text: str) -> float | None:
    """The last number in ``text``, without its sign (``0-10``: 10; ``5 points``: 5; ``60%``: 60), or None."""
    match = re.findall(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", fold_value(text[:MAX_VALUE]))
    return float(match[-1]) if match else None


def abstains(text: str) -> bool:
    """Test whether a value says that the step is not visible: one of the words, perhaps with a remark beside it.

    ``not visible``, ``Not visible in the video``, ``not visible: hidden by the second rescuer``; but not
    ``not visible, 0 points`` or ``not visible but probably correct``.
    """
    match = _UNSEEN.fullmatch(fold_value(text)) if len(text) <= MAX_VALUE else None
    if match is None or _word(match["word"]) not in ABSTENTIONS:
        return False
    remark = match["remark"] or ""
    return not (_DIGIT.search(remark) or _ANSWERED.search(remark))


def points(text: str, max_score: float, score_increment: float = WHOLE) -> float | str:
    """Points out of ``max_score``: ``2``, ``2.0``, ``2/3``, ``2 points``, ``２分``, ``2 (too shallow)``; else a reason.

    Off the scale are numbers below 0 or above ``max_score``, those that are no multiple of ``score_increment`` (1.5
    where points are whole, 1.25 where halves are allowed; nothing is rounded), points out of another maximum, NaN and
    infinity. A remark may hold numbers only where the maximum is given.
    """
    if len(text) > MAX_VALUE:
        return "unreadable"
    written = fold_value(text, " \t\r\n*`'\"“”‘’").rstrip(" .。!*")
    if written in NO_VALUE:
        return "absent"
    if re.fullmatch(r"[-+]?(?:nan|inf|infinity)", written):
        return "off_scale"
    match = _POINTS.fullmatch(written)
    if match is None:
        return "unreadable"
    remark, maximum = match["remark"] or "", match["maximum"] or match["inside"]
    lost = _DEDUCTED.findall(remark) if maximum is None else []
    if lost and sum(float(han or sign) for han, sign in lost) == max_score - float(match["value"]):
        remark = _DEDUCTED.sub("", remark)  # "2 - one shoulder (-1)" of 3
    if _TWO.match(remark) or (maximum is None and _DIGIT.search(remark)):  # "2 (or 3)"
        return "unreadable"
    if (maximum is None and _LOST.match(remark)) or _OTHERWISE.search(remark):
        return "ambiguous"
    value = float(match["value"])
    on_scale = maximum is None or float(maximum) == max_score
    if not (on_scale and math.isfinite(value) and 0 <= value <= max_score and is_on_increment(value, score_increment)):
        return "off_scale"
    return abs(value)  # no -0.0


def verdict(text: str, polarity: int | None = NEUTRAL, *, nouns: bool = True, longest: int = MAX_VALUE) -> float | str:
    """1.0 for incorrect, 0.0 for correct; else a reason.

    ``polarity`` says what a yes says under its key, ``nouns`` whether the word "error" is a verdict.
    """
    if len(text) > longest:
        return "unreadable"
    written = fold_value(text)
    for char, rest in ((written[:1], written[1:]), (written[-1:], written[:-1])):
        if char in SYMBOLS:  # what stands beside a tick or a cross must say the same
            if not fold_value(rest):
                return "ambiguous" if polarity == DENIED else SYMBOLS[char]
            agrees = not set(rest) & SYMBOLS.keys() and verdict(rest, NEUTRAL, nouns=nouns) == SYMBOLS[char]
            return SYMBOLS[char] if agrees else "ambiguous"
    word = _word(written)
    if word in CORRECT or word in INCORRECT:
        return float(word in INCORRECT)
    if word in ERROR:
        return 1.0 if nouns else "ambiguous"
    if word in YES | NO:
        return _asserted(word, polarity)
    if word in NO_VALUE:
        return "absent"
    # "Error detected: No" is a question with its answer.
    if (match := _FIELD.fullmatch(written)) and (key := key_of(match["key"])).polarity:
        word = _word(fold_value(match["word"]))
        if word in YES | NO:
            return _asserted(word, key.polarity)
    # "错误 (incorrect)" and "correct / 正确" say the same in two languages.
    parts = [_word(fold_value(part)) for part in re.split(r"[()/|,，]", written) if fold_value(part)]
    if len(parts) == 2 and _VERDICTS.issuperset(parts) and (nouns or not ERROR & {*parts}):
        first, second = (float(part not in CORRECT) for part in parts)
        return first if first == second else "unreadable"
    return _explained(written, nouns)


def contradicts(remark: str, verdict: float) -> bool:
    """Test whether the words behind a verdict, on its line, speak against it."""
    if any((float(score) < float(top)) != bool(verdict) for score, top in _RATIO.findall(remark)):  # "correct (1/2)"
        return True
    if verdict:
        return _TAKEN_BACK.search(remark) is not None
    return _DOUBT.search(_HARMLESS.sub(" ", remark)) is not None


def _word(written: str) -> str:
    return " ".join(written.replace("_", " ").replace("-", " ").split())


def _asserted(word: str, polarity: int | None) -> float | str:
    """Verdict of a yes or a no; a 0, or a yes to no question, says nothing."""
    if polarity:
        return float((word in YES) == (polarity == DENIED))
    return "absent" if word in NO_VALUE else "ambiguous"


def _explained(written: str, nouns: bool) -> float | str:
    """``incorrect: too shallow``: a verdict, a mark, and words that do not take it back."""
    match = _EXPLAINED.fullmatch(written)
    if match is None:
        return "unreadable"
    word, remark = _word(fold_value(match["verdict"])), fold_value(match["remark"].strip(" )"))
    if remark in YES | NO | NO_VALUE | {"[]", "{}", "nein", "ja"} or set(remark) & SYMBOLS.keys():  # "failed: False"
        return "ambiguous"
    clauses = {_word(fold_value(part)) for part in re.split(r"[.,;:，。；：\n]", remark)}
    if clauses & _VERDICTS - {word}:
        return "ambiguous"
    if word in INCORRECT:
        return "ambiguous" if _TAKEN_BACK.search(remark) else 1.0
    if word == "错误" and nouns and written[match.end("verdict") :].lstrip().startswith("("):
        # An adjective with its reason: "错误（未按压）".
        denied = _DENIED.match(remark) or _TAKEN_BACK.search(remark) or _FAILURE.search(remark)
        return "ambiguous" if denied or "?" in remark else 1.0
    if word in ERROR and nouns:
        return "ambiguous" if _NEGATED.search(remark) or _FAILURE.search(remark) else 1.0
    if word in CORRECT:
        return "unreadable" if _DOUBT.search(remark) or _ASSERTS.fullmatch(remark) else 0.0
    return "unreadable"
