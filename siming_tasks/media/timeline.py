"""When every frame of a video is shown: read from its packets without decoding, checked again while it is decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from siming_tasks.errors import MediaError
from siming_tasks.media.container import open_video

__all__ = ["REENCODE", "Timeline", "read_timeline"]

REENCODE = "Make a clean copy: ffmpeg -i IN -map 0:v:0 -c:v libx264 -crf 16 -fps_mode vfr OUT.mp4"

STATES_LENGTH = (".mp4", ".mov", ".m4v")
"""Containers whose header knows the length of the picture, so that a cut-off end shows without decoding."""

SLACK = Fraction(1, 2)
"""Seconds by which the header's length may pass the end of the last frame."""

REORDER = 16
"""Most frames by which H.264 or HEVC may hold back a frame for display; more means broken timestamps."""


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
            with no rotation flag. Readers that believe the header of a trimmed file take wrong frames, some show a
            rotated one sideways, and they differ in which of several streams they show.
    """

    pts: NDArray[np.int64]
    time_base: Fraction
    keyframes: NDArray[np.int64]
    rate: Fraction
    reordered: bool
    standard: bool

    @classmethod
    def even(cls, n_frames: int, fps: float) -> Timeline:
        """Frames at a constant rate, for planning without a file."""
        rate = Fraction(fps).limit_denominator(100_000)
        return cls(np.arange(n_frames), 1 / rate, np.arange(1), rate, reordered=False, standard=True)

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self.pts)

    @property
    def times(self) -> NDArray[np.float64]:
        """Seconds from the first frame."""
        seconds: NDArray[np.float64] = (self.pts - self.pts[0]) * self.time_base.numerator / self.time_base.denominator
        return seconds

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the end of the last, which is taken to last one mean period."""
        return float(self.times[-1]) + float(1 / self.rate)

    def to_json(self) -> dict[str, Any]:
        """Plain types; :meth:`from_json` reads them back."""
        return {
            "pts": self.pts.tolist(),
            "time_base": str(self.time_base),
            "keyframes": self.keyframes.tolist(),
            "rate": str(self.rate),
            "reordered": self.reordered,
            "standard": self.standard,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Timeline:
        """The inverse of :meth:`to_json`."""
        return cls(
            np.asarray(data["pts"], np.int64),
            Fraction(data["time_base"]),
            np.asarray(data["keyframes"], np.int64),
            Fraction(data["rate"]),
            data["reordered"],
            data["standard"],
        )


class _Packet(NamedTuple):
    pts: int
    dts: int | None
    duration: int
    key: bool
    visible: bool
    corrupt: bool


def read_timeline(path: Path) -> Timeline:
    """The timeline of a video, from its packets and its first frame (tens of milliseconds).

    Raises:
        MediaError: the file is unreadable or truncated, or its timestamps are missing, repeated or out of order.
    """
    with open_video(path) as (container, stream):
        time_base, rate, stated, counted = stream.time_base, stream.average_rate, stream.duration, stream.frames
        packets, alone = [], len(container.streams.video) == 1
        for packet in container.demux(stream):
            if not packet.size:
                continue  # the flush packet at the end
            if packet.pts is None:
                raise MediaError(f"{path}: has frames without timestamps. {REENCODE}")
            visible, duration = not packet.is_discard, packet.duration or 0
            packets.append(_Packet(packet.pts, packet.dts, duration, packet.is_keyframe, visible, packet.is_corrupt))
    shown = _decodable(packets)
    if not shown or time_base is None:
        raise MediaError(f"{path}: holds no video frames.")
    pts = np.asarray([packet.pts for packet in shown], np.int64)
    order = np.argsort(pts, kind="stable")
    _check_order(path, shown, pts[order], order, time_base)
    pts = pts[order]
    if not rate:
        rate = (len(pts) - 1) / (int(pts[-1] - pts[0]) * time_base) if len(pts) > 1 else Fraction(25)
    end = max(packet.pts + packet.duration for packet in shown) - int(pts[0])
    missing = (stated - end) * time_base if stated and path.suffix in STATES_LENGTH else Fraction(0)
    if missing > SLACK or any(packet.corrupt for packet in packets):
        at = float((pts[-1] - pts[0]) * time_base)
        raise MediaError(f"{path}: cut short or damaged: the last whole frame is at {at:.3f} s. {REENCODE}")
    keyframes = np.flatnonzero([shown[place].key for place in order])
    standard = path.suffix == ".mp4" and alone and counted == len(pts) and not _rotation(path)
    return Timeline(pts, time_base, keyframes, rate, bool((order != np.arange(len(order))).any()), standard)


def _rotation(path: Path) -> int:
    with open_video(path) as (container, stream):
        return next((frame.rotation for frame in container.decode(stream)), 0)


def _decodable(packets: Sequence[_Packet]) -> list[_Packet]:
    """Without what a decoder drops: frames outside the edit list, and those of an open GOP cut before its keyframe."""
    first = next((number for number, packet in enumerate(packets) if packet.key), 0)
    return [packet for packet in packets[first:] if packet.visible and packet.pts >= packets[first].pts]


def _check_order(
    path: Path, packets: Sequence[_Packet], pts: NDArray[np.int64], order: NDArray[np.int64], time_base: Fraction
) -> None:
    """Raise MediaError for timestamps that repeat, go backwards, or are scrambled beyond what B-frames can explain."""
    repeated = np.flatnonzero(np.diff(pts) == 0)
    if len(repeated):
        at = float((pts[repeated[0]] - pts[0]) * time_base)
        raise MediaError(f"{path}: two frames share the timestamp {at:.3f} s. {REENCODE}")
    stored = [packet.dts for packet in packets if packet.dts is not None]
    held = np.abs(order - np.arange(len(order)))
    if any(after < before for before, after in pairwise(stored)) or held.max() > REORDER:
        raise MediaError(f"{path}: timestamps go backwards. {REENCODE}")
