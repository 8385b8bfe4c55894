"""Time of every frame of a video: read from its packets without decoding, checked again while it is decoded."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import MediaError
from siming_tasks.media.container import open_video, tags_of
from siming_tasks.media.picture import Orientation

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

REENCODE = "Make a clean copy: ffmpeg -i IN -map 0:v:0 -c:v libx264 -crf 16 -fps_mode vfr OUT.mp4"

STATES_LENGTH = (".mp4", ".mov", ".m4v")
"""Containers whose header knows the length of the picture, so that a cut-off end shows without decoding."""

SLACK = Fraction(1, 2)  # seconds by which the header's length may pass the end of the last frame
REORDER = 16  # most frames by which H.264 or HEVC may hold back a frame for display; more means broken timestamps
_NO_DTS = -(2**63)


@dataclass(frozen=True, eq=False)
class Timeline:
    """Every frame of a video in presentation order.

    Attributes:
        pts: presentation timestamp of each frame in units of ``time_base``, strictly ascending.
        time_base: seconds per unit.
        keyframes: indices of frames where a decoder can start, ascending.
        rate: mean frame rate as the container states it (frames/s).
        reordered: whether frames are stored in another order than shown (the file has B-frames and honest timestamps).
        standard: whether every reader sees the same: an .mp4 of one video stream, whose header counts these frames,
            to be shown as it is stored. Readers that believe the header of a trimmed file take wrong frames, some show
            a turned one sideways, and they differ in which of several streams they show.
    """

    pts: NDArray[np.int64]
    time_base: Fraction
    keyframes: NDArray[np.int64]
    rate: Fraction
    reordered: bool
    standard: bool

    @classmethod
    def even(cls, n_frames: int, fps: float) -> Timeline:
        """Build frames at a constant rate, for planning without a file."""
        rate = Fraction(fps).limit_denominator(100_000)
        return cls(np.arange(n_frames), 1 / rate, np.arange(1), rate, reordered=False, standard=True)

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self.pts)

    @cached_property
    def times(self) -> NDArray[np.float64]:
        """Seconds from the first frame (read-only: every caller gets the same array)."""
        seconds: NDArray[np.float64] = (self.pts - self.pts[0]) * self.time_base.numerator / self.time_base.denominator
        seconds.flags.writeable = False
        return seconds

    @property
    def zero(self) -> float:
        """Seconds of the container at which the first frame is shown: other streams count from there."""
        return float(int(self.pts[0]) * self.time_base)

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the end of the last, which is taken to last one mean period."""
        return self.seconds(0, -1)

    def seconds(self, first: int, last: int) -> float:
        """Seconds from the beginning of one frame to the end of another, which is taken to last one mean period."""
        return float(self.times[last] - self.times[first]) + float(1 / self.rate)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; :meth:`from_json` reads them back."""
        arrays = {"pts": self.pts.tolist(), "time_base": str(self.time_base), "keyframes": self.keyframes.tolist()}
        return {**arrays, "rate": str(self.rate), "reordered": self.reordered, "standard": self.standard}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Timeline:
        """Read the inverse of :meth:`to_json`."""
        pts, keyframes = (np.asarray(data[name], np.int64) for name in ("pts", "keyframes"))
        rate, time_base = Fraction(data["rate"]), Fraction(data["time_base"])
        return cls(pts, time_base, keyframes, rate, data["reordered"], data["standard"])


def read_timeline(path: Path, plain: Sequence[str] = (".mp4",)) -> Timeline:
    """Read the timeline of a video, from its packets and its first frame (some milliseconds).

    Args:
        path: the video.
        plain: endings of files that may be ``standard``; more where they are only copied into an .mp4.

    Raises:
        MediaError: the file is unreadable or truncated, or its timestamps are missing, repeated or out of order.
    """
    with open_video(path) as (container, stream):
        return timeline_of(path, container, stream, plain)


def timeline_of(
    path: Path, container: InputContainer, stream: VideoStream, plain: Sequence[str] = (".mp4",)
) -> Timeline:
    """:func:`read_timeline` of a file that is open already and of which no packet was read yet."""
    time_base, rate, stated, counted = stream.time_base, stream.average_rate, stream.duration, stream.frames
    rows = array("q")
    for packet in container.demux(stream):
        if not packet.size:
            continue  # the flush packet at the end
        if packet.pts is None:
            raise MediaError(f"{path}: has frames without timestamps. {REENCODE}")
        dts = _NO_DTS if packet.dts is None else packet.dts
        flags = (packet.is_keyframe, not packet.is_discard, packet.is_corrupt)
        rows.extend((packet.pts, dts, packet.duration or 0, *flags))
    table = np.array(rows, np.int64).reshape(-1, 6)
    corrupt = bool(table[:, 5].any())
    if rows:  # leave out what a decoder drops: frames outside the edit list, or of an open GOP cut before its keyframe
        first = int(table[:, 3].argmax())  # 0 without any
        table = table[first:][(table[first:, 4] != 0) & (table[first:, 0] >= table[first, 0])]
    if not len(table) or time_base is None:
        raise MediaError(f"{path}: holds no video frames.")

    order = np.argsort(table[:, 0], kind="stable")
    pts = np.ascontiguousarray(table[order, 0])
    _check_order(path, pts, table[:, 1], order, time_base)
    if not rate:
        rate = (len(pts) - 1) / (int(pts[-1] - pts[0]) * time_base) if len(pts) > 1 else Fraction(25)
    end = int((table[:, 0] + table[:, 2]).max()) - int(pts[0])
    missing = (stated - end) * time_base if stated and path.suffix.lower() in STATES_LENGTH else Fraction(0)
    if missing > SLACK or corrupt:
        at = float((pts[-1] - pts[0]) * time_base)
        raise MediaError(f"{path}: cut short or damaged: the last whole frame is at {at:.3f} s. {REENCODE}")
    standard = path.suffix.lower() in plain and len(container.streams.video) == 1 and counted == len(pts)
    standard = standard and tags_of(path).orientation == Orientation()
    keyframes = np.flatnonzero(table[order, 3])
    return Timeline(pts, time_base, keyframes, rate, bool((order != np.arange(len(order))).any()), standard)


def _check_order(
    path: Path, pts: NDArray[np.int64], dts: NDArray[np.int64], order: NDArray[np.int64], time_base: Fraction
) -> None:
    """Refuse timestamps that repeat, go backwards, or are scrambled beyond what B-frames can explain (MediaError)."""
    repeated = np.flatnonzero(np.diff(pts) == 0)
    if len(repeated):
        at = float((pts[repeated[0]] - pts[0]) * time_base)
        raise MediaError(f"{path}: two frames share the timestamp {at:.3f} s. {REENCODE}")
    stored = dts[dts != _NO_DTS]
    held = np.abs(order - np.arange(len(order)))
    if (stored[1:] < stored[:-1]).any() or held.max() > REORDER:
        raise MediaError(f"{path}: timestamps go backwards. {REENCODE}")
