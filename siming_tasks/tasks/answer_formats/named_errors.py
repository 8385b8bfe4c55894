"""Answers that name which of the rubric's errors were seen, and give a reason."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from siming_tasks.common.schema import Answer, Scope
from siming_tasks.tasks.answer_formats.answer_format import AnswerFormat, FormatInputs, FormatMetric
from siming_tasks.tasks.prompt_text import reply_with_details

if TYPE_CHECKING:
    from siming_tasks.metrics.named_errors import NamedErrors
    from siming_tasks.parsing.json_values import Value
    from siming_tasks.parsing.step_details import StepDetail
    from siming_tasks.rubrics import RubricStep

MAX_REASON = 500  # characters of a reason that are kept
_ERROR_KEYS = frozenset(("error", "errors", "错误", "失误"))
_REASON_KEYS = frozenset(("reason", "reasons", "rationale", "原因", "理由"))
_NO_ERROR = frozenset(("none", "no_error", "no_errors", "无"))
_HEADING, _LINE, _NONE = "Errors:", "- {id}: {observable}", "Errors: none are named."


class NamedErrorsFormat(AnswerFormat):
    """Every answer comes with the ids of the rubric's errors that were seen, and a reason."""

    name = "named_errors"
    title = ", with named errors"
    question = " Which of the rubric’s errors were made, and why?"
    record_fields: ClassVar[Mapping[str, type]] = {"named_errors": dict, "reasons": dict}
    reply_keys: ClassVar[Mapping[str, str]] = {"named_errors": "errors", "reasons": "reason"}
    result_name = "named_errors"
    metrics: ClassVar[Mapping[str, FormatMetric]] = {
        "named_error_f1": FormatMetric("f1", True),
        "named_error_precision": FormatMetric("precision", True),
        "named_error_recall": FormatMetric("recall", True),
        "named_error_macro_f1": FormatMetric("macro_f1", True),
        "reason_kappa": FormatMetric("reason_kappa", True),
        "reason_given": FormatMetric("reasoned", True),
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
        """The errors that the rubric names for a step, one a line; their ids stand in no brackets as step ids do."""
        if not step.errors:
            return _NONE
        return "\n".join([_HEADING, *(_LINE.format(id=error.id, observable=error.observable) for error in step.errors)])

    @property
    def details(self) -> Mapping[str, StepDetail]:
        """Ids of errors and a reason."""
        from siming_tasks.parsing.step_details import StepDetail

        return {
            "named_errors": StepDetail(_ERROR_KEYS, read_error_ids),
            "reasons": StepDetail(_REASON_KEYS, read_reason),
        }

    def field_types(self) -> Mapping[str, Any]:
        """By step, a list of ids, and a text."""
        from pydantic import Field

        return {
            "named_errors": dict[str, Annotated[list[str], Field(max_length=1000)]],
            "reasons": dict[str, Annotated[str, Field(max_length=MAX_REASON)]],
        }

    def stated_details(self, stated: Mapping[str, Any], steps: Collection[str]) -> dict[str, dict[str, Any]]:
        """The errors and reasons that a line states, of the asked steps."""
        kept = super().stated_details(stated, steps)
        if "named_errors" in kept:
            kept["named_errors"] = {step: tuple(ids) for step, ids in kept["named_errors"].items()}
        return kept

    def fault(self, stated: Mapping[str, Any], answers: Mapping[str, float], steps: Mapping[str, RubricStep]) -> str:
        """An error that the rubric does not name for the step, or a reason of a step that was not asked about."""
        for name, ids in (stated.get("named_errors") or {}).items():
            if name not in steps or not set(ids) <= {error.id for error in steps[name].errors}:
                return f"named_errors of {name[:64]!r} was not asked for or names none of the step's errors"
        return super().fault(stated, answers, steps)

    def compute_results(self, inputs: FormatInputs) -> NamedErrors:
        """The errors that were named against those that labels state, and the share of answers with a reason."""
        import numpy as np

        from siming_tasks.metrics.named_errors import named_errors

        scores = inputs.scores
        row = {name: index for index, name in enumerate(scores.video_ids)}
        column = {name: index for index, name in enumerate(scores.step_ids)}
        named: dict[tuple[int, int], frozenset[str]] = {}
        reasoned = np.zeros(scores.asked.shape, dtype=np.bool_)
        for record in inputs.records:
            if record["video_id"] not in row:
                continue
            for step_id, ids in (record.get("named_errors") or {}).items():
                named[row[record["video_id"]], column[step_id]] = frozenset(ids)
            for step_id in record.get("reasons") or {}:
                reasoned[row[record["video_id"]], column[step_id]] = True
        stated, unlisted = {}, 0
        for index, video in enumerate(inputs.videos):
            for label in video.applicable:
                known = {error.id for error in inputs.steps[column[label.step_id]].errors}
                # A label that the rubric's errors cannot express says nothing about them: nobody could name it.
                errors = label.errors_by(inputs.rater)
                if errors is not None and set(errors) <= known:
                    stated[index, column[label.step_id]] = frozenset(errors)
                unlisted += errors is not None and not set(errors) <= known
        results = named_errors(
            named,
            stated,
            reasoned,
            scores.asked & scores.answered,
            errors=[[error.id for error in step.errors] for step in inputs.steps],
            clusters=scores.cluster_numbers,
            resamples=inputs.resamples,
            seed=inputs.seed,
        )
        return replace(results, unlisted=unlisted)

    def render_lines(self, task_name: str, result: Mapping[str, Any]) -> list[str]:
        """Shares of answers with errors and with a reason, and how well the errors agree with the labels'."""
        if not (numbers := result.get(self.result_name)):
            return []
        shares = (
            f"{self.share_text(numbers['listed'])} of the answers, a reason for {self.share_text(numbers['reasoned'])}"
        )
        lines = [f"{task_name}: errors listed for {shares}"]
        if numbers["f1"]["value"] is None:
            return [*lines, f"  agreement of the named errors has no value: {numbers['f1']['reason']}"]
        values = ", ".join(f"{key} {self.value_text(numbers[key])}" for key in ("precision", "recall"))
        lines.append(f"  F1 of the named errors {self.value_text(numbers['f1'])} ({values})")
        if "macro_f1" in numbers:
            kappas = ", ".join(
                f"{words} {self.value_text(numbers[key])}"
                for key, words in (("kappa", "all steps"), ("reason_kappa", "steps to which both give an error"))
            )
            lines.append(f"  mean F1 of the kinds {self.value_text(numbers['macro_f1'])}; kappa of the kinds: {kappas}")
        for name, kind in (numbers.get("kinds") or {}).items():
            counts = f"{kind['stated']} in the labels, {kind['named']} named, {kind['both']} both"
            lines.append(f"    {name}: F1 {self.value_text(kind['f1'])} ({counts})")
        if unlisted := numbers.get("unlisted"):
            lines.append(f"  left out: {unlisted} steps whose labels state an error that the rubric does not list")
        if beside := numbers.get("baselines"):
            shown = ", ".join(
                f"{name} {self.value_text(row['f1'])} (mean of kinds {self.value_text(row['macro_f1'])})"
                for name, row in beside.items()
            )
            lines.append(f"  without the video, F1 of naming: {shown}")
        return lines


def read_error_ids(value: Value, step: RubricStep) -> tuple[str, ...] | None:
    """The ids of a step's errors that a value names, in the rubric's order; empty for none.

    Read are a list of ids, one id, ids separated by commas or semicolons, objects with ``id`` or ``error``, and an id
    with a remark after a colon or in brackets. An id counts with and without its step, in any case. One entry that is
    none of the step's errors makes all of the value unreadable (None): what it means must not be guessed.
    """
    from siming_tasks.parsing.json_values import Group

    if isinstance(value, str):
        written = re.split(r"[,;，；、\n]", value)
    elif isinstance(value, Group) and value.closed and value.bracket == "[":
        written = []
        for _, item in value.entries:
            if isinstance(item, Group) and item.bracket == "{":
                named = [inner for key, inner in item.entries if key in ("id", "error", "error_id")]
                item = named[0] if len(named) == 1 else item
            if not isinstance(item, str):
                return None
            written.append(item)
    else:
        return None
    by_name: dict[str, set[str]] = {}
    for error in step.errors:
        for name in {_folded(error.id), _folded(error.name)}:
            by_name.setdefault(name, set()).add(error.id)
    named_ids: set[str] = set()
    for text in written:
        candidates = (_folded(text), _folded(re.split(r"[:：(（]", text, maxsplit=1)[0]))
        if candidates[0] in _NO_ERROR and len(written) == 1:
            return ()
        ids = next((by_name[name] for name in candidates if name in by_name), set())
        if len(ids) != 1:
            return None
        named_ids |= ids
    return tuple(error.id for error in step.errors if error.id in named_ids)


def read_reason(value: Value, _: RubricStep | None = None) -> str | None:
    """A reason as one line of at most :data:`MAX_REASON` characters; None for no text."""
    text = " ".join(value.split())[:MAX_REASON] if isinstance(value, str) else ""
    return None if _folded(text) in ("", "none", "null", "n_a", "无") else text


def _folded(text: str) -> str:
    """An id in lower case with one ``_`` between its parts: ``CPR-01 no-tap`` and ``cpr_01.no_tap`` are the same."""
    return re.sub(r"[\W_]+", "_", text.casefold()).strip("_")
