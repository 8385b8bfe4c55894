"""Rating: one physician scores every step of every exam and marks when it happens, blind to everybody else."""

from __future__ import annotations

from functools import lru_cache

from siming_tasks.data.journal import Journal
from siming_tasks.data.journal.acts import RATING
from siming_tasks.media import Timeline
from siming_tasks.station.exams import Exam, Exams
from siming_tasks.station.work import Item, Work

__all__ = ["Rating", "timeline_of"]


@lru_cache(maxsize=8)
def timeline_of(exam: Exam) -> Timeline:
    """An exam's timeline; the last few are kept."""
    return exam.timeline()


class Rating(Work):
    """The work of ``siming rate DIR --rater NAME``."""

    mode = "rate"
    kinds = ("points", "applicable", "start", "end", "comment")

    def __init__(self, journal: Journal, rater: str, exams: Exams) -> None:
        journal.know((exam.name, exam.digest) for exam in exams.exams)
        items = [Item(exam, exam.steps, exam.digest) for exam in exams.exams]
        super().__init__(journal, RATING, rater, exams.rubric, items)

    def timeline(self, item: Item) -> Timeline:
        """When the frames of the exam are shown."""
        return timeline_of(item.exam)
