"""What one request came to: flat records of who was asked what and how the reply was read.

A *record* is one JSON object per request: who was asked what, how the reply was read, and under which prompt, data and
media. It holds no label, so the same records can be scored against any rater, mapping or positive class later.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from siming_tasks.common.files import sha256_json
from siming_tasks.common.schema import verdict_word
from siming_tasks.parsing import STATUSES, Parsed
from siming_tasks.parsing.parsed_reply import ABSTAINED
from siming_tasks.results.usage import added, cut_off
from siming_tasks.rubrics import RubricStep
from siming_tasks.tasks import RECORD_FIELDS, TASKS, TaskSpec
from siming_tasks.tasks.expected_requests import record_id

__all__ = ["Distinct", "Record", "join", "joined", "merged", "prediction_line", "read_as", "record_of"]

logger = logging.getLogger(__name__)

Record = Mapping[str, Any]


def read_as(setting: TaskSpec, reply: object, steps: Sequence[RubricStep]) -> Parsed:
    """A reply to a setting's question about these steps (:meth:`siming_tasks.tasks.AnswerFormat.parse`)."""
    return setting.answer_format.parse(reply, steps, setting.answer)


def record_of(
    setting: str,
    video_id: str,
    step_id: str | None,
    parsed: Parsed,
    *,
    prompt: str | None = None,
    dataset: str | None = None,
    media: Mapping[str, Any] | None = None,
    usage: Mapping[str, Any] | None = None,
    asking: str = "",
    part: str = "",
    judge: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The record of one request.

    Args:
        setting: name of the setting.
        video_id: which exam.
        step_id: which step, for a clip; None for a full video.
        parsed: the reply, read.
        prompt: hash of the prompt's text.
        dataset: content digest of the data set.
        media: what the model was shown.
        usage: what the request took, if that is known; a reply that was cut at the limit of tokens is ``truncated``.
        asking: how the question was put (:attr:`siming_tasks.tasks.prompting.PromptOptions.label`).
        part: of an exam that is asked about in several requests, the part that this one asks about.
        judge: of a judge that was trained on the data set that it judges, how (:mod:`siming_tasks.results.supervised`).
    """
    return {
        "id": record_id(setting, video_id, step_id),
        "setting": setting,
        "video_id": video_id,
        "step_id": step_id,
        "status": "truncated" if cut_off(parsed.status, usage) else parsed.status,
        "answers": dict(parsed.answers),
        "missing": dict(parsed.missing),
        **TASKS[setting].answer_format.fields_of(parsed),
        "prompt": prompt,
        "dataset": dataset,
        "media": dict(media or {}),
        **({"usage": dict(usage)} if usage else {}),
        **({"asking": asking} if asking else {}),
        **({"part": part} if part else {}),
        **({"judge": dict(judge)} if judge else {}),
    }


def prediction_line(record: Record) -> dict[str, Any]:
    """The record as a line of a prediction file (see the format page): what a submission holds."""
    line = {"setting": record["setting"], "video_id": record["video_id"]}
    setting = TASKS[record["setting"]]
    answers: Mapping[str, float] = record["answers"]
    if setting.answer == "score":
        values: dict[str, Any] = {name: int(value) if value == int(value) else value for name, value in answers.items()}
    else:
        values = {name: verdict_word(value) for name, value in answers.items()}
    values |= setting.answer_format.answer_words(record)
    fields = setting.answer_format.prediction_fields(record)
    if setting.scope == "clip":
        return {**line, "step_id": record["step_id"], setting.field: values.get(record["step_id"]), **fields}
    return {**line, setting.field: values, **fields}


class Distinct(list[Record]):
    """Records of one setting of which no two are of the same request, as :func:`join` would leave them."""

    def __init__(self, setting: str, records: Iterable[Record]) -> None:
        super().__init__(records)
        self.setting = setting


def stated_answers(record: Record) -> tuple[Any, ...]:
    """Everything that a reply stated: its answers and the fields that answer formats add."""
    return record["answers"], *(kind(record.get(name) or ()) for name, kind in RECORD_FIELDS.items())


def joined(records: Iterable[Record], setting: str) -> tuple[Sequence[Record], list[str]]:
    """:func:`join` of the records of one setting, which is their own answer where they are known to be distinct."""
    if isinstance(records, Distinct) and records.setting == setting:
        return records, []
    return join(record for record in records if record["setting"] == setting)


def join(records: Iterable[Record]) -> tuple[list[Record], list[str]]:
    """Records sorted by id, each id once, and the ids that came with different answers.

    Several processes may deliver a request twice; the same answer twice is one answer, different answers are none. The
    parts of an exam become one record of it.
    """
    by_id: dict[tuple[str, str], Record] = {}
    conflicts: set[tuple[str, str]] = set()
    for record in records:
        known = by_id.setdefault((record["id"], record.get("part") or ""), record)
        if known is not record and stated_answers(known) != stated_answers(record):
            conflicts.add((record["id"], record.get("part") or ""))
    for key in sorted(conflicts):
        logger.warning("%s was answered twice and differently; counted as missing.", "/".join(filter(None, key)))
        by_id[key] = {**by_id[key], "answers": {}, **{name: kind() for name, kind in RECORD_FIELDS.items()}}
    of: dict[str, list[Record]] = {}
    for name, part in sorted(by_id):
        of.setdefault(name, []).append(by_id[name, part])
    found = [mine[0] if len(mine) == 1 and not mine[0].get("part") else merged(mine) for mine in of.values()]
    return found, sorted({name for name, _ in conflicts})


def merged(parts: Sequence[Record]) -> dict[str, Any]:
    """One record of an exam that was asked about in several requests.

    Its status is the first of the table of statuses that some part has and that leaves steps unanswered; its prompt is
    the hash of all prompts; its usage is that of all requests; ``parts`` has the status of each. What an aggregator of
    lmms-eval is given lacks all but the answers.
    """
    first = parts[0]
    statuses = {record["part"]: record.get("status", "ok") for record in parts}
    left = [status for status in STATUSES if status in statuses.values() and status not in ("ok", ABSTAINED)]
    prompts = {record["part"]: record.get("prompt") for record in parts}
    usages = [record["usage"] for record in parts if record.get("usage")]
    fields: dict[str, Any] = {}
    for name, kind in RECORD_FIELDS.items():
        stated = [record[name] for record in parts if record.get(name)]
        fields[name] = kind(itertools.chain.from_iterable(dict(x).items() if kind is dict else x for x in stated))
    shown = [record.get("media") or {} for record in parts]
    return {
        **{name: first[name] for name in ("id", "setting", "video_id", "step_id", "dataset")},
        "status": left[0] if left else ABSTAINED if fields["abstained"] else "ok",
        "answers": {step: value for record in parts for step, value in record["answers"].items()},
        "missing": {step: why for record in parts for step, why in record.get("missing", {}).items()},
        "prompt": None if None in prompts.values() else sha256_json(prompts)[:12],
        "media": next((media for media in shown if media.get("mode") not in (None, "unknown")), shown[0]),
        **{name: value for name, value in fields.items() if value},
        **({"usage": added(usages)} if len(usages) == len(parts) else {}),
        **({"asking": first["asking"]} if first.get("asking") else {}),
        **({"judge": first["judge"]} if first.get("judge") else {}),
        "parts": statuses,
    }
