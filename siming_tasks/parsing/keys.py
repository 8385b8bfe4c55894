"""The words that models use as keys around their answers, folded: lower case, ``_`` between words."""

from __future__ import annotations

from functools import lru_cache

from siming_tasks.parsing.values import DENIED, STATED, fold

__all__ = [
    "ANSWER_KEYS",
    "ASIDE",
    "FOREIGN",
    "ID_KEYS",
    "MAXIMUM_KEYS",
    "MAX_KEY",
    "POLARITY",
    "SKILL_KEYS",
    "WRAPPERS",
    "key_name",
]


MAX_KEY = 400
"""A longer key is no name."""


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ANY = _set("answer answers response result results value output final final_answer 答案 结果")
_SCORE = _set(
    "score scores step_score step_scores final_score score_awarded awarded_score point points points_awarded "
    "awarded_points awarded mark marks rating ratings 得分 分数 评分 分"
)
_VERDICT = _set(
    "verdict verdicts label labels judgement judgements judgment judgments decision decisions conclusion status "
    "判断 结论 判定"
)
POLARITY = {
    **dict.fromkeys(_set("correct is_correct performed_correctly correctly_performed 正确 是否正确"), STATED),
    **dict.fromkeys(
        _set(
            "error errors is_error has_error has_errors error_present error_detected contains_error incorrect "
            "is_incorrect wrong is_wrong 错误 是否错误 有错误 是否有错误 是否存在错误"
        ),
        DENIED,
    ),
}
"""Keys that ask "is it correct?" (``STATED``) or "is it wrong?" (``DENIED``)."""

ANSWER_KEYS = {"score": _SCORE | _ANY, "error": _VERDICT | _ANY | POLARITY.keys()}
"""Keys whose value is the answer, or an object of answers, by kind of question."""

FOREIGN = {"score": _VERDICT | POLARITY.keys(), "error": frozenset[str]()}
"""Keys that belong to the other kind of question. A point is not a verdict, but a verdict word says what it says."""

MAXIMUM_KEYS = _set("max max_score maximum maximum_score max_points out_of full_marks 满分")
ID_KEYS = _set("id step step_id stepid step_number step_no step_name name number no item 步骤 步骤编号 编号 步骤名称")

SKILL_KEYS = _set("skill skill_id skill_name section category procedure module part group 技能 项目 部分")

WRAPPERS = _SCORE | _VERDICT | _ANY | POLARITY.keys() | _set(
    "evaluation evaluations assessment assessments steps step_results items data json 步骤 评估"
)  # fmt: skip
"""Keys of objects that merely hold the answer; numbers and plain keys inside mean what they mean outside."""

ASIDE = MAXIMUM_KEYS | _set(
    "reason reasons reasoning rationale rationales explanation explanations justification justifications comment "
    "comments feedback evidence observation observations note notes confidence confidences deduction deductions "
    "example examples format thinking thought thoughts analysis weights "
    "理由 原因 说明 备注 解释 分析 置信度"
)
"""Keys of objects that speak about steps without answering."""


def key_name(key: str | None) -> str:
    """A key as it stands in these tables; "" for none, and for one that is too long to be a name."""
    return "" if key is None or len(key) > MAX_KEY else _folded(key)


@lru_cache(maxsize=4096)
def _folded(key: str) -> str:
    return fold(key).replace(" ", "_").replace("-", "_")
