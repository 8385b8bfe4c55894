"""Charts of the pages as SVG: kinds of judges, scales and marks; intervals, dumbbells, stacked parts and scatter.

The style sheet colours everything by class (light, dark and print from one file), text stays text, and marks say their
value on hover. It is written here and not by a plotting library because that took 90 ms for a chart of ten marks (this
takes 3), a large report has three hundred charts, and its output had to be rewritten to have no inline style.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup

from siming_tasks.common.sanitize import visible
from siming_tasks.report.formatting import columns, shortened


class Role(NamedTuple):
    """One kind of judge: its sign beside a name, its title in a key, and the line above its rows in a table of text.

    ``outline`` (around 0, 0) tells its marks on a page without colour; ``symbol`` and ``colour`` are Matplotlib's.
    """

    mark: str
    title: str
    group: str
    outline: str
    symbol: str
    colour: str


SQUARE = "M-3.8-3.8h7.6v7.6h-7.6z"
ROLES: dict[str, Role] = {
    "model": Role("●", "model", "", "M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0z", "o", "#0072b2"),
    "reference": Role(
        "▲", "reference judge: no model", "reference judges", "M0-5L5 3.9h-10z", "^", "#a8477e"
    ),
    "supervised": Role(
        "▼", "supervised, cross-fitted: learnt from these labels", "supervised, cross-fitted", "M0 5L5-3.9h-10z",
        "v", "#8a5a00",
    ),
    "human": Role(
        "◆", "physician against physician", "physicians against each other", "M0-5.4L5.4 0L0 5.4L-5.4 0z", "D",
        "#007a59",
    ),
    "no_video": Role("■", "no-video baseline: never sees a video", "no-video baselines", SQUARE, "s", "#747474"),
}  # fmt: skip
"""By key, in the order of the tables. A new kind is a row here and a colour in the style sheet."""
ORDER: dict[str, int] = {role: place for place, role in enumerate(ROLES)}
_OUTLINES = {role: row.outline for role, row in ROLES.items()} | {"clip": SQUARE}

Interval = tuple[float, float]
WIDTH, ROW, TOP, BOTTOM = 740.0, 20.0, 6.0, 40.0
PHONE, TALL = 344.0, 36.0


@dataclass(frozen=True)
class Axis:
    """A linear scale from ``low``..``high`` to ``start``..``stop`` in the chart's units."""

    low: float
    high: float
    start: float = 0.0
    stop: float = 1.0

    @classmethod
    def around(cls, values: Iterable[float]) -> Axis:
        """The scale that shows all values with a little air."""
        known = list(values)
        low, high = min(known), max(known)
        air = 0.04 * (high - low) or 0.5
        return cls(low - air, high + air)

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


def area(kind: str, x: float, y: float, width: float, height: float, tip: str) -> Markup:
    """A rectangle of a class of the style sheet, with what it says on hover."""
    form = '<g class="{}"><title>{}</title><rect x="{:g}" y="{:g}" width="{:g}" height="{:g}"/></g>'
    return Markup(form).format(kind, visible(tip), x, y, round(max(width, 0.0), 1), height)


def line(kind: str, x: float, y: float, to_x: float, to_y: float) -> Markup:
    """A line of a class of the style sheet."""
    return Markup('<path class="{}" d="M{:g} {:g}L{:g} {:g}"/>').format(kind, x, y, to_x, to_y)


def text(kind: str, x: float, y: float, content: str) -> Markup:
    """Text of a class of the style sheet, which also says how it is anchored."""
    return Markup('<text class="{}" x="{:g}" y="{:g}">{}</text>').format(kind, x, y, visible(content))


def marker(kind: str, x: float, y: float, tip: str, *, behind: Markup | str = "", href: str = "") -> Markup:
    """A mark with its middle at ``x``, ``y`` and what it says on hover.

    The first class in ``kind`` is a key of :data:`ROLES`, or ``clip``, and gives the outline. ``behind`` is drawn
    first, such as the line of an interval. A click leads to ``href``; the Tab key passes by, since the table behind
    the chart leads there too.
    """
    form = '<g class="{}"><title>{}</title>{}<path class="dot" transform="translate({:g} {:g})" d="{}"/></g>'
    drawn = Markup(form).format(kind, visible(tip), behind, x, y, _OUTLINES[kind.split()[0]])
    return Markup('<a href="{}" tabindex="-1">{}</a>').format(href, drawn) if href else drawn


def _svg_document(parts: Sequence[Markup], width: float, height: float, alt: str, kind: str) -> Markup:
    drawn = Markup("").join(parts)
    role = "group" if "<a " in drawn else "img"  # what is inside an image is nothing that one could click
    form = '<svg class="{}" role="{}" width="{:g}" height="{:g}" viewBox="0 0 {:g} {:g}" aria-label="{}">'
    head = Markup(form).format(f"chart {kind}".strip(), role, width, height, width, height, visible(alt))
    return head + drawn + Markup("</svg>")


def _horizontal_axis(axis: Axis, top: float, bottom: float, label: str, most: int = 9) -> list[Markup]:
    """A horizontal axis below the chart: a pale line and a number at each tick, a stronger line at zero."""
    parts = []
    for value, name in axis.ticks(most):
        x = axis.at(value)
        parts += [line("zero" if value == 0 else "rule", x, top, x, bottom), text("tick", x, bottom + 15, name)]
    return [*parts, text("axis", (axis.start + axis.stop) / 2, bottom + 32, label)]


class ChartRows:
    """A line for each label, with a horizontal axis below; the left margin follows the labels.

    ``narrow`` puts each label above its line, for phones; ``wide`` says that there is a narrow one too. ``right`` and
    ``above`` are the room for what stands at the right of the lines and above them, ``least`` that for a heading at the
    left.
    """

    def __init__(self, labels: Sequence[str], scale: Axis, kind: str = "", *, right: float = 14.0, above: float = TOP,
                 width: float = WIDTH, least: float = 0.0) -> None:  # fmt: skip
        self.kind, self.above, narrow = kind, above, kind == "narrow"
        most, shown = 26 if narrow else 32, [visible(label) for label in labels]
        self.labels = [shortened(label, most) for label in shown]
        self.width, self.row = (PHONE, TALL) if narrow else (width, ROW)
        left = 8.0 if narrow else max(least, min(250.0, 20 + 7.0 * max(map(columns, self.labels), default=0)))
        self.axis = Axis(scale.low, scale.high, left, self.width - (14.0 if narrow else right))
        self.ys = [above + self.row * (k + (0.72 if narrow else 0.5)) for k in range(len(labels))]
        self.bottom = above + self.row * len(labels)

    def chart(self, parts: Sequence[Markup], axis: str, alt: str) -> Markup:
        """The whole chart; ``parts`` lies above the axis and the labels."""
        narrow, right = self.kind == "narrow", self.axis.start - 10
        names = [
            text("name", 4, y - 11, label) if narrow else text("label", right, y + 4, label)
            for y, label in zip(self.ys, self.labels, strict=True)
        ]
        drawn = [*_horizontal_axis(self.axis, self.above, self.bottom, axis, 6 if narrow else 9), *names, *parts]
        return _svg_document(drawn, self.width, self.bottom + BOTTOM, alt, self.kind)


@dataclass(frozen=True)
class Mark:
    """One value with its interval on a line of its own.

    ``thin`` is drawn pale, ``beside`` is a second value, ``bound`` a limit that is drawn across the line; ``href`` is
    where a click leads.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    role: str = "model"
    thin: bool = False
    beside: float | None = None
    bound: float | None = None
    href: str = ""

    @classmethod
    def of(cls, label: str, estimate: Mapping[str, Any], **more: Any) -> Mark:
        """The mark of an estimate in its JSON form; an undefined one has no place on an axis."""
        value = None if estimate["undefined"] else estimate["value"]
        return cls(label, value, estimate["low"], estimate["high"], **more)

    def draw(self, axis: Axis, y: float, beside: str = "") -> list[Markup]:
        """The mark on its line, with its interval and its second value, which ``beside`` names."""
        parts = []
        if self.bound is not None:
            parts.append(line("bound", axis.at(self.bound), y - ROW / 2, axis.at(self.bound), y + ROW / 2))
        if self.beside is not None:
            tip = f"{self.label}, {beside}: {self.beside:.3f}"
            parts.append(marker("human hollow", axis.at(self.beside), y, tip))
        if self.value is not None:
            tip, behind = f"{self.label}: {self.value:.3f}", Markup("")
            if self.low is not None and self.high is not None:
                tip += f" [{self.low:.3f}, {self.high:.3f}]"
                behind = line("reach", axis.at(self.low), y, axis.at(self.high), y)
            kind = self.role + (" thin" if self.thin else "")
            parts.append(marker(kind, axis.at(self.value), y, tip, behind=behind, href=self.href))
        return parts


def interval_chart(
    marks: Sequence[Mark], *, axis: str, alt: str, beside: str = "", reach: Interval = (-0.1, 0.5)
) -> Markup:
    """A dot and its interval for each mark, first on top; zero is drawn as a line. Twice: for screens, and for phones.

    ``alt`` is the chart in a sentence, for people who cannot see it; ``beside`` says what the second mark of each line
    is. Never less than ``reach`` is shown, so that noise does not fill the chart.
    """
    numbers = [x for mark in marks for x in (mark.value, mark.low, mark.high, mark.beside, mark.bound) if x is not None]
    scale, svg = Axis.around([*reach, *numbers]), Markup("")
    for kind in ("wide", "narrow"):
        frame = ChartRows([mark.label for mark in marks], scale, kind)
        drawn = [mark.draw(frame.axis, y, beside) for y, mark in zip(frame.ys, marks, strict=True)]
        svg += frame.chart([part for parts in drawn for part in parts], axis, alt)
    return svg


def dumbbell_chart(labels: Sequence[str], first: Sequence[float | None], second: Sequence[float | None], *,
             names: tuple[str, str], axis: str, alt: str) -> Markup:  # fmt: skip
    """Two values for each label, joined: full video (circle) and clip (square)."""
    frame = ChartRows(labels, Axis.around([-0.1, 0.5, *(x for x in (*first, *second) if x is not None)]))
    parts = []
    for y, label, a, b in zip(frame.ys, labels, first, second, strict=True):
        if a is not None and b is not None:
            parts.append(line("joint", frame.axis.at(a), y, frame.axis.at(b), y))
        for kind, title, x in (("model", names[0], a), ("clip", names[1], b)):
            if x is not None:
                parts.append(marker(kind, frame.axis.at(x), y, f"{label}, {title}: {x:.3f}"))
    return frame.chart(parts, axis, alt)


def stacked_parts_chart(rows: Sequence[tuple[str, Mapping[str, float]]], *, axis: str, alt: str) -> Markup:
    """Signed parts of a whole for each row, side by side from zero outwards; named where there is room."""
    ends = [sum(x for x in values.values() if sign * x > 0) for _, values in rows for sign in (1, -1)]
    frame = ChartRows([label for label, _ in rows], Axis.around([0.0, 0.1, *ends]))
    form = Markup('<rect class="part {}" x="{:g}" y="{:g}" width="{:g}" height="13"><title>{}</title></rect>')
    parts = []
    for y, (label, values) in zip(frame.ys, rows, strict=True):
        edge = {True: 0.0, False: 0.0}
        for part, value in values.items():
            start, end = (frame.axis.at(x) for x in (edge[value >= 0], edge[value >= 0] + value))
            edge[value >= 0] += value
            tip = visible(f"{label}, {part}: {value:.3f}")
            parts.append(form.format(part, min(start, end), y - 6.5, round(abs(end - start), 1), tip))
            if abs(end - start) > 8 * len(part):
                parts.append(text("inside", (start + end) / 2, y + 4, part))
    return frame.chart(parts, axis, alt)


def scatter_chart(points: Sequence[tuple[str, float, float, str]], *, top: float, axes: tuple[str, str], alt: str,
                  href: Callable[[str], str]) -> Markup:  # fmt: skip
    """Predicted against reference totals; the diagonal is agreement.

    A point is a name, the two totals, and what the second rests on where it is incomplete: hollow. ``href`` says where
    a click on a point leads.
    """
    low = max(0.0, min([min(x, y) for _, x, y, _ in points], default=0.0) - 0.06 * top)
    across, up = Axis(low, top * 1.02, 56, 452), Axis(low, top * 1.02, 402, TOP)
    parts = _horizontal_axis(across, TOP, 402, axes[0])
    for value, name in up.ticks():
        parts += [line("rule", 56, up.at(value), 452, up.at(value)), text("label", 50, up.at(value) + 4, name)]
    parts.append(line("zero", across.at(low), up.at(low), across.at(top), up.at(top)))
    parts.append(Markup('<g transform="rotate(-90 14 204)">') + text("axis", 14, 208, axes[1]) + Markup("</g>"))
    for label, x, y, rests_on in points:
        tip = f"{label}: reference {x:g}, judge {y:g}" + (f", prorated from {rests_on}" if rests_on else "")
        kind = "model faint" + " hollow" * bool(rests_on)
        parts.append(marker(kind, across.at(x), up.at(y), tip, href=href(label)))
    return _svg_document(parts, 460, 402 + BOTTOM, alt, "square")
