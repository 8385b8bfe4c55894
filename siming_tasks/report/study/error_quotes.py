"""What judges say of the steps that they get wrong: a bounded, repeatable draw from the replies while they are read."""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass
from hashlib import blake2b

from siming_tasks.common.redact import redact
from siming_tasks.common.sanitize import visible
from siming_tasks.data import Dataset
from siming_tasks.results.record import Record
from siming_tasks.tasks import TASKS

__all__ = ["Saying", "Sayings", "words_about"]

MOST = 300
"""Sayings that are kept of a run in a setting."""
LONG = 400
"""Characters of a saying."""
READ = 60_000
"""Characters of a reply that are searched."""

_JSON = re.compile(r"```.*?(?:```|\\Z)|\{[^{}]*\}|[{}\[\]]", re.DOTALL)
_SENTENCE = re.compile(r"[^.!?\n。！？]+[.!?。！？]?")


@dataclass(frozen=True, order=True)
class Saying:
    """What was said of one step of one exam that was judged wrong.

    Attributes:
        order: decides which are kept; the same for the same request, whatever else there is.
        video: the exam.
        step: the step.
        kind: ``miss`` or ``alarm``.
        text: the words, one line.
    """

    order: str
    video: str
    step: str
    kind: str
    text: str


class Sayings:
    """Keeps what a run says of its misses and false alarms, while it is read.

    Args:
        dataset: the reference.
        rater: whose points are the reference.
    """

    def __init__(self, dataset: Dataset, rater: str) -> None:
        self.dataset, self.rater = dataset, rater
        self._kept: dict[str, list[tuple[int, Saying]]] = {}
        self._names = {
            step.id: re.compile(
                rf"(?<![A-Za-z0-9_])(?:{re.escape(step.id)}|{re.escape(step.name)})(?![A-Za-z0-9])", re.I
            )
            for step in dataset.rubric.steps
        }

    def put(self, record: Record, reply: str | None) -> None:
        """Look at one reply; a record that comes again, because its first request failed, is looked at again."""
        if not reply or not record.answers or record.video_id not in self.dataset.by_id:
            return
        score = TASKS[record.setting].answer == "score"
        video, text = self.dataset.video(record.video_id), None
        for step_id, value in record.answers.items():
            reference = video.step(step_id).scores.get(self.rater)
            top = self.dataset.rubric.by_id[step_id].max_score
            if reference is None or (called := value < top if score else bool(value)) == (reference < top):
                continue
            order = blake2b(f"{record.id} {step_id}".encode(), digest_size=8).hexdigest()
            kept = self._kept.setdefault(record.setting, [])
            if (len(kept) >= MOST and -kept[0][0] <= int(order, 16)) or any(order == one.order for _, one in kept):
                continue
            text = _JSON.sub(" ", reply[:READ]) if text is None else text
            if said := words_about(text, None if record.step_id else self._names[step_id]):
                saying = Saying(order, video.video_id, step_id, "alarm" if called else "miss", said)
                (heapq.heappushpop if len(kept) >= MOST else heapq.heappush)(kept, (-int(order, 16), saying))

    def found(self) -> dict[str, list[Saying]]:
        """By setting, in an order that does not depend on that of the log."""
        return {name: sorted(saying for _, saying in kept) for name, kept in self._kept.items()}


def words_about(text: str, name: re.Pattern[str] | None) -> str:
    """The sentences about a step, or the last ones of a reply about one step alone; empty if there are no words.

    Args:
        text: a reply without its JSON.
        name: finds the step's name in it; None: the whole reply is about it.

    Example:
        >>> words_about("cpr_01: Looks safe. cpr_02: The elbows are bent.", re.compile("cpr_02"))
        'The elbows are bent.'
    """
    sentences = _SENTENCE.findall(text)
    if name is not None:
        about = [sentence for sentence in sentences if name.search(sentence)]
        sentences = [name.sub("", sentence) for sentence in about]
    said = " ".join(" ".join(sentence.split()).strip(" :-*#`\"',") for sentence in sentences)
    said = visible(str(redact(" ".join(said.split()))))
    if len(re.findall(r"[^\W\d_]{2,}", said)) < 3 and not re.search(r"[\u4e00-\u9fff]{6}", said):
        return ""
    return said if len(said) <= LONG else f"…{said[-LONG:]}"
