"""Requests that a run was to make: the one answer to "is an absent request a missing answer?".

A run that was not limited was to make every request of the data set, so that what it lacks is missing. A run made with
``--limit`` or ``--offset`` was to make those of its slices: what it lacks *there* is missing, and the rest was never
asked. lmms-eval takes the requests of a task in the order of
:func:`~siming_tasks.tasks.expected_requests.expected_requests`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from siming_tasks.common.schema import Video
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import expected_ids

__all__ = ["RequestSlice", "asked_ids", "slices_of"]


@dataclass(frozen=True)
class RequestSlice:
    """Requests that one command made of a task: ``limit`` of them (None: the rest) after ``offset``.

    ``parts``: it counts parts of exams (``SIMING_ASK``), so that only the exams with a record are known to be asked.
    """

    offset: int = 0
    limit: float | None = None
    parts: bool = False

    @property
    def whole(self) -> bool:
        """True for all of the task."""
        return not self.offset and self.limit is None


def slices_of(results: Iterable[Mapping[str, Any]]) -> dict[str, tuple[RequestSlice, ...]]:
    """By setting, the slices that lmms-eval's results files say were run."""
    slices: dict[str, list[RequestSlice]] = {}
    for result in results:
        config = result.get("config") or {}
        limit, offset = config.get("limit"), int(config.get("offset") or 0)
        limit = None if limit is None or float(limit) < 0 else float(limit)
        for task, facts in (result.get("configs") or {}).items():
            name = str(task).removeprefix("siming_")
            if name not in TASKS:
                continue
            try:
                parts = bool(json.loads(facts["metadata"]["siming_options"]).get("ask"))
            except (AttributeError, KeyError, TypeError, ValueError):
                parts = False
            slices.setdefault(name, []).append(RequestSlice(offset, limit, parts))
    return {name: tuple(parts) for name, parts in slices.items()}


def asked_ids(
    setting: str,
    videos: Sequence[Video],
    have: Collection[str],
    *,
    slices: Collection[RequestSlice] = (),
    partial: bool = False,
) -> frozenset[str]:
    """Ids of the requests that count as asked.

    Args:
        setting: name of the setting.
        videos: of the data set.
        have: ids of the requests that have a record; they were asked whatever else is known (and without ``slices`` and
            ``partial`` nothing depends on them).
        slices: those that the run states; none: it was not limited.
        partial: count only ``have``, for a run that was limited and does not say so.

    Returns:
        All requests of the data set, those of the slices, or ``have``. A limit below 1 is a share of the *first* task
        in lmms-eval 0.7.3, so that only ``have`` is known of such a run.
    """
    if partial or any(
        (part.limit is not None and 0 < part.limit < 1) or (part.parts and not part.whole) for part in slices
    ):
        return frozenset(have)
    every = list(expected_ids(TASKS[setting], videos))
    if not slices or any(part.whole for part in slices):
        return frozenset(every)
    asked = set(have)
    for part in slices:
        asked.update(every[part.offset : None if part.limit is None else part.offset + int(part.limit)])
    return frozenset(asked)
