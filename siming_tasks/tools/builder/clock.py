"""Times of a recording's pictures, and the constant rate at which all of them survive."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

HIGHEST = Fraction(60)
"""Pictures per second that are written at most."""
MOVED = float(1 / HIGHEST / 2) + 1e-4
"""Seconds by which a picture may be moved for a constant rate: half a period of the highest, and a bit of rounding."""
_RATES = sorted([*map(Fraction, (5, 10, 12, 15, 20, 24, 25, 30, 48, 50, 60)),
                 *(Fraction(n * 1000, 1001) for n in (24, 30, 60))])  # fmt: skip
VP8_SHOWN = 16
"""Bit of a VP8 packet's first byte: its picture is shown, and not only referred to."""


@dataclass(frozen=True, eq=False)
class Clock:
    """Times at which the pictures of a recording are shown.

    Attributes:
        pts: of every picture that a player should show, ascending, in units of ``time_base``.
        time_base: seconds per unit.
        start: where a player starts, in the same units.
        by_order: whether the file states times of decoding alone, as AVI does; FFmpeg then guesses when pictures are
            shown, and guesses wrong where some are stored in another order. The n-th picture that a decoder returns
            is shown at the n-th of these times.
        first: how many pictures precede the one with which decoding can start.
        stated_rate: pictures per second, as the container says.
    """

    pts: NDArray[np.int64]
    time_base: Fraction
    start: int
    by_order: bool
    first: int
    stated_rate: Fraction

    @classmethod
    def read(cls, container: InputContainer, stream: VideoStream) -> Clock:
        """Read the packets of a file of which none was read yet; nothing is decoded."""
        import av

        shown: list[int] = []
        stored: list[int] = []
        first, by_order = None, container.format.name == "avi"
        for packet in container.demux(stream):
            times = [time for time in (packet.pts, packet.dts) if time is not None]
            if not packet.size or packet.is_discard or not times:
                continue  # the flush at the end, a place holder, outside the edit list, or without any time
            if stream.codec_context.name == "vp8" and not bytes(packet)[0] & VP8_SHOWN:
                continue
            if packet.is_keyframe and first is None:
                first = len(stored)
            by_order = by_order or packet.pts is None
            shown.append(times[0])
            stored.append(times[-1])
        base = stream.time_base or Fraction(1, av.time_base)
        start = round(Fraction(max(0, container.start_time or 0), av.time_base) / base)  # below 0: sound's priming
        pts = np.array(sorted(stored if by_order else shown), np.int64)
        return cls(pts, base, start, by_order, first or 0, stream.average_rate or Fraction(25))

    def shown_at(self, number: int, pts: int | None) -> int | None:
        """Time of the decoded picture of this number, for which the decoder says ``pts``; None if unknown."""
        if not self.by_order:
            return pts
        return int(self.pts[number]) if number < len(self.pts) else None

    def slots(self, pts: NDArray[np.int64], rate: Fraction) -> NDArray[np.int64]:
        """Number of the picture at a constant rate that each of these becomes: the nearest one, halves upwards."""
        step = rate * self.time_base
        return (2 * (pts - self.start) * step.numerator + step.denominator) // (2 * step.denominator)

    def rate(self) -> Fraction:
        """The constant rate to write: the first one at which every picture survives and is moved by ``MOVED`` at most.

        Looked at in this order: the common rate within 3 % of the recording's own, its own, common ones above its mean
        (these alone where the rate varies). If none keeps all, the one that loses fewest.
        """
        if len(self.pts) < 2 or self.pts[0] == self.pts[-1]:
            return min(max(self.stated_rate, Fraction(1)), HIGHEST)
        steps = np.diff(self.pts)
        mean = Fraction(len(steps), int(self.pts[-1] - self.pts[0])) / self.time_base
        common = [rate for rate in _RATES if rate >= mean]
        if np.ptp(steps) <= 0.2 * np.median(steps):
            near = min(_RATES, key=lambda rate: abs(rate / mean - 1))
            own = [near] if abs(near / mean - 1) < Fraction(3, 100) else []
            common = [*own, mean.limit_denominator(1000), *common]
        candidates = [min(max(rate, Fraction(1)), HIGHEST) for rate in [*common, HIGHEST]]

        def harm(rate: Fraction) -> tuple[int, bool]:
            slots = self.slots(self.pts, rate)
            moved = slots * float(1 / rate) - (self.pts - self.start) * float(self.time_base)
            return len(slots) - len(np.unique(slots)), bool(np.abs(moved).max() > MOVED)

        return min(candidates, key=harm)
