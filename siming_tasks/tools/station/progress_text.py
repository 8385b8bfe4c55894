"""How far the rating is, as Markdown."""

from __future__ import annotations

from siming_tasks.common.sanitize import literal
from siming_tasks.report.tables.cells import plain_value, table
from siming_tasks.report.tables.raters import markdown, pairs_markdown
from siming_tasks.tools.station.progress import Sofar

__all__ = ["so_far_markdown"]

COMMENTS = 3
"""Comments shown of a step."""

PACE = (
    "Minutes: median of the finished exams; seconds: median of the decided steps. A gap of more than ten minutes "
    "between two acts counts for nothing."
)
DOUBT = (
    "Where two raters often differ, or write comments, the rubric may be unclear. They differ by other points, or if "
    "only one of them says N/A."
)


def so_far_markdown(found: Sofar) -> str:
    """Who is where, which steps are unclear, how far raters agree."""
    rows = [
        [
            literal(name),
            str(pace.finished),
            str(pace.begun),
            str(pace.of),
            plain_value(pace.minutes, 1),
            plain_value(pace.seconds, 0),
        ]
        for name, pace in found.raters.items()
    ]
    title = f"## Ratings so far in {literal(found.name)}{', SYNTHETIC data' if found.synthetic else ''}"
    head = ["rater", "finished", "begun", "exams", "minutes an exam", "seconds a step"]
    lines = [title, "", f"{found.exams} exams.", "", *table(head, rows), "", PACE, ""]
    unclear = {step: doubt for step, doubt in found.steps.items() if doubt.differ or doubt.comments}
    if unclear:
        cells = [
            [
                literal(step),
                str(doubt.pairs),
                str(doubt.differ),
                _percent(doubt.share),
                str(doubt.adjudicated),
                str(len(doubt.comments)),
            ]
            for step, doubt in unclear.items()
        ]
        lines += table(["step", "scored by two", "differ", "share", "adjudicated", "comments"], cells)
        lines += ["", DOUBT, ""]
        lines += [
            f"* {literal(step)}: {literal(comment)}"
            for step, doubt in unclear.items()
            for comment in doubt.comments[:COMMENTS]
        ]
    lines += ["", "### Agreement so far", ""]
    if not found.tables:
        lines.append("No step has points of two raters yet.")
    else:
        lines.append(markdown(found.tables[0]) if len(found.tables) == 1 else pairs_markdown(found.tables))
    return "\n".join(lines).rstrip() + "\n"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"
