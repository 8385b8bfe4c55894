"""Progress of a rating as a section of tables."""

from __future__ import annotations

from siming_tasks.common.sanitize import literal
from siming_tasks.report.formatting import plain_number
from siming_tasks.report.table import Name, Section, Table
from siming_tasks.report.tables.raters import rater_pairs_section, rater_section
from siming_tasks.tools.station.progress import Progress

__all__ = ["progress_section"]

COMMENTS = 3
"""Comments shown of a step."""

PACE = (
    "Minutes: median of the finished exams; seconds: median of the decided steps. A gap of more than ten minutes "
    "between two events counts for nothing."
)
DOUBT = (
    "Where two raters often differ, or write comments, the rubric may be unclear. They differ by other points, or if "
    "only one of them says N/A."
)


def progress_section(progress: Progress) -> Section:
    """Exams that each rater has finished, steps that raters differ on or comment, and how far raters agree."""
    rows = [
        [
            Name(name),
            str(pace.finished),
            str(pace.begun),
            str(pace.of),
            plain_number(pace.minutes, 1),
            plain_number(pace.seconds, 0),
        ]
        for name, pace in progress.raters.items()
    ]
    head = ["rater", "finished", "begun", "exams", "minutes an exam", "seconds a step"]
    section: Section = [
        f"## Ratings so far in {literal(progress.name)}{', SYNTHETIC data' if progress.synthetic else ''}",
        f"{progress.exams} exams.",
        Table.of(head, rows, caption=PACE),
    ]
    unclear = {step: doubt for step, doubt in progress.steps.items() if doubt.differ or doubt.comments}
    if unclear:
        rows = [
            [
                Name(step),
                str(doubt.pairs),
                str(doubt.differ),
                "-" if doubt.share is None else f"{100 * doubt.share:.0f} %",
                str(doubt.adjudicated),
                str(len(doubt.comments)),
            ]
            for step, doubt in unclear.items()
        ]
        head = ["step", "scored by two", "differ", "share", "adjudicated", "comments"]
        comments = [
            f"* {literal(step)}: {literal(comment)}"
            for step, doubt in unclear.items()
            for comment in doubt.comments[:COMMENTS]
        ]
        section.append(Table.of(head, rows, caption=DOUBT))
        section += ["\n".join(comments)] if comments else []
    section.append("### Agreement so far")
    if not progress.tables:
        return [*section, "No step has points of two raters yet."]
    if len(progress.tables) == 1:
        return [*section, *rater_section(progress.tables[0])]
    return [*section, *rater_pairs_section(progress.tables)]
