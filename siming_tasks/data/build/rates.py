"""Whether a video's coded pictures may be copied as they are, and the constant rate of those that may not."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from siming_tasks.errors import MediaError
from siming_tasks.media.container import open_video
from siming_tasks.media.timeline import Timeline, read_timeline

if TYPE_CHECKING:
    from av.video.stream import VideoStream

__all__ = ["rate_to_copy", "rate_to_write"]

_RATES = [Fraction(n) for n in (5, 10, 12, 15, 20, 24, 25, 30, 48, 50, 60)]
_RATES += [Fraction(n * 1000, 1001) for n in (24, 30, 60)]


def rate_to_copy(source: Path, stream: VideoStream) -> Fraction | None:
    """The constant rate of a video whose coded pictures can be copied, else None."""
    if source.suffix.lower() not in (".mp4", ".mov", ".m4v") or stream.codec_context.name != "h264":
        return None
    if stream.pix_fmt != "yuv420p" or stream.width % 2 or stream.height % 2:
        return None
    if (stream.sample_aspect_ratio or 1) != 1:
        return None
    timeline = _timeline(source)
    if timeline is None or timeline.keyframes[0] != 0 or timeline.pts[0] != 0 or _turned_or_interlaced(source):
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
