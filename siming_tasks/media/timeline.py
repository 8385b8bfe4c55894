"""When every frame of a video is shown, read from its packets without decoding, and checked while it is decoded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.errors import MediaError

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

__all__ = ["Timeline", "open_video", "read_timeline"]

REMUX = "Re-encode it: ffmpeg -i IN -map 0:v:0 -c:v libx264 -crf 16 -fps_mode vfr -reset_timestamps 1 OUT.mp4"


@dataclass(frozen=True, eq=False)
class Timeline:
    """Every frame of a video in presentation order.

    Attributes:
        pts: presentation timestamp of each frame in units of ``time_base``, strictly ascending.
        time_base: seconds per unit.
        keyframes: indices of frames where a decoder can start, ascending.
        rate: mean frame rate as the container states it (frames/s).
    """

    pts: NDArray[np.int64]
    time_base: Fraction
    keyframes: NDArray[np.int64]
    rate: Fraction

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
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Timeline:
        """The inverse of :meth:`to_json`."""
        return cls(
            np.asarray(data["pts"], np.int64),
            Fraction(data["time_base"]),
            np.asarray(data["keyframes"], np.int64),
            Fraction(data["rate"]),
        )


@contextmanager
def open_video(path: Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    """The opened container and its video stream, closed afterwards.

    Raises:
        MediaError: the file is missing, is no video, or is broken in a way that the decoder library reports.
    """
    import av

    try:
        with av.open(str(path), metadata_errors="replace") as container:
            if not container.streams.video:
                raise MediaError(f"{path}: has no video stream.")
            yield container, container.streams.video[0]
    except FileNotFoundError:
        raise MediaError(f"{path}: no such file.") from None
    except av.error.FFmpegError as error:
        raise MediaError(f"{path}: cannot be read ({error.strerror}). The file is damaged or cut short.") from error


def read_timeline(path: Path) -> Timeline:
    """The timeline of a video, from its packets (no decoding: tens of milliseconds).

    Raises:
        MediaError: unreadable file, no frames, missing or repeated timestamps, or fewer frames than the header states.
    """
    with open_video(path) as (container, stream):
        time_base, rate, stated = stream.time_base, stream.average_rate, stream.frames
        packets = [
            (packet.pts, packet.is_keyframe, packet.is_discard, packet.is_corrupt)
            for packet in container.demux(stream)
            if packet.size
        ]
    if not packets or time_base is None:
        raise MediaError(f"{path}: holds no video frames.")
    if any(pts is None for pts, *_ in packets):
        raise MediaError(f"{path}: frames without timestamps. {REMUX}")
    if len(packets) < stated or any(corrupt for *_, corrupt in packets):
        raise MediaError(f"{path}: truncated: {len(packets)} of the {stated} frames that the header states are there.")
    shown = sorted((pts, key) for pts, key, discard, _ in packets if not discard)
    start = next((number for number, (_, key) in enumerate(shown) if key), 0)
    shown = shown[start:]  # what comes before the first keyframe cannot be decoded, and no decoder returns it
    pts = np.asarray([pts for pts, _ in shown], np.int64)
    twice = np.flatnonzero(np.diff(pts) == 0)
    if len(twice):
        at = float((pts[twice[0]] - pts[0]) * time_base)
        raise MediaError(f"{path}: two frames share the timestamp {at:.3f} s. {REMUX}")
    keyframes = np.asarray([number for number, (_, key) in enumerate(shown) if key], np.int64)
    if not rate:
        rate = Fraction(len(pts) - 1, int(pts[-1] - pts[0])) / time_base if len(pts) > 1 else Fraction(25)
    return Timeline(pts, time_base, keyframes, rate)
