"""The figure of a verdict as a file for a paper: SVG and PDF, drawn by Matplotlib, which embeds its fonts."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import visible
from siming_tasks.report.charts.forest_plot import Ladder

__all__ = ["plot"]

COLOURS = {
    "model": "#0072b2",
    "reference": "#a8477e",
    "supervised": "#8a5a00",
    "human": "#007a59",
    "no_video": "#747474",
}
SHAPES = {"model": "o", "reference": "^", "supervised": "v", "human": "D", "no_video": "s"}
FORMATS = ("svg", "pdf")
STYLE: Any = {"font.size": 8, "font.family": "DejaVu Sans", "svg.fonttype": "none", "pdf.fonttype": 42,
         "svg.hashsalt": "siming", "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False,
         "text.usetex": False, "text.parse_math": False}  # fmt: skip


def plot(figure: Ladder, folder: Path, name: str, *, synthetic: bool) -> list[Path]:
    """Write ``<name>.svg`` and ``<name>.pdf``; the same report gives the same files.

    Args:
        figure: what to draw.
        folder: where.
        name: of the files, without ending.
        synthetic: say in the figure that its data are.
    """
    import matplotlib as mpl  # not at import time: slow
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of signs in a name that the font lacks: the SVG has them as text
        drawn = Figure(figsize=(6.9, 0.75 + 0.19 * len(figure.rungs)), layout="constrained")
        FigureCanvasAgg(drawn)
        _draw(drawn.subplots(), figure, synthetic=synthetic)
        written = []
        for kind in FORMATS:
            path = folder / f"{name}.{kind}"
            with atomic_write(path, "wb") as stream:
                drawn.savefig(stream, format=kind, metadata={"Date": None} if kind == "svg" else {"CreationDate": None})
            written.append(path)
    return written


def _draw(axes: Any, figure: Ladder, *, synthetic: bool) -> None:
    scale, n = figure.scale, len(figure.rungs)
    if figure.no_video:
        axes.axvspan(scale.low, figure.no_video.high, color=COLOURS["no_video"], alpha=0.13, lw=0)
        axes.text(scale.low, -0.75, f" {figure.no_video.label}", color=COLOURS["no_video"], fontsize=7)
    if figure.humans:
        axes.axvspan(figure.humans.low, figure.humans.high, color=COLOURS["human"], alpha=0.16, lw=0)
        middle = (figure.humans.low + figure.humans.high) / 2
        axes.text(middle, -0.75, figure.humans.label, color=COLOURS["human"], fontsize=7, ha="center")
        if figure.humans.value is not None:
            axes.axvline(figure.humans.value, color=COLOURS["human"], lw=0.9, ls="--")
    axes.axvline(0, color="#555", lw=0.6)
    for place, rung in enumerate(figure.rungs):
        mark = rung.mark
        colour, pale = COLOURS[mark.role], 0.4 if mark.thin else 1.0
        if mark.value is not None:
            if mark.low is not None and mark.high is not None:
                axes.plot([mark.low, mark.high], [place, place], color=colour, lw=1.2, alpha=pale)
            axes.plot([mark.value], [place], SHAPES[mark.role], color=colour, ms=4.2, alpha=pale)
        axes.annotate(rung.said, (1, place), xycoords=("axes fraction", "data"), xytext=(6, 0), va="center", fontsize=7,
                      textcoords="offset points", annotation_clip=False)  # fmt: skip
    axes.set_yticks(range(n), [visible(rung.mark.label) for rung in figure.rungs])
    axes.tick_params(left=False)
    axes.set_ylim(n - 0.5, -1.1)
    axes.set_xlim(scale.low, scale.high)
    axes.set_xlabel(figure.axis)
    axes.set_title(figure.title + (" (SYNTHETIC data)" if synthetic else ""), fontsize=8.5, loc="left")
