"""The four kinds of charts, drawn by Matplotlib. The table behind each is the page's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from siming_tasks.report.svg import COLOURS, RC, to_svg
from siming_tasks.report.text import visible

__all__ = ["Mark", "dumbbell", "intervals", "parts", "scatter"]

SHAPES = {"model": "o", "human": "D", "blind": "s", "reference": "^", "clip": "s"}
WIDTH, ROW = 7.4, 0.27


@dataclass(frozen=True)
class Mark:
    """One value with its interval on a line of its own; ``thin`` is drawn pale, ``beside`` is a second mark."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    role: str = "model"
    thin: bool = False
    beside: float | None = None

    @classmethod
    def of(cls, label: str, estimate: Mapping[str, Any], **more: Any) -> Mark:
        """The mark of an estimate in its JSON form; an undefined one has no place on an axis."""
        value = None if estimate["undefined"] else estimate["value"]
        return cls(label, value, estimate["low"], estimate["high"], **more)

    @property
    def tip(self) -> str:
        """What is said on hover."""
        if self.value is None:
            return f"{self.label}: no value"
        reach = "" if self.low is None or self.high is None else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.label}: {self.value:.3f}{reach}"


def intervals(name: str, marks: Sequence[Mark], *, axis: str, alt: str, beside: str = "") -> Markup:
    """A dot and its interval for each mark, first on top; zero is drawn as a line.

    Args:
        name: unique on the page.
        marks: at least one.
        axis: what is on the axis.
        alt: the chart in a sentence, for people who cannot see it.
        beside: what the second mark of each line is.
    """
    figure, ax = _frame(len(marks), [mark.label for mark in marks])
    tips: dict[str, list[str]] = {}
    for role, thin in dict.fromkeys((mark.role, mark.thin) for mark in marks):
        rows = [(y, mark) for y, mark in enumerate(marks) if (mark.role, mark.thin) == (role, thin)]
        reach = [(y, mark.low, mark.high) for y, mark in rows if mark.low is not None and mark.high is not None]
        pale, key = 0.4 if thin else 1.0, f"{role}-{int(thin)}"
        ax.hlines([y for y, _, _ in reach], [low for _, low, _ in reach], [high for _, _, high in reach],
                  color=COLOURS[role], lw=1.6, alpha=pale)  # fmt: skip
        points = [(y, mark.value, mark.tip) for y, mark in rows if mark.value is not None]
        ax.scatter([x for _, x, _ in points], [y for y, _, _ in points], s=26, marker=SHAPES[role], gid=key,
                   color=COLOURS[role], alpha=pale, zorder=3, linewidths=0)  # fmt: skip
        tips[key] = [tip for _, _, tip in points]
    other = [(mark.beside, y, mark.label) for y, mark in enumerate(marks) if mark.beside is not None]
    if other:
        ax.scatter([x for x, _, _ in other], [y for _, y, _ in other], s=24, marker="D", gid="beside", zorder=2,
                   facecolors="none", edgecolors=COLOURS["human"], linewidths=1.1)  # fmt: skip
        tips["beside"] = [f"{label}, {beside}: {x:.3f}" for x, _, label in other]
    _from_zero(ax, axis)
    return to_svg(figure, name, alt, tips)


def dumbbell(name: str, labels: Sequence[str], first: Sequence[float | None], second: Sequence[float | None], *,
             names: tuple[str, str], axis: str, alt: str) -> Markup:  # fmt: skip
    """Two values for each label, joined: full video (circle) and clip (square)."""
    figure, ax = _frame(len(labels), labels)
    tips: dict[str, list[str]] = {}
    for y, (a, b) in enumerate(zip(first, second, strict=True)):
        if a is not None and b is not None:
            ax.plot([a, b], [y, y], color=COLOURS["muted"], lw=1, alpha=0.6, zorder=1)
    for role, title, values in (("model", names[0], first), ("clip", names[1], second)):
        known = [(x, y) for y, x in enumerate(values) if x is not None]
        if known:
            ax.scatter([x for x, _ in known], [y for _, y in known], s=26, marker=SHAPES[role], color=COLOURS[role],
                       gid=role, zorder=3, linewidths=0)  # fmt: skip
            tips[role] = [f"{labels[y]}, {title}: {x:.3f}" for x, y in known]
    _from_zero(ax, axis)
    return to_svg(figure, name, alt, tips)


def parts(name: str, rows: Sequence[tuple[str, Mapping[str, float]]], *, axis: str, alt: str) -> Markup:
    """Signed parts of a whole for each row, side by side from zero outwards."""
    figure, ax = _frame(len(rows), [label for label, _ in rows])
    colours = {"prior": COLOURS["blind"], "video": COLOURS["clip"], "local": COLOURS["model"]}
    tips: dict[str, list[str]] = {}
    for y, (label, values) in enumerate(rows):
        edge = {True: 0.0, False: 0.0}
        for part, value in values.items():
            up = value >= 0
            key = f"{part}-{y}"
            ax.barh(y, value, left=edge[up], height=0.62, color=colours[part], lw=0)[0].set_gid(key)
            tips[key] = [f"{label}, {part}: {value:.3f}"]
            edge[up] += value
    ax.axvline(0, color=COLOURS["muted"], lw=0.9)
    ax.set_xlabel(axis)
    return to_svg(figure, name, alt, tips)


def scatter(name: str, points: Sequence[tuple[str, float, float]], *, top: float, axes: tuple[str, str],
            alt: str) -> Markup:  # fmt: skip
    """Predicted against reference totals; the diagonal is agreement."""
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(4.6, 4.3))
        ax = figure.add_axes((0.14, 0.13, 0.82, 0.83))
    _plain(ax)
    ax.plot([0, top], [0, top], color=COLOURS["muted"], lw=0.9, zorder=1)
    ax.scatter([x for _, x, _ in points], [y for _, _, y in points], s=20, color=COLOURS["model"], alpha=0.55,
               gid="video", linewidths=0, zorder=2)  # fmt: skip
    low = min([min(x, y) for _, x, y in points], default=0.0)
    start = max(0.0, low - 0.06 * top)
    ax.set_xlim(start, top * 1.02)
    ax.set_ylim(start, top * 1.02)
    ax.set_xlabel(axes[0])
    ax.set_ylabel(axes[1])
    ax.grid(True, color=COLOURS["rule"], lw=0.6)
    return to_svg(figure, name, alt, {"video": [f"{label}: reference {x:g}, model {y:g}" for label, x, y in points]})


def _frame(rows: int, labels: Sequence[str]) -> tuple[Figure, Axes]:
    """A figure whose height follows the rows and whose left margin follows the labels."""
    shown = [_short(label) for label in labels]
    left = min(2.7, 0.35 + 0.073 * max(map(len, shown), default=0))
    height = rows * ROW + 0.75
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(WIDTH, height))
        ax = figure.add_axes((left / WIDTH, 0.55 / height, 1 - (left + 0.15) / WIDTH, 1 - 0.65 / height))
    _plain(ax)
    ax.set_ylim(rows - 0.4, -0.6)
    ax.yaxis.set_visible(False)  # ticks cost more than all the rest of a chart; a label is only a text
    for y, label in enumerate(shown):
        ax.text(-0.012, y, label, transform=ax.get_yaxis_transform(), ha="right", va="center", parse_math=False,
                color=COLOURS["ink"])  # fmt: skip
    ax.grid(True, axis="x", color=COLOURS["rule"], lw=0.6)
    return figure, ax


def _from_zero(ax: Axes, label: str) -> None:
    """A line at zero, and never less than the stretch from -0.1 to 0.5, so that noise does not fill the chart."""
    low, high = ax.get_xlim()
    ax.set_xlim(min(low, -0.1), max(high, 0.5))
    ax.axvline(0, color=COLOURS["muted"], lw=0.9, zorder=0)
    ax.set_xlabel(label)


def _plain(ax: Axes) -> None:
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(COLOURS["rule"])
    ax.tick_params(length=0, colors=COLOURS["ink"])
    ax.xaxis.label.set_color(COLOURS["muted"])
    ax.yaxis.label.set_color(COLOURS["muted"])
    ax.set_axisbelow(True)


def _short(label: str, most: int = 32) -> str:
    label = visible(label)
    return label if len(label) <= most else label[: most - 1] + "…"
