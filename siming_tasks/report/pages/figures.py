"""The figure of each setting's verdict: what it shows, from the table that the page prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.report.charts.forest_plot import Band, Ladder, Rung, ladder
from siming_tasks.report.charts.kinds import Mark
from siming_tasks.report.formatting import plain_pvalue as pvalue
from siming_tasks.report.pages.site import number, signed
from siming_tasks.tasks import TASKS

__all__ = ["bands", "figure_of", "figure_svg", "shown"]


def figure_of(board: Mapping[str, Any]) -> Ladder | None:
    """What the figure of one setting shows; None if no row has a value."""
    metric = board["metric"]
    sign = CATALOGUE[metric].sign
    rows = [row for row in board["rows"] if row["imputed"][metric]["value"] is not None]
    if not rows:
        return None
    rows.sort(key=lambda row: (row["imputed"][metric]["undefined"], -sign * row["imputed"][metric]["value"]))
    humans, no_video = bands(rows, metric)
    return Ladder(
        title=TASKS[board["setting"]].title,
        axis=CATALOGUE[metric].title,
        rungs=[_rung(row, board) for row in rows],
        humans=humans,
        no_video=no_video,
        apart="from the physicians" if board["verdict"]["humans"] else "",
    )


def bands(rows: Sequence[Mapping[str, Any]], metric: str) -> tuple[Band | None, Band | None]:
    """The band of the physicians and the zone of the no-video baselines among the rows; None where none has a value."""
    known = [row for row in rows if row["imputed"][metric]["value"] is not None]
    known = [row for row in known if not row["imputed"][metric]["undefined"]]
    humans, no_video = (
        [row["imputed"][metric] for row in known if row["role"] == role] for role in ("human", "no_video")
    )
    return (_band("physicians with each other", humans) if humans else None,
            _zone("no-video baselines", no_video) if no_video else None)  # fmt: skip


def figure_svg(board: Mapping[str, Any]) -> Markup | None:
    """The figure as part of a page."""
    figure = figure_of(board)
    if figure is None:
        return None
    alt = f"{figure.title}: {figure.axis} of {len(figure.rungs)} judges with intervals, sorted; numbers in the table."
    return ladder(figure, alt)


def _rung(row: Mapping[str, Any], board: Mapping[str, Any]) -> Rung:
    estimate = row["imputed"][board["metric"]]
    mark = Mark.of(row["name"], estimate, role=row["role"], thin=bool(row["unranked"]) and row["slug"] is not None)
    gap = board["verdict"]["humans"].get(row["name"])
    apart = "not ranked" if mark.thin else ""
    if gap and gap["value"] is not None:
        apart = signed(gap["value"]) + ("" if gap["p_holm"] is None else f", p {pvalue(gap['p_holm'])}")
    return Rung(mark, shown(estimate), apart)


def shown(estimate: Mapping[str, Any]) -> str:
    """A value with its interval, as it stands beside its mark."""
    span = "" if estimate["low"] is None else f" [{number(estimate['low'])}, {number(estimate['high'])}]"
    return f"{number(estimate['value'])}{'*' * bool(estimate['undefined'])}{span}"


def _band(label: str, found: list[Mapping[str, Any]]) -> Band:
    """Over all pairs of physicians; the line is the mean of their values."""
    ends = [x for item in found for x in (item["value"], item["low"], item["high"]) if x is not None]
    return Band(label, min(ends), max(ends), sum(item["value"] for item in found) / len(found))


def _zone(label: str, found: list[Mapping[str, Any]]) -> Band:
    ends = [x for item in found for x in (item["value"], item["high"]) if x is not None]
    return Band(label, min(ends), max(ends))
