"""Rating: one physician scores every step of every exam and marks when it happens, blind to everybody else."""

from __future__ import annotations

from functools import lru_cache

from siming_tasks.tools.station.event_log import EventLog, Known
from siming_tasks.tools.station.event_log.events import RATING
from siming_tasks.tools.station.station_exams import Exam, Exams
from siming_tasks.tools.station.worklist import Frames, Item, Work

__all__ = ["Rating", "frames_of"]


@lru_cache(maxsize=8)
def frames_of(exam: Exam) -> Frames:
    """Times of all frames of an exam; the last few exams are kept."""
    timeline = exam.timeline()
    return Frames(tuple(round(time, 6) for time in timeline.times.tolist()), round(timeline.duration, 6))


class Rating(Work):
    """The work of ``siming data rate DIR --rater NAME``."""

    mode = "rate"
    kinds = ("points", "applicable", "start", "end", "comment")

    def __init__(self, event_log: EventLog, rater: str, exams: Exams) -> None:
        event_log.know(Known(exam.name, exam.digest, exam.steps) for exam in exams.exams)
        items = [Item(exam, exam.steps, exam.digest) for exam in exams.exams]
        super().__init__(event_log, RATING, rater, exams.rubric, items)

    def frames(self, item: Item) -> Frames:
        """All frames of the video."""
        return frames_of(item.exam)
