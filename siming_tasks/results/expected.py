"""Which requests a run was to make: the one answer to "is an absent request a missing answer?".

A run that was not limited was to make every request of the data set, so that what it lacks is missing. A run made with
``--limit`` or ``--offset`` was to make those of its slices: what it lacks *there* is missing, and the rest was never
asked. lmms-eval takes the requests of a task in the order of
:func:`~siming_tasks.tasks.expected_requests.expected_requests`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from siming_tasks.common.schema import Video
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import Requests, expected_ids, record_id

__all__ = ["EveryRequest", "Slice", "asked_ids", "slices_of"]


@dataclass(frozen=True)
class Slice:
    """The requests that one command made of a task: ``limit`` of them (None: the rest) after ``offset``.

    ``parts``: it counts parts of exams (``SIMING_ASK``), so that only the exams with a record are known to be asked.
    """

    offset: int = 0
    limit: float | None = None
    parts: bool = False

    @property
    def whole(self) -> bool:
        """Whether that is all of the task."""
        return not self.offset and self.limit is None


class EveryRequest(Set[str]):
    """The ids of all requests of a setting, without a list of them: there may be a million."""

    def __init__(self, setting: str, videos: Sequence[Video]) -> None:
        self._setting, self._videos = TASKS[setting], videos
        self._requests = Requests(self._setting, videos)

    @classmethod
    def _from_iterable(cls, it: Iterable[str]) -> frozenset[str]:  # type: ignore[override]
        """What unions and differences are."""
        return frozenset(it)

    def __contains__(self, request: object) -> bool:
        _, _, rest = str(request).partition("/")
        video_id, _, step_id = rest.partition("/")
        clip = self._setting.scope == "clip"
        if bool(step_id) != clip or record_id(self._setting.name, video_id, step_id) != request:
            return False
        try:
            return self._requests.number(video_id, step_id or None) >= 0
        except KeyError:
            return False

    def __iter__(self) -> Iterator[str]:
        return expected_ids(self._setting, self._videos)

    def __len__(self) -> int:
        return self._requests.count


def slices_of(results: Iterable[Mapping[str, Any]]) -> dict[str, tuple[Slice, ...]]:
    """By setting, the slices that lmms-eval's results files say were run."""
    found: dict[str, list[Slice]] = {}
    for result in results:
        config = result.get("config") or {}
        limit, offset = config.get("limit"), int(config.get("offset") or 0)
        limit = None if limit is None or float(limit) < 0 else float(limit)
        for task, facts in (result.get("configs") or {}).items():
            name = str(task).removeprefix("siming_")
            if name in TASKS:
                found.setdefault(name, []).append(Slice(offset, limit, parts=_in_parts(facts)))
    return {name: tuple(parts) for name, parts in found.items()}


def _in_parts(task: Any) -> bool:
    """Whether a task's configuration says that exams were asked about in parts."""
    try:
        return bool(json.loads(task["metadata"]["siming_options"]).get("ask"))
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def asked_ids(
    setting: str,
    videos: Sequence[Video],
    have: Collection[str],
    *,
    slices: Collection[Slice] = (),
    partial: bool = False,
) -> Set[str]:
    """Ids of the requests that count as asked.

    Args:
        setting: name of the setting.
        videos: of the data set.
        have: ids of the requests that have a record; they were asked whatever else is known (and without ``slices`` and
            ``partial`` nothing depends on them).
        slices: what the run says of itself; none: it was not limited.
        partial: count only ``have``, for a run that was limited and does not say so.

    Returns:
        All requests of the data set, those of the slices, or ``have``. A limit below 1 is a share of the *first* task
        in lmms-eval 0.7.3, so that only ``have`` is known of such a run.
    """
    if partial or any(
        (part.limit is not None and 0 < part.limit < 1) or (part.parts and not part.whole) for part in slices
    ):
        return frozenset(have)
    if not slices or any(part.whole for part in slices):
        return EveryRequest(setting, videos)
    every = list(expected_ids(TASKS[setting], videos))
    made: set[str] = set()
    for part in slices:
        made.update(every[part.offset : None if part.limit is None else part.offset + int(part.limit)])
    return frozenset(made | set(have))
