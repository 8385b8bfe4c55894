"""Answers of which some may be left out: a step may be called "not visible"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from siming_tasks.benchmark.parsing.parsed_reply import NOT_VISIBLE, STATUSES, Parsed
from siming_tasks.benchmark.tasks.answer_formats.answer_format import (
    AnswerFormat,
    FormatInputs,
    FormatMetric,
    RecordJson,
    answer_schema,
)
from siming_tasks.benchmark.types import Answer, Scope, answer_key

if TYPE_CHECKING:
    from siming_tasks.benchmark.metrics import Rows
    from siming_tasks.benchmark.rubrics import RubricStep

_PERMISSION: Mapping[Scope, str] = {
    "full": f' Where the video does not show enough of a step to judge it, map its id to "{NOT_VISIBLE}" instead.',
    "clip": f' If the clip does not show enough of the step to judge it, the value is "{NOT_VISIBLE}" instead.',
}


class AbstentionFormat(AnswerFormat):
    """A step may be answered with "not visible"."""

    name = "abstain"
    title = ", may abstain"
    question = " It may be called not visible."
    statuses = STATUSES
    record_fields: ClassVar[Mapping[str, type]] = {"abstained": list}
    metrics: ClassVar[Mapping[str, FormatMetric]] = {
        "abstained": FormatMetric("abstained", False),
        "accuracy": FormatMetric("accuracy", True),
    }

    def reply_text(self, scope: Scope, answer: Answer, half_points: bool = False) -> str:
        """The benchmark's form of the reply, and when a step may be called not visible."""
        return super().reply_text(scope, answer, half_points) + _PERMISSION[scope]

    def step_schema(self, step: RubricStep, answer: Answer) -> dict[str, Any]:
        """The benchmark's answer, or the words of an abstention."""
        key, value = answer_key(answer, "clip"), answer_schema(step, answer)
        if value["type"] == "string":
            return {key: {**value, "enum": [*value["enum"], NOT_VISIBLE]}}
        return {key: {"anyOf": [value, {"type": "string", "enum": [NOT_VISIBLE]}]}}

    def field_types(self) -> Mapping[str, Any]:
        """A list of step ids."""
        return {"abstained": list[str]}

    def fields_of(self, parsed: Parsed) -> dict[str, Any]:
        """The steps that the reply calls not visible."""
        return {"abstained": list(parsed.abstained)} if parsed.abstained else {}

    def fault(self, stated: Mapping[str, Any], answers: Mapping[str, float], steps: Mapping[str, RubricStep]) -> str:
        """An abstention from a step that was not asked about or that is answered."""
        both = [name for name in stated.get("abstained") or () if name in answers]
        return super().fault(stated, answers, steps) or (f"abstained {both[0][:64]!r} is answered" if both else "")

    def answer_words(self, record: RecordJson) -> dict[str, str]:
        """The words of an abstention for every step that the reply calls not visible."""
        return dict.fromkeys(record.get("abstained") or (), NOT_VISIBLE)

    def compute_results(self, inputs: FormatInputs) -> Rows:
        """Share of the abstentions, and accuracy with and without them."""
        import numpy as np

        from siming_tasks.benchmark.metrics.formats import abstention

        away = np.zeros(inputs.scores.asked.shape, dtype=np.bool_)
        for cell, _ in inputs.stated("abstained"):
            away[cell] = True
        return abstention(inputs.scores, away, mapping=inputs.mapping)
