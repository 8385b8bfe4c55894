"""Times of a recording's pictures, and the constant rate at which they are written: their average."""

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
        rate: pictures per second to write: the average from the first to the last, from 1 to :data:`HIGHEST`.
    """

    pts: NDArray[np.int64]
    time_base: Fraction
    start: int
    by_order: bool
    first: int
    rate: Fraction

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
        rate = stream.average_rate or Fraction(25)
        if len(pts) > 1 and pts[-1] > pts[0]:
            rate = Fraction(len(pts) - 1, int(pts[-1] - pts[0])) / base
        # a denominator of 1001 is that of 30000/1001, and takes out what containers round
        rate = min(max(rate.limit_denominator(1001), Fraction(1)), HIGHEST)
        return cls(pts, base, start, by_order, first or 0, rate)

    def shown_at(self, number: int, pts: int | None) -> int | None:
        """Time of the decoded picture of this number, for which the decoder says ``pts``; None if unknown."""
        if not self.by_order:
            return pts
        return int(self.pts[number]) if number < len(self.pts) else None

    def slots(self, pts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of the picture at the constant rate that each of these becomes: the nearest one, halves upwards."""
        step = self.rate * self.time_base
        return (2 * (pts - self.start) * step.numerator + step.denominator) // (2 * step.denominator)
