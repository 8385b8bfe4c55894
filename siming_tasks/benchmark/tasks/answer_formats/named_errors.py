"""Answers that name which of the rubric's errors were seen, and give a reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from siming_tasks.benchmark.tasks.answer_formats.answer_format import AnswerFormat, FormatInputs, FormatMetric
from siming_tasks.benchmark.tasks.prompt_text import reply_with_details
from siming_tasks.benchmark.types import Answer, Scope

if TYPE_CHECKING:
    from siming_tasks.benchmark.metrics import Rows
    from siming_tasks.benchmark.parsing.json_values import Value
    from siming_tasks.benchmark.parsing.step_details import StepDetail
    from siming_tasks.benchmark.rubrics import RubricStep

MAX_REASON = 500  # characters of a reason that are kept
_ERROR_KEYS = frozenset(("error", "errors", "错误", "失误"))
_REASON_KEYS = frozenset(("reason", "reasons", "rationale", "原因", "理由"))
_HEADING, _LINE, _NONE = "Errors:", "- {id}: {observable}", "Errors: none are named."


class NamedErrorsFormat(AnswerFormat):
    """Every answer comes with the ids of the rubric's errors that were seen, and a reason."""

    name = "named_errors"
    title = ", with named errors"
    question = " Which of the rubric’s errors were made, and why?"
    record_fields: ClassVar[Mapping[str, type]] = {"named_errors": dict, "reasons": dict}
    reply_keys: ClassVar[Mapping[str, str]] = {"named_errors": "errors", "reasons": "reason"}
    metrics: ClassVar[Mapping[str, FormatMetric]] = {
        "named_error_f1": FormatMetric("f1", True),
        "named_error_precision": FormatMetric("precision", True),
        "named_error_recall": FormatMetric("recall", True),
    }
    step_template = f"{_HEADING}\n{_LINE}\n{_NONE}"

    def reply_text(self, scope: Scope, answer: Answer, half_points: bool = False) -> str:
        """Every answer is an object that also lists errors and says why."""
        media = "clip" if scope == "clip" else "video"
        errors = f'"errors", the ids of the listed errors that the {media} shows, as a list (empty if it shows none)'
        reason = f'"reason", what the {media} shows of the step, in one sentence'
        return reply_with_details(scope, answer, [errors, reason], half_points)

    def step_schema(self, step: RubricStep, answer: Answer) -> dict[str, Any]:
        """The answer, ids of the step's errors, and a sentence."""
        ids = [error.id for error in step.errors]
        listed = {"type": "string", "enum": ids} if ids else {"type": "string"}
        errors = {"type": "array", "items": listed, "maxItems": len(ids)}
        keys = self.reply_keys
        return {**super().step_schema(step, answer), keys["named_errors"]: errors, keys["reasons"]: {"type": "string"}}

    def step_text(self, step: RubricStep) -> str:
        """The errors that the rubric names for a step, one a line; their ids have no brackets, unlike step ids."""
        if not step.errors:
            return _NONE
        return "\n".join([_HEADING, *(_LINE.format(id=error.id, observable=error.observable) for error in step.errors)])

    @property
    def details(self) -> Mapping[str, StepDetail]:
        """Ids of errors and a reason."""
        from siming_tasks.benchmark.parsing.step_details import StepDetail

        return {
            "named_errors": StepDetail(_ERROR_KEYS, read_error_ids),
            "reasons": StepDetail(_REASON_KEYS, read_reason),
        }

    def field_types(self) -> Mapping[str, Any]:
        """By step, a list of ids, and a text."""
        from pydantic import Field

        return {
            "named_errors": dict[str, Annotated[tuple[str, ...], Field(max_length=1000)]],
            "reasons": dict[str, Annotated[str, Field(max_length=MAX_REASON)]],
        }

    def fits(self, field: str, value: Any, step: RubricStep) -> bool:
        """Test that the rubric names each of the errors for the step."""
        return field != "named_errors" or set(value) <= {error.id for error in step.errors}

    def compute_results(self, inputs: FormatInputs) -> Rows:
        """The errors that were named against those that labels state.

        A label that the rubric's errors cannot express says nothing about them: nobody could name it. An answer that
        lists no errors, and a missing answer, name none: leaving out hard steps wins nothing.
        """
        from siming_tasks.benchmark.metrics.formats import named_errors

        stated: dict[tuple[int, int], Collection[str]] = {}
        for cell, label in inputs.labels():
            errors, known = label.errors_by(inputs.rater), {error.id for error in inputs.steps[cell[1]].errors}
            if errors is not None and set(errors) <= known and inputs.scores.asked[cell]:
                stated[cell] = errors
        return named_errors(inputs.scores, stated, dict(inputs.stated("named_errors")))


def read_error_ids(value: Value, step: RubricStep) -> tuple[str, ...] | None:
    """The ids of a step's errors that a value names, in the rubric's order; empty for none.

    A list of ids, or one id, each with or without its step and in any case. One entry that is not an error of the step
    makes all of the value unreadable (None): what it means must not be guessed.
    """
    from siming_tasks.benchmark.parsing.json_values import Group
    from siming_tasks.benchmark.parsing.steps import words

    if isinstance(value, Group) and value.closed and value.bracket == "[":
        written: list[Any] = [item for _, item in value.entries]
    else:
        written = [value]
    by_name: dict[tuple[str, ...], set[str]] = {}
    for error in step.errors:
        for name in {words(error.id), words(error.name)}:
            by_name.setdefault(name, set()).add(error.id)
    named: set[str] = set()
    for text in written:
        ids = by_name.get(words(text), set()) if isinstance(text, str) else set()
        if len(ids) != 1:
            return None
        named |= ids
    return tuple(error.id for error in step.errors if error.id in named)


def read_reason(value: Value, _: RubricStep | None = None) -> str | None:
    """A reason as one line of at most :data:`MAX_REASON` characters; None for no text."""
    text = " ".join(value.split())[:MAX_REASON] if isinstance(value, str) else ""
    return None if text.casefold() in ("", "none", "null", "n/a", "无") else text
