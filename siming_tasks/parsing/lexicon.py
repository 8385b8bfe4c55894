"""The words and forms of values: part of what is accepted as an answer, see :mod:`siming_tasks.parsing.grammar`."""

from __future__ import annotations

__all__ = [
    "ABSTENTIONS",
    "CORRECT",
    "ERROR",
    "INCORRECT",
    "NO",
    "NOT_VISIBLE",
    "NO_VALUE",
    "NUMBER_FORMS",
    "SYMBOLS",
    "YES",
]

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
SYMBOLS = {
    "✅": 0.0,
    "✓": 0.0,
    "✔": 0.0,
    "☑": 0.0,
    "√": 0.0,
    "❌": 1.0,
    "✗": 1.0,
    "✘": 1.0,
    "×": 1.0,
    "☒": 1.0,
    "✖": 1.0,
}
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
NOT_VISIBLE = "not visible"
"""Words in prompts and files in place of an answer to a step that cannot be judged from what is shown."""
ABSTENTIONS = frozenset(
    (
        *(NOT_VISIBLE, "not observable", "cannot determine", "cannot be determined", "cannot judge"),
        *("cannot be judged", "cannot be seen", "不可见", "看不到", "无法判断"),
    )
)
"""That a step is not visible, where a reply may say so."""
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
