"""What prediction files state of a judge that was trained on the data set that it judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from siming_tasks.common.redact import redact

__all__ = ["SUPERVISED", "is_supervised", "stated_judge"]

SUPERVISED = "supervised, cross-fitted"
"""Kind of judge that a prediction file states whose answers were learnt from the data set's other videos."""

_FACTS, _LENGTH = 10, 100


def stated_judge(said: Any) -> dict[str, str] | None:
    """What a line says of a judge that was trained on these data: ``kind``, then how it was made, in short texts.

    None for anything else that stands there: it is nobody's concern.
    """
    if not isinstance(said, dict) or said.get("kind") != SUPERVISED:
        return None
    facts = [(str(key)[:_LENGTH], str(value)[:_LENGTH]) for key, value in said.items() if key != "kind"]
    return dict(redact({"kind": SUPERVISED, **dict(facts[:_FACTS])}))


def is_supervised(records: Mapping[str, Sequence[Mapping[str, Any]]]) -> bool:
    """Whether any record, of any setting, states such a judge."""
    return any(record.get("judge") for mine in records.values() for record in mine)
