"""Forest plot of a setting: every judge with its interval, the physicians' band, the zone of the no-video baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from siming_tasks.report.charts.kinds import Mark, Rows, marked
from siming_tasks.report.charts.svg import Axis, area, line, text

__all__ = ["Band", "Ladder", "Rung", "ladder"]

WIDTH, RIGHT, ABOVE = 960.0, 316.0, 38.0
REACH = (0.0, 0.5)


@dataclass(frozen=True)
class Band:
    """A stretch of the scale with a name; ``value`` is a line in it."""

    label: str
    low: float
    high: float
    value: float | None = None


@dataclass(frozen=True)
class Rung:
    """One judge: its mark, and what is said at its right: its value, and its tested difference from the physicians."""

    mark: Mark
    said: str
    apart: str = ""


@dataclass(frozen=True)
class Ladder:
    """What the figure shows, whoever draws it.

    Attributes:
        title: of the figure.
        axis: what is on the axis.
        rungs: the judges, best first.
        humans: the physicians' agreement with each other.
        no_video: from the left end to the best of the no-video baselines.
        apart: what each rung says at its far right.
    """

    title: str
    axis: str
    rungs: Sequence[Rung]
    humans: Band | None
    no_video: Band | None
    apart: str = ""

    @property
    def scale(self) -> Axis:
        """Shows every value and interval, both bands, and never less than a half."""
        marks = [x for rung in self.rungs for x in (rung.mark.value, rung.mark.low, rung.mark.high) if x is not None]
        bands = [x for band in (self.humans, self.no_video) if band for x in (band.low, band.high)]
        return Axis.around([*REACH, *marks, *bands], 0, 1)


def ladder(figure: Ladder, alt: str) -> Markup:
    """The figure for screens, and for phones."""
    found = Markup("")
    for kind in ("wide", "narrow"):
        frame = Rows([rung.mark.label for rung in figure.rungs], figure.scale, kind, right=RIGHT, above=ABOVE,
                     width=WIDTH)  # fmt: skip
        drawn = [*_bands(figure, frame)]
        for y, rung in zip(frame.ys, figure.rungs, strict=True):
            drawn += marked(rung.mark, frame.axis, y)
            if kind == "narrow":
                drawn.append(text("said end", frame.width - 4, y - 11, rung.said))
            else:
                drawn += [text("said", frame.axis.stop + 14, y + 4, rung.said),
                          text("said", frame.axis.stop + 166, y + 4, rung.apart)]  # fmt: skip
        if kind == "wide":
            heads = [(frame.axis.stop + 14, figure.axis)]
            heads += [(frame.axis.stop + 166, figure.apart)] if figure.humans else []
            drawn += [text("said head", x, ABOVE - 8, head) for x, head in heads]
        found += frame.chart(drawn, figure.axis, alt)
    return found


def _bands(figure: Ladder, frame: Rows) -> list[Markup]:
    """Both bands behind the marks, each named above on a line of its own."""
    drawn = []
    top, height = frame.above, frame.bottom - frame.above
    if figure.no_video:
        start, stop = frame.axis.start, frame.axis.at(figure.no_video.high)
        tip = f"{figure.no_video.label}: up to {figure.no_video.high:.3f}"
        drawn += [area("zone", start, top, stop - start, height, tip),
                  text("said zone", start + 4, top - 8, figure.no_video.label)]  # fmt: skip
    if figure.humans:
        start, stop = frame.axis.at(figure.humans.low), frame.axis.at(figure.humans.high)
        tip = f"{figure.humans.label}: {figure.humans.low:.3f} to {figure.humans.high:.3f}"
        half = 3.2 * len(figure.humans.label)
        middle = frame.axis.at((figure.humans.low + figure.humans.high) / 2)
        middle = max(min(middle, frame.width - half), half)
        drawn += [
            area("band", start, top, stop - start, height, tip),
            text("said band", middle, top - 23, figure.humans.label),
        ]
        if figure.humans.value is not None:
            x = frame.axis.at(figure.humans.value)
            drawn.append(line("ceiling", x, top, x, frame.bottom))
    return drawn
