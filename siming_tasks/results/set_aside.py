"""Replies that were put aside: those that answer less than they were asked, with the words that decided it.

A record says how its reply was read and not why, so such a reply is read again, with its text at hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from siming_tasks.common.sanitize import one_line
from siming_tasks.data import Dataset
from siming_tasks.parsing.parsed_reply import ABSTAINED
from siming_tasks.results.record import REQUEST_FAILED, Record
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import steps_of
from siming_tasks.tasks.prompting import steps_in_part

Span = tuple[int, int]

MAX_CHARACTERS = 3_000
"""Characters of a reply that are kept whole; of a longer one its ends and what stands around the deciding words."""
ENDS, AROUND, PASSAGE = 500, 250, 600
"""Characters of a long reply that are kept at each end, on each side of deciding words, and of these themselves."""
LINE = 80
"""Characters of a passage on a line of text."""


@dataclass(frozen=True)
class SetAsideReply:
    """A reply that was not read, or only in part.

    Attributes:
        id: of the request, with its part where the exam is asked about in parts.
        setting: name of the setting.
        video_id: the exam.
        status: how the reply was read.
        missing: by step without an answer, the reason.
        asked: number of steps that were asked about.
        deciding: passages of the reply that decided it, as written; empty where no words did.
        reply: its text, a long one cut.
    """

    id: str
    setting: str
    video_id: str
    status: str
    missing: Mapping[str, str]
    asked: int
    deciding: tuple[str, ...]
    reply: str

    def line(self) -> str:
        """Request, status, reasons with their numbers of steps, and the deciding words or the reply's beginning."""
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.reasons().items())
        words = ", ".join(f"“{one_line(passage, LINE)}”" for passage in self.deciding) or one_line(self.reply, LINE)
        return f"{self.id}  {self.status} ({reasons or 'nothing missing'} of {self.asked}): {words}"

    def reasons(self) -> dict[str, int]:
        """Number of steps without an answer by reason."""
        found = list(self.missing.values())
        return {reason: found.count(reason) for reason in dict.fromkeys(found)}


@dataclass
class SetAsideReplies:
    """The set-aside replies of one run, collected while its files are read.

    A failed request has no reply, hence is not among them; a request that was asked again counts with its last reply.
    """

    dataset: Dataset
    _by_id: dict[str, SetAsideReply] = field(default_factory=dict)

    def put(self, record: Record, reply: str | None) -> None:
        """Look at the reply of one record; one that answers everything is not kept."""
        part = record.conditions.part
        name = f"{record.id}/{part}" if part else record.id
        self._by_id.pop(name, None)
        unread = record.missing or record.status not in ("ok", ABSTAINED)
        if reply is None or not unread or record.status == REQUEST_FAILED or record.video_id not in self.dataset.by_id:
            return
        task, rubric = TASKS[record.setting], self.dataset.rubric
        every = steps_of(task, self.dataset.video(record.video_id), record.step_id)
        names = set(steps_in_part(part, every, rubric.skill_of))
        steps = [step for step in rubric.steps if step.id in names]
        deciding = task.answer_format.parse(reply, steps, task.answer).deciding
        self._by_id[name] = SetAsideReply(
            id=name,
            setting=record.setting,
            video_id=record.video_id,
            status=record.status,
            missing=dict(record.missing),
            asked=len(steps),
            deciding=tuple(passage[:PASSAGE] for passage in deciding),
            reply=_cut(reply, deciding),
        )

    def all(self) -> tuple[SetAsideReply, ...]:
        """The replies in the order of the table of tasks, then by id."""
        order = {name: place for place, name in enumerate(TASKS)}
        return tuple(sorted(self._by_id.values(), key=lambda reply: (order[reply.setting], reply.id)))


def spans_of(text: str, passages: Iterable[str]) -> list[Span]:
    """Start and end of each passage where it first stands in a text, in order, overlapping ones as one.

    A passage that the text does not hold as it is, because a character that nobody sees was left out, has none.

    Example:
        >>> spans_of("no, make that two", ["make that two", "no, make"])
        [(0, 17)]
    """
    found = ((text.find(passage), len(passage)) for passage in passages if passage)
    return _joined((start, start + length) for start, length in found if start >= 0)


def _joined(spans: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _cut(text: str, passages: Sequence[str]) -> str:
    """Both ends of a long reply and what stands around the passages, saying how much is left out in between."""
    if len(text) <= MAX_CHARACTERS:
        return text
    spans = spans_of(text, (passage[:PASSAGE] for passage in passages))
    near = ((max(0, start - AROUND), min(len(text), end + AROUND)) for start, end in spans)
    kept = _joined([(0, ENDS), *near, (len(text) - ENDS, len(text))])
    pieces = [text[: kept[0][1]]]
    for (_, before), (start, end) in pairwise(kept):
        pieces += [f"\n⟦{start - before:,} characters left out⟧\n", text[start:end]]
    return "".join(pieces)
