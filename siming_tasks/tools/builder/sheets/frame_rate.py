"""Frame rate of a built video: its coded pictures are copied if they may be, else they get a constant rate."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from siming_tasks.common.errors import MediaError
from siming_tasks.media.container import open_video
from siming_tasks.media.picture import WIDE_GAMUTS
from siming_tasks.media.timeline import Timeline, read_timeline

if TYPE_CHECKING:
    from av.video.stream import VideoStream

__all__ = ["rate_to_copy", "rate_to_write"]

IDR = 5
"""H.264's number for a slice of a picture from which decoding can start with nothing else known."""

_RATES = [Fraction(n) for n in (5, 10, 12, 15, 20, 24, 25, 30, 48, 50, 60)]
_RATES += [Fraction(n * 1000, 1001) for n in (24, 30, 60)]


def rate_to_copy(source: Path, stream: VideoStream) -> Fraction | None:
    """The constant rate of a video whose coded pictures can be copied, else None."""
    if source.suffix.lower() not in (".mp4", ".mov", ".m4v") or stream.codec_context.name != "h264":
        return None
    if stream.pix_fmt != "yuv420p" or stream.width % 2 or stream.height % 2:
        return None
    if (stream.sample_aspect_ratio or 1) != 1 or stream.codec_context.color_primaries in WIDE_GAMUTS:
        return None
    timeline = _timeline(source)
    if timeline is None or timeline.keyframes[0] != 0 or timeline.pts[0] != 0 or _turned_or_interlaced(source):
        return None
    if not _copies_whole(source):
        return None
    steps = np.unique(np.diff(timeline.pts))
    return 1 / (int(steps[0]) * timeline.time_base) if len(steps) == 1 else None


def rate_to_write(source: Path, stream: VideoStream) -> Fraction:
    """The constant rate to write, at most 60/s: the source's if it has one, else the common rate above its mean."""
    timeline = _timeline(source)
    if timeline is None or timeline.n_frames < 2:
        mean, varies = stream.average_rate or Fraction(25), False
    else:
        steps = np.diff(timeline.pts)
        mean = Fraction(timeline.n_frames - 1, int(timeline.pts[-1] - timeline.pts[0])) / timeline.time_base
        varies = bool(np.ptp(steps) > 0.2 * np.median(steps))
    near = min(_RATES, key=lambda rate: abs(rate / mean - 1))
    if varies:
        return min((rate for rate in _RATES if rate >= mean), default=Fraction(60))
    rate = near if abs(near / mean - 1) < Fraction(3, 100) else mean.limit_denominator(1000)
    return min(max(rate, Fraction(1)), Fraction(60))


def _timeline(source: Path) -> Timeline | None:
    try:
        return read_timeline(source)
    except MediaError:
        return None  # odd timestamps: the encoder's frame-rate filter deals with them


def _turned_or_interlaced(source: Path) -> bool:
    with open_video(source) as (container, stream):
        first = next(container.decode(stream), None)
        return first is None or bool(first.rotation) or bool(first.interlaced_frame)


def _copies_whole(source: Path) -> bool:
    """True if a copy of all packets shows what a player shows, and needs nothing but the pictures.

    Every packet is shown (an edit list trims nothing away, which a copy would bring back), and every keyframe is an
    IDR picture, so that no decoder needs the SEI that tells it where to start.
    """
    with open_video(source) as (container, stream):
        setup = stream.codec_context.extradata or b""
        if len(setup) < 7 or setup[0] != 1:
            return False  # not an .mp4's way of storing H.264
        size = (setup[4] & 3) + 1
        packets = (packet for packet in container.demux(stream) if packet.size)
        return not any(
            packet.is_discard or (packet.is_keyframe and IDR not in _units(bytes(packet), size)) for packet in packets
        )


def _units(packet: bytes, size: int) -> Iterator[int]:
    """Kinds of the H.264 units of a packet, each of which begins with its length in ``size`` bytes."""
    at = 0
    while at + size < len(packet):
        yield packet[at + size] & 31
        at += size + int.from_bytes(packet[at : at + size], "big")
