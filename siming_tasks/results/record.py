"""What one request came to: flat records of who was asked what and how the reply was read.

A *record* is one JSON object per request: who was asked what, how the reply was read, and under which prompt, data and
media. It holds no label, so the same records can be scored against any rater, mapping or positive class later.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from siming_tasks.common.files import sha256_json
from siming_tasks.parsing import STATUSES, Parsed, parse_reply
from siming_tasks.parsing.lexicon import NOT_VISIBLE
from siming_tasks.parsing.model import ABSTAINED
from siming_tasks.results.usage import added, cut_off
from siming_tasks.rubrics import RubricStep
from siming_tasks.tasks import TASKS, TaskSpec
from siming_tasks.tasks.expected_requests import record_id

__all__ = ["Distinct", "Record", "join", "joined", "merged", "prediction_line", "read_as", "record_of"]

logger = logging.getLogger(__name__)

Record = Mapping[str, Any]


def read_as(setting: TaskSpec, reply: object, steps: Sequence[RubricStep]) -> Parsed:
    """A reply to a setting's question about these steps (:func:`siming_tasks.parsing.parse_reply`)."""
    return parse_reply(reply, steps, setting.answer, abstain=setting.abstain, evidence=setting.evidence)


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
        asking: how the question was put (:attr:`siming_tasks.tasks.prompting.Asking.words`).
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
        **({"abstained": list(parsed.abstained)} if parsed.abstained else {}),
        **(
            {"evidence": {step: list(map(list, parts)) for step, parts in parsed.evidence.items()}}
            if parsed.evidence
            else {}
        ),
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
        values = {name: "incorrect" if value else "correct" for name, value in answers.items()}
    values |= dict.fromkeys(record.get("abstained") or (), NOT_VISIBLE)
    claimed = {"evidence": record["evidence"]} if record.get("evidence") else {}
    if setting.scope == "clip":
        return {**line, "step_id": record["step_id"], setting.field: values.get(record["step_id"]), **claimed}
    return {**line, setting.field: values, **claimed}


class Distinct(list[Record]):
    """Records of one setting of which no two are of the same request, as :func:`join` would leave them."""

    def __init__(self, setting: str, records: Iterable[Record]) -> None:
        super().__init__(records)
        self.setting = setting


def said(record: Record) -> tuple[Any, ...]:
    """All that a reply came to: answers, steps called not visible, evidence."""
    return record["answers"], list(record.get("abstained") or ()), record.get("evidence") or {}


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
        if known is not record and said(known) != said(record):
            conflicts.add((record["id"], record.get("part") or ""))
    for key in sorted(conflicts):
        logger.warning("%s was answered twice and differently; counted as missing.", "/".join(filter(None, key)))
        by_id[key] = {**by_id[key], "answers": {}, "abstained": [], "evidence": {}}
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
    abstained = [step for record in parts for step in record.get("abstained") or ()]
    evidence = {step: spans for record in parts for step, spans in (record.get("evidence") or {}).items()}
    shown = [record.get("media") or {} for record in parts]
    return {
        **{name: first[name] for name in ("id", "setting", "video_id", "step_id", "dataset")},
        "status": left[0] if left else ABSTAINED if abstained else "ok",
        "answers": {step: value for record in parts for step, value in record["answers"].items()},
        "missing": {step: why for record in parts for step, why in record.get("missing", {}).items()},
        "prompt": None if None in prompts.values() else sha256_json(prompts)[:12],
        "media": next((media for media in shown if media.get("mode") not in (None, "unknown")), shown[0]),
        **({"abstained": abstained} if abstained else {}),
        **({"evidence": evidence} if evidence else {}),
        **({"usage": added(usages)} if len(usages) == len(parts) else {}),
        **({"asking": first["asking"]} if first.get("asking") else {}),
        **({"judge": first["judge"]} if first.get("judge") else {}),
        "parts": statuses,
    }
