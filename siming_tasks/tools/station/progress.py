"""Progress of a rating, also while stations write: exams done and speed by rater, and steps that are unclear."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import literal
from siming_tasks.study.report.formatting import plain_number
from siming_tasks.study.report.table import Name, Section, Table
from siming_tasks.tools.station.event_log import RATING, EventLog
from siming_tasks.tools.station.replay import StepState, replay_exams
from siming_tasks.tools.station.worklist import differ

_COMMENTS = 3
"""Comments shown of a step."""
_PACE = (
    "Minutes: median of the finished exams; a gap of more than ten minutes between two events counts for nothing. "
    "Video played: median share of the finished exams' videos, repeats counted."
)
_DOUBT = (
    "Where two raters often differ, or write comments, the rubric may be unclear. Raters differ if "
    "they give other points, or if only one of them gives N/A."
)


def read_progress(path: Path) -> dict[str, Any]:
    """Progress in an event log as plain JSON types (DataError: it is not an event log).

    ``raters``: exams given, begun and finished, and of the finished ones the median minutes of work and share of the
    video that was played. ``steps``: pairs of raters who have both decided a step, how many of them differ, and
    comments; the least clear step first.
    """
    with closing(EventLog.read(path)) as event_log:
        exams, states = event_log.exams(), replay_exams(event_log.events(RATING))
        names = event_log.raters(RATING)

    def middle(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return median(known) if known else None

    raters = {}
    for name in names:
        begun = {exam: state for (rater, exam), state in states.items() if rater == name and state.steps}
        finished = [state for exam, state in begun.items() if not state.left(exams[exam].steps)]
        raters[name] = {
            "exams": len(exams),
            "begun": len(begun),
            "finished": len(finished),
            "minutes": middle(state.seconds / 60 for state in finished),
            "played": middle(state.played_share for state in finished),
        }
    steps: dict[str, dict[str, Any]] = {}
    for step in (rule.id for rule in event_log.rubric.steps):
        by_exam: dict[str, list[StepState]] = {digest: [] for digest, exam in exams.items() if step in exam.steps}
        for (_, digest), state in sorted(states.items()):
            by_exam.get(digest, []).append(state.step(step))
        pairs = [pair for own in by_exam.values() for pair in combinations([one for one in own if one.decided], 2)]
        comments = [one.comment for own in by_exam.values() for one in own if one.comment]
        steps[step] = {"pairs": len(pairs), "differ": sum(differ(*pair) for pair in pairs), "comments": comments}
    order = sorted(steps, key=lambda step: (-_share(steps[step]), -len(steps[step]["comments"])))
    about = {"event_log": path.name, "synthetic": event_log.synthetic, "exams": len(exams)}
    return {**about, "raters": raters, "steps": {step: steps[step] for step in order}}


def _share(doubt: dict[str, Any]) -> float:
    return doubt["differ"] / doubt["pairs"] if doubt["pairs"] else 0.0


def progress_section(progress: dict[str, Any]) -> Section:
    """Exams that each rater has finished, and steps that raters differ on or comment."""
    mark = ", SYNTHETIC data" if progress["synthetic"] else ""
    heading = f"## Ratings so far in {literal(progress['event_log'])}{mark}"
    section: Section = [heading, f"{counted(progress['exams'], 'exam')}."]
    rows = []
    for name, pace in progress["raters"].items():
        played = "-" if pace["played"] is None else f"{100 * pace['played']:.0f} %"
        counts = [str(pace[key]) for key in ("finished", "begun", "exams")]
        rows.append([Name(name), *counts, plain_number(pace["minutes"], 1), played])
    head = ["rater", "finished", "begun", "exams", "minutes an exam", "video played"]
    section.append(Table(head, rows, caption=_PACE))
    unclear = {step: doubt for step, doubt in progress["steps"].items() if doubt["differ"] or doubt["comments"]}
    if unclear:
        rows = []
        for step, doubt in unclear.items():
            share = f"{100 * _share(doubt):.0f} %"
            rows.append([Name(step), str(doubt["pairs"]), str(doubt["differ"]), share, str(len(doubt["comments"]))])
        section.append(Table(["step", "scored by two", "differ", "share", "comments"], rows, caption=_DOUBT))
        said = [(step, words) for step, doubt in unclear.items() for words in doubt["comments"][:_COMMENTS]]
        section += ["\n".join(f"* {literal(step)}: {literal(words)}" for step, words in said)] if said else []
    return section
