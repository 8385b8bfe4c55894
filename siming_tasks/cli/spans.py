"""What annotation files hold, printed by ``siming build --list``."""

from __future__ import annotations

import argparse

from siming_tasks.cli.findings import show
from siming_tasks.cli.markdown import show as show_table
from siming_tasks.cli.terminal import say

__all__ = ["list_spans"]


def list_spans(arguments: argparse.Namespace) -> int:
    """Print the labels, annotators and videos of ``--spans``; write the mapping file of ``--draft``."""
    from siming_tasks.common.sanitize import one_line
    from siming_tasks.report.table import Name, Table
    from siming_tasks.rubrics import load_rubric
    from siming_tasks.tools.builder.annotations.draft_mapping import survey, write_draft

    rubric = load_rubric(arguments.rubric)
    found = survey(
        arguments.spans, rubric, arguments.videos, arguments.columns, arguments.spans_fps, arguments.encoding
    )
    show(found.problems)
    rows = []
    for label in found.labels:
        step = label.step or ("left out" if label.left_out else f"? {label.like}".rstrip())
        rows.append([Name(one_line(label.name, 50)), f"{label.count:,}", f"{label.spans:,}", Name(step)])
    show_table(Table.of(["label", "count", "spans", "step"], rows, left=(0, 3)))
    for name, count in found.annotators.items():
        say(f"annotator {one_line(name)}: {count:,}")
    for name, count in found.videos.items():
        say(f"video {one_line(name)}: {count:,}{'; no such file' if name in found.missing else ''}")
    unknown = sum(not label.step and not label.left_out for label in found.labels)
    print(f"{len(found.labels)} labels, {unknown} of them no step of the rubric.")
    if arguments.draft:
        write_draft(arguments.draft, found)
        say(f"{arguments.draft}: complete it and give it as --columns.")
    return 0
