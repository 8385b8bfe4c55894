"""Forest plot for a paper, by Matplotlib: as wide as a page, no title inside, nothing cut.

Names wrap within a third of the width; one that takes more than two lines is shortened in its middle, and stands whole
in a key below the figure. The room of every text is measured before anything is drawn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import visible
from siming_tasks.report.charts import ROLES
from siming_tasks.report.forest_plot import ForestPlot, Panel
from siming_tasks.report.formatting import columns, shortened

WIDTH = 6.9
"""Inches of a figure: the lines of a page."""
ROW, LINE, PAD = 0.19, 0.125, 0.08
"""Height of a judge's row and of a further line of its name, and room between texts; inches."""
_SIZE, _SMALL = 7.5, 6.5
"""Points of a text, and of what stands beside the figure proper."""
_FONTS = ("DejaVu Sans", "Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei",
          "Microsoft YaHei", "PingFang SC", "Hiragino Sans GB", "SimHei", "Arial Unicode MS")  # fmt: skip
"""Families; the first that has a sign draws it: those of Matplotlib, and the usual Chinese ones."""
_STYLE: Any = {"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "siming", "text.usetex": False,
               "text.parse_math": False, "axes.spines.top": False, "axes.spines.right": False,
               "axes.spines.left": False}  # fmt: skip


def write_forest_plot(
    figure: ForestPlot,
    files: Iterable[Path],
    *,
    synthetic: bool,
) -> list[Path]:
    """Write the figure to files whose endings say their kind (svg, pdf, png); one figure gives the same bytes.

    It says if data are synthetic. SVG keeps names as text; elsewhere a sign that no font here has is written as its
    code point (⟦U+6A21⟧).
    """
    import matplotlib as mpl  # not at import time: slow
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    written = []
    families = _installed(_FONTS)
    with mpl.rc_context({**_STYLE, "font.family": families, "font.size": _SIZE}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # of text in SVG, which the reader's fonts draw
        for path in files:
            kind = path.suffix.lower().removeprefix(".")
            canvas = Figure(figsize=(WIDTH, 1.0), dpi=300)
            FigureCanvasAgg(canvas)
            _Layout(canvas, figure, WIDTH, visible if kind == "svg" else _drawable(families)).draw(synthetic)
            date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
            with atomic_write(path, "wb") as stream:
                canvas.savefig(stream, format=kind, metadata=date)
            written.append(path)
    return written


def _installed(families: Sequence[str]) -> list[str]:
    from matplotlib import font_manager

    present = {font.name for font in font_manager.fontManager.ttflist}
    return [family for family in families if family in present]


@cache
def _signs(family: str) -> frozenset[int]:
    """Code points that a font has."""
    from matplotlib import font_manager

    return frozenset(font_manager.get_font(font_manager.findfont(family)).get_charmap())


def _drawable(families: Sequence[str]) -> Callable[[str], str]:
    known = frozenset().union(*map(_signs, families))
    return lambda text: "".join(sign if ord(sign) in known else f"⟦U+{ord(sign):04X}⟧" for sign in visible(text))


class _Layout:
    """A figure in inches from its upper left corner: columns of names, of the axis and of values; rows from the top."""

    def __init__(self, canvas: Any, figure: ForestPlot, width: float, write: Callable[[str], str]) -> None:
        self.canvas, self.figure, self.width, self.write = canvas, figure, width, write
        self.key: list[str] = []
        self.advances: dict[str, float] = {}
        self.names = [[self._name(row.mark.label) for row in panel.rows] for panel in figure.panels]
        texts = [row.value_text + ", not ranked" * row.mark.thin for row in figure.rows]
        self.right = max(map(self._measure, texts)) + 2 * PAD
        self.left = max(self._measure(line) for names in self.names for name in names for line in name) + 2 * PAD
        self.short = self.left + self.right > 0.62 * width  # the interval is drawn all the same
        if self.short:
            self.right = max(map(self._measure, map(_without_interval, texts))) + 2 * PAD

    def _measure(self, text: str, size: float = _SIZE) -> float:
        """Width of a line in inches: that of its signs."""
        return sum(self._advance(sign) for sign in text) * size / _SIZE

    def _advance(self, sign: str) -> float:
        if sign not in self.advances:
            self.advances[sign] = self._extent(f"0{sign}0") - self._extent("00")
        return self.advances[sign]

    def _extent(self, text: str) -> float:
        drawn = self.canvas.text(0, 0, text)
        box = drawn.get_window_extent(self.canvas.canvas.get_renderer())
        drawn.remove()
        return float(box.width) / float(self.canvas.dpi)

    def _wrap(self, text: str, most: float, size: float = _SIZE) -> list[str]:
        """Lines no wider than ``most`` inches, broken behind a sign where there is one."""
        lines = []
        while self._measure(text, size) > most:
            reach = np.cumsum([self._advance(sign) for sign in text]) * size / _SIZE
            end = max(1, int(np.searchsorted(reach, most, side="right")))
            signs = [k for k in range(end // 2 + 1, end + 1) if text[k - 1] in " /-_.:,;"]
            end = signs[-1] if signs else end
            lines.append(text[:end].rstrip())
            text = text[end:].lstrip()
        return [*lines, text] if text else lines

    def _name(self, label: str) -> list[str]:
        """Lines of a name: at most two; a longer one gets a number in the key."""
        name, most = self.write(label), 0.3 * self.width
        lines = self._wrap(name, most)
        if len(lines) > 2:
            self.key += [name] if name not in self.key else []
            mark = f" [{self.key.index(name) + 1}]"
            for signs in range(columns(name) - 1, 4, -1):
                lines = self._wrap(shortened(name, signs) + mark, most)
                if len(lines) <= 2:
                    break
        return lines

    def draw(self, synthetic: bool) -> None:
        """Draw everything; the height follows the rows and the key."""
        keys = [line for k, name in enumerate(self.key, 1)
                for line in self._wrap(f"[{k}] {name}", self.width - 2 * PAD, _SMALL)]  # fmt: skip
        heights = [[ROW + LINE * (len(name) - 1) for name in names] for names in self.names]
        heads = [
            2.2 * ROW + LINE * self._stacked(panel) for panel in self.figure.panels
        ]  # its name, those of its bands
        rows = sum(map(sum, heights)) + sum(heads)
        bottom = 0.42 + LINE * len(keys)
        total = rows + bottom + 0.04
        self.canvas.set_size_inches(self.width, total)
        place = [self.left / self.width, bottom / total, (self.width - self.left - self.right) / self.width,
                 rows / total]  # fmt: skip
        axes, scale = self.canvas.add_axes(place), self.figure.scale
        axes.set_xlim(scale.low, scale.high)
        axes.set_ylim(rows, 0)
        axes.set_yticks([])
        axes.locator_params(axis="x", nbins=max(3, int(place[2] * self.width / 0.4)))
        axes.set_xlabel(self.figure.axis + ", SYNTHETIC data" * synthetic, labelpad=2)
        top = 0.0
        for panel, names, tall, head in zip(self.figure.panels, self.names, heights, heads, strict=True):
            self._panel(axes, panel, names, tall, top, head)
            top += head + sum(tall)
        for k, line in enumerate(keys):
            self.canvas.text(PAD / self.width, (LINE * (len(keys) - k) - 0.08) / total, line, fontsize=_SMALL)

    def _beside(self, panel: Panel) -> float:
        """Room that the name of the no-video baselines takes to the left of that of the band; inches."""
        return self._measure(f"{panel.no_video.label}    ", _SMALL) if panel.no_video else 0.0

    def _stacked(self, panel: Panel) -> bool:
        """True if the names of the two bands do not fit into one line."""
        room = self._measure(panel.humans.label, _SMALL) if panel.humans else 0.0
        return self.left + self._beside(panel) + room > self.width - PAD

    def _panel(self, axes: Any, panel: Panel, names: Any, heights: Sequence[float], top: float, head: float) -> None:
        colours = {role: row.colour for role, row in ROLES.items()}
        start, end = top + head, top + head + sum(heights)
        beside = {"textcoords": "offset points", "annotation_clip": False, "va": "center"}
        axes.annotate(panel.heading, (0, top + 0.7 * ROW), xycoords=("axes fraction", "data"),
                      fontstyle="italic", xytext=(-72 * (self.left - PAD), 0), **beside)  # fmt: skip
        axes.plot([0, 0], [start, end], color="#555", lw=0.6)
        low, high = axes.get_xlim()
        inch = (high - low) / (axes.get_position().width * self.width)
        if zone := panel.no_video:
            axes.fill_between([low, zone.high], start, end, color=colours["no_video"], alpha=0.13, lw=0)
            axes.text(low, start - 0.03, zone.label, color=colours["no_video"], fontsize=_SMALL, va="bottom")
        if band := panel.humans:
            axes.fill_between([band.low, band.high], start, end, color=colours["human"], alpha=0.16, lw=0)
            half, stacked = self._measure(band.label, _SMALL) / 2, self._stacked(panel)
            least = PAD + half if stacked else self.left + self._beside(panel) + half
            middle = self.left + ((band.low + band.high) / 2 - low) / inch  # it may stand above names and values
            middle = min(max(middle, least), self.width - PAD - half)
            axes.text(low + (middle - self.left) * inch, start - 0.03 - LINE * stacked, band.label,
                      color=colours["human"], fontsize=_SMALL, ha="center", va="bottom")  # fmt: skip
            if band.value is not None:
                axes.plot([band.value, band.value], [start, end], color=colours["human"], lw=0.9, ls="--")
        y = start
        for row, name, height in zip(panel.rows, names, heights, strict=True):
            mark, y, at = row.mark, y + height, y + height / 2
            style: dict[str, Any] = {"color": colours[mark.role], "alpha": 0.4 if mark.thin else 1.0}
            if row.each:
                axes.plot(row.each, [at] * len(row.each), ROLES["human"].symbol, ms=3, mfc="white", mew=0.7,
                          color=colours["human"], ls="")  # fmt: skip
            if mark.value is not None:
                if mark.low is not None and mark.high is not None:
                    axes.plot([mark.low, mark.high], [at, at], lw=1.2, **style)
                axes.plot([mark.value], [at], ROLES[mark.role].symbol, ms=4.2, **style)
            said = row.value_text + ", not ranked" * mark.thin
            axes.annotate(_without_interval(said) if self.short else said, (1, at),
                          xycoords=("axes fraction", "data"), xytext=(72 * PAD, 0), **beside)  # fmt: skip
            axes.annotate("\n".join(name), (0, at), xycoords=("axes fraction", "data"), ha="right",
                          xytext=(-72 * PAD, 0), linespacing=1.05, **beside)  # fmt: skip


def _without_interval(text: str) -> str:
    start, _, rest = text.partition(" [")
    return start + rest.partition("]")[2]
