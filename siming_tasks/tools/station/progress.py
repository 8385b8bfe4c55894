"""Progress of a rating: exams done and speed by rater, agreement so far, and steps that are unclear."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from siming_tasks.analysis.raters import rater_rows
from siming_tasks.common.errors import DataError
from siming_tasks.common.sanitize import literal
from siming_tasks.common.schema import CONSENSUS, StepLabel, Video
from siming_tasks.data import Dataset
from siming_tasks.metrics import Rows
from siming_tasks.options import Options
from siming_tasks.report.formatting import plain_number
from siming_tasks.report.row_tables import row_section
from siming_tasks.report.table import Name, Section, Table
from siming_tasks.tools.station.event_log import ADJUDICATION, RATING, Event, EventLog, Known
from siming_tasks.tools.station.replay import ExamState, events_by_exam, replay, replay_exams, seconds_by_step
from siming_tasks.tools.station.worklist import differ

_COMMENTS = 3
"""Comments shown of a step."""

_PACE = (
    "Minutes: median of the finished exams; seconds: median of the decided steps. A gap of more than ten minutes "
    "between two events counts for nothing. Video played: median share of the finished exams' videos, repeats counted."
)
_DOUBT = (
    "Where two raters often differ, or write comments, the rubric may be unclear. They differ by other points, or if "
    "only one of them says N/A."
)


@dataclass(frozen=True)
class Pace:
    """One rater: exams finished, begun and given; medians of the finished exams and decided steps.

    Attributes:
        played: seconds played over the length of a finished exam's video; above 1 where parts were played again.
    """

    finished: int
    begun: int
    of: int
    minutes: float | None
    seconds: float | None
    played: float | None


@dataclass
class StepDoubt:
    """One step: how often two raters have both decided it, how often they differ, and what they wrote about it."""

    pairs: int = 0
    differ: int = 0
    adjudicated: int = 0
    comments: list[str] = field(default_factory=list)

    @property
    def share(self) -> float | None:
        """Share of the pairs that differ."""
        return self.differ / self.pairs if self.pairs else None


@dataclass(frozen=True)
class Progress:
    """An event log as it is now.

    Attributes:
        exams: how many it knows.
        steps: doubt by step; those on which raters differ most often come first, then those with most comments.
        rows: agreement of the raters (:func:`siming_tasks.analysis.raters.rater_rows`); none where no two have scored a
            step in common.
    """

    name: str
    synthetic: bool
    exams: int
    raters: Mapping[str, Pace]
    steps: Mapping[str, StepDoubt]
    rows: Rows

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "event_log": self.name,
            "synthetic": self.synthetic,
            "exams": self.exams,
            "raters": {name: asdict(pace) for name, pace in self.raters.items()},
            "steps": {step: {**asdict(doubt), "share": doubt.share} for step, doubt in self.steps.items()},
            "rows": self.rows.to_json(),
        }


def read_progress(path: Path, options: Options, names: Sequence[str] | None = None) -> Progress:
    """Read an event log, also while stations write to it.

    ``options`` has the label mapping of the agreement; ``names`` are the only two raters to compare.

    Raises:
        DataError: it is no event log, or a named rater has rated nothing.
    """
    with closing(EventLog.read(path)) as event_log:
        known, exams = event_log.raters(RATING), event_log.exams()
        for name in names or ():
            if name not in known:
                raise DataError(f"{path}: {name!r} has rated nothing; {', '.join(known) or 'nobody'} has.")
        work = events_by_exam(event_log.events(RATING))
        states = {key: replay(events) for key, events in work.items()}
        raters = {name: _pace(name, work, exams, event_log.orders(name, RATING)) for name in known}
        doubts = _doubts(event_log, states)
    videos = []
    for digest, exam in exams.items():
        sides = {rater: state for (rater, of), state in states.items() if of == digest}
        points = {step: {rater: side.step(step).points for rater, side in sides.items()} for step in exam.steps}
        scored = {step: {rater: p for rater, p in by.items() if p is not None} for step, by in points.items()}
        labels = [StepLabel(step, scores=scores, applicable=bool(scores)) for step, scores in scored.items()]
        videos.append(Video(exam.name, "", 1.0, tuple(labels)))
    # The points so far as a data set without files: what the tables of raters are made of.
    dataset = Dataset(path, path.name, "", event_log.synthetic, "", event_log.rubric, tuple(videos), {})
    wanted = tuple(names or known)
    together = any(len({*wanted} & {*step.scores}) > 1 for video in videos for step in video.applicable)
    rows = rater_rows(dataset, options, wanted) if together else Rows()
    return Progress(path.name, event_log.synthetic, len(videos), raters, doubts, rows)


def _pace(
    name: str, work: Mapping[tuple[str, str], list[Event]], exams: Mapping[str, Known], given: Sequence[str]
) -> Pace:
    """Pace of one rater, with the exams that were ``given``."""
    states = {exam: replay(events) for (rater, exam), events in work.items() if rater == name}
    begun = {exam: state for exam, state in states.items() if state.steps}
    finished = [state for exam, state in begun.items() if not state.left(exams[exam].steps)]
    seconds = [
        seconds
        for exam, state in begun.items()
        for step, seconds in seconds_by_step(work[name, exam]).items()
        if state.step(step).decided
    ]

    def middle(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return median(known) if known else None

    minutes, played = [state.seconds / 60 for state in finished], [state.played_share for state in finished]
    return Pace(len(finished), len(begun), len(given), middle(minutes), middle(seconds), middle(played))


def _doubts(event_log: EventLog, states: Mapping[tuple[str, str], ExamState]) -> dict[str, StepDoubt]:
    """Differences and comments by step, the least clear step first."""
    doubts = {step.id: StepDoubt() for step in event_log.rubric.steps}
    adjudicated = replay_exams(event_log.events(ADJUDICATION))
    for digest, exam in event_log.exams().items():
        sides = [state for (_, of), state in sorted(states.items()) if of == digest]
        agreed = adjudicated.get((CONSENSUS, digest), ExamState())
        for step in exam.steps:
            doubt, answers = doubts[step], [side.step(step) for side in sides]
            for first, second in combinations([side for side in answers if side.decided], 2):
                doubt.pairs += 1
                doubt.differ += differ(first, second)
            doubt.adjudicated += agreed.step(step).decided
            doubt.comments += [side.comment for side in answers if side.comment]
    order = sorted(doubts, key=lambda step: (-(doubts[step].share or 0), -len(doubts[step].comments)))
    return {step: doubts[step] for step in order}


def progress_section(progress: Progress) -> Section:
    """Exams that each rater has finished, steps that raters differ on or comment, and how far raters agree."""
    section: Section = [
        f"## Ratings so far in {literal(progress.name)}{', SYNTHETIC data' if progress.synthetic else ''}",
        f"{progress.exams} exams.",
    ]
    rows = []
    for name, pace in progress.raters.items():
        share = "-" if pace.played is None else f"{100 * pace.played:.0f} %"
        speed = [plain_number(pace.minutes, 1), plain_number(pace.seconds, 0), share]
        rows.append([Name(name), str(pace.finished), str(pace.begun), str(pace.of), *speed])
    head = ["rater", "finished", "begun", "exams", "minutes an exam", "seconds a step", "video played"]
    section.append(Table.of(head, rows, caption=_PACE))
    unclear = {step: doubt for step, doubt in progress.steps.items() if doubt.differ or doubt.comments}
    if unclear:
        rows, comments = [], []
        for step, doubt in unclear.items():
            share = "-" if doubt.share is None else f"{100 * doubt.share:.0f} %"
            counts = [str(doubt.pairs), str(doubt.differ), share, str(doubt.adjudicated), str(len(doubt.comments))]
            rows.append([Name(step), *counts])
            comments += [f"* {literal(step)}: {literal(comment)}" for comment in doubt.comments[:_COMMENTS]]
        head = ["step", "scored by two", "differ", "share", "adjudicated", "comments"]
        section.append(Table.of(head, rows, caption=_DOUBT))
        section += ["\n".join(comments)] if comments else []
    section.append("### Agreement so far")
    if not progress.rows:
        return [*section, "No step has points of two raters yet."]
    return [*section, *row_section(progress.rows)]
