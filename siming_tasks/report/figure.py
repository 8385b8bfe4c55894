"""The one figure: every judge of a setting with its interval, the physicians' band, the zone of judges that never look.

Agreement with each physician stands on the axis of the physicians' agreement with each other; agreement with the
reference labels, which the physicians made together and which is larger, in a panel of its own. The same SVG stands in
the page (coloured by the style sheet, light and dark, once wide and once for phones) and in ``figures/`` for papers
(with its colours in it).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from siming_tasks.common.sanitize import visible
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.report.formatting import columns, page_number, shortened
from siming_tasks.report.standings import JudgeRow, Standing
from siming_tasks.tasks import TASKS


class Role(NamedTuple):
    """One kind of judge: its sign beside a name, the outline of its mark around 0, 0, and its colour on paper."""

    mark: str
    outline: str
    colour: str


ROLES: dict[str, Role] = {
    "model": Role("●", "M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0z", "#0072b2"),
    "reference": Role("▲", "M0-5L5 3.9h-10z", "#a8477e"),
    "supervised": Role("▼", "M0 5L5-3.9h-10z", "#8a5a00"),
    "human": Role("◆", "M0-5.4L5.4 0L0 5.4L-5.4 0z", "#007a59"),
    "no_video": Role("■", "M-3.8-3.8h7.6v7.6h-7.6z", "#747474"),
}
"""By key, in the order of the tables. A new kind is a row here, one in the words and a colour in the style sheet."""
LEAST_SCALE = (0.0, 0.5)
"""Stretch of the axis that is always shown, so that noise does not fill the figure."""
WIDE, PHONE = 940.0, 344.0
HEADING, GAP = 26.0, 8.0
"""Height of a panel's heading, and what is left free below its last row."""
_PAPER = """text{font:12px Helvetica,Arial,sans-serif;fill:#1b1c1e}.tick,.axis{fill:#555;text-anchor:middle}
.label,.key{text-anchor:end}.said,.name{text-anchor:start}.head{font-weight:bold}path{fill:none}.rule{stroke:#ddd}
.zero{stroke:#777}.dot{fill:currentColor}.reach{stroke:currentColor;stroke-width:1.8}.thin{opacity:.4}
.zone rect{fill:#747474;opacity:.13}.band rect{fill:#007a59;opacity:.16}text.of-zone{fill:#555}
text.of-band{fill:#007a59}""" + "".join(f".{role}{{color:{row.colour}}}" for role, row in ROLES.items())


@dataclass(frozen=True)
class Axis:
    """A linear scale from ``low``..``high`` to ``start``..``stop`` in the figure's units."""

    low: float
    high: float
    start: float = 0.0
    stop: float = 1.0

    @classmethod
    def around(cls, values: Sequence[float], start: float = 0.0, stop: float = 1.0) -> Axis:
        """The scale that shows all values with a little air."""
        air = 0.04 * (max(values) - min(values)) or 0.5
        return cls(min(values) - air, max(values) + air, start, stop)

    def at(self, value: float) -> float:
        """Position of a value, to a tenth of a unit."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.stop - self.start), 1)

    def ticks(self, most: int = 9) -> list[tuple[float, str]]:
        """At most ``most`` round values within the scale, as they are written: steps are 1, 2 or 5 times a power of 10.

        Example:
            >>> [name for _, name in Axis(-0.13, 0.52, 0, 100).ticks()]
            ['−0.1', '0.0', '0.1', '0.2', '0.3', '0.4', '0.5']
        """
        span = self.high - self.low
        power = 10.0 ** math.floor(math.log10(span / most))
        step = next(unit * power for unit in (1, 2, 5, 10) if span / (unit * power) <= most)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [(k * step, f"{k * step:.{digits}f}".replace("-", "−")) for k in range(first, last + 1)]


@dataclass(frozen=True)
class Mark:
    """One judge: its name, kind and estimate; ``thin`` is drawn pale."""

    name: str
    role: str
    found: Estimate
    thin: bool = False


@dataclass(frozen=True)
class Panel:
    """Judges against one kind of labels, best first; ``band`` or ``zone`` lies behind them and ``key`` names it."""

    heading: str
    marks: Sequence[Mark]
    band: tuple[float, float] | None = None
    zone: float | None = None
    key: str = ""


@dataclass(frozen=True)
class ForestPlot:
    """Contents of the figure: panels on one axis."""

    title: str
    axis: str
    panels: Sequence[Panel]

    @property
    def scale(self) -> list[float]:
        """Every number that the axis must show."""
        found = [mark.found for panel in self.panels for mark in panel.marks]
        ends = [x for each in found for x in (each.value, each.low, each.high)]
        ends += [x for panel in self.panels for x in (*(panel.band or ()), panel.zone)]
        return [*LEAST_SCALE, *(x for x in ends if x is not None)]

    def page(self) -> Markup:
        """The figure for a page: once for screens and once for phones."""
        return self._draw("wide") + self._draw("narrow")

    def file(self) -> str:
        """The figure as a file of its own."""
        style = Markup("<style>") + Markup(_PAPER) + Markup("</style>")
        return str(self._draw("wide", style)) + "\n"

    def _draw(self, kind: str, style: Markup | str = "") -> Markup:
        narrow = kind == "narrow"
        width, row, most = (PHONE, 36.0, 26) if narrow else (WIDE, 20.0, 44)
        names = {mark.name: shortened(visible(mark.name), most) for panel in self.panels for mark in panel.marks}
        left = 8.0 if narrow else min(330.0, 24 + 6.9 * max(map(columns, names.values())))
        axis = Axis.around(self.scale, left, width - (14.0 if narrow else 170.0))
        parts: list[Markup] = []
        rows: list[tuple[float, float]] = []  # where those of each panel begin and end
        y = 6.0
        for panel in self.panels:
            drawn, height = _draw_panel(panel, axis, y, row, names, width, narrow)
            parts += drawn
            rows.append((y + HEADING, y + height - GAP))
            y += height
        foot = [_text("axis", (axis.start + axis.stop) / 2, y + 32, self.axis)]
        for value, name in axis.ticks(6 if narrow else 9):
            x = axis.at(value)
            foot += [_line("zero" if value == 0 else "rule", x, first, x, last) for first, last in rows]
            foot.append(_text("tick", x, y + 15, name))
        form = Markup('<svg xmlns="http://www.w3.org/2000/svg" class="chart {}" role="img" width="{:g}" height="{:g}" '
                      'viewBox="0 0 {:g} {:g}" aria-label="{}">')  # fmt: skip
        alt = f"{self.title}: {self.axis} of every judge with its interval; the numbers are in the table below."
        head = form.format(kind, width, y + 40, width, y + 40, alt)
        return head + style + Markup("").join([*foot, *parts]) + Markup("</svg>")


def forest_plot(standing: Standing, *, synthetic: bool, people: str = "physicians") -> ForestPlot | None:
    """The figure of one setting; None if no judge has a value."""
    rows = standing.rows
    judges = [row for row in rows if row.role not in ("human", "no_video")]
    never = [row.value for row in rows if row.role == "no_video" and row.value]
    ends = [x for each in never for x in (each.value, each.high) if x is not None]
    zone = max(ends) if ends else None
    values = [_mark(row, row.value) for row in judges if row.value and row.value.value is not None]
    if not values:
        return None
    panels = [Panel("Agreement with the reference", values, zone=zone, key="judges that never look at a video")]
    among = next((row.physicians for row in rows if row.role == "human"), None)
    with_each = [_mark(row, row.physicians) for row in judges if row.physicians and row.physicians.value is not None]
    if among is not None and among.value is not None and with_each:
        low, high = (among.value if end is None else end for end in (among.low, among.high))
        key = f"{people} with each other"
        panels.insert(0, Panel(f"Agreement with each {people[:-1]}", with_each, band=(low, high), key=key))
    axis = standing.metric + (", SYNTHETIC data" if synthetic else "")
    return ForestPlot(TASKS[standing.setting].title, axis, panels)


def _mark(row: JudgeRow, found: Estimate) -> Mark:
    return Mark(row.name, row.role, found, thin=not row.rank)


def _draw_panel(
    panel: Panel, axis: Axis, top: float, row: float, names: dict[str, str], width: float, narrow: bool
) -> tuple[list[Markup], float]:
    """A panel: its heading, what lies behind the marks, a line for each judge; and its height."""
    first = top + HEADING
    height = row * len(panel.marks)
    parts = [_text("said head", 4, top + 16, panel.heading)]
    kind = "zone" if panel.zone is not None else "band"
    if panel.key and not narrow:  # on a phone the caption alone says it
        parts.append(
            _text(f"key of-{kind}", axis.stop, top + 16, f"{'grey' if kind == 'zone' else 'green'}: {panel.key}")
        )
    if panel.zone is not None:
        end = max(axis.at(panel.zone), axis.start)
        tip = f"{panel.key}: up to {page_number(panel.zone)}"
        parts.append(_area("zone", axis.start, first, end - axis.start, height, tip))
    if panel.band is not None:
        low, high = panel.band
        tip = f"{panel.key}: {page_number(low)} to {page_number(high)}"
        parts.append(_area("band", axis.at(low), first, max(2.0, axis.at(high) - axis.at(low)), height, tip))
    for place, mark in enumerate(panel.marks):
        y = first + row * (place + (0.72 if narrow else 0.5))
        value = f"{page_number(mark.found.value)}"
        if mark.found.low is not None and mark.found.high is not None:
            value += f" [{page_number(mark.found.low)}, {page_number(mark.found.high)}]"
        if narrow:
            parts += [_text("name", 4, y - 11, names[mark.name]), _text("label", width - 4, y - 11, value)]
        else:
            parts += [
                _text("label", axis.start - 12, y + 4, names[mark.name]),
                _text("said", axis.stop + 12, y + 4, value),
            ]
        parts.append(_judge(mark, axis, y, value))
    return parts, HEADING + height + GAP


def _judge(mark: Mark, axis: Axis, y: float, value: str) -> Markup:
    behind = Markup("")
    if mark.found.low is not None and mark.found.high is not None:
        behind = _line("reach", axis.at(mark.found.low), y, axis.at(mark.found.high), y)
    form = '<g class="{}"><title>{}</title>{}<path class="dot" transform="translate({:g} {:g})" d="{}"/></g>'
    kind = mark.role + (" thin" if mark.thin else "")
    tip = f"{visible(mark.name)}: {value}"
    return Markup(form).format(kind, tip, behind, axis.at(mark.found.value or 0.0), y, ROLES[mark.role].outline)


def _area(kind: str, x: float, y: float, width: float, height: float, tip: str) -> Markup:
    form = '<g class="{}"><title>{}</title><rect x="{:g}" y="{:g}" width="{:g}" height="{:g}"/></g>'
    return Markup(form).format(kind, tip, x, y, round(max(width, 0.0), 1), height)


def _line(kind: str, x: float, y: float, to_x: float, to_y: float) -> Markup:
    return Markup('<path class="{}" d="M{:g} {:g}L{:g} {:g}"/>').format(kind, x, y, to_x, to_y)


def _text(kind: str, x: float, y: float, content: str) -> Markup:
    return Markup('<text class="{}" x="{:g}" y="{:g}">{}</text>').format(kind, x, y, visible(content))
