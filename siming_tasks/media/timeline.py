"""Time of every frame of a video: read from its packets without decoding, checked again while it is decoded.

**Second 0 is where a player starts** (:func:`read_packets`). Whatever has seconds counts from there: station and log,
tables of spans, build, clips, sound and transcripts.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
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
    from av.packet import Packet
    from av.video.stream import VideoStream

REENCODE = "Make a clean copy: ffmpeg -i IN -map 0:v:0 -map 0:a:0? -c:v libx264 -crf 16 -fps_mode vfr OUT.mp4"
"""The sound stays in it: where it begins first, a copy without it had another second 0."""

STATES_LENGTH = (".mp4", ".mov", ".m4v")
"""Containers whose header knows the length of the picture, so that a cut-off end shows without decoding."""

MAX_GAP = 3600  # seconds between two pictures beyond which times are damaged
SLACK = Fraction(1, 2)  # seconds by which the header's length may pass the end of the last frame
REORDER = 16  # most frames by which H.264 or HEVC may hold back a frame for display; more means broken timestamps
VP8_SHOWN = 16  # bit of a VP8 packet's first byte: its picture is shown, and not only referred to
_NONE = -(2**63)


@dataclass(frozen=True, eq=False)
class Packets:
    """Pictures of a video as its packets state them, whether they can be decoded or not.

    Attributes:
        pts: when each picture of the edit list is shown, int64[n], ascending, in units of ``time_base``.
        decodable: int64[k, 4], a row for each picture that a decoder returns, in the order in which they are stored:
            when it is shown, how long it lasts, whether it is a keyframe, whether it is damaged.
        time_base: seconds per unit.
        zero: second 0, in seconds of the container.
        by_order: whether the file states times of decoding alone, as AVI does; FFmpeg then guesses when pictures are
            shown, and guesses wrong where some are stored in another order. The n-th picture that a decoder returns
            is shown at the n-th of these times.
    """

    pts: NDArray[np.int64]
    decodable: NDArray[np.int64]
    time_base: Fraction
    zero: Fraction
    by_order: bool

    @property
    def lead(self) -> int:
        """Number of the pictures that a decoder does not return, since it cannot start with them."""
        return len(self.pts) - len(self.decodable)

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Seconds from second 0 at which each picture is shown."""
        return _seconds(self.pts, self.time_base, self.zero)

    @property
    def end(self) -> float:
        """Seconds from second 0 to the end of the last picture; one whose length is not stated lasts the mean."""
        stated = self.decodable[self.decodable[:, 0] == self.pts[-1], 1].max(initial=0) * float(self.time_base)
        mean = np.ptp(self.seconds) / (len(self.pts) - 1) if len(self.pts) > 1 else 0.04
        return float(self.seconds[-1] + (stated or mean))


def read_packets(
    path: Path, container: InputContainer, stream: VideoStream, packets: Iterable[Packet] | None = None
) -> Packets:
    """Read the packets of a file of which none was read yet (``packets``: those of its pictures, read by the caller).

    Second 0 is the container's start, the earliest of its streams, as in players. Sound alone before the file's 0 is
    what its decoder needs to start and is not played: second 0 is then the file's 0.

    Raises:
        MediaError: no picture, one without any time, or a clock that goes back or jumps: of several films in one file.
    """
    import av

    rows, vp8 = array("q"), stream.codec_context.name == "vp8"
    for packet in packets or container.demux(stream):
        if not packet.size or (vp8 and not bytes(packet)[0] & VP8_SHOWN):
            continue  # the flush at the end, a place holder
        times = (_NONE if time is None else time for time in (packet.pts, packet.dts))
        rows.extend((*times, packet.duration or 0, packet.is_keyframe, packet.is_corrupt, not packet.is_discard))
    table = np.array(rows, np.int64).reshape(-1, 6)
    shown, stored = table[:, 0].copy(), table[:, 1]
    if (np.maximum(shown, stored) == _NONE).any():
        raise MediaError(f"{path}: has frames without timestamps. {REENCODE}")
    by_order = bool((shown == _NONE).any() or (container.format.name == "avi" and (shown != stored).any()))
    if by_order:
        table[:, 0] = np.sort(np.where(stored == _NONE, shown, stored))
    inside = table[:, 5] != 0
    if not inside.any():
        raise MediaError(f"{path}: contains no video frames.")
    pts, base = np.sort(table[inside, 0]), stream.time_base or Fraction(1, av.time_base)
    start, first = Fraction(container.start_time or 0, av.time_base), int(pts[0]) * base
    zero = min(first, max(start, Fraction(0)) if first >= 0 else start)
    _check_clock(path, _seconds(stored[stored != _NONE], base, zero), _seconds(pts, base, zero))
    # what a decoder returns: nothing outside the edit list, or of an open GOP that was cut before its keyframe
    key = int(table[:, 3].argmax())  # 0 without any
    inside &= (np.arange(len(table)) >= key) & (table[:, 0] >= table[key, 0])
    return Packets(pts, table[inside][:, [0, 2, 3, 4]], base, zero, by_order)


def _seconds(pts: NDArray[np.int64], time_base: Fraction, zero: Fraction) -> NDArray[np.float64]:
    """Seconds from second 0; exact where the first picture is shown there."""
    first = int(pts[0]) if len(pts) else 0
    steps = (pts - first) * time_base.numerator / time_base.denominator
    return np.asarray(steps + float(first * time_base - zero), np.float64)


def _check_clock(path: Path, stored: NDArray[np.float64], shown: NDArray[np.float64]) -> None:
    """Refuse a film whose clock goes back, or jumps by hours (MediaError): it is several, or damaged."""
    if (back := np.flatnonzero(np.diff(stored) < 0)).size:
        at = f"from {stored[back[0]]:.2f} s to {stored[back[0] + 1]:.2f} s"
        what = f"timestamps go backwards, {at}: joined recordings, or a clock that restarted."
        raise MediaError(f"{path}: {what} Save each recording as its own file, or join them with a video editor.")
    if (gap := np.flatnonzero(np.diff(shown) > MAX_GAP)).size:
        raise MediaError(f"{path}: its times jump from {shown[gap[0]]:.0f} s to {shown[gap[0] + 1]:.0f} s.")


@dataclass(frozen=True, eq=False)
class Timeline:
    """Every frame of a video in presentation order.

    Attributes:
        pts: presentation timestamp of each frame in units of ``time_base``, strictly ascending.
        time_base: seconds per unit.
        zero: second 0, in seconds of the container (:func:`read_packets`).
        by_order: whether ``pts`` are those of the frames by their order, as in :class:`Packets`.
        keyframes: indices of frames where a decoder can start, ascending.
        rate: mean frame rate as the container states it (frames/s).
        reordered: whether frames are stored in another order than shown (the file has B-frames and honest timestamps).
        standard: whether every reader sees the same: an .mp4 of one video stream, whose header counts these frames,
            to be shown as it is stored. Readers that believe the header of a trimmed file take wrong frames, some show
            a turned one sideways, and they differ in which of several streams they show.
        longest: longer side of the pictures in pixels, as the container states it.
    """

    pts: NDArray[np.int64]
    time_base: Fraction
    keyframes: NDArray[np.int64]
    rate: Fraction
    reordered: bool
    standard: bool
    zero: Fraction = Fraction(0)
    by_order: bool = False
    longest: int = 0

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
        """Seconds from second 0 (read-only: every caller gets the same array)."""
        seconds = _seconds(self.pts, self.time_base, self.zero)
        seconds.flags.writeable = False
        return seconds

    @property
    def duration(self) -> float:
        """Seconds from second 0 to the end of the last frame, which is taken to last one mean period."""
        return float(self.times[0]) + self.seconds(0, -1)

    def seconds(self, first: int, last: int) -> float:
        """Seconds from the beginning of one frame to the end of another, which is taken to last one mean period."""
        return float(self.times[last] - self.times[first]) + float(1 / self.rate)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; :meth:`from_json` reads them back."""
        arrays = {"pts": self.pts.tolist(), "time_base": str(self.time_base), "keyframes": self.keyframes.tolist()}
        facts = {"rate": str(self.rate), "zero": str(self.zero), "by_order": self.by_order, "longest": self.longest}
        return {**arrays, **facts, "reordered": self.reordered, "standard": self.standard}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Timeline:
        """Read the inverse of :meth:`to_json`."""
        pts, keyframes = (np.asarray(data[name], np.int64) for name in ("pts", "keyframes"))
        rate, time_base, zero = (Fraction(data[name]) for name in ("rate", "time_base", "zero"))
        flags = data["reordered"], data["standard"]
        return cls(pts, time_base, keyframes, rate, *flags, zero, data["by_order"], data["longest"])


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
    """:func:`read_timeline` of an open file from which no packet has been read."""
    rate, stated, counted = stream.average_rate, stream.duration, stream.frames
    packets = read_packets(path, container, stream)
    table, time_base = packets.decodable, packets.time_base
    if not len(table):
        raise MediaError(f"{path}: contains no video frames.")
    order = np.argsort(table[:, 0], kind="stable")
    pts = np.ascontiguousarray(table[order, 0])
    _check_order(path, pts, order, time_base)
    if not rate:
        rate = (len(pts) - 1) / (int(pts[-1] - pts[0]) * time_base) if len(pts) > 1 else Fraction(25)
    end = int((table[:, 0] + table[:, 1]).max()) - int(pts[0])
    missing = (stated - end) * time_base if stated and path.suffix.lower() in STATES_LENGTH else Fraction(0)
    if missing > SLACK or table[:, 3].any():
        at = float((pts[-1] - pts[0]) * time_base)
        raise MediaError(f"{path}: cut short or damaged: the last whole frame is at {at:.3f} s. {REENCODE}")
    alone = len(container.streams.video) == 1
    standard = path.suffix.lower() in plain and alone and counted == len(pts)
    standard = standard and tags_of(path).orientation == Orientation()
    keyframes = np.flatnonzero(table[order, 2])
    reordered = bool((order != np.arange(len(order))).any())
    longest = max(stream.width, stream.height)
    return Timeline(pts, time_base, keyframes, rate, reordered, standard, packets.zero, packets.by_order, longest)


def _check_order(path: Path, pts: NDArray[np.int64], order: NDArray[np.int64], time_base: Fraction) -> None:
    """Refuse timestamps that repeat, or are scrambled beyond what B-frames can explain (MediaError)."""
    repeated = np.flatnonzero(np.diff(pts) == 0)
    if len(repeated):
        at = float((pts[repeated[0]] - pts[0]) * time_base)
        raise MediaError(f"{path}: two frames share the timestamp {at:.3f} s. {REENCODE}")
    if np.abs(order - np.arange(len(order))).max() > REORDER:
        raise MediaError(f"{path}: its timestamps are out of order. {REENCODE}")
