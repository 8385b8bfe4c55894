"""The long table of labels, one row per judgment, and the labels of each step and video that result from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.errors import Problem
from siming_tasks.common.person_names import alike_pairs, is_aggregate, not_a_name
from siming_tasks.common.printed_value import counted

VIDEO_FIELDS = ("student", "site")
"""Optional columns that say something about the whole video: whom intervals must keep together."""
COLUMNS = ("video_id", "step_id", "rater", "points", "start", "end", *VIDEO_FIELDS)
"""The long table."""
NAMES = ("video_id", "step_id", "rater", *VIDEO_FIELDS)
"""Columns of names, in every form of a table."""
NOT_APPLICABLE = "N/A"
"""Points of a step that does not apply to this exam."""
COPY = 10
"""Judgments in common from which two raters who always agree may be one file that was copied."""


@dataclass(frozen=True)
class _OfStep:
    """What a table says of one step of a video, by the names of the table, and its file and row (a log has none)."""

    video: str
    step_id: str
    file: str
    line: int | None

    def problem(self, code: str, what: str, fix: str, column: str | None = None, **more: Any) -> Problem:
        """A finding about this row."""
        what = f"video {self.video!r}, step {self.step_id!r}: {what}"
        return Problem(code, what, fix, self.file, self.line, column, **more)


@dataclass(frozen=True)
class Judgment(_OfStep):
    """One row of the table: a rater's judgment of one step.

    Attributes:
        rater: ``consensus`` for what was agreed; "" for a row of times alone.
        points: None where the rater gave none.
        applicable: False for ``N/A``.
        start: seconds of the video.
        end: seconds of the video.
        about: student and site.
    """

    rater: str
    points: float | None
    applicable: bool
    start: float | None
    end: float | None
    about: Mapping[str, str]

    @property
    def place(self) -> str:
        """File and row."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def judges(self) -> bool:
        """True if the row has points or N/A."""
        return self.points is not None or not self.applicable

    @property
    def says_nothing(self) -> bool:
        """True for a row that nobody filled in."""
        return not self.judges and self.start is None and self.end is None


@dataclass(frozen=True)
class LabelRow(_OfStep):
    """Labels of one step, put together from all its ``rows``; its place is that of the first."""

    start: float | None = None
    end: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    applicable: bool = True
    about: Mapping[str, str] = field(default_factory=dict)
    rows: Sequence[Judgment] = ()

    @property
    def timed(self) -> Judgment | None:
        """The row that the times are from."""
        return next((row for row in self.rows if row.start is not None or row.end is not None), None)


@dataclass(frozen=True)
class Persons:
    """Names of which somebody has said whose they are: two that are alike, and a physician called ``Final``."""

    different: Collection[tuple[str, str]] = ()
    physicians: Collection[str] = ()


def joined(
    judgments: Iterable[Judgment], spelling: Callable[[str], str] = str, who: Persons | None = None
) -> tuple[list[LabelRow], list[Problem]]:
    """One row for each step of each video, in the order of the table, and every contradiction between its rows.

    Equal rows count once; of two that disagree, both places are told. Whether a step applies is what the consensus
    says where there is one: raters who said otherwise are left out of it. Rows of times need a step with points,
    unless nobody gave any (withheld labels).

    Args:
        judgments: the table.
        spelling: the one name of a video that is written in several ways.
        who: facts about names.
    """
    steps: dict[tuple[str, str], list[Judgment]] = {}
    for judgment in judgments:
        steps.setdefault((spelling(judgment.video), judgment.step_id), []).append(judgment)
    everything = [judgment for rows in steps.values() for judgment in rows]
    who = who or Persons()
    problems = [*_names(everything, who), *_two_facts(everything, spelling, who)]
    withheld = all(judgment.points is None for judgment in everything)
    judged = {video for (video, _), rows in steps.items() for row in rows if row.rater}
    unjudged: set[str] = set()
    joint = []
    for (video, step_id), rows in steps.items():
        if withheld or any(row.rater for row in rows):
            joint.append(_step(video, step_id, rows, problems))
        elif not all(row.says_nothing for row in rows) and video not in unjudged:
            lacking = "this step" if video in judged else "this video"
            unjudged |= {video} - judged  # one finding
            fix = "Write the names as in the table with points, add points, or delete the row."
            problems.append(rows[0].problem("row-unlabelled", f"times, but no row with points of {lacking}.", fix))
    return joint, problems


def _step(video: str, step_id: str, rows: Sequence[Judgment], problems: list[Problem]) -> LabelRow:
    """The labels of one step; what contradicts itself goes to ``problems``."""

    def differs(code: str, first: Judgment, second: Judgment, one: str, other: str, column: str) -> None:
        what = f"{other} here and {one} on {first.place}."
        problems.append(second.problem(code, what, "Keep the correct one.", column))

    given: dict[str, Judgment] = {}
    for row in rows:
        if not row.rater or not row.judges:
            continue
        first = given.setdefault(row.rater, row)
        if _points(first) != _points(row):
            one, other = (f"{row.rater} gives {_points(each)}" for each in (first, row))
            differs("rows-differ", first, row, one, other, "points")
    times: dict[str, float | None] = {}
    for name in ("start", "end"):
        marked = [(getattr(row, name), row) for row in rows if getattr(row, name) is not None]
        times[name] = marked[0][0] if marked else None
        for value, row in marked[1:]:
            if value != marked[0][0]:
                differs("span-differs", marked[0][1], row, f"{marked[0][0]:g} s", f"{value:g} s", name)
                break
    applies = {row.applicable for row in given.values()}
    silent = [row for row in rows if row.rater and row.rater not in given]
    if (decision := given.get(CONSENSUS)) is not None:
        given = {name: row for name, row in given.items() if row.applicable == decision.applicable}
    elif applies == {True, False}:
        no, yes = (next(row for row in given.values() if row.applicable is which) for which in (False, True))
        what = f"{no.rater} says not applicable, {yes.rater} gives points on {yes.place}."
        fix = f"Correct one, or add a row of {CONSENSUS} that decides."
        problems.append(no.problem("applicable-differs", what, fix, "points"))
    elif applies == {False} and silent:
        (no, *_), what = given.values(), f"{silent[0].rater} gives nothing here."
        what = f"{no.rater} says not applicable on {no.place}, {what}"
        fix = f"Write N/A or points, or add a row of {CONSENSUS} that decides."
        problems.append(silent[0].problem("applicable-differs", what, fix, "points"))
    scores = {name: row.points for name, row in given.items() if row.points is not None}
    about = {name: value for row in reversed(rows) for name, value in row.about.items()}
    applicable = all(row.applicable for row in given.values())
    return LabelRow(video, step_id, rows[0].file, rows[0].line, **times, scores=scores, applicable=applicable,
                    about=about, rows=rows)  # fmt: skip


def _points(row: Judgment) -> str:
    return "N/A" if row.points is None else f"{row.points:g}"


def _names(judgments: Sequence[Judgment], who: Persons) -> Iterator[Problem]:
    """Names of raters, students and sites that may be one or nobody's, and raters that are a decision."""
    for kind in ("rater", *VIDEO_FIELDS):
        rows: dict[str, list[Judgment]] = {}
        for row in judgments:
            if name := row.rater if kind == "rater" else row.about.get(kind, ""):
                rows.setdefault(name, []).append(row)

        def problem(code: str, name: str, what: str, fix: str, rows: Mapping[str, Sequence[Judgment]] = rows,
                    kind: str = kind) -> Problem:  # fmt: skip
            first, others = rows[name][0], len({row.place for row in rows[name]}) - 1
            more = f" (and {counted(others, 'more row')})" * (others > 0)
            return Problem(code, f"{name!r} {what}{more}.", fix, first.file, first.line, kind)

        for name in rows:
            if fault := not_a_name(name):
                fix = "Write who judged, or delete the row." if kind == "rater" else "Leave the cell empty."
                fix = "Write the name again." if "lost" in fault else fix
                yield problem("no-name", name, fault, fix)
            elif kind == "rater" and is_aggregate(name) and name not in (CONSENSUS, *who.physicians):
                fix = f"Say --consensus {name!r} if it is what was agreed, else --physician {name!r}, or delete it."
                yield problem("rater-aggregate", name, "is a decision or a mean, not a physician", fix)
        for name, known in alike_pairs([*((CONSENSUS,) if kind == "rater" else ()), *rows], who.different):
            place = f" on {rows[known][0].place}" if known in rows else ""
            fix = f"Spell the name in one way; if they are two, give --different {known!r} {name!r}."
            fix = f"Write {CONSENSUS!r} if it is what was agreed, else another name." if known == CONSENSUS else fix
            yield problem("name-differs", name, f"here and {known!r}{place} may be one {kind} or two", fix)


def _two_facts(judgments: Sequence[Judgment], spelling: Callable[[str], str], who: Persons) -> Iterator[Problem]:
    """Two students or sites of one video; two spellings of one are findings of :func:`_names`."""
    stated: dict[tuple[str, str], dict[str, Judgment]] = {}
    for row in judgments:
        for name, value in row.about.items():
            values = stated.setdefault((spelling(row.video), name), {})
            known = next(iter(values), value)
            if value not in values and known != value and not any(alike_pairs((known, value), who.different)):
                what = f"video {row.video!r}: {name} is {value!r} here and {known!r} on {values[known].place}."
                fix = "Write the same value in all rows of a video."
                yield Problem("video-differs", what, fix, row.file, row.line, name)
            values.setdefault(value, row)


def copied(rows: Sequence[LabelRow], raters: Sequence[str]) -> Iterator[Problem]:
    """Warnings about two raters who agree in every one of many judgments: one may be a copy of the other."""
    for at, one in enumerate(raters):
        for other in raters[at + 1 :]:
            both = [row for row in rows if one in row.scores and other in row.scores]
            if len(both) >= COPY and all(row.scores[one] == row.scores[other] for row in both):
                what = f"{one!r} and {other!r} give the same points in all {len(both)} judgments."
                fix = "Make sure that neither is a copy of the other."
                yield Problem("raters-equal", what, fix, severity="warning")


def table_of(rows: Iterable[LabelRow], raters: Sequence[str]) -> list[tuple[str, ...]]:
    """The long table that labels come from: every judgment of every step, as :data:`COLUMNS`.

    A step without any judgment has a row without rater and points.
    """
    table: list[tuple[str, ...]] = []
    for row in rows:
        times = ["" if time is None else repr(time) for time in (row.start, row.end)]
        about = [row.about.get(name, "") for name in VIDEO_FIELDS]
        given = [(name, f"{row.scores[name]:.12g}") for name in raters if name in row.scores]
        for name, points in given if row.applicable else [(CONSENSUS, "N/A")]:
            table.append((row.video, row.step_id, name, points, *times, *about))
        if row.applicable and not given:
            table.append((row.video, row.step_id, "", "", *times, *about))
    return table
