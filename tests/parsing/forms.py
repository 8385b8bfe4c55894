"""Replies of a perfect judge: every key, value and layout, and changes that mislead no careful person.

The meaning of keys and of values under them is written here by hand, not taken from the parser's tables. ``kind`` of
a key: ``error`` (yes: there is one), ``correct`` (yes: it is), ``plain`` (asks nothing: a yes may be either).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from siming_tasks.common.schema import Answer
from siming_tasks.rubrics import RubricStep

__all__ = [
    "FOREIGN",
    "LAYOUTS",
    "MUTATIONS",
    "POINT_FORMS",
    "POINT_KEYS",
    "VERDICT_FORMS",
    "VERDICT_KEYS",
    "Form",
    "draw_reply",
    "written_values",
]

VERDICT_KEYS = {
    "en": {
        "error": [
            *("error", "errors", "has_error", "hasErrors", "error_detected", "errors_detected", "detected_errors"),
            *("error_detection", "errorsFound", "mistake", "mistakes", "deviation", "deviations", "has_deviation"),
            *("deviation_detected", "incorrect", "is_incorrect", "incorrect_steps", "wrong", "is_wrong", "Error?"),
            *("contains_errors", "error_present", "steps_with_errors", "fault", "has_issues", "Any error?"),
        ],
        "correct": [
            *("correct", "is_correct", "isCorrect", "performed_correctly", "correctly_performed", "correctness"),
            *("correct_steps", "step_correct", "no_error", "no_errors", "noErrors", "error_free", "without_errors"),
            *("Correct?", "no_deviation", "Is it correct?"),
        ],
        "plain": [
            *("verdict", "verdicts", "label", "labels", "judgement", "decision", "classification", "final_verdict"),
            *("evaluation", "assessment", "result", "results", "answer", "answers", "output", "response", "status"),
            *("correct_or_incorrect", "conclusion", "performance", "outcome", "completed", "done", "value"),
        ],
    },
    "zh": {
        "error": [
            *(
                "错误",
                "是否错误",
                "有错误",
                "是否有错误",
                "是否存在错误",
                "存在错误",
                "有无错误",
                "错误检测",
                "检测到的错误",
            ),
            *("错误步骤", "偏差", "有无偏差", "是否有误", "存在偏差", "失误", "是否存在问题"),
        ],
        "correct": ["正确", "是否正确", "操作是否正确", "正确与否", "是否无误", "无错误", "没有错误", "执行是否正确"],
        "plain": ["判断", "判定", "结论", "结果", "评价", "评估结果", "最终判断", "答案", "状态", "正误", "完成情况"],
    },
}

_WORDS: dict[str, tuple[object, object]] = {  # correct, incorrect: the same under every key
    "asked": ("correct", "incorrect"),
    "capital": ("Correct.", "INCORRECT"),
    "bold": ("**correct**", "**incorrect**"),
    "error": ("no error", "error"),
    "right": ("right", "wrong"),
    "adverb": ("performed correctly", "performed incorrectly"),
    "not": ("correct", "not correct"),
    "tick": ("✅ Correct", "❌ Incorrect"),
    "remark": ("Correct - well placed", "Incorrect - only 1 shoulder"),
    "because": ("correct", "incorrect because the correct depth is not reached"),
    "correct field": ("Correct: Yes", "Correct: No"),
    "error field": ("Error: none", "Error: yes"),
    "detected field": ("Error detected: No", "Error detected: Yes"),
    "zh": ("正确", "错误"),
    "zh not": ("正确", "不正确"),
    "zh has": ("没有错误", "存在错误"),
    "zh error field": ("错误：无", "错误：有"),
    "zh correct field": ("正确：是", "正确：否"),
    "both": ("正确 (correct)", "错误 (incorrect)"),
}
_YES_NO: dict[str, tuple[object, object]] = {  # no, yes: what it says depends on the key
    "bool": (False, True),
    "word": ("no", "yes"),
    "Word": ("No", "Yes"),
    "text": ("false", "true"),
    "number": (0, 1),
    "present": ("absent", "present"),
    "none": ("none", "present"),
    "zh is": ("否", "是"),
    "zh has": ("无", "有"),
    "zh there": ("不存在", "存在"),
}

Say = Callable[[bool], object]


def _say(pair: tuple[object, object], flip: bool) -> Say:
    return lambda wrong: pair[wrong is not flip]


def VERDICT_FORMS(kind: str) -> Iterator[tuple[str, Say]]:
    """Names and values (correct, incorrect) that may be written under a key of this kind."""
    for name, pair in _WORDS.items():
        yield name, _say(pair, False)
    if kind != "error":
        yield "sign", _say(("✅", "❌"), False)
    for name, pair in _YES_NO.items():
        if kind != "correct":
            yield f"yes is wrong, {name}", _say(pair, False)
        if kind != "error":
            yield f"yes is right, {name}", _say(pair, True)


POINT_KEYS = {
    "en": ["score", "scores", "points", "points_awarded", "pointsAwarded", "final_score", "marks", "rating", "result"],
    "zh": ["得分", "分数", "评分", "最终得分", "得分 (score)", "结果"],
}
POINT_FORMS: dict[str, Callable[[int, int], object]] = {
    "number": lambda points, top: points,
    "float": lambda points, top: float(points),
    "text": lambda points, top: str(points),
    "of": lambda points, top: f"{points}/{top}",
    "out of": lambda points, top: f"{points} out of {top}",
    "inside": lambda points, top: f"{points} (out of {top})",
    "unit": lambda points, top: f"{points} points",
    "remark": lambda points, top: f"{points}/{top} - only 1 shoulder",
    "words": lambda points, top: f"{points} (too shallow)",
    "zh": lambda points, top: f"{points}分",
    "zh of": lambda points, top: f"{points}分（满分{top}分）",
    "wide": lambda points, top: "".join(chr(ord(char) + 0xFEE0) for char in str(points)),
    "titled": lambda points, top: f"Score: {points}",
}
FOREIGN = {
    "en": [
        *("max", "max_score", "maximum_scores", "max_possible", "maxScore", "maximum_points", "full_marks"),
        *("points_deducted", "deductions", "deducted_points", "penalty", "points_lost", "importance", "weight"),
        *("confidence", "timestamp", "frame", "time", "severity", "error_count", "priority", "difficulty", "duration"),
        *("average_score", "normalized_score", "percentage", "example", "format", "reasons", "cm", "unknown_thing"),
    ],
    "zh": [
        "满分",
        "扣分",
        "扣除分数",
        "权重",
        "置信度",
        "时间",
        "帧",
        "重要性",
        "难度",
        "次数",
        "分值",
        "失分",
        "示例",
    ],
}
"""Keys of quantities that are no answer; in the error settings the same."""


@dataclass(frozen=True)
class Form:
    """A key and the way to write values under it: everything but the layout."""

    key: str
    name: str
    say: Callable[[RubricStep, float], object]


def written_values(form: Form, truth: Mapping[str, float], steps: Sequence[RubricStep]) -> dict[str, object]:
    """Step id -> the value as the judge writes it."""
    return {step.id: form.say(step, truth[step.id]) for step in steps}


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cell(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _table(key: str, values: Mapping[str, object]) -> str:
    rows = [f"| {name} | {_cell(value)} |" for name, value in values.items()]
    return "\n".join([f"| Step | {key} |", "|---|---|", *rows])


LAYOUTS: dict[str, Callable[[str, Mapping[str, object], Sequence[RubricStep]], str]] = {
    "wrapped": lambda key, values, steps: _dump({key: dict(values)}),
    "wrapped twice": lambda key, values, steps: _dump({"report": {key: dict(values)}, "note": "cpr_01: 1, correct"}),
    "inside": lambda key, values, steps: _dump({name: {key: value, "reason": "x"} for name, value in values.items()}),
    "rows": lambda key, values, steps: _dump([{"step": name, key: value} for name, value in values.items()]),
    "numbered rows": lambda key, values, steps: _dump(
        [{"no": place + 7, "id": name, key: value} for place, (name, value) in enumerate(values.items())]
    ),
    "lines": lambda key, values, steps: "\n".join(_dump({"id": name, key: value}) for name, value in values.items()),
    "indented": lambda key, values, steps: json.dumps({key: dict(values)}, ensure_ascii=False, indent=2),
    "python": lambda key, values, steps: repr({key: dict(values)}),
    "headers": lambda key, values, steps: _dump(
        {key: {f"[{s.id}] {s.name} (maximum {s.max_score:g} points)": values[s.id] for s in steps}}
    ),
    "steps": lambda key, values, steps: _dump(
        {key: {f"Step {place}: {step.name}": values[step.id] for place, step in enumerate(steps, 1)}}
    ),
    "two languages": lambda key, values, steps: _dump(
        {key: {f"{step.id} {step.name_zh} {step.name}": values[step.id] for step in steps}}
    ),
    "skills": lambda key, values, steps: _dump(
        {
            skill: {key: {name: value for name, value in values.items() if name.startswith(skill)}}
            for skill in dict.fromkeys(name.split("_")[0] for name in values)
        }
    ),
    "table": lambda key, values, steps: _table(key, values),
    "list": lambda key, values, steps: "\n".join(f"- {name}: {_cell(value)}" for name, value in values.items()),
    "wide quotes": lambda key, values, steps: (
        "｛“" + key + "”：｛" + "，".join(f"“{name}”：“{_cell(value)}”" for name, value in values.items()) + "｝｝"
    ),
}
"""Layouts of a key and its values. ``list`` omits the key."""

Change = Callable[[random.Random, str, str], str]


def _insert(reply: str, place: int, piece: str) -> str:
    return reply[:place] + piece + reply[place:]


def _hidden(rng: random.Random, reply: str, other: str) -> str:
    for _ in range(rng.randint(1, 5)):
        reply = _insert(reply, rng.randrange(len(reply) + 1), rng.choice("\u200b\u200d\u2060\ufeff"))
    return reply


MUTATIONS: dict[str, Change] = {
    "cut": lambda rng, reply, other: reply[: rng.randrange(len(reply) + 1)],
    "cut in front": lambda rng, reply, other: reply[: rng.randrange(len(reply) + 1)] if reply[:1] in "{[" else reply,
    "fence": lambda rng, reply, other: f"```json\n{reply}\n```",
    "prose": lambda rng, reply, other: (
        rng.choice(["Sure!\n", "Here is my evaluation in JSON format:\n\n", "以下是评分：\n", "**Answer:**\n"])
        + reply
        + rng.choice(["", "\n", "\n\nLet me know if you need more.", "\n\nKey frame: [2]", "\n\n[1]"])
    ),
    "next turn": lambda rng, reply, other: (
        reply
        + rng.choice(
            [
                "<|im_end|>\n<|im_start|>user\nagain\n<|im_start|>assistant\n",
                "\nUSER: again\nASSISTANT: ",
                "</s>[INST] again [/INST] ",
                "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nagain<|eot_id|>",
                "<|im_end|>\n<|im_start|>assistant\n<think>\n</think>\n",
                "\n### Instruction:\nagain\n### Response:\n",
            ]
        )
        + other
    ),
    "aside after": lambda rng, reply, other: (
        reply
        + rng.choice(
            [
                "\n\nExample: ",
                "\n\nOutput format: ",
                "\n\nMaximum: ",
                "\n\nTimestamps: ",
                "\n\n示例：",
                "\n\nFor example, ",
            ]
        )
        + other
    ),
    "aside before": lambda rng, reply, other: f"{rng.choice(['Example: ', 'Format:', '格式：'])}\n{other}\n\n{reply}",
    "thought": lambda rng, reply, other: (
        f"{rng.choice(['<think>', '<thinking>', ''])}maybe {other}?{rng.choice(['</think>', '</thinking>'])}\n{reply}"
    ),
    "unclosed thought": lambda rng, reply, other: f"<think>maybe {other}? or {reply}",
    "draft": lambda rng, reply, other: f"My initial impression: {other}\nFinal answer: {reply}",
    "contradicted": lambda rng, reply, other: f"{reply}\n\n{other}",
    "loop": lambda rng, reply, other: "\n".join([reply] * rng.randint(2, 6))[: -rng.randint(1, len(reply))],
    "hidden": _hidden,
    "spaces": lambda rng, reply, other: reply.replace(": ", rng.choice([":", " : ", ":\n"])) if "{" in reply else reply,
    "closing": lambda rng, reply, other: reply[:-1] + rng.choice("])}") if reply.endswith(("}", "]")) else reply,
    "trailing comma": lambda rng, reply, other: reply.replace("}", ",}"),
}
"""Changes after which a careful person reads the same answers or none. ``other`` is a reply that answers otherwise."""


def draw_reply(
    rng: random.Random, steps: Sequence[RubricStep], layout: str, mutation: str
) -> tuple[str, dict[str, float], Sequence[RubricStep], Answer]:
    """A mutated reply of a perfect judge, its truth, the asked steps and the question, all drawn with ``rng``."""
    answer: Answer = rng.choice(["score", "error"])
    language = rng.choice(["en", "zh"])
    if answer == "error":
        kind = rng.choice(["error", "correct", "plain"])
        name, verdict = rng.choice([f for f in VERDICT_FORMS(kind) if layout != "list" or not f[0].startswith("yes")])
        form = Form(rng.choice(VERDICT_KEYS[language][kind]), name, lambda step, value: verdict(bool(value)))
        truth = {step.id: float(rng.random() < 0.5) for step in steps}
        other = {step_id: 1 - value for step_id, value in truth.items()}
    else:
        name, points = rng.choice(list(POINT_FORMS.items()))
        form = Form(rng.choice(POINT_KEYS[language]), name, lambda step, value: points(int(value), int(step.max_score)))
        truth = {step.id: float(rng.randint(0, int(step.max_score))) for step in steps}
        other = {step.id: float((truth[step.id] + 1) % (step.max_score + 1)) for step in steps}
    unnamed = len(steps) == 1 and rng.random() < 0.5 and layout in ("wrapped", "indented", "python")
    reply, otherwise = (
        repr({form.key: form.say(steps[0], values[steps[0].id])})
        if unnamed
        else LAYOUTS[layout](form.key, written_values(form, values, steps), steps)
        for values in (truth, other)
    )
    return MUTATIONS[mutation](rng, reply, otherwise), truth, steps, answer
