"""Forest plot of a setting: every judge with its interval, the physicians' band, the zone of the no-video baselines.

One description of the figure is drawn as SVG for pages and, for papers, by Matplotlib as SVG and PDF with its fonts.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import visible
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.report.charts import ROLES, Axis, ChartRows, Mark, area, line, text
from siming_tasks.report.formatting import page_estimate, page_signed, plain_pvalue
from siming_tasks.tasks import TASKS

WIDTH, RIGHT, ABOVE = 960.0, 316.0, 38.0
LEAST_SCALE = (0.0, 0.5)
"""Stretch of the axis that is always shown, so that noise does not fill the figure."""
STYLE: Any = {"font.size": 8, "font.family": "DejaVu Sans", "svg.fonttype": "none", "pdf.fonttype": 42,
              "svg.hashsalt": "siming", "axes.spines.top": False, "axes.spines.right": False,
              "axes.spines.left": False, "text.usetex": False, "text.parse_math": False}  # fmt: skip


@dataclass(frozen=True)
class Band:
    """A stretch of the scale with a name; ``value`` is a line in it."""

    label: str
    low: float
    high: float
    value: float | None = None


@dataclass(frozen=True)
class ForestRow:
    """One judge: its mark, its value in text, and its tested difference from the physicians (or why it has none)."""

    mark: Mark
    value_text: str
    difference_text: str = ""


@dataclass(frozen=True)
class ForestPlot:
    """Contents of the figure, whoever draws it: the judges, best first, on the axis.

    ``humans`` is the physicians' agreement with each other, ``no_video`` goes from the left end to the best of the
    no-video baselines.
    """

    title: str
    axis: str
    rows: Sequence[ForestRow]
    humans: Band | None
    no_video: Band | None
    difference_heading: str = ""

    @property
    def scale(self) -> Axis:
        """The axis that shows every value and interval, both bands, and never less than :data:`LEAST_SCALE`."""
        marks = [x for row in self.rows for x in (row.mark.value, row.mark.low, row.mark.high) if x is not None]
        bands = [x for band in (self.humans, self.no_video) if band for x in (band.low, band.high)]
        return Axis.around([*LEAST_SCALE, *marks, *bands])


def build_forest_plot(board: Mapping[str, Any]) -> ForestPlot | None:
    """The figure of one setting's leaderboard; None if no row has a value."""
    metric, against_physicians = board["metric"], board["verdict"]["humans"]
    known = [row for row in board["rows"] if row["imputed"][metric]["value"] is not None]
    if not known:
        return None
    sign = CATALOGUE[metric].sign
    known.sort(key=lambda row: (row["imputed"][metric]["undefined"], -sign * row["imputed"][metric]["value"]))
    rows = []
    for row in (*known, *(row for row in board["rows"] if row not in known)):
        thin = bool(row["unranked"]) and row["slug"] is not None
        difference = against_physicians.get(row["name"])
        difference_text = "not ranked" if thin else ""
        if difference and difference["value"] is not None:
            p = "" if difference["p_holm"] is None else f", p {plain_pvalue(difference['p_holm'])}"
            difference_text = page_signed(difference["value"]) + p
        mark = Mark.of(row["name"], row["imputed"][metric], role=row["role"], thin=thin)
        value_text = page_estimate(row["imputed"][metric]) if row in known else "no data"
        rows.append(ForestRow(mark, value_text, difference_text))
    heading = "from the physicians" if against_physicians else ""
    title, axis = TASKS[board["setting"]].title, CATALOGUE[metric].title
    return ForestPlot(title, axis, rows, *reference_bands(known, metric), heading)


def reference_bands(rows: Sequence[Mapping[str, Any]], metric: str) -> tuple[Band | None, Band | None]:
    """The band of the physicians and the zone of the no-video baselines among the rows; None where none has a value.

    The band is over all pairs of physicians, its line the mean of their values.
    """
    known = [(row["role"], row["imputed"][metric]) for row in rows]
    known = [(role, item) for role, item in known if item["value"] is not None and not item["undefined"]]
    humans, no_video = ([item for role, item in known if role == wanted] for wanted in ("human", "no_video"))
    band = zone = None
    if humans:
        ends = [x for item in humans for x in (item["value"], item["low"], item["high"]) if x is not None]
        mean = sum(item["value"] for item in humans) / len(humans)
        band = Band("physicians with each other", min(ends), max(ends), mean)
    if no_video:
        ends = [x for item in no_video for x in (item["value"], item["high"]) if x is not None]
        zone = Band("no-video baselines", min(ends), max(ends))
    return band, zone


def draw_forest_plot(figure: ForestPlot, alt: str) -> Markup:
    """The figure as SVG, once for screens and once for phones; ``alt`` says in a sentence what it shows."""
    svg = Markup("")
    for kind in ("wide", "narrow"):
        labels = [row.mark.label for row in figure.rows]
        frame = ChartRows(labels, figure.scale, kind, right=RIGHT, above=ABOVE, width=WIDTH)
        parts = _draw_bands(figure, frame)
        value_x, difference_x = frame.axis.stop + 14, frame.axis.stop + 166
        for y, row in zip(frame.ys, figure.rows, strict=True):
            parts += row.mark.draw(frame.axis, y)
            if kind == "narrow":
                parts.append(text("said end", frame.width - 4, y - 11, row.value_text))
            else:
                parts.append(text("said", value_x, y + 4, row.value_text))
                parts.append(text("said", difference_x, y + 4, row.difference_text))
        if kind == "wide":
            headings = [(value_x, figure.axis)]
            headings += [(difference_x, figure.difference_heading)] if figure.humans else []
            parts += [text("said head", x, ABOVE - 8, heading) for x, heading in headings]
        svg += frame.chart(parts, figure.axis, alt)
    return svg


def _draw_bands(figure: ForestPlot, frame: ChartRows) -> list[Markup]:
    """Both bands behind the marks, each named above on a line of its own."""
    parts, at = [], frame.axis.at
    top, height = frame.above, frame.bottom - frame.above
    if zone := figure.no_video:
        start = frame.axis.start
        parts.append(area("zone", start, top, at(zone.high) - start, height, f"{zone.label}: up to {zone.high:.3f}"))
        parts.append(text("said zone", start + 4, top - 8, zone.label))
    if band := figure.humans:
        tip = f"{band.label}: {band.low:.3f} to {band.high:.3f}"
        half = 3.2 * len(band.label)  # half the width of the label, which must not leave the figure
        middle = max(min(at((band.low + band.high) / 2), frame.width - half), half)
        parts.append(area("band", at(band.low), top, at(band.high) - at(band.low), height, tip))
        parts.append(text("said band", middle, top - 23, band.label))
        if band.value is not None:
            parts.append(line("ceiling", at(band.value), top, at(band.value), frame.bottom))
    return parts


def write_forest_plot(figure: ForestPlot, folder: Path, name: str, *, synthetic: bool) -> list[Path]:
    """Write ``<name>.svg`` and ``<name>.pdf``, which say if data are synthetic; one report gives the same files."""
    import matplotlib as mpl  # not at import time: slow
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    written = []
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of signs in a name that the font lacks: the SVG has them as text
        canvas = Figure(figsize=(6.9, 0.75 + 0.19 * len(figure.rows)), layout="constrained")
        FigureCanvasAgg(canvas)
        axes = canvas.subplots()
        _plot(axes, figure)
        axes.set_title(figure.title + (" (SYNTHETIC data)" if synthetic else ""), fontsize=8.5, loc="left")
        for kind, date in (("svg", "Date"), ("pdf", "CreationDate")):
            written.append(folder / f"{name}.{kind}")
            with atomic_write(written[-1], "wb") as stream:
                canvas.savefig(stream, format=kind, metadata={date: None})
    return written


def _plot(axes: Any, figure: ForestPlot) -> None:
    scale, n, paint = figure.scale, len(figure.rows), {role: row.colour for role, row in ROLES.items()}
    if zone := figure.no_video:
        axes.axvspan(scale.low, zone.high, color=paint["no_video"], alpha=0.13, lw=0)
        axes.text(scale.low, -0.75, f" {zone.label}", color=paint["no_video"], fontsize=7)
    if band := figure.humans:
        axes.axvspan(band.low, band.high, color=paint["human"], alpha=0.16, lw=0)
        axes.text((band.low + band.high) / 2, -0.75, band.label, color=paint["human"], fontsize=7, ha="center")
        if band.value is not None:
            axes.axvline(band.value, color=paint["human"], lw=0.9, ls="--")
    axes.axvline(0, color="#555", lw=0.6)
    for place, row in enumerate(figure.rows):
        mark, style = row.mark, {"color": paint[row.mark.role], "alpha": 0.4 if row.mark.thin else 1.0}
        if mark.value is not None:
            if mark.low is not None and mark.high is not None:
                axes.plot([mark.low, mark.high], [place, place], lw=1.2, **style)
            axes.plot([mark.value], [place], ROLES[mark.role].symbol, ms=4.2, **style)
        beside = row.value_text + ", not ranked" * mark.thin
        axes.annotate(beside, (1, place), xycoords=("axes fraction", "data"), xytext=(6, 0), va="center",
                      fontsize=7, textcoords="offset points", annotation_clip=False)  # fmt: skip
    axes.set_yticks(range(n), [visible(row.mark.label) for row in figure.rows])
    axes.tick_params(left=False)
    axes.set_ylim(n - 0.5, -1.1)
    axes.set_xlim(scale.low, scale.high)
    axes.set_xlabel(figure.axis)
