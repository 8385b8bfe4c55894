"""Grammar of answers: families of JSON keys, and the family that a key belongs to; docs/reference/parsing.md shows it.

An answer needs four pieces of evidence. Its *key* belongs to a family below or names an asked step. Its *place* is an
answer's: nothing around it is an example, a draft or another quantity, and it stands before the turn ends. Its
*polarity* is known: a yes says nothing without the question. Its *scale* is the step's. Whatever leaves one of them
open is missing with the reason ``ambiguous``.

Here are the keys; :mod:`lexicon` has the words of values, :mod:`bracket_roles` the words around a bracket.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from siming_tasks.parsing.lexicon import fold_name

STATED, NEUTRAL, DENIED = 1, 0, -1  # meanings of a yes under a key: the step is correct, nothing, the step is wrong


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True)
class Family:
    """Keys that mean the same."""

    name: str  # what the table calls it
    says: str  # what a value under such a key is, for the table
    words: frozenset[str] = frozenset()  # at least one of these is among the words of the key,
    # and all others are among these or :data:`ANYWHERE`; None: whatever stands beside them
    with_: frozenset[str] | None = frozenset()
    chinese: str = r"(?!)"  # what a Chinese key, or the Chinese part of one, is
    takes: str = ""  # the kinds of question ("score", "error") that its value can answer
    holds: str = ""  # those whose answers may stand in a bracket under it
    polarity: int | None = None  # what a yes says; None: what it says under the key outside
    nouns: bool = True  # whether "error" is a verdict here (and not the report of a failure)

    def answers(self, answer: str) -> bool:
        """Test whether its value can be the answer to this kind of question."""
        return answer in self.takes

    def may_hold(self, word_set: set[str]) -> bool:
        """Test whether all words of a key are among those of the family."""
        return word_set <= self.words | ANYWHERE | (self.with_ or frozenset())


ANYWHERE = _set("the a an of for in by per each all s my your this that step steps item items final rubric to and")
"""Words that change no family's meaning."""

_PARTICIPLE = _set(
    "is are was were be has have had contains contain any there detected detection detections found present presence "
    "identified observed exist exists existing occurred made committed list flag flags with performed done map "
    "execution executed result results"
)

FAMILIES = (
    Family(
        "maximum",
        "what can be had; must be the step's maximum",
        _set("max maximum maxima maximal possible available attainable achievable full out"),
        with_=None,
        chinese=r".*(?:满分|分值|最高分|最大分|上限).*",
    ),
    Family(
        "scale",
        "a range; its upper end must be the step's maximum",
        _set("scale range ranges"),
        with_=None,
        chinese=r".*(?:量表|分制|评分范围|分数范围)",
    ),
    Family("unit", "what is counted; must be points", _set("unit units"), chinese=r"单位"),
    Family(
        "percent",
        "beside points: must say the same",
        _set("percent percentage pct"),
        with_=None,
        chinese=r".*百分.*|得分率",
    ),
    Family(
        "quantity",
        "another quantity, never an answer",
        _set(
            "deduction deductions deducted deduct penalty penalties lost loss subtracted minus importance weight "
            "weights weighted weighting priority difficulty relevance risk severity confidence confidences certainty "
            "probability probabilities likelihood time times timing timestamp timestamps duration second seconds "
            "minute minutes start end frame frames keyframe keyframes page pages segment count counts frequency rate "
            "rank ranking order threshold thresholds target ideal expected baseline previous average mean median "
            "normalized normalised relative initial draft preliminary original type types code codes index length min "
            "minimum"
        ),
        with_=None,
        chinese=r".*(?:扣|失分|置信|权重|时间|时刻|帧|重要|难度|严重|数量|次数|个数|类型|概率|平均|排名|优先).*",
    ),
    Family(
        "version",
        "another version of an answer: an answer beside it is ambiguous, and so is it",
        _set("revised corrected updated adjusted amended alternative"),
        with_=None,
        chinese=r"(?:修正|修改|调整|更正|更新)后?的?.*",
        takes="score error",
        holds="score error",
    ),
    Family(
        "words about",
        "speaks of steps without answering",
        _set(
            "reason reasons reasoning rationale rationales explanation explanations justification justifications "
            "comment comments feedback evidence observation observations note notes example examples format thinking "
            "thought thoughts analysis analyses description descriptions message suggestion "
            "suggestions remark remarks improvement improvements template sample placeholder criteria criterion "
            "requirement requirements"
        ),
        with_=None,
        chinese=r".*(?:理由|原因|说明|备注|解释|分析|示例|例子|格式|模板|描述|建议|依据|证据|评语|标准|要求).*",
    ),
    Family(
        "total",
        "a sum; beside the points of one step it must be equal to them or to their maximum",
        _set("total totals sum overall grand aggregate"),
        with_=_set("score scores point points mark marks"),
        chinese=r"总.*分.*|总计|合计|总和",
    ),
    Family(
        "points",
        "points",
        _set("score scores point points mark marks rating ratings grade grades"),
        with_=_set(
            "awarded award given assigned earned obtained achieved actual received trainee student candidate value "
            "values integer data map list json result results"
        ),
        chinese=r"(?:最终|本步骤?|该步骤?|各?步骤|实际|评定)?(?:得分|分数|评分|打分|分)(?:结果|情况)?",
        takes="score",
        holds="score error",
    ),
    Family(
        "verdict",
        "a verdict in words",
        _set(
            "verdict verdicts label labels judgement judgements judgment judgments decision decisions conclusion "
            "conclusions classification classifications determination determinations prediction predictions"
        ),
        with_=_set("overall binary result results value values map list json data is trainee student"),
        chinese=r"(?:最终|步骤)?(?:判断|判定|结论|裁定|评判)(?:结果)?|正误|对错",
        takes="error",
        holds="error",
        polarity=NEUTRAL,
    ),
    Family(
        "assessment",
        "a verdict in words",
        _set("evaluation evaluations assessment assessments"),
        with_=_set("overall result results list map json data is trainee student"),
        chinese=r"(?:最终|步骤)?(?:评价|评估)(?:结果)?",
        takes="error",
        holds="score error",
        polarity=NEUTRAL,
    ),
    Family(
        "correct?",
        "yes: correct, no: incorrect",
        _set("correct correctly right correctness"),
        with_=_PARTICIPLE | _set("fully completely was it"),
        chinese=(
            r"(?:操作|执行|动作|完成|步骤)?(?:是否)?(?:操作|执行|完全|动作)?正确(?:与否|性|的?步骤)?|(?:是否)?(?:操作)?无误"
            r"|(?:是否)?(?:无|没有|未发现|不存在)(?:任何|明显|操作)?(?:错误|偏差|失误|差错)"
        ),
        takes="error",
        holds="error",
        polarity=STATED,
    ),
    Family(
        "error?",
        "yes: incorrect, no: correct",
        _set(
            "error errors erroneous mistake mistakes mistaken deviation deviations deviates incorrect incorrectly "
            "wrong wrongly fault faults faulty flaw flaws flawed violation violations issue issues problem problems"
        ),
        with_=_PARTICIPLE | _set("status label labels verdict verdicts or key major minor"),
        chinese=(
            r"(?:操作|执行|步骤)?(?:是否|有无)?(?:存在|有|出现|发现|检测到|检出|检测出)?(?:的|了)?(?:操作|执行|步骤|明显)?"
            r"(?:错误|偏差|失误|差错|不正确|有误)(?:的?步骤|检测|检测结果|识别|列表)?|(?:是否|有无)?(?:存在|有)问题"
        ),
        takes="error",
        holds="error",
        polarity=DENIED,
    ),
    Family(
        "answer",
        "points, or a verdict in words but for the word error",
        _set("answer answers response responses result results output outputs value values final"),
        with_=_set("model json points score verdict"),
        chinese=r"(?:最终)?(?:答案|结果|回答|输出)",
        takes="score error",
        holds="score error",
        nouns=False,
    ),
    Family(
        "status",
        "a verdict in words but for the word error",
        _set("status state outcome"),
        chinese=r"状态",
        takes="error",
        holds="score error",
        polarity=NEUTRAL,
        nouns=False,
    ),
    Family(
        "skill",
        "which skill the numbers inside count",
        _set("skill skills section sections category procedure module part parts group"),
        with_=_set("id name title"),
        chinese=r"技能|项目|部分|科目",
        holds="score error",
    ),
    Family(
        "step",
        "which step is meant",
        _set("id step stepid name number no item # idx key title"),
        with_=_set("id step name number no item key title code"),
        chinese=r"步骤(?:编号|名称|序号)?|编号|序号|名称",
        holds="score error",
    ),
    Family(
        "holder",
        "holds answers; no answer itself",
        _set(
            "steps items data json list scoring grading parameters arguments input checklist performance trainee "
            "student candidate report exam examination video clip entries assessed scored per detail details breakdown"
        ),
        with_=_set(
            "evaluation evaluations assessment assessments result results score scores verdict verdicts for overall "
            "detailed detail cpr aed bmv"
        ),
        chinese=r"(?:各|所有|每个)?步骤(?:评估|评价|评分|结果|列表|得分)*|(?:评估|评价|考核|评分)(?:结果|详情|列表)?|学员.*",
        holds="score error",
    ),
)
"""In the order in which they are tried."""

UNKNOWN = Family("unknown", "read only where two or more such brackets part the asked steps among them", with_=None)
STEP = Family("asked step", "points, or a verdict in words", takes="score error", holds="score error")

NEGATIONS = _set("no not non without free zero never n't")
"""Turn a "correct?" into an "error?" and back: ``no_errors``, ``error_free``, ``not_correct``."""

MAX_KEY = 400  # A longer key is no name
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LATIN = re.compile(r"[a-z]+(?:'t)?|#")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_TOP = re.compile(
    r"(?:out[\s_]of|/|max(?:imum)?|满分)[\s_:：]*(?P<of>[0-9]{1,4}(?:\.5)?)(?![0-9])"
    r"|\b0\s*(?:-|–|to|~|至|到)\s*(?P<to>[0-9]{1,4}(?:\.5)?)(?![0-9])"
)
_BY_NAME = {family.name: family for family in FAMILIES}
_BARRING = FAMILIES[:7]  # one word of these decides what a key means, whatever else is in it
_VERDICT, _STATED, _DENIED = (_BY_NAME[name] for name in ("verdict", "correct?", "error?"))


@dataclass(frozen=True)
class Key:
    """Meaning of a key: its family, what a yes under it says (None: as outside of it), the maximum that it names."""

    family: Family
    polarity: int | None
    top: float | None = None


def key_of(key: str | None) -> Key:
    """The meaning of a key as written; ``unknown`` for none, and for one that is too long to be a name."""
    return Key(UNKNOWN, None) if key is None or len(key) > MAX_KEY else _key(key)


@lru_cache(maxsize=8192)
def _key(key: str) -> Key:
    text = fold_name(_CAMEL.sub(" ", fold_name(key, fold=False)))
    top = None
    if (named := _TOP.search(text)) and text[: named.start()].strip(" _([（"):
        top = float(named["of"] or named["to"])
        text = text[: named.start()] + " " + text[named.end() :]
    text = text.replace("can't", "not").replace("n't", " not")
    latin, han = _LATIN.findall(text), _HAN.findall(text)
    parts = [_latin(latin)] if any(word not in ANYWHERE for word in latin) or (latin and not han) else []
    parts += map(_han, han)
    # A key in two languages has one meaning if all its parts mean the same, or one of them bars it.
    for family in _BARRING:
        if any(part[0] is family for part in parts):
            return Key(family, None, top)
    if not re.search("[0-9]", text):
        if len(set(parts)) == 1:
            return Key(*parts[0], top)
        if {part[0] for part in parts} == {_STATED, _DENIED}:  # 正确/错误
            return Key(_VERDICT, NEUTRAL, top)
    return Key(UNKNOWN, None, top)


def _latin(words: list[str]) -> tuple[Family, int | None]:
    """The family of a key's English words, and what a yes under it says."""
    word_set = set(words)
    for family in _BARRING:
        named = word_set & family.words
        # "full" alone, or "out" without "of", is no maximum.
        idle = (named == {"out"} and "of" not in word_set) or (
            named == {"full"} and not word_set & _BY_NAME["points"].words
        )
        if named and not idle:
            return family, None
    if word_set == {"no"}:
        return _BY_NAME["step"], None
    negations, rest = sum(word in NEGATIONS for word in words), word_set - NEGATIONS
    stated, denied = bool(rest & _STATED.words), bool(rest & _DENIED.words)
    if stated and denied:
        choice = not negations and all(_STATED.may_hold({word}) or _DENIED.may_hold({word}) for word in rest - {"vs"})
        return (_VERDICT, NEUTRAL) if choice else (UNKNOWN, None)
    if stated or denied:
        clear = negations <= 1 and not (negations and "or" in rest)
        if not (clear and (_STATED if stated else _DENIED).may_hold(rest)):
            return UNKNOWN, None
        return (_STATED, STATED) if stated != bool(negations) else (_DENIED, DENIED)
    for family in FAMILIES[len(_BARRING) :]:
        if word_set & family.words and family.may_hold(word_set):
            return family, family.polarity
    return UNKNOWN, None


@lru_cache(maxsize=2048)
def _han(word: str) -> tuple[Family, int | None]:
    for family in FAMILIES:
        if re.fullmatch(family.chinese, word):
            return family, family.polarity
    return UNKNOWN, None
