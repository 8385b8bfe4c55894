"""Record of one request: which question was asked under which conditions, and what its reply was read as.

A record has no label, so that the same records can be scored against any rater or mapping later.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import groupby
from typing import Any

from siming_tasks.benchmark.parsing import STATUSES, Parsed
from siming_tasks.benchmark.parsing.parsed_reply import ABSTAINED
from siming_tasks.benchmark.tasks import RECORD_FIELDS, TASKS
from siming_tasks.benchmark.tasks.expected_requests import record_id
from siming_tasks.benchmark.types import UNKNOWN_MODE, verdict_word
from siming_tasks.common.display import ShortRepr
from siming_tasks.common.files import sha256_json

logger = logging.getLogger(__name__)

REQUEST_FAILED = "request_failed"
"""Status of a request that no model answered."""

ASKED_AGAIN = (REQUEST_FAILED, "empty", "truncated")
"""Statuses without an answer (:func:`is_asked_again`), from the least to the most of one; of two records of one
request the one with more of an answer counts."""

SUPERVISED = "supervised, cross-fitted"
"""Kind of judge that a prediction file states whose answers were learnt from the data set's other videos."""


def is_cut_off(status: str, usage: Mapping[str, Any] | None) -> bool:
    """True for a reply that was cut before it answered everything, whatever its text is.

    At the limit of tokens, or by a filter of the service (of a refusal, the reason says why).
    """
    reason, whole = (usage or {}).get("finish_reason"), ("ok", ABSTAINED, "request_failed")
    return status not in whole and (reason == "length" or (reason == "content_filter" and status != "refused"))


def add_usage(usages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Usage of several replies to one request: tokens, cost and seconds together, all else of the first."""
    total = dict(usages[0]) if usages else {}
    for name in ("prompt_tokens", "completion_tokens", "latency", "cost", "attempts", "failed_attempts"):
        known = [usage.get(name) for usage in usages]
        total[name] = None if None in known or not known else sum(value for value in known if value is not None)
    return total


def is_asked_again(status: str, usage: Mapping[str, Any] | None = None) -> bool:
    """Test whether the same command asks a request again whose reply has this status and this usage.

    One that was cut at the limit of tokens would be cut there again.
    """
    if (usage or {}).get("finish_reason") == "length":
        return status == REQUEST_FAILED
    return status in ASKED_AGAIN or is_cut_off(status, usage)


def answered_more(status: str, other: str) -> bool:
    """Test whether a reply of one status has more of an answer than one of another status.

    Example:
        >>> answered_more("ok", "truncated"), answered_more("empty", "request_failed"), answered_more("ok", "refused")
        (True, True, False)
    """
    return other in ASKED_AGAIN and status not in ASKED_AGAIN[: ASKED_AGAIN.index(other) + 1]


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions under which one request was asked.

    Attributes:
        prompt: hash of the prompt's text.
        dataset: content digest of the data set.
        media: facts about what the model was shown.
        usage: tokens, seconds and cost of the request (:mod:`siming_tasks.study.results.usage`); empty if unknown.
        asking: how the question was put (``PromptOptions.label``); empty: the plain way.
        reply_schema: hash of the JSON schema that the service had to enforce; empty: no schema.
        part: of an exam that is asked about in several requests, the part that this one asks about.
        parts: of the record of such an exam, the status of each part's request.
        judge: of a judge that was trained on the data set that it judges, how (:func:`stated_judge`).
    """

    prompt: str | None = None
    dataset: str | None = None
    media: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] | None = None
    asking: str = ""
    reply_schema: str = ""
    part: str = ""
    parts: Mapping[str, str] | None = None
    judge: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Record(ShortRepr):
    """One request and its reply.

    Attributes:
        setting: name of the setting.
        video_id: the exam.
        step_id: the step, for a clip; None for a full video.
        parsed: the reply, read: ``status``, ``answers``, ``missing``, and what its answer format adds.
        conditions: what was asked and shown.

    Example:
        >>> from siming_tasks.benchmark.parsing import Parsed
        >>> record = Record("clip_error", "v1", "cpr_01", Parsed("ok", {"cpr_01": 1.0}))
        >>> record.id, record.status, record.to_prediction()["verdict"]
        ('clip_error/v1/cpr_01', 'ok', 'incorrect')
        >>> Record.from_json(record.to_json()) == record
        True
    """

    setting: str
    video_id: str
    step_id: str | None
    parsed: Parsed
    conditions: Conditions = field(default_factory=Conditions)

    @classmethod
    def from_reply(
        cls, setting: str, video_id: str, step_id: str | None, parsed: Parsed, conditions: Conditions | None = None
    ) -> Record:
        """Record of a reply; one that was cut at the limit of tokens before it answered everything is ``truncated``."""
        conditions = conditions or Conditions()
        if is_cut_off(parsed.status, conditions.usage):
            parsed = replace(parsed, status="truncated")
        return cls(setting, video_id, step_id, parsed, conditions)

    @property
    def id(self) -> str:
        """``full_score/v001`` or ``clip_score/v001/cpr_01``, unique within a run."""
        return record_id(self.setting, self.video_id, self.step_id)

    @property
    def status(self) -> str:
        """One of :data:`siming_tasks.benchmark.parsing.STATUSES`."""
        return self.parsed.status

    @property
    def answers(self) -> Mapping[str, float]:
        """Points by step, or 1.0 for incorrect and 0.0 for correct."""
        return self.parsed.answers

    @property
    def missing(self) -> Mapping[str, str]:
        """Reason why there is no answer, by step."""
        return self.parsed.missing

    @property
    def media(self) -> Mapping[str, Any]:
        """Facts about what the model was shown."""
        return self.conditions.media

    @property
    def format_fields(self) -> dict[str, Any]:
        """Fields that the task's answer format adds, in plain JSON; without empty ones."""
        return TASKS[self.setting].answer_format.fields_of(self.parsed)

    def to_json(self) -> dict[str, Any]:
        """One JSON object; fields of an answer format and optional conditions only where there are some."""
        parsed, conditions = self.parsed, self.conditions
        content: dict[str, Any] = {
            "id": self.id,
            "setting": self.setting,
            "video_id": self.video_id,
            "step_id": self.step_id,
            "status": parsed.status,
            "answers": dict(parsed.answers),
            "missing": dict(parsed.missing),
        }
        content |= self.format_fields
        content |= {"prompt": conditions.prompt, "dataset": conditions.dataset, "media": dict(conditions.media)}
        for name in ("usage", "asking", "reply_schema", "part", "parts", "judge"):
            if value := getattr(conditions, name):
                content[name] = value if isinstance(value, str) else dict(value)
        return content

    def keys(self) -> Iterable[str]:
        """Keys of :meth:`to_json`: with them ``dict(record)`` and ``record["answers"]`` work in scripts."""
        return self.to_json().keys()

    def __getitem__(self, name: str) -> Any:
        return self.to_json()[name]

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Record:
        """Record of :meth:`to_json`, or of the few keys that an aggregator of lmms-eval is given.

        Args:
            content: trusted; lines of files go through :mod:`siming_tasks.study.results.record_parser`. Without
                ``setting``, the ``id`` says which request it is.
        """
        setting, video_id, *rest = content["id"].split("/")
        if "setting" in content:
            setting, video_id, rest = content["setting"], content["video_id"], [content.get("step_id")]
        known = {item.name: content[item.name] for item in fields(Conditions) if content.get(item.name)}
        parsed = logged_reply(content, content.get("status") or "ok", content.get("missing") or {})
        return cls(setting, video_id, rest[0] if rest else None, parsed, Conditions(**known))

    def to_prediction(self) -> dict[str, Any]:
        """Line of a prediction file: request and answers, as in a submission."""
        spec, added = TASKS[self.setting], self.format_fields
        values: dict[str, Any] = {}
        for step, value in self.answers.items():
            points = int(value) if value == int(value) else value
            values[step] = points if spec.answer == "score" else verdict_word(value)
        values |= spec.answer_format.answer_words(added)
        line: dict[str, Any] = {"setting": self.setting, "video_id": self.video_id}
        if spec.scope == "clip":
            line |= {"step_id": self.step_id, spec.field: values.get(self.step_id or "")}
        else:
            line[spec.field] = values
        return line | spec.answer_format.prediction_fields(added)


def logged_reply(content: Mapping[str, Any], status: str, missing: Mapping[str, str]) -> Parsed:
    """The parsed reply in a record's plain JSON."""
    details = {name: content[name] for name, kind in RECORD_FIELDS.items() if kind is dict and content.get(name)}
    return Parsed(status, content["answers"], missing, tuple(content.get("abstained") or ()), details)


def distinct_records(records: Iterable[Record]) -> tuple[list[Record], list[str]]:
    """Records sorted by id, each id once, and the ids that came with different answers.

    Several processes may deliver a request twice; the same answer twice is one answer, different answers count as
    missing. The parts of an exam become one record.
    """
    by_key: dict[tuple[str, str], Record] = {}
    conflicts: set[tuple[str, str]] = set()
    for record in records:
        key = record.id, record.conditions.part
        first = by_key.setdefault(key, record)
        if first is not record and not same_answers(first, record):
            conflicts.add(key)
    for key in sorted(conflicts):
        logger.warning("%s was answered twice and differently; counted as missing.", "/".join(filter(None, key)))
        by_key[key] = replace(by_key[key], parsed=replace(by_key[key].parsed, answers={}, abstained=(), details={}))
    distinct = []
    for _, keys in groupby(sorted(by_key), lambda key: key[0]):
        parts = [by_key[key] for key in keys]
        distinct.append(parts[0] if len(parts) == 1 and not parts[0].conditions.part else merge_parts(parts))
    return distinct, sorted({name for name, _ in conflicts})


def same_answers(first: Record, second: Record) -> bool:
    """True where two replies to one request give the same answers and the same fields of their answer format."""
    return (first.answers, first.format_fields) == (second.answers, second.format_fields)


def merge_parts(parts: Sequence[Record]) -> Record:
    """One record of an exam that was asked about in several requests.

    Its status is the first of the table of statuses that some part has and that leaves steps unanswered, ``partial``
    where other parts are answered and no part is asked again; its prompt is the hash of all prompts; its usage is that
    of all requests; ``parts`` has the status of each.
    """
    first, answers, missing, abstained = parts[0], dict[str, float](), dict[str, str](), list[str]()
    details: dict[str, dict[str, Any]] = {}
    for record in parts:
        answers.update(record.answers)
        missing.update(record.missing)
        abstained += record.parsed.abstained
        for name, by_step in record.parsed.details.items():
            details.setdefault(name, {}).update(by_step)
    statuses = {record.conditions.part: record.status for record in parts}
    incomplete = [status for status in STATUSES if status in statuses.values() and status not in ("ok", ABSTAINED)]
    status = incomplete[0] if incomplete else ABSTAINED if abstained else "ok"
    status = "partial" if status in ("refused", "unread") and (answers or abstained) else status
    prompts = {record.conditions.part: record.conditions.prompt for record in parts}
    schemas = {record.conditions.part: record.conditions.reply_schema for record in parts}
    usages = [record.conditions.usage for record in parts if record.conditions.usage]
    shown = [record.media for record in parts]
    conditions = replace(
        first.conditions,
        prompt=None if None in prompts.values() else sha256_json(prompts)[:12],
        media=next((media for media in shown if media.get("mode") not in (None, UNKNOWN_MODE)), shown[0]),
        usage=add_usage(usages) if len(usages) == len(parts) else None,
        reply_schema=sha256_json(schemas)[:12] if any(schemas.values()) else "",
        part="",
        parts=statuses,
    )
    return replace(first, parsed=Parsed(status, answers, missing, tuple(abstained), details), conditions=conditions)


def has_supervised_judge(records: Mapping[str, Sequence[Record]]) -> bool:
    """True if any record, of any setting, states a judge that was trained on the data set that it judges."""
    return any(record.conditions.judge for present in records.values() for record in present)
