"""Answers that state the seconds of the video on which they rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.tasks.answer_formats.answer_format import (
    AnswerFormat,
    FormatInputs,
    FormatMetric,
    RecordJson,
    Spans,
)
from siming_tasks.benchmark.tasks.prompt_text import reply_with_details
from siming_tasks.benchmark.types import Answer, Scope

if TYPE_CHECKING:
    from siming_tasks.benchmark.metrics import Rows
    from siming_tasks.benchmark.parsing.step_details import StepDetail
    from siming_tasks.benchmark.rubrics import RubricStep

_KEYS = frozenset(("evidence", "证据", "依据"))


class EvidenceFormat(AnswerFormat):
    """Every answer comes with the parts of the video on which it rests, in seconds."""

    name = "evidence"
    title = ", with evidence"
    question = " Which seconds show it?"
    record_fields: ClassVar[Mapping[str, type]] = {"evidence": dict}
    reply_keys: ClassVar[Mapping[str, str]] = {"evidence": "evidence"}
    metrics: ClassVar[Mapping[str, FormatMetric]] = {
        "evidence": FormatMetric("claimed", True),
        "evidence_iou": FormatMetric("iou", True),
    }

    def reply_text(self, scope: Scope, answer: Answer, half_points: bool = False) -> str:
        """Every answer is an object that also names parts of the video."""
        media, rests = "clip" if scope == "clip" else "video", "they rest" if answer == "score" else "it rests"
        detail = (
            f'"evidence", the parts of the {media} on which {rests}, as a list of pairs [start, end] in seconds from '
            "its start"
        )
        return reply_with_details(scope, answer, [detail], half_points)

    def step_schema(self, step: RubricStep, answer: Answer) -> dict[str, Any]:
        """The answer, and pairs of seconds."""
        from siming_tasks.benchmark.parsing.step_details import MAX_SPANS

        pair = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
        spans = {"type": "array", "items": pair, "maxItems": MAX_SPANS}
        return {**super().step_schema(step, answer), self.reply_keys["evidence"]: spans}

    @property
    def details(self) -> Mapping[str, StepDetail]:
        """Stretches of time under a key that says evidence."""
        from siming_tasks.benchmark.parsing.step_details import StepDetail, read_time_spans

        return {"evidence": StepDetail(_KEYS, read_time_spans)}

    def field_types(self) -> Mapping[str, Any]:
        """By step, pairs of seconds that are not negative."""
        from pydantic import Field

        from siming_tasks.benchmark.parsing.step_details import MAX_SPANS

        second = Annotated[float, Field(strict=True, ge=0, le=1e9, allow_inf_nan=False)]
        return {"evidence": dict[str, Annotated[tuple[tuple[second, second], ...], Field(max_length=MAX_SPANS)]]}

    def fits(self, field: str, value: Any, step: RubricStep) -> bool:
        """Test that no part ends before it begins."""
        return all(start <= end for start, end in value)

    def compute_results(self, inputs: FormatInputs) -> Rows:
        """The parts that answers rest on, against the steps' own spans; of clips, only the share that names some."""
        import numpy as np

        from siming_tasks.benchmark.metrics.formats import evidence

        spans = np.full((*inputs.scores.asked.shape, 2), np.nan)
        for cell, label in inputs.labels():
            if label.span:
                spans[cell] = label.span
        videos = {video.video_id: video for video in inputs.videos}
        claims = {
            (inputs.rows[video_id], inputs.columns[step_id]): parts
            for (video_id, step_id), parts in self.video_spans(inputs.records, videos, inputs.scope).items()
        }
        rows = evidence(inputs.scores, claims, spans, np.array([video.duration for video in inputs.videos]))
        return rows.of(metric="claimed") if inputs.scope == "clip" else rows

    def video_spans(self, records: Sequence[RecordJson], videos: Mapping[str, Video], scope: Scope) -> dict[Any, Spans]:
        """The parts that answers rest on, in seconds of the video, also those of a clip.

        Steps of which a reply says that no part shows them have none (empty); videos that are not given are left out.
        """
        spans: dict[Any, Spans] = {}
        for record in records:
            if (video := videos.get(record["video_id"])) is None:
                continue
            for step, parts in (record.get("evidence") or {}).items():
                span = video.step(step).span if scope == "clip" else None
                start = span[0] if span else 0.0
                spans[video.video_id, step] = tuple((start + float(a), start + float(b)) for a, b in parts)
        return spans
