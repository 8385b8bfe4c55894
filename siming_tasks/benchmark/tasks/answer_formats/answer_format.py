"""An answer format: all that the suite needs to know of what a reply must state, in one object.

Other folders ask this object and never its name. A format is one module: a subclass of :class:`AnswerFormat` that
overrides what differs from the benchmark's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from siming_tasks.benchmark.exams import StepLabel, Video
from siming_tasks.benchmark.parsing.parsed_reply import ABSTAINED, STATUSES, Parsed
from siming_tasks.benchmark.tasks.prompt_text import reply_text
from siming_tasks.benchmark.types import CONSENSUS, CORRECT, INCORRECT, Answer, Scope, answer_key

if TYPE_CHECKING:  # listing the tasks must load neither arrays nor rubrics: the command line starts with it
    from siming_tasks.benchmark.metrics import Rows, ScoreMatrix
    from siming_tasks.benchmark.parsing.step_details import StepDetail
    from siming_tasks.benchmark.rubrics import RubricStep

RecordJson = Mapping[str, Any]  # of :meth:`siming_tasks.benchmark.record.Record.to_json`
Spans = tuple[tuple[float, float], ...]


class FormatMetric(NamedTuple):
    """A metric that a format adds to lmms-eval's table: the row of its results with this metric, with an arrow."""

    key: str
    higher_is_better: bool


@dataclass(frozen=True, eq=False)
class FormatInputs:
    """The data of one task of one run, from which a format computes its results.

    ``records`` has each request once; ``videos`` and ``steps`` are rows and columns of ``scores``, sorted by id.
    ``mapping`` says how points become labels. ``rater``: whose labels are the reference.
    """

    records: Sequence[RecordJson]
    scores: ScoreMatrix
    videos: Sequence[Video]
    steps: Sequence[RubricStep]
    scope: Scope
    mapping: Any
    rater: str = CONSENSUS

    @cached_property
    def rows(self) -> dict[str, int]:
        """Row of each video of ``scores``."""
        return {name: index for index, name in enumerate(self.scores.video_ids)}

    @cached_property
    def columns(self) -> dict[str, int]:
        """Column of each step of ``scores``."""
        return {name: index for index, name in enumerate(self.scores.step_ids)}

    def labels(self) -> Iterator[tuple[tuple[int, int], StepLabel]]:
        """Row and column of every applicable step, and its label."""
        for row, video in enumerate(self.videos):
            yield from (((row, self.columns[label.step_id]), label) for label in video.applicable)

    def stated(self, field: str) -> Iterator[tuple[tuple[int, int], Any]]:
        """Row and column of every step of which a record has this field, and what it states (None in a list)."""
        for record in self.records:
            if record["video_id"] in self.rows:
                steps = record.get(field) or {}
                for step in steps:
                    value = steps[step] if isinstance(steps, Mapping) else None
                    yield (self.rows[record["video_id"]], self.columns[step]), value


class AnswerFormat:
    """The benchmark's answer format: one answer for every asked step; the base of all others."""

    name: ClassVar[str] = ""  # ends the names of its tasks (``siming_full_score_<name>``); empty for the benchmark's
    title: ClassVar[str] = ""  # ends the titles of its tasks
    question: ClassVar[str] = ""  # ends the sentence that says what its tasks ask
    # the statuses that a reply can have
    statuses: ClassVar[tuple[str, ...]] = tuple(status for status in STATUSES if status != ABSTAINED)
    # names of the fields that it adds to records, each a list of step ids or a dict by step id
    record_fields: ClassVar[Mapping[str, type]] = {}
    # of the fields that are details, the key under which a reply states them beside every answer
    reply_keys: ClassVar[Mapping[str, str]] = {}
    # the metrics that it adds, by their names in lmms-eval's table; with any it computes rows of its own
    metrics: ClassVar[Mapping[str, FormatMetric]] = {}
    # what a prompt says of a step beyond the rubric's criteria; part of the prompt's hash
    step_template: ClassVar[str] = ""

    def reply_text(self, scope: Scope, answer: Answer, half_points: bool = False) -> str:
        """The section of the prompt that says what the reply looks like."""
        return reply_text(scope, answer, half_points)

    def step_text(self, step: RubricStep) -> str | None:
        """Text of the prompt on a step beyond the rubric's criteria, made of ``step_template``; None for no text."""
        return None

    def reply_schema(self, scope: Scope, answer: Answer, steps: Sequence[RubricStep]) -> dict[str, Any]:
        """JSON schema of the reply about these steps (draft 2020-12): every key is required, and nothing else allowed.

        Example:
            >>> from siming_tasks import default_rubric
            >>> schema = AnswerFormat().reply_schema("clip", "score", default_rubric().steps[:1])
            >>> schema["properties"], schema["required"]
            ({'score': {'type': 'integer', 'enum': [0, 1, 2]}}, ['score'])
        """
        if scope == "clip":
            (step,) = steps
            return object_schema(self.step_schema(step, answer))
        key, values = answer_key(answer, "clip"), dict[str, Any]()
        for step in steps:
            stated = self.step_schema(step, answer)
            values[step.id] = stated[key] if len(stated) == 1 else object_schema(stated)
        return object_schema({answer_key(answer, "full"): object_schema(values)})

    def step_schema(self, step: RubricStep, answer: Answer) -> dict[str, Any]:
        """JSON schemas of what a reply states of one step, by key: the answer's, and those of further keys."""
        return {answer_key(answer, "clip"): answer_schema(step, answer)}

    @property
    def details(self) -> Mapping[str, StepDetail]:
        """The details that a reply states with its answers, by the name of their field in records."""
        return {}

    def parse(self, reply: object, steps: Sequence[RubricStep], answer: Answer) -> Parsed:
        """A reply to a question about these steps (:func:`siming_tasks.benchmark.parsing.parse_reply`)."""
        from siming_tasks.benchmark.parsing import parse_reply

        return parse_reply(reply, steps, answer, abstain=ABSTAINED in self.statuses, details=self.details)

    def field_types(self) -> Mapping[str, Any]:
        """Types of the record's fields, as pydantic takes them."""
        return {}

    def fields_of(self, parsed: Parsed) -> dict[str, Any]:
        """The record's fields of a parsed reply, in plain JSON; without those that are empty."""
        plain = {name: {step: _plain(value) for step, value in by.items()} for name, by in parsed.details.items()}
        return {name: plain[name] for name in self.record_fields if plain.get(name)}

    def fits(self, field: str, value: Any, step: RubricStep) -> bool:
        """Test whether a field of a record may state this value (None in a list) of a step that was asked about."""
        return True

    def stated_details(self, stated: Mapping[str, Any], steps: Mapping[str, RubricStep]) -> dict[str, dict[str, Any]]:
        """The details that a line of a prediction file states in fields of its own, of the asked steps."""
        return {
            field: {name: value for name, value in stated[field].items()
                    if name in steps and self.fits(field, value, steps[name])}
            for field in self.reply_keys if stated.get(field)
        }  # fmt: skip

    def fault(self, stated: Mapping[str, Any], answers: Mapping[str, float], steps: Mapping[str, RubricStep]) -> str:
        """A contradiction in the fields of an edited record, as the beginning of a sentence; empty for none.

        Args:
            stated: the fields of the record that formats add.
            answers: by step id.
            steps: that were asked about, by id; none where the task has another format.
        """
        for field in self.record_fields:
            said = stated.get(field) or {}
            for name in said:
                value = said[name] if isinstance(said, Mapping) else None
                if name not in steps or not self.fits(field, value, steps[name]):
                    return f"{field} of {name[:64]!r} was not asked for or may not be said"
        return ""

    def answer_words(self, record: RecordJson) -> dict[str, str]:
        """Steps to which the reply gave a word in place of an answer, by step id."""
        return {}

    def prediction_fields(self, record: RecordJson) -> dict[str, Any]:
        """The fields that a line of a prediction file has in addition to its answers."""
        return {name: record[name] for name in self.reply_keys if record.get(name)}

    def aggregator_fields(self, record: RecordJson) -> dict[str, Any]:
        """The fields of a record that lmms-eval's aggregators need."""
        return {name: record.get(name) or kind() for name, kind in self.record_fields.items()}

    def compute_results(self, inputs: FormatInputs) -> Rows:
        """Rows of the format's own numbers; only called where it adds metrics."""
        raise NotImplementedError

    def video_spans(self, records: Sequence[RecordJson], videos: Mapping[str, Video], scope: Scope) -> dict[Any, Spans]:
        """By (video id, step id), parts that an answer rests on in seconds of the video, for the pages of videos."""
        return {}


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """JSON schema of an object with exactly these keys, in this order."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def answer_schema(step: RubricStep, answer: Answer) -> dict[str, Any]:
    """JSON schema of the answer to one step: one of the two verdicts, or one of the points that the rubric allows.

    Services differ in the bounds that they know (``minimum``, ``multipleOf``); all of them know a list of values.
    """
    if answer == "error":
        return {"type": "string", "enum": [CORRECT, INCORRECT]}
    from siming_tasks.benchmark.rubrics.rubric import WHOLE, allowed_points

    points = allowed_points(step)
    if step.score_increment == WHOLE:
        return {"type": "integer", "enum": list(map(int, points))}
    return {"type": "number", "enum": list(points)}


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
