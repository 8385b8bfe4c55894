"""Records as they are kept by the million: small, and what many have alike is held once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from siming_tasks.tasks import RECORD_FIELDS
from siming_tasks.tasks.expected_requests import record_id

__all__ = ["ALL", "KeptRecord", "Shelf"]

Reading = tuple[Any, ...]
"""Values of :data:`ALL`: how a reply was read and under which condition it was asked for."""

READ = ("status", "answers", "missing", "prompt", "dataset", "media")
SOME = (*RECORD_FIELDS, "usage", "asking", "part", "parts", "judge")
"""What a record has only where there is some."""
ALL = (*READ, *SOME)
_PLACE = {name: index for index, name in enumerate(ALL)}
_OWN = ("setting", "video_id", "step_id")


class KeptRecord(Mapping[str, Any]):
    """A record (:mod:`siming_tasks.results.record`), read-only, in a tenth of a dictionary's size."""

    __slots__ = ("reading", "setting", "step_id", "video_id")
    FIELDS = ("id", *_OWN, *READ)  # which it always has

    def __init__(self, setting: str, video_id: str, step_id: str | None, reading: Reading) -> None:
        self.setting = setting
        self.video_id = video_id
        self.step_id = step_id
        self.reading = reading

    def __getitem__(self, name: str) -> Any:
        if name in _PLACE:
            return self.reading[_PLACE[name]]
        if name == "id":
            return record_id(self.setting, self.video_id, self.step_id)
        if name in _OWN:
            return getattr(self, name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        yield from self.FIELDS
        yield from (name for name in SOME if self[name])

    def __len__(self) -> int:
        return len(self.FIELDS) + sum(bool(self[name]) for name in SOME)

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptRecord, (self.setting, self.video_id, self.step_id, self.reading)


@dataclass
class Shelf:
    """Where equal parts of records are looked for."""

    _alike: dict[Any, Any] = field(default_factory=dict)

    def keep(self, record: Mapping[str, Any], video_id: str, step_id: str | None) -> KeptRecord:
        """A record under the data set's own names of its video and, of a clip, its step."""
        parts = [tuple(part) if isinstance(part := record.get(name), list) else part for name in ALL]
        small = True
        for place, part in enumerate(parts):
            if not isinstance(part, dict):
                parts[place] = self._alike.setdefault(part, part)
            elif (len(part) < 2 or ALL[place] == "judge") and all(map(_hashable, part.values())):
                parts[place] = self._alike.setdefault((ALL[place], *part.items()), part)
            else:
                small = False
        # What the shelf holds stays alive, so that equal addresses are the same parts.
        reading = self._alike.setdefault(tuple(map(id, parts)), tuple(parts)) if small else tuple(parts)
        return KeptRecord(self._alike.setdefault(record["setting"], record["setting"]), video_id, step_id, reading)


def _hashable(value: Any) -> bool:
    return isinstance(value, str | int | float | None)
