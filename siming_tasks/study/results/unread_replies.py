"""Replies that answer less than was asked, or at which a person should look: which, how many, and what helps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from siming_tasks.benchmark.record import REQUEST_FAILED, Record
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.tasks.expected_requests import steps_of
from siming_tasks.benchmark.tasks.prompting import steps_in_part
from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import one_line
from siming_tasks.data import Dataset

UNREAD = ("unread", "partial", "refused", "truncated", "empty")
"""Statuses of a model's replies that leave steps unanswered, in the order in which they are counted."""

MANY = 0.05
"""Share of a run's replies above which it says first, not last, that so many could not be read."""

EXAMPLES = 3
ENDS = 1_500
"""Characters at each end of a long reply that are kept."""
LINE = 80
"""Characters of a reply on a line of text."""
TAIL = 100
"""Characters at the end of a reply that occurred in it before if it ends in a loop."""
SEVERAL, ALIKE, LOOP = "several", "alike", "loop"
"""Signs of a reply: it answers several steps, it gives all of them the same answer, it ends in a loop."""


@dataclass(frozen=True)
class UnreadReply:
    """A reply that was not read, or only in part.

    Attributes:
        id: of the request, with its part where the exam is asked about in parts.
        setting: name of the setting.
        video_id: the exam; ``step_id``: the step of a clip, None for a full video.
        status: how the reply was read.
        missing: by step without an answer, the reason.
        asked: number of steps that were asked about.
        reply: its text, a long one cut.
    """

    id: str
    setting: str
    video_id: str
    step_id: str | None
    status: str
    missing: Mapping[str, str]
    asked: int
    reply: str

    def line(self) -> str:
        """Request, status, reasons with their numbers of steps, and the reply's beginning."""
        found = list(self.missing.values())
        reasons = ", ".join(f"{found.count(reason)} {reason}" for reason in dict.fromkeys(found))
        said = f"“{one_line(self.reply, LINE)}”"
        return f"{self.id}  {self.status} ({reasons or 'nothing missing'} of {self.asked}): {said}"


@dataclass
class UnreadReplies:
    """The unread replies of one run, and the signs of all, collected while its files are read.

    A failed request has no reply, hence is not among them; a request that was asked again counts with its last reply.
    """

    dataset: Dataset
    _by_id: dict[str, UnreadReply] = field(default_factory=dict)
    _signs: dict[str, tuple[str, Collection[str]]] = field(default_factory=dict)  # by request, its setting and signs

    def put(self, record: Record, reply: str | None) -> None:
        """Look at the reply of one record; one that answers everything is not kept."""
        name = "/".join(filter(None, (record.id, record.conditions.part)))
        self._by_id.pop(name, None)
        if record.video_id not in self.dataset.by_id:
            return
        every = steps_of(TASKS[record.setting], self.dataset.video(record.video_id), record.step_id)
        asked = steps_in_part(record.conditions.part, every, self.dataset.rubric.skill_of)
        is_error = TASKS[record.setting].answer == "error"
        tops = {step: 1.0 if is_error else self.dataset.rubric.by_id[step].max_score for step in asked}
        self._signs[name] = record.setting, signs(record.answers, tops, reply or "")
        if reply is not None and record.status in UNREAD:
            self._by_id[name] = unread_reply(record, reply, len(asked))

    def signs(self) -> dict[str, Counter[str]]:
        """By setting, the number of replies with each sign."""
        found: dict[str, Counter[str]] = {}
        for setting, several in self._signs.values():
            found.setdefault(setting, Counter()).update(several)
        return found

    def all(self) -> tuple[UnreadReply, ...]:
        """The replies in the order of the table of tasks, then by id."""
        order = {name: place for place, name in enumerate(TASKS)}
        return tuple(sorted(self._by_id.values(), key=lambda reply: (order[reply.setting], reply.id)))


def signs(answers: Mapping[str, float], tops: Mapping[str, float], reply: str) -> set[str]:
    """The signs of a reply by its answers and the maxima of the asked steps (of a verdict 1), by step id."""
    found = {LOOP} if -1 < reply.find(reply[-TAIL:]) < len(reply) - TAIL else set()
    if len(answers) > 1:
        found.add(SEVERAL)
        if answers.keys() == tops.keys() and (not any(answers.values()) or answers == tops):
            found.add(ALIKE)
    return found


def without_middle(text: str, head: int, tail: int) -> str:
    """At most ``head`` + ``tail`` characters of a text, saying how many are left out in between."""
    left_out = len(text) - head - tail
    return text if left_out <= 0 else f"{text[:head]}\n⟦{counted(left_out, 'character')} left out⟧\n{text[-tail:]}"


def unread_reply(record: Record, reply: str, asked: int) -> UnreadReply:
    """Entry of a record and the number of steps that it was asked about; of a long reply, both ends are kept."""
    name = "/".join(filter(None, (record.id, record.conditions.part)))
    about = record.setting, record.video_id, record.step_id, record.status
    return UnreadReply(name, *about, dict(record.missing), asked, without_middle(reply, ENDS, ENDS))


@dataclass(frozen=True)
class UnreadNote:
    """Numbers of a run's replies that could not be read, some of them, and the remedy; its text is the note, or empty.

    Attributes:
        statuses: by setting, the number of replies by status.
        examples: lines about some of them (:meth:`UnreadReply.line`).
        schema: it was asked with a JSON schema of the reply.
        signs: by setting, the number of replies by sign.
        ended: number of truncated replies that ended for another reason than the limit of tokens.
    """

    statuses: Mapping[str, Mapping[str, int]]
    examples: Sequence[str] = ()
    schema: bool = False
    signs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    ended: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """By setting with any, the number of replies that leave steps unanswered."""
        found = {name: sum(counts.get(status, 0) for status in UNREAD) for name, counts in self.statuses.items()}
        return {name: count for name, count in found.items() if count}

    @property
    def is_many(self) -> bool:
        """Test whether these are so many in some setting that it must be said first."""
        return any(count > MANY * sum(self.statuses[name].values()) for name, count in self.counts.items())

    @property
    def sentence(self) -> str:
        """The numbers of replies that could not be read and of those with a sign, by setting; empty without any."""
        said = []
        for name, count in self.counts.items():
            counts, total = self.statuses[name], sum(self.statuses[name].values())
            kinds = ", ".join(f"{counts[status]:,} {status}" for status in UNREAD if counts.get(status))
            said.append(f"{name} {count:,} of {total:,} ({count / total:.1%}: {kinds})")
        whole = f"Replies that could not be read in full: {'; '.join(said)}." if said else ""
        return " ".join(filter(None, [whole, *self._said_of_signs()]))

    def _said_of_signs(self) -> Iterator[str]:
        for name, counts in self.signs.items():
            if alike := counts.get(ALIKE, 0):
                replies = counted(counts[SEVERAL], "reply")
                yield f"{name}: one answer for every step in {alike:,} of {replies}; read some of them."
            if loops := counts.get(LOOP, 0):
                yield f"{name}: {loops:,} {'reply ends' if loops == 1 else 'replies end'} in a loop."

    def remedies(self) -> list[str]:
        """Sentences on what a user can do about what there is; a clip is about one step already, a loop never ends.

        A schema would make a model that refuses invent an answer.
        """
        found = []
        unread = {name for name, counts in self.statuses.items() if any(map(counts.get, ("unread", "partial")))}
        loops = sum(counts.get(LOOP, 0) for counts in self.signs.values())
        if (unread or loops) and not self.schema:
            found.append("SIMING_SCHEMA=json enforces the JSON format where the service supports it")
        if any(TASKS[name].scope == "full" for name in unread):
            found.append("SIMING_ASK=step asks one question per step")
        if sum(counts.get("truncated", 0) for counts in self.statuses.values()) > loops + self.ended:
            found.append("give truncated replies more new tokens (--gen_kwargs max_new_tokens=...)")
        said = "; ".join(found)
        return [f"{said[0].upper()}{said[1:]}."] if said else []

    def __str__(self) -> str:
        if not self.sentence:
            return ""
        return "\n".join([" ".join([self.sentence, *self.remedies()]), *(f"  {line}" for line in self.examples)])


def failed_sentence(records: Iterable[Record]) -> str:
    """The number of requests that failed, with their commonest errors; empty without any."""
    records = list(records)
    failed = [record.conditions.usage or {} for record in records if record.status == REQUEST_FAILED]
    errors = Counter(str(usage.get("error") or "no reply") for usage in failed)
    named = ", ".join(f"{count:,} {error}" for error, count in errors.most_common(3))
    return f"{len(failed):,} of {counted(len(records), 'request')} failed ({named})." if failed else ""


def unread_note(unread: UnreadReplies, records: Mapping[str, Sequence[Record]]) -> UnreadNote:
    """Note of a run's records by setting, with the first of its unread replies of every setting in turn as examples."""
    number = Counter[str]()
    turns = sorted(unread.all(), key=lambda reply: number.update([reply.setting]) or number[reply.setting])
    schema = any("json" in record.conditions.asking.split() for present in records.values() for record in present)
    statuses = {name: Counter(record.status for record in present) for name, present in records.items()}
    reasons = [(record.conditions.usage or {}).get("finish_reason")
               for present in records.values() for record in present if record.status == "truncated"]  # fmt: skip
    ended = sum(reason not in (None, "length") for reason in reasons)
    return UnreadNote(statuses, [reply.line() for reply in turns[:EXAMPLES]], schema, unread.signs(), ended)
