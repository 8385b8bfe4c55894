"""Characters and words of values: their one form, and the words that :mod:`siming_tasks.parsing.grammar` speaks of."""

from __future__ import annotations

import re

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0x2212: 0x2D}
_ZERO_WIDTH = dict.fromkeys([0xAD, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF, 0xFE0E, 0xFE0F])
_NO_WIDTH = re.compile(f"[{''.join(map(chr, _ZERO_WIDTH))}]")
_CONTROLS = [*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0)]
_ORDER = [0x61C, 0x180E, *range(0x202A, 0x202F), *range(0x2065, 0x2070)]
_UNSEEN = _ZERO_WIDTH | dict.fromkeys([*_CONTROLS, *_ORDER])
_OUTER = " \t\r\n*_`'\"“”‘’。.!"


def fold_name(text: str, *, fold: bool = True) -> str:
    """A name in one form: full-width characters made plain, control and formatting characters removed, lower case."""
    text = text.translate(_WIDE).translate(_UNSEEN).strip(_OUTER)
    return text.casefold() if fold else text


def fold_value(text: str, outer: str = _OUTER) -> str:
    """A value in one form: as :func:`fold_name`, but marks that change the reading order stay and spoil it."""
    return text.translate(_WIDE).translate(_ZERO_WIDTH).strip(outer).casefold()


def strip_invisible(text: str) -> str:
    """The text without the characters that have no width."""
    return _NO_WIDTH.sub("", text)


def _phrases(text: str) -> frozenset[str]:
    return frozenset(re.split(", |\n", text))


CORRECT = _phrases(
    "correct, right, no error, no errors, error free, errorless, without error, without errors, correctly performed\n"
    "performed correctly, not incorrect, not wrong, fully correct, pass, completely correct, no error detected\n"
    "no errors detected, no deviation, no deviations, passed, no mistake, no mistakes, performed fully correctly\n"
    "no error found, no errors found\n"
    "正确, 对, 无误, 没有错误, 无错误, 操作正确, 完全正确, 未发现错误, 无偏差, 没有偏差"
)
INCORRECT = _phrases(
    "incorrect, wrong, erroneous, not correct, not right, incorrectly performed, fail, failed, performed incorrectly\n"
    "not performed correctly, not correctly performed, 不正确, 不对, 错, 操作不正确, 执行不正确"
)
ERROR = _phrases(
    "error, has error, has an error, has errors, with error, with errors, contains error, contains errors, mistake\n"
    "error detected, errors detected, error present, error found, deviation, has deviation\n"
    "错误, 有误, 有错误, 存在错误, 操作错误, 有偏差, 存在偏差"
)
SYMBOLS = dict.fromkeys("✅✓✔☑√", 0.0) | dict.fromkeys("❌✗✘×☒✖", 1.0)
"""Signs that are verdicts, but not under an "error?" key, where a tick may mean either."""

YES = _phrases("yes, y, true, 1, present, detected, found, 是, 有, 存在, 真")
NO = _phrases(
    "no, n, false, 0, none, absent, not detected, not present, not found, nil\n"
    "否, 无, 没有, 不存在, 不是, 未发现, 未检出, 假"
)
NO_VALUE = _phrases(
    "null, none, n/a, na, not applicable, unknown, not visible, cannot determine, 无法判断, 不适用, 未知"
) | {""}
NOT_VISIBLE = "not visible"
"""Words in prompts and files in place of an answer to a step that cannot be judged from what is shown."""
ABSTENTIONS = _phrases(
    "not visible, not observable, cannot determine, cannot be determined, cannot judge, cannot be judged\n"
    "cannot be seen, 不可见, 看不到, 无法判断"
)
"""That a step is not visible, where a reply may say so."""
NUMBER_FORMS = (
    *("2", "2.0", "2 points", "2分", "2/{m}", "2 / {m} points", "2 out of {m}", "2 (out of {m})", "2（满分{m}分）"),
    *("2/{m} - only 1 shoulder", "2 (too shallow)", "Score: 2", "得分：2分"),
)
"""Ways to write 2 points out of ``{m}``."""
