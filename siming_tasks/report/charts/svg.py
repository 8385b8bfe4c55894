"""Scales, marks and text of a chart as SVG that can be part of a page under a strict policy.

The style sheet colours everything by class (light, dark and print from one file), text stays text, and marks say their
value on hover. It is written here and not by a plotting library because that took 90 ms for a chart of ten marks (this
takes 3), a large report has three hundred charts, and its output had to be rewritten to have no inline style.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from siming_tasks.common.sanitize import visible

__all__ = ["Axis", "area", "draw_horizontal_axis", "line", "marker", "svg_document", "text"]

_SHAPES = {
    "model": "M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0z",
    "human": "M0-5.4L5.4 0L0 5.4L-5.4 0z",
    "no_video": "M-3.8-3.8h7.6v7.6h-7.6z",
    "clip": "M-3.8-3.8h7.6v7.6h-7.6z",
    "reference": "M0-5L5 3.9h-10z",
    "supervised": "M0 5L5-3.9h-10z",
}
"""Outlines around 0, 0, so that the kind of judge can be told without its colour."""


@dataclass(frozen=True)
class Axis:
    """A linear scale from ``low``..``high`` to ``start``..``stop`` in the chart's units."""

    low: float
    high: float
    start: float
    stop: float

    @classmethod
    def around(cls, values: Iterable[float], start: float, stop: float) -> Axis:
        """The scale that shows all values with a little air."""
        known = list(values)
        low, high = min(known), max(known)
        air = 0.04 * (high - low) or 0.5
        return cls(low - air, high + air, start, stop)

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


def svg_document(parts: Sequence[Markup], width: float, height: float, alt: str, kind: str = "") -> Markup:
    """The chart: an image that says in a sentence what it shows; ``kind``: ``wide``, ``narrow`` or ``square``."""
    form = '<svg class="{}" role="img" width="{:g}" height="{:g}" viewBox="0 0 {:g} {:g}" aria-label="{}">'
    return (
        Markup(form).format(f"chart {kind}".strip(), width, height, width, height, visible(alt))
        + Markup("").join(parts)
        + Markup("</svg>")
    )


def draw_horizontal_axis(axis: Axis, top: float, bottom: float, label: str, most: int = 9) -> list[Markup]:
    """A horizontal axis below the chart: a pale line and a number at each tick, a stronger line at zero."""
    parts = []
    for value, name in axis.ticks(most):
        x = axis.at(value)
        parts += [line("zero" if value == 0 else "rule", x, top, x, bottom), text("tick", x, bottom + 15, name)]
    return [*parts, text("axis", (axis.start + axis.stop) / 2, bottom + 32, label)]


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


def marker(
    kind: str, x: float, y: float, tip: str, *, shape: str | None = None, behind: Markup | str = "", href: str = ""
) -> Markup:
    """A mark with what it says on hover.

    Args:
        kind: class, and shape unless another is given.
        x: of its middle.
        y: of its middle.
        tip: shown on hover, over ``behind`` too.
        shape: a key of the known outlines.
        behind: drawn first, such as the line of an interval.
        href: where a click leads; the Tab key passes by, since the table behind the chart leads there too.
    """
    form = '<g class="{}"><title>{}</title>{}<path class="dot" transform="translate({:g} {:g})" d="{}"/></g>'
    drawn = Markup(form).format(kind, visible(tip), behind, x, y, _SHAPES[shape or kind])
    return Markup('<a href="{}" tabindex="-1">{}</a>').format(href, drawn) if href else drawn
