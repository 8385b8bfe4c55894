"""Charts of the pages: intervals, dumbbells, stacked parts and scatter. The table behind each is the page's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from siming_tasks.common.sanitize import visible
from siming_tasks.report.charts.svg import Axis, draw_horizontal_axis, line, marker, svg_document, text

__all__ = ["ChartRows", "Mark", "draw_mark", "dumbbell_chart", "interval_chart", "scatter_chart", "stacked_parts_chart"]


Interval = tuple[float, float]
WIDTH, ROW, TOP, BOTTOM = 740.0, 20.0, 6.0, 40.0
PHONE, TALL = 344.0, 36.0


@dataclass(frozen=True)
class Mark:
    """One value with its interval on a line of its own.

    ``thin`` is parts pale, ``beside`` is a second mark, ``bound`` a limit that is parts across the line;
    ``href`` is where a click leads.
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

    @property
    def tip(self) -> str:
        """Text that is shown on hover."""
        if self.value is None:
            return f"{self.label}: no value"
        reach = "" if self.low is None or self.high is None else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.label}: {self.value:.3f}{reach}"


def interval_chart(
    marks: Sequence[Mark], *, axis: str, alt: str, beside: str = "", reach: Interval = (-0.1, 0.5)
) -> Markup:
    """A dot and its interval for each mark, first on top; zero is parts as a line. Twice: for screens, and for phones.

    Args:
        marks: at least one.
        axis: what is on the axis.
        alt: the chart in a sentence, for people who cannot see it.
        beside: what the second mark of each line is.
        reach: never show less than this stretch, so that noise does not fill the chart.
    """
    numbers = [x for mark in marks for x in (mark.value, mark.low, mark.high, mark.beside, mark.bound) if x is not None]
    scale, labels = Axis.around([*reach, *numbers], 0, 1), [mark.label for mark in marks]
    svg = Markup("")
    for frame in (ChartRows(labels, scale, "wide"), ChartRows(labels, scale, "narrow")):
        parts = [
            part for y, mark in zip(frame.ys, marks, strict=True) for part in draw_mark(mark, frame.axis, y, beside)
        ]
        svg += frame.chart(parts, axis, alt)
    return svg


def draw_mark(mark: Mark, axis: Axis, y: float, beside: str = "") -> list[Markup]:
    """A mark on its line, with its interval and its second mark."""
    parts = []
    if mark.bound is not None:
        parts.append(line("bound", axis.at(mark.bound), y - ROW / 2, axis.at(mark.bound), y + ROW / 2))
    if mark.beside is not None:
        tip = f"{mark.label}, {beside}: {mark.beside:.3f}"
        parts.append(marker("human hollow", axis.at(mark.beside), y, tip, shape="human"))
    if mark.value is not None:
        behind: Markup | str = ""
        if mark.low is not None and mark.high is not None:
            behind = line("reach", axis.at(mark.low), y, axis.at(mark.high), y)
        kind = mark.role + (" thin" if mark.thin else "")
        parts.append(marker(kind, axis.at(mark.value), y, mark.tip, shape=mark.role, behind=behind, href=mark.href))
    return parts


def dumbbell_chart(labels: Sequence[str], first: Sequence[float | None], second: Sequence[float | None], *,
             names: tuple[str, str], axis: str, alt: str) -> Markup:  # fmt: skip
    """Two values for each label, joined: full video (circle) and clip (square)."""
    frame = ChartRows(labels, Axis.around([-0.1, 0.5, *(x for x in (*first, *second) if x is not None)], 0, 1))
    parts = []
    for y, label, a, b in zip(frame.ys, labels, first, second, strict=True):
        if a is not None and b is not None:
            parts.append(line("joint", frame.axis.at(a), y, frame.axis.at(b), y))
        for role, title, x in (("model", names[0], a), ("clip", names[1], b)):
            if x is not None:
                parts.append(marker(role, frame.axis.at(x), y, f"{label}, {title}: {x:.3f}"))
    return frame.chart(parts, axis, alt)


def stacked_parts_chart(rows: Sequence[tuple[str, Mapping[str, float]]], *, axis: str, alt: str) -> Markup:
    """Signed parts of a whole for each row, side by side from zero outwards; named where there is room."""
    ends = [sum(x for x in values.values() if sign * x > 0) for _, values in rows for sign in (1, -1)]
    frame = ChartRows([label for label, _ in rows], Axis.around([0.0, 0.1, *ends], 0, 1))
    parts = []
    for y, (label, values) in zip(frame.ys, rows, strict=True):
        edge = {True: 0.0, False: 0.0}
        for part, value in values.items():
            start, end = (frame.axis.at(x) for x in (edge[value >= 0], edge[value >= 0] + value))
            edge[value >= 0] += value
            form = '<rect class="part {}" x="{:g}" y="{:g}" width="{:g}" height="13"><title>{}</title></rect>'
            tip = visible(f"{label}, {part}: {value:.3f}")
            parts.append(Markup(form).format(part, min(start, end), y - 6.5, round(abs(end - start), 1), tip))
            if abs(end - start) > 8 * len(part):
                parts.append(text("inside", (start + end) / 2, y + 4, part))
    return frame.chart(parts, axis, alt)


def scatter_chart(
    points: Sequence[tuple[str, float, float]],
    *,
    top: float,
    axes: tuple[str, str],
    alt: str,
    href: Callable[[str], str] = lambda label: "",
) -> Markup:
    """Predicted against reference totals; the diagonal is agreement. ``href`` says where a click on a point leads."""
    low = max(0.0, min([min(x, y) for _, x, y in points], default=0.0) - 0.06 * top)
    across_axis, up = Axis(low, top * 1.02, 56, 452), Axis(low, top * 1.02, 402, TOP)
    parts = draw_horizontal_axis(across_axis, TOP, 402, axes[0])
    for value, name in up.ticks():
        parts += [line("rule", 56, up.at(value), 452, up.at(value)), text("label", 50, up.at(value) + 4, name)]
    parts.append(line("zero", across_axis.at(low), up.at(low), across_axis.at(top), up.at(top)))
    parts.append(Markup('<g transform="rotate(-90 14 204)">') + text("axis", 14, 208, axes[1]) + Markup("</g>"))
    parts += [
        marker(
            "model faint",
            across_axis.at(x),
            up.at(y),
            f"{label}: reference {x:g}, judge {y:g}",
            shape="model",
            href=href(label),
        )
        for label, x, y in points
    ]
    return svg_document(parts, 460, 402 + BOTTOM, alt, "square")


class ChartRows:
    """A line for each label, with a horizontal axis below; the left margin follows the labels.

    Args:
        labels: of the lines.
        scale: of the values.
        kind: ``narrow`` puts each label above its line, for phones; ``wide`` says that there is a narrow one too.
        right: room for what stands at the right of the lines.
        above: room for what stands above them.
        width: of the whole.
    """

    def __init__(self, labels: Sequence[str], scale: Axis, kind: str = "", *, right: float = 14.0, above: float = TOP,
                 width: float = WIDTH) -> None:  # fmt: skip
        self.kind, self.above = kind, above
        self.labels = [_short(label, 26 if kind == "narrow" else 32) for label in labels]
        self.width, self.row = (PHONE, TALL) if kind == "narrow" else (width, ROW)
        left = 8.0 if kind == "narrow" else min(250.0, 20 + 7.0 * max(map(len, self.labels), default=0))
        self.axis = Axis(scale.low, scale.high, left, self.width - (14.0 if kind == "narrow" else right))
        self.ys = [above + self.row * (k + (0.72 if kind == "narrow" else 0.5)) for k in range(len(labels))]
        self.bottom = above + self.row * len(labels)

    def chart(self, parts: Sequence[Markup], axis: str, alt: str) -> Markup:
        """The whole chart; ``parts`` lies above the axis and the labels."""
        names = [
            text("name", 4, y - 11, label)
            if self.kind == "narrow"
            else text("label", self.axis.start - 10, y + 4, label)
            for y, label in zip(self.ys, self.labels, strict=True)
        ]
        most = 6 if self.kind == "narrow" else 9
        parts = [*draw_horizontal_axis(self.axis, self.above, self.bottom, axis, most), *names, *parts]
        return svg_document(parts, self.width, self.bottom + BOTTOM, alt, self.kind)


def _short(label: str, most: int = 32) -> str:
    label = visible(label)
    return label if len(label) <= most else label[: most - 1] + "…"
