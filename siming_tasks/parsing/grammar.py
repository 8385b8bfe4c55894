"""What is accepted as an answer: the tables that the reader is derived from, and ``docs/parsing.md`` is tested against.

An answer needs four pieces of evidence. Its *key* belongs to a family below or names an asked step. Its *place* is an
answer's: nothing around it is an example, a draft or another quantity, and it stands before the turn ends. Its
*polarity* is known: a yes says nothing without the question. Its *scale* is the step's. Whatever leaves one of them
open is missing with the reason ``ambiguous``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = [
    "CORRECT",
    "DENIED",
    "ENDS",
    "ERROR",
    "FAMILIES",
    "INCORRECT",
    "LABELS",
    "NEUTRAL",
    "NEGATIONS",
    "ANYWHERE",
    "AFTERWARDS",
    "SHORT_LABEL",
    "NO",
    "NO_VALUE",
    "NUMBER_FORMS",
    "STATED",
    "STEP",
    "SYMBOLS",
    "UNKNOWN",
    "YES",
    "Family",
]

STATED, NEUTRAL, DENIED = 1, 0, -1
"""What a yes under a key says of a step: it is correct, nothing, it is wrong."""


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True)
class Family:
    """Keys that mean the same.

    Attributes:
        name: what the table calls it.
        says: what a value under such a key is, for the table.
        words: at least one of these is among the words of the key,
        with_: and all others are among these or :data:`_ANYWHERE`; None: whatever stands beside them.
        chinese: what a Chinese key, or the Chinese part of one, is.
        scores: whether it can hold points.
        verdicts: whether it can hold a verdict.
        holds: the kinds of question whose answers may stand in a bracket under it.
        polarity: what a yes says; None: what it says under the key outside.
        nouns: whether "error" is a verdict here (and not the report of a failure).
    """

    name: str
    says: str
    words: frozenset[str] = frozenset()
    with_: frozenset[str] | None = frozenset()
    chinese: str = r"(?!)"
    scores: bool = False
    verdicts: bool = False
    holds: str = ""
    polarity: int | None = None
    nouns: bool = True

    def answers(self, answer: str) -> bool:
        """Whether its value can be the answer to this kind of question."""
        return self.scores if answer == "score" else self.verdicts


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
        words=_set("max maximum maxima maximal possible available attainable achievable full out"),
        with_=None,
        chinese=r".*(?:满分|分值|最高分|最大分|上限).*",
    ),
    Family(
        "scale",
        "a range; its upper end must be the step's maximum",
        words=_set("scale range ranges"),
        with_=None,
        chinese=r".*(?:量表|分制|评分范围|分数范围)",
    ),
    Family(
        "percent",
        "beside points: must say the same",
        words=_set("percent percentage pct"),
        with_=None,
        chinese=r".*百分.*|得分率",
    ),
    Family(
        "quantity",
        "another quantity, never an answer",
        words=_set(
            "deduction deductions deducted deduct penalty penalties lost loss subtracted minus importance weight "
            "weights weighted weighting priority difficulty relevance risk severity confidence confidences certainty "
            "probability probabilities likelihood time times timing timestamp timestamps duration second seconds "
            "minute minutes start end frame frames keyframe keyframes page pages segment count counts frequency rate "
            "rank ranking order threshold thresholds target ideal expected baseline previous average mean median "
            "normalized normalised relative type types category_id code codes index length min minimum"
        ),
        with_=None,
        chinese=r".*(?:扣|失分|置信|权重|时间|时刻|帧|重要|难度|严重|数量|次数|个数|类型|概率|平均|排名|优先).*",
    ),
    Family(
        "words about",
        "speaks of steps without answering",
        words=_set(
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
        words=_set("total totals sum overall grand aggregate"),
        with_=_set("score scores point points mark marks"),
        chinese=r"总.*分.*|总计|合计|总和",
    ),
    Family(
        "points",
        "points",
        words=_set("score scores point points mark marks rating ratings grade grades"),
        with_=_set(
            "awarded award given assigned earned obtained achieved actual received trainee student candidate value "
            "values integer data map list json result results"
        ),
        chinese=r"(?:最终|本步骤?|该步骤?|各?步骤|实际|评定)?(?:得分|分数|评分|打分|分)(?:结果|情况)?",
        scores=True,
        holds="score error",
    ),
    Family(
        "verdict",
        "a verdict in words",
        words=_set(
            "verdict verdicts label labels judgement judgements judgment judgments decision decisions conclusion "
            "conclusions classification classifications determination determinations prediction predictions"
        ),
        with_=_set("overall binary result results value values map list json data is trainee student"),
        chinese=r"(?:最终|步骤)?(?:判断|判定|结论|裁定|评判)(?:结果)?|正误|对错",
        verdicts=True,
        holds="error",
        polarity=NEUTRAL,
    ),
    Family(
        "assessment",
        "a verdict in words",
        words=_set("evaluation evaluations assessment assessments"),
        with_=_set("overall result results list map json data is trainee student"),
        chinese=r"(?:最终|步骤)?(?:评价|评估)(?:结果)?",
        verdicts=True,
        holds="score error",
        polarity=NEUTRAL,
    ),
    Family(
        "correct?",
        "yes: correct, no: incorrect",
        words=_set("correct correctly right correctness"),
        with_=_PARTICIPLE | _set("fully completely was it"),
        chinese=(
            r"(?:操作|执行|动作|完成|步骤)?(?:是否)?(?:操作|执行|完全|动作)?正确(?:与否|性|的?步骤)?|(?:是否)?(?:操作)?无误"
            r"|(?:是否)?(?:无|没有|未发现|不存在)(?:任何|明显|操作)?(?:错误|偏差|失误|差错)"
        ),
        verdicts=True,
        holds="error",
        polarity=STATED,
    ),
    Family(
        "error?",
        "yes: incorrect, no: correct",
        words=_set(
            "error errors erroneous mistake mistakes mistaken deviation deviations deviates incorrect incorrectly "
            "wrong wrongly fault faults faulty flaw flaws flawed violation violations issue issues problem problems"
        ),
        with_=_PARTICIPLE | _set("status label labels verdict verdicts or key major minor"),
        chinese=(
            r"(?:操作|执行|步骤)?(?:是否|有无)?(?:存在|有|出现|发现|检测到|检出|检测出)?(?:的|了)?(?:操作|执行|步骤|明显)?"
            r"(?:错误|偏差|失误|差错|不正确|有误)(?:的?步骤|检测|检测结果|识别|列表)?|(?:是否|有无)?(?:存在|有)问题"
        ),
        verdicts=True,
        holds="error",
        polarity=DENIED,
    ),
    Family(
        "answer",
        "points, or a verdict in words but for the word error",
        words=_set("answer answers response responses result results output outputs value values final"),
        with_=_set("model json points score verdict"),
        chinese=r"(?:最终)?(?:答案|结果|回答|输出)",
        scores=True,
        verdicts=True,
        holds="score error",
        nouns=False,
    ),
    Family(
        "status",
        "a verdict in words but for the word error",
        words=_set("status state outcome"),
        chinese=r"状态",
        verdicts=True,
        holds="score error",
        polarity=NEUTRAL,
        nouns=False,
    ),
    Family(
        "skill",
        "which skill the numbers inside count",
        words=_set("skill skills section sections category procedure module part parts group"),
        with_=_set("id name title"),
        chinese=r"技能|项目|部分|科目",
        holds="score error",
    ),
    Family(
        "step",
        "which step is meant",
        words=_set("id step stepid name number no item # idx key title"),
        with_=_set("id step name number no item key title code"),
        chinese=r"步骤(?:编号|名称|序号)?|编号|序号|名称",
        holds="score error",
    ),
    Family(
        "holder",
        "holds answers; no answer itself",
        words=_set(
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
STEP = Family("asked step", "points, or a verdict in words", scores=True, verdicts=True, holds="score error")

NEGATIONS = _set("no not non without free zero never n't")
"""Turn a "correct?" into an "error?" and back: ``no_errors``, ``error_free``, ``not_correct``."""

CORRECT = frozenset(
    (
        *("correct", "right", "no error", "no errors", "error free", "errorless", "without error", "without errors"),
        *("correctly performed", "performed correctly", "not incorrect", "not wrong", "fully correct", "pass"),
        *("completely correct", "no error detected", "no errors detected", "no deviation", "no deviations", "passed"),
        *("no mistake", "no mistakes", "performed fully correctly", "no error found", "no errors found"),
        *("正确", "对", "无误", "没有错误", "无错误", "操作正确", "完全正确", "未发现错误", "无偏差", "没有偏差"),
    )
)
INCORRECT = frozenset(
    (
        *("incorrect", "wrong", "erroneous", "not correct", "not right", "incorrectly performed", "fail", "failed"),
        *("performed incorrectly", "not performed correctly", "not correctly performed"),
        *("不正确", "不对", "错", "操作不正确", "执行不正确"),
    )
)
ERROR = frozenset(
    (
        *("error", "has error", "has an error", "has errors", "with error", "with errors", "contains error"),
        *("contains errors", "error detected", "errors detected", "error present", "error found", "mistake"),
        *("deviation", "has deviation"),
        *("错误", "有误", "有错误", "存在错误", "操作错误", "有偏差", "存在偏差"),
    )
)
SYMBOLS = {"✅": 0.0, "✓": 0.0, "✔": 0.0, "☑": 0.0, "√": 0.0, "❌": 1.0, "✗": 1.0, "✘": 1.0, "×": 1.0, "☒": 1.0, "✖": 1.0}
"""Signs that are verdicts, but not under an "error?" key, where a tick may mean either."""

YES = frozenset(("yes", "y", "true", "1", "present", "detected", "found", "是", "有", "存在", "真"))
NO = frozenset(
    (
        *("no", "n", "false", "0", "none", "absent", "not detected", "not present", "not found", "nil"),
        *("否", "无", "没有", "不存在", "不是", "未发现", "未检出", "假"),
    )
)
NO_VALUE = frozenset(
    (
        *("", "null", "none", "n/a", "na", "not applicable", "unknown", "not visible", "cannot determine"),
        *("无法判断", "不适用", "未知"),
    )
)
NUMBER_FORMS = (
    "2",
    "2.0",
    "2 points",
    "2分",
    "2/{m}",
    "2 / {m} points",
    "2 out of {m}",
    "2 (out of {m})",
    "2（满分{m}分）",
    "2/{m} - only 1 shoulder",
    "2 (too shallow)",
    "Score: 2",
    "得分：2分",
)
"""Ways to write 2 points out of ``{m}``."""

ENDS = re.compile(
    r"""<\|(?:im_start|im_end|eot_id|eom_id|start_header_id|endoftext|end_of_text|user|assistant|return|eos)\|>
      | <\|(?:START|END)_OF_TURN_TOKEN\|> | <｜[^<>｜]{1,24}｜> | </s> | <(?:start|end)_of_turn> | <eos> | \[/?INST\]
      | \[UNUSED_TOKEN_14[56]\]
      | ^[ \t]* (?:\#{1,4}[ \t]*)? \**
        (?: (?:USER|User|HUMAN|Human|ASSISTANT|Assistant|用户|助手)\** [ \t]* [:：]
          | (?<=\#[ ])(?:Instruction|User|Human|Input|Response)\b )""",
    re.VERBOSE | re.MULTILINE,
)
"""Where the model's turn ends: its family's special tokens, or a line on which another speaks."""

_QUANTITY = "|".join(
    sorted(word for family in FAMILIES[:4] for word in family.words if word not in ("full", "out", "available"))
)
LABELS = (
    (
        "aside",
        "an example or a form: never an answer",
        re.compile(
            r"\b(?:examples?|e\.g|for instance|templates?|placeholders?|samples?|hypothetical|illustrat\w*|schema)\b"
            r"|\blooks? like\b|示例|样例|例如|比如|模板|参考.{0,6}格式"
        ),
    ),
    (
        "aside",
        "not, if, instead of, or",
        re.compile(
            r"(?:\b(?:not|never|than|instead of|unlike|if|unless|from|versus|vs)|n't)\W+(?:\w+\W+){0,2}$|(?:不是|而非|如果)\W*$"
        ),
    ),
    (
        "draft",
        "counts only until it is replaced: alone it is ambiguous",
        re.compile(
            r"\b(?:draft|initial|initially|preliminary|tentative|at first|first impression|could|might|may be|perhaps"
            r"|either|possibly)\b|^\W*or\W*$|初步|草稿|最初|起初|可能"
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
"""What the words before a bracket (its line, or the line that introduces it) make of it; the first that fits."""

SHORT_LABEL = re.compile(rf"\b(?:{_QUANTITY})\b|(?<!in )\b(?:output |answer |response )?format\b|满分|扣|时间|帧|权重|格式")
"""In a label of up to five words: another quantity, or the form of an answer."""

AFTERWARDS = re.compile(
    r"[\s`*.,，。]{0,4}(?:(?:would|could|might|if|unless|or|seems?|或|如果|表示|代表)\b|is (?:the|an?|too) |(?:would|could)n't\b)"
)
"""Words right after a bracket that make it a draft."""
