"""Forest plot of a setting: every judge with its interval, the physicians' band, the zone of the no-video baselines.

Agreement with each physician stands on the axis of the physicians' agreement with each other; agreement with the
reference labels, which the physicians made together and which is larger, in a panel of its own. One description of the
figure is drawn as SVG for pages and, for papers, by Matplotlib (:mod:`siming_tasks.report.paper_figure`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.report.charts import Axis, ChartRows, Mark, area, line, marker, text
from siming_tasks.report.formatting import columns, page_estimate, page_signed, plain_pvalue, shortened
from siming_tasks.report.tables.ranking import shown_estimate
from siming_tasks.tasks import TASKS

WIDTH, RIGHT = 960.0, 316.0
LEAST_SCALE = (0.0, 0.5)
"""Stretch of the axis that is always shown, so that noise does not fill the figure."""


@dataclass(frozen=True)
class Band:
    """A stretch of the scale with a name; ``value`` is a line in it."""

    label: str
    low: float
    high: float
    value: float | None = None


@dataclass(frozen=True)
class ForestRow:
    """One judge: its mark, its value in text, its tested difference from the physicians, and what it is with each."""

    mark: Mark
    value_text: str
    difference_text: str = ""
    each: Sequence[float] = ()


@dataclass(frozen=True)
class Panel:
    """Judges against one kind of labels, which ``heading`` names, best first.

    ``humans`` is the physicians' agreement with each other, ``no_video`` goes from the left end to the best of the
    no-video baselines.
    """

    heading: str
    rows: Sequence[ForestRow]
    humans: Band | None = None
    no_video: Band | None = None
    difference_heading: str = ""

    @property
    def labels(self) -> list[str]:
        """Names of the lines: two without a name for what stands above the first judge, then the judges."""
        return ["", "", *(row.mark.label for row in self.rows)]


@dataclass(frozen=True)
class ForestPlot:
    """Contents of the figure, whoever draws it: panels on one axis."""

    title: str
    axis: str
    panels: Sequence[Panel]

    @property
    def rows(self) -> list[ForestRow]:
        """The judges of all panels."""
        return [row for panel in self.panels for row in panel.rows]

    @property
    def scale(self) -> Axis:
        """The axis that shows every value and interval, all bands, and never less than :data:`LEAST_SCALE`."""
        marks = [x for row in self.rows for x in (row.mark.value, row.mark.low, row.mark.high, *row.each)]
        bands = [x for panel in self.panels for band in (panel.humans, panel.no_video) if band
                 for x in (band.low, band.high)]  # fmt: skip
        return Axis.around([*LEAST_SCALE, *(x for x in marks if x is not None), *bands])


def build_forest_plot(board: Mapping[str, Any]) -> ForestPlot | None:
    """The figure of one setting's leaderboard; None if no row has a value."""
    metric = board["metric"]
    known = [row for row in board["rows"] if shown_estimate(row, metric)["value"] is not None]
    humans = [row for row in known if row["role"] == "human"]
    judges = [row for row in board["rows"] if row["role"] != "human"]
    panels = [_physicians_panel(board, humans)] if humans else []
    if len(known) > len(humans):
        rows = []
        for row in judges:
            thin = bool(row["unranked"]) and row["slug"] is not None
            estimate = shown_estimate(row, metric)
            mark = Mark.of(row["name"], estimate, role=row["role"], thin=thin)
            value = page_estimate(estimate) if estimate["value"] is not None else "no data"
            rows.append(ForestRow(mark, value, "not ranked" if thin else ""))
        heading = f"agreement with the {shortened(board['rater'], 20)}"
        panels.append(Panel(heading, _sorted(rows, metric), no_video=_zone(rows)))
    return ForestPlot(TASKS[board["setting"]].title, CATALOGUE[metric].title, panels) if panels else None


def _physicians_panel(board: Mapping[str, Any], humans: Sequence[Mapping[str, Any]]) -> Panel:
    """The judges' mean agreement with the physicians, and the physicians' with each other."""
    metric, verdict, people = board["metric"], board["verdict"], board["estimand"]["people"]
    rows = [ForestRow(Mark.of(row["name"], e, role="human"), page_estimate(e))
            for row in humans if (e := shown_estimate(row, metric))]  # fmt: skip
    band = reference_band([row.mark for row in rows], people)
    of_role = {"no_video": verdict["agreement"].get("no_video", {})}
    for row in board["rows"]:
        agreement = of_role.get(row["role"], verdict["agreement"].get("runs", {})).get(row["name"])
        if row["role"] == "human" or agreement is None or agreement["value"] is None:
            continue
        difference, text_of_it = verdict["humans"].get(row["name"]), ""
        if difference and difference["value"] is not None:
            p = "" if difference["p_holm"] is None else f", p {plain_pvalue(difference['p_holm'])}"
            text_of_it = page_signed(difference["value"]) + p
        if agreement["low"] == agreement["high"]:  # of a constant nothing varies
            agreement = {**agreement, "low": None, "high": None}
        mark = Mark(row["name"], agreement["value"], agreement["low"], agreement["high"], role=row["role"])
        each = [x for x in agreement["each"] if x is not None]
        rows.append(ForestRow(mark, page_estimate(agreement), text_of_it, each))
    heading = f"from the {people}" if verdict["humans"] else ""
    return Panel(f"agreement with each {people[:-1]}", _sorted(rows, metric), band, _zone(rows), heading)


def _sorted(rows: Sequence[ForestRow], metric: str) -> list[ForestRow]:
    """Rows by value, the best first; what is not ranked, and what has no value, below."""
    worst, sign = float("inf"), CATALOGUE[metric].sign
    return sorted(rows, key=lambda row: (row.mark.thin, worst if row.mark.value is None else -sign * row.mark.value))


def reference_band(marks: Sequence[Mark], people: str = "physicians") -> Band | None:
    """The physicians with each other, over all pairs; its line is the mean."""
    values = [mark.value for mark in marks if mark.value is not None]
    ends = [x for mark in marks for x in (mark.value, mark.low, mark.high) if x is not None]
    return Band(f"{people} with each other", min(ends), max(ends), sum(values) / len(values)) if values else None


def _zone(rows: Sequence[ForestRow]) -> Band | None:
    marks = [row.mark for row in rows if row.mark.role == "no_video"]
    ends = [x for mark in marks for x in (mark.value, mark.high) if x is not None]
    return Band("no-video baselines", min(ends), max(ends)) if ends else None


def draw_forest_plot(figure: ForestPlot, alt: str) -> Markup:
    """The figure as SVG, once for screens and once for phones; ``alt`` says in a sentence what it shows."""
    svg = Markup("")
    least = 16 + 6.2 * max(columns(panel.heading) for panel in figure.panels)  # headings stand above the names
    for kind in ("wide", "narrow"):
        labels = [label for panel in figure.panels for label in panel.labels]
        frame = ChartRows(labels, figure.scale, kind, right=RIGHT, width=WIDTH, least=least)
        parts: list[Markup] = []
        first = 0
        for panel in figure.panels:
            ys = frame.ys[first : first + len(panel.labels)]
            first += len(panel.labels)
            parts += _draw_panel(panel, figure.axis, frame, ys)
        svg += frame.chart(parts, figure.axis, alt)
    return svg


def _draw_panel(panel: Panel, axis: str, frame: ChartRows, ys: Sequence[float]) -> list[Markup]:
    """A panel: its heading, its bands behind the marks, each named above them, and a line for each judge."""
    parts, at, narrow = [], frame.axis.at, frame.kind == "narrow"
    blank = len(ys) - len(panel.rows)
    top, height = ys[blank] - frame.row * (0.72 if narrow else 0.5), frame.row * len(panel.rows)
    if zone := panel.no_video:
        start = frame.axis.start
        parts.append(area("zone", start, top, at(zone.high) - start, height, f"{zone.label}: up to {zone.high:.3f}"))
        parts.append(text("said zone", start + 4, top - 4, zone.label))
    if band := panel.humans:
        tip = f"{band.label}: {band.low:.3f} to {band.high:.3f}"
        half = 3.2 * len(band.label)  # half the width of the label, which must not leave the figure
        least = half + (0 if narrow else 8 + 6.4 * len(panel.heading))  # beside the heading
        middle = max(min(at((band.low + band.high) / 2), frame.width - half), least)
        parts.append(area("band", at(band.low), top, at(band.high) - at(band.low), height, tip))
        parts.append(text("said band", middle, top - 18, band.label))
        if band.value is not None:
            parts.append(line("ceiling", at(band.value), top, at(band.value), top + height))
    value_x, difference_x = frame.axis.stop + 14, frame.axis.stop + 166
    if narrow:
        parts.append(text("name", 4, ys[0] - 11, panel.heading))
    else:
        parts.append(text("said head", 4, top - 18, panel.heading))
        parts += [text("said head", x, top - 4, said)
                  for x, said in ((value_x, axis), (difference_x, panel.difference_heading)) if said]  # fmt: skip
    for y, row in zip(ys[blank:], panel.rows, strict=True):
        parts += [marker("human hollow", at(x), y, f"{row.mark.label}, with one of them: {x:.3f}") for x in row.each]
        parts += row.mark.draw(frame.axis, y)
        if narrow:
            parts.append(text("said end", frame.width - 4, y - 11, row.value_text))
        else:
            parts.append(text("said", value_x, y + 4, row.value_text))
            parts.append(text("said", difference_x, y + 4, row.difference_text))
    return parts
