"""The one figure: a row for each judge, with its interval in two panels that share the names and the scale.

The left panel is agreement with the reference labels, over the zone of no-video baselines; the right one agreement
with each physician, over the band of the physicians' agreement with each other (the reference, which they made
together, is not on that scale). The same SVG is in the page (coloured by the style sheet, light and dark, once wide
and once for phones) and in ``figures/`` for papers (with its colours in it).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from siming_tasks.benchmark.metrics.estimate import Estimate
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.common.sanitize import visible
from siming_tasks.study.report.formatting import columns, page_number, shortened
from siming_tasks.study.report.standings import Standing
from siming_tasks.study.words import say


class Role(NamedTuple):
    """One kind of judge: its sign next to a name, the outline of its mark around 0, 0, and its colour on paper."""

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
WIDE, PHONE = 960.0, 344.0
HEADING, FOOT = 42.0, 52.0
"""Height above the first row, of headings and numbers of the axis; and below the last, of its title and the key."""
_PAPER = """text{font:12px Helvetica,Arial,sans-serif;fill:#1b1c1e}.tick,.axis{fill:#555;text-anchor:middle}
.label{text-anchor:end}.said,.name,.key{text-anchor:start}.head{font-weight:bold}path{fill:none}.rule{stroke:#ddd}
.zero{stroke:#777}.dot{fill:currentColor}.reach{stroke:currentColor;stroke-width:1.8}.thin{opacity:.4}
.zone rect{fill:#747474;opacity:.13}.band rect{fill:#007a59;opacity:.16}.key{fill:#555}""" + "".join(
    f".{role}{{color:{row.colour}}}" for role, row in ROLES.items()
)


@dataclass(frozen=True)
class Axis:
    """A linear scale from ``low``..``high`` to ``start``..``stop`` in the figure's units."""

    low: float
    high: float
    start: float
    stop: float

    @classmethod
    def around(cls, values: Sequence[float], start: float, stop: float) -> Axis:
        """The scale that shows all values with a little air, between its first and its last round value."""
        air = 0.04 * (max(values) - min(values)) or 0.5
        found = cls(min(values) - air, max(values) + air, start, stop)
        first, second, *_, last = (value for value, _ in found.ticks())
        high = last if max(values) <= last + 1e-9 else last + second - first
        return cls(found.low, max(found.high, high), start, stop)

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
    """One judge: its name, kind and an estimate for each panel (None: no mark); ``thin`` is drawn pale."""

    name: str
    role: str
    found: Sequence[Estimate | None]
    thin: bool = False


@dataclass(frozen=True)
class Panel:
    """One kind of labels: what is behind the marks from ``low`` to ``high``, a ``zone`` or a ``band``, and its key."""

    heading: str
    behind: str = ""
    low: float | None = None
    high: float | None = None
    key: str = ""


@dataclass(frozen=True)
class ForestPlot:
    """Contents of the figure: a row for each mark, best first, through every panel."""

    title: str
    axis: str
    panels: Sequence[Panel]
    marks: Sequence[Mark]
    digits: int = 3  # of the ends of intervals

    @property
    def scale(self) -> list[float]:
        """Every number that the axis must show."""
        ends = [x for mark in self.marks for each in mark.found if each for x in (each.value, each.low, each.high)]
        ends += [x for panel in self.panels for x in (panel.low, panel.high) if panel.behind]
        return [*LEAST_SCALE, *(x for x in ends if x is not None)]

    @property
    def key(self) -> list[str]:
        """Meaning of the colours, of lines and of pale marks, as far as there are any."""
        lines = any(each and each.low is not None for mark in self.marks for each in mark.found)
        pale = any(mark.thin for mark in self.marks)
        found = ["lines: 95 % intervals"] * lines + ["pale: not ranked"] * pale
        return [panel.key for panel in self.panels if panel.behind] + found

    def page(self) -> Markup:
        """The figure for a page: once for screens and once for phones."""
        return self._draw("wide") + self._draw("narrow")

    def file(self) -> str:
        """The figure as a file of its own, on white: it is read on dark pages too."""
        style = Markup("<style>") + Markup(_PAPER) + Markup('</style><rect width="100%" height="100%" fill="#fff"/>')
        return str(self._draw("wide", style)) + "\n"

    def _draw(self, kind: str, style: Markup | str = "") -> Markup:
        narrow = kind == "narrow"
        width, row, most = (PHONE, 31.0, 40) if narrow else (WIDE, 20.0, 36)
        names = [shortened(visible(mark.name), most) for mark in self.marks]
        left = 8.0 if narrow else min(270.0, 20 + 6.7 * max(map(columns, names)))
        each = (width - left) / len(self.panels)
        bottom = HEADING + row * len(self.marks)
        parts: list[Markup] = []
        for place, name in enumerate(names):
            y = HEADING + row * (place + (0.42 if narrow else 0.5)) + 4
            isolated = f"\u2068{name}\u2069"  # its direction of writing changes nothing around it
            parts.append(_text("name" if narrow else "label", 4 if narrow else left - 12, y, isolated))
        for place, panel in enumerate(self.panels):
            start = left + place * each
            numbers = [_numbers(mark.found[place], self.digits) for mark in self.marks]
            beside = 16.0 if narrow else 22 + 6.7 * max(map(len, numbers))
            axis = Axis.around(self.scale, start, start + each - beside)
            parts += _draw_panel(panel, axis, bottom, 4 if narrow else 7, self.digits)
            for number, mark in enumerate(self.marks):
                if (found := mark.found[place]) is not None:
                    y = HEADING + row * (number + (0.75 if narrow else 0.5))
                    parts += _draw_mark(mark, found, axis, y, narrow, numbers[number])
        foot = [_text("axis", left + (width - left) / 2 - (0 if narrow else 60), bottom + 18, self.axis)]
        lines = self.key if narrow else [" · ".join(self.key)]
        foot += [_text("key", 4, bottom + 38 + 15 * k, line) for k, line in enumerate(lines)]
        height = bottom + FOOT + 15 * (len(lines) - 1)
        form = Markup('<svg xmlns="http://www.w3.org/2000/svg" class="chart {}" role="img" width="{:g}" height="{:g}" '
                      'viewBox="0 0 {:g} {:g}" aria-label="{}">')  # fmt: skip
        head = form.format(kind, width, height, width, height, f"{self.title}: {self.axis}")
        return head + style + Markup("").join([*parts, *foot]) + Markup("</svg>")


def forest_plot(standing: Standing, digits: int = 3) -> ForestPlot | None:
    """The figure of one setting, with this many digits at the ends of intervals; None if no judge has a value."""
    rows = standing.rows
    judges = [
        row for row in rows if row.role not in ("human", "no_video") and row.value and row.value.value is not None
    ]
    if not judges:
        return None
    ends = [x for row in rows if row.role == "no_video" and row.value for x in (row.value.value, row.value.high)]
    zone = max((x for x in ends if x is not None), default=None)
    among = next((row.physicians for row in rows if row.role == "human"), None)
    beside = among is not None and among.value is not None and any(row.physicians for row in judges)
    panels = [Panel(f"With {standing.reference}", "" if zone is None else "zone", None, zone, say("zone"))]
    if among is not None and beside:
        low, high = (among.value if end is None else end for end in (among.low, among.high))
        panels.append(Panel(f"With each {standing.people[:-1]}", "band", low, high, say("band", standing.people)))
    marks = []
    for row in judges:
        with_each = row.physicians if row.physicians and row.physicians.value is not None else None
        marks.append(Mark(row.name, row.role, [row.value, with_each][: len(panels)], thin=not row.rank))
    axis = standing.metric + (", SYNTHETIC data" if standing.synthetic else "")
    return ForestPlot(TASKS[standing.setting].title, axis, panels, marks, digits)


def _draw_panel(panel: Panel, axis: Axis, bottom: float, most: int, digits: int) -> list[Markup]:
    """Heading, numbers of the axis above and lines below them, and what lies behind the marks."""
    parts = [_text("said head", axis.start, 14, panel.heading)]
    if panel.behind and panel.high is not None:
        low, high = (axis.start if panel.low is None else axis.at(panel.low)), max(axis.at(panel.high), axis.start)
        ends = [page_number(end, digits) for end in (panel.low, panel.high) if end is not None]
        form = '<g class="{}"><title>{}</title><rect x="{:g}" y="{:g}" width="{:g}" height="{:g}"/></g>'
        width, height = round(max(2.0, high - low), 1), bottom - HEADING
        parts.append(Markup(form).format(panel.behind, " to ".join(ends), low, HEADING, width, height))
    for value, name in axis.ticks(most):
        x = axis.at(value)
        parts += [_line("zero" if value == 0 else "rule", x, HEADING, x, bottom), _text("tick", x, HEADING - 8, name)]
    return parts


def _numbers(found: Estimate | None, digits: int) -> str:
    """A value and the ends of its interval."""
    if found is None:
        return ""
    ends = "" if found.low is None else f" [{page_number(found.low, digits)}, {page_number(found.high, digits)}]"
    return page_number(found.value) + ends


def _draw_mark(mark: Mark, found: Estimate, axis: Axis, y: float, narrow: bool, numbers: str) -> list[Markup]:
    """One judge in one panel: its interval, the mark, and to the right of a wide panel its numbers."""
    behind, parts = Markup(""), list[Markup]()
    if found.low is not None and found.high is not None:
        behind = _line("reach", axis.at(found.low), y, axis.at(found.high), y)
    if not narrow:
        parts.append(_text("said", axis.stop + 10, y + 4, numbers))
    form = '<g class="{}"><title>{}</title>{}<path class="dot" transform="translate({:g} {:g})" d="{}"/></g>'
    kind, tip = mark.role + (" thin" if mark.thin else ""), f"{visible(mark.name)}: {numbers}"
    dot = Markup(form).format(kind, tip, behind, axis.at(found.value or 0.0), y, ROLES[mark.role].outline)
    return [*parts, dot]


def _line(kind: str, x: float, y: float, to_x: float, to_y: float) -> Markup:
    return Markup('<path class="{}" d="M{:g} {:g}L{:g} {:g}"/>').format(kind, x, y, to_x, to_y)


def _text(kind: str, x: float, y: float, content: str) -> Markup:
    return Markup('<text class="{}" x="{:g}" y="{:g}">{}</text>').format(kind, x, y, content)
