"""Repeats of one judge as Markdown."""

from __future__ import annotations

from collections.abc import Mapping

from siming_tasks.analysis.comparison.repeatability import ADDED, Repeatability
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.report.tables.cells import plain_value, table

__all__ = ["markdown"]


def markdown(found: Mapping[str, Repeatability]) -> str:
    """A row for each metric, and what the columns are."""
    rows = [
        [
            CATALOGUE[name].label,
            ", ".join(map(plain_value, one.values)),
            *map(plain_value, (one.mean, one.decoding, one.videos)),
            "-" if one.needed is None else str(one.needed),
        ]
        for name, one in found.items()
    ]
    head = ["metric", "each run", "mean", "sd between runs (decoding)", "standard error (videos)", "runs needed"]
    said = (
        "Runs of one judge on the same videos, missing answers imputed. Decoding: what asking again changes; videos: "
        f"what it would not. Runs needed: to average, so that decoding adds at most {ADDED:.0%} to the standard error."
    )
    return "\n".join([*table(head, rows, left=(0, 1)), "", said]) + "\n"
