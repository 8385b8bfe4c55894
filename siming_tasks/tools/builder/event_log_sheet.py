"""The event log of a rating station as a score sheet: what physicians gave there goes the way of every other sheet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import digest_of
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.rubrics import Rubric
from siming_tasks.tools.builder.mapping import Kind
from siming_tasks.tools.builder.sheet_tables import Column, Sheet, SheetRow
from siming_tasks.tools.builder.video_files import VideoFiles
from siming_tasks.tools.station.event_log import ADJUDICATION, RATING, EventLog, Known, is_event_log, rubric_digest
from siming_tasks.tools.station.replay import ExamState, replay_exams


@dataclass(frozen=True)
class UseRatings:
    """Rules by which an event log becomes labels.

    Attributes:
        spans_from: whose marks are the spans where nobody adjudicated them; None: those of the only rater who marked.
        finished: leave out exams that a rater has begun and not finished, instead of refusing them.
    """

    spans_from: str | None = None
    finished: bool = False


def ratings_sheet(path: Path, rubric: Rubric, kind: Kind, use: UseRatings) -> tuple[Sheet, list[Problem]]:
    """An event log as a long sheet, and what is wrong with it.

    Points are the raters' own; the consensus is what adjudication gave. Where it says that a step does not apply, or
    that it does, the raters' other opinion is left out. A step's span is the adjudicated one, else that of
    ``use.spans_from``, else the one that all who marked the step agree about.

    Raises:
        DataError: it is no event log, or has another rubric than the build.
    """
    event_log = EventLog.read(path)
    try:
        if rubric_digest(event_log.rubric) != rubric_digest(rubric):
            logged = f"{event_log.rubric.rubric_id} {event_log.rubric.version}"
            raise DataError(f"{path}: was rated by another rubric ({logged}). Give that one as --rubric.")
        return _Ratings(path, event_log, use).sheet(kind)
    finally:
        event_log.close()


class _Ratings:
    def __init__(self, path: Path, event_log: EventLog, use: UseRatings) -> None:
        self.file, self.use, self.problems = str(path), use, list[Problem]()
        self.exams = event_log.exams()
        self.states = replay_exams([*event_log.events(RATING), *event_log.events(ADJUDICATION)])
        self.raters = sorted({rater for rater, _ in self.states} - {CONSENSUS})
        self.differing: list[str] = []
        self.unmarked: list[str] = []
        if use.spans_from and use.spans_from not in self.raters:
            shown = ", ".join(self.raters) or "nobody"
            self._problem("rater-unknown", f"{use.spans_from!r} rated nothing here.", f"--spans-from takes {shown}.")

    def sheet(self, kind: Kind) -> tuple[Sheet, list[Problem]]:
        names = {
            "labels": ("video_id", "step_id", "rater", "points", "start", "end"),
            "spans": ("video_id", "step_id", "start", "end"),
            "adjudicated": ("video_id", "step_id", CONSENSUS),
        }[kind]
        rows = []
        undecided = 0
        for exam in self.exams.values():
            states = {rater: self.states.get((rater, exam.digest), ExamState()) for rater in self.raters}
            states = {rater: state for rater, state in states.items() if state.steps}
            if kind == "labels":
                states = {rater: state for rater, state in states.items() if self._is_finished(exam, rater, state)}
            agreed = self.states.get((CONSENSUS, exam.digest), ExamState())
            for step in exam.steps:
                start, end = self._span(exam, step, states, agreed)
                where = {"video_id": exam.name, "step_id": step}
                when = {name: at for name, at in (("start", start), ("end", end)) if at is not None}
                points = dict(_given(step, states, agreed))
                undecided += CONSENSUS not in points and len(set(points.values())) > 1
                if kind == "labels":
                    rows += [{**where, **when, "rater": who, "points": what} for who, what in points.items()]
                elif kind == "spans":
                    rows += [{**where, **when}] if when else []
                else:
                    rows += [{**where, CONSENSUS: points[CONSENSUS]}] if CONSENSUS in points else []
        if self.differing and kind != "adjudicated":
            what = f"raters marked {len(self.differing)} steps differently, the first being {self.differing[0]}."
            fix = f"Say whose marks are the spans: --spans-from {' or '.join(map(repr, self.raters))}."
            self._problem("span-differs", what, fix)
        if self.unmarked and kind != "adjudicated":
            what = f"{len(self.unmarked)} steps are marked by others and not by {self.use.spans_from!r}, the first"
            self._problem("span-missing", f"{what} being {self.unmarked[0]}.", "They have no clip.", warning=True)
        if kind == "labels" and undecided:
            what = f"raters differ on {undecided} steps that nobody has adjudicated."
            fix = "Decide them with `siming data rate DIR --adjudicate`."
            self._problem("adjudication-open", what, fix, warning=True)
        if not rows and not self.problems:
            self._problem("nothing-rated", f"holds no {kind}.", "Is it the right file?")
        columns = tuple(Column(name, (name,)) for name in names)
        sheet_rows = tuple(SheetRow(number, cells) for number, cells in enumerate(rows, 1))
        return Sheet(None, columns, sheet_rows, self.file, ()), self.problems

    def _is_finished(self, exam: Known, rater: str, state: ExamState) -> bool:
        """True if every step is decided; if not, the exam is named."""
        if not (left := state.left(exam.steps)):
            return True
        shown = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
        fix = "Finish it in `siming data rate`, or leave out such exams with --finished."
        fix = "It is left out." if self.use.finished else fix
        what = f"{rater} has not finished {exam.name!r}: {shown}."
        self._problem("exam-unfinished", what, fix, warning=self.use.finished)
        return False

    def _span(
        self, exam: Known, step: str, states: Mapping[str, ExamState], agreed: ExamState
    ) -> tuple[float | None, float | None]:
        if agreed.step(step).span:
            return agreed.step(step).start, agreed.step(step).end
        marked = {rater: (at.start, at.end) for rater, state in states.items() for at in [state.step(step)]}
        marked = {rater: span for rater, span in marked.items() if span != (None, None)}
        if self.use.spans_from:
            if marked and self.use.spans_from not in marked:
                self.unmarked.append(f"{exam.name} {step}")
            return marked.get(self.use.spans_from, (None, None))
        if len(set(marked.values())) > 1:
            self.differing.append(f"{exam.name} {step}")
        return next(iter(marked.values()), (None, None))

    def _problem(self, code: str, what: str, fix: str, *, warning: bool = False) -> None:
        self.problems.append(Problem(code, what, fix, self.file, severity="warning" if warning else "error"))


def _given(step: str, states: Mapping[str, ExamState], agreed: ExamState) -> Iterator[tuple[str, float | str]]:
    """Points by rater, ``N/A`` for a step that does not apply; the consensus overrules who applied it otherwise."""
    decided = agreed.step(step)
    if decided.decided and not decided.applicable:
        yield CONSENSUS, "N/A"
        return
    for rater, state in states.items():
        points = state.step(step).points
        if points is not None:
            yield rater, points
        elif not decided.decided:
            yield rater, "N/A"
    if decided.points is not None:
        yield CONSENSUS, decided.points


def ratings_problems(
    inputs: Iterable[Path | None], use: UseRatings, videos: VideoFiles, synthetic: bool
) -> list[Problem]:
    """Conflicts of a build's event logs: other videos than those rated, simulated ones called real, unused options."""
    paths = [path for path in dict.fromkeys(inputs) if path and is_event_log(path)]
    if use != UseRatings() and not paths:
        what = "--spans-from and --finished are about the event log of a rating station, and none is given."
        return [Problem("ratings-unused", what, "Leave them out.")]
    problems = []
    for path in paths:
        event_log = EventLog.read(path)
        if event_log.synthetic and not synthetic:
            what = "the rated videos are SYNTHETIC."
            problems.append(Problem("synthetic-unsaid", what, "Add --synthetic.", str(path)))
        for exam in event_log.exams().values():
            files = videos.find(exam.name)
            if len(files) == 1 and (digest := digest_of(files[0])) != exam.digest:
                what = f"{files[0]} is not the video that was rated as {exam.name!r}"
                both = f"(rated {exam.digest[:12]}, found {digest[:12]})"
                fix = "Give the folder of the rated files as --videos."
                problems.append(Problem("media-differs", f"{what} {both}.", fix, str(path)))
        event_log.close()
    return problems
