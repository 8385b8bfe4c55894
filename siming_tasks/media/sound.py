"""Sound of a video: decoded once to 16 kHz mono, stored with the frames, cut with clips, sent as WAV or as samples.

Sample 0 is heard where a player starts; where the track begins later or has gaps, there is silence. It is
resampled once, by FFmpeg, and never again: what a record states is what was sent.
"""

from __future__ import annotations

import base64
import hashlib
import io
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import MediaError
from siming_tasks.common.files import atomic_path, atomic_write
from siming_tasks.media.container import is_known, open_video, sound_track
from siming_tasks.media.store import FrameStore

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame

RATE = 16_000
"""Samples per second: what speech encoders of today take."""

FORM = "s16le mono 16000"
"""Form of the samples that a record's ``sha256`` is taken of."""

JITTER = 0.02
"""Seconds by which stated times of continuous sound may be off; more is a gap."""

QUIET = 8
"""Loudest sample that counts as silence (72 dB below the highest): microphones in quiet rooms are above it."""

_MOST_SECONDS = 6 * 3600
"""Longest track that is decoded; times beyond it are those of a damaged file."""


@dataclass(frozen=True, eq=False)
class Sound:
    """Samples of a video's sound, or of a part of it.

    Attributes:
        samples: int16[n], one channel, :data:`RATE` a second (read-only).
    """

    samples: NDArray[np.int16]

    def part(self, start: float, end: float) -> Sound:
        """The samples from ``start`` to ``end`` seconds; silence where the track has ended."""
        first, last = round(start * RATE), round(end * RATE)
        inside = self.samples[max(0, first) : max(0, last)]
        whole = np.zeros(max(0, last - first), np.int16)
        whole[: len(inside)] = inside
        return Sound(whole)

    def wav(self) -> bytes:
        """A WAV file of the samples; equal samples give equal bytes."""
        out = io.BytesIO()
        with wave.open(out, "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(self.samples.astype("<i2").tobytes())
        return out.getvalue()

    def pieces(self, seconds: int) -> list[Sound]:
        """The sound in pieces of at most this many seconds; 0: in one piece."""
        step = seconds * RATE or len(self.samples) or 1
        return [Sound(self.samples[start : start + step]) for start in range(0, len(self.samples) or 1, step)]

    def to_send(self, form: str, store: FrameStore) -> Any:
        """The sound as a model class takes it.

        Args:
            form: ``url`` (a data URL of the WAV file), ``path`` (of the WAV file) or ``array`` (a dictionary of
                ``array``, float32 from -1 to 1, and ``sampling_rate``).
            store: of its video, where a file is put under the name of its samples.
        """
        if form == "array":
            return {"array": self.samples.astype(np.float32) / 32768, "sampling_rate": RATE}
        if form == "url":
            return f"data:audio/wav;base64,{base64.b64encode(self.wav()).decode('ascii')}"
        return str(self._stored(store, f"{self.sha256()[:24]}.wav"))

    def _stored(self, store: FrameStore, name: str) -> Path:
        """The WAV file of this name among a video's sounds, written if it is not there."""
        file = store.folder / "sounds" / name

        def write() -> None:
            with atomic_write(file, "wb") as stream:
                stream.write(self.wav())

        return store.make_file(file, write)

    def sha256(self) -> str:
        """Hex SHA-256 of the samples, 16-bit little-endian."""
        return hashlib.sha256(self.samples.astype("<i2").tobytes()).hexdigest()

    def info(self) -> dict[str, Any]:
        """Facts of a sound, as small JSON for the record of the request."""
        return {"seconds": round(len(self.samples) / RATE, 4), "form": FORM, "sha256": self.sha256()}


@lru_cache(maxsize=4)
def sound_of(store: FrameStore) -> Sound:
    """The whole sound of a video, from the store if it is there; the last few are remembered.

    Raises:
        MediaError: the video has no sound, or it cannot be decoded.
    """
    file = store.folder / "sounds" / "whole.wav"
    if not file.is_file():
        decode_sound(store.source, store.timeline().zero)._stored(store, file.name)
    with wave.open(str(file), "rb") as stored:
        samples = np.frombuffer(stored.readframes(stored.getnframes()), "<i2").astype(np.int16)
    samples.flags.writeable = False
    return Sound(samples)


def decode_sound(path: Path, zero: Fraction) -> Sound:
    """Decode the first sound track of a video.

    Args:
        path: the video.
        zero: second 0, in seconds of the container.

    Raises:
        MediaError: it has no sound, no decoder knows it, or the decoder reports an error.
    """
    pieces = list(_pieces(path, zero))
    track = np.zeros(max([0, *(place + len(samples) for place, samples in pieces)]), np.int16)
    for place, samples in pieces:
        track[place : place + len(samples)] = samples
    return Sound(track)


def silences_of(path: Path, zero: Fraction, end: float, least: float = 2.0) -> list[tuple[float, float]]:
    """Start and end (s) of every stretch of at least ``least`` seconds without any sound, to a tenth of a second.

    Of the seconds up to ``end``; the track is not kept in memory. Arguments and errors as :func:`decode_sound`.
    """
    tenth = RATE // 10
    loudest = np.zeros(int(end * 10), np.int32)
    for place, samples in _pieces(path, zero):
        at = np.arange(place, place + len(samples)) // tenth
        inside = at < len(loudest)
        np.maximum.at(loudest, at[inside], np.abs(samples[inside].astype(np.int32)))
    edges = np.flatnonzero(np.diff(np.concatenate([[0], loudest <= QUIET, [0]])))
    return [(a / 10, b / 10) for a, b in edges.reshape(-1, 2).tolist() if b - a >= 10 * least]


def _pieces(path: Path, zero: Fraction) -> Iterator[tuple[int, NDArray[np.int16]]]:
    """Pieces of a track, each with the sample at which it begins; what lies before second 0 is left out."""
    end: int | None = None
    for frame in _resampled(path):
        samples = frame.to_ndarray().reshape(-1).astype(np.int16)
        assert frame.pts is not None and frame.time_base is not None
        at = without_jitter(round((frame.pts * frame.time_base - zero) * RATE), end, RATE)
        end = at + len(samples)
        if end > _MOST_SECONDS * RATE:
            raise MediaError(f"{path}: its sound claims to last {end / RATE / 3600:.0f} hours.")
        if end > 0:
            yield max(0, at), samples[max(0, -at) :]


def without_jitter(at: int, end: int | None, rate: int) -> int:
    """Sample at which a piece of sound begins, given where the piece before it ends (None: it is the first).

    Matroska and AVI round times to milliseconds: a piece that begins within :data:`JITTER` of the end follows it.
    """
    return end if end is not None and abs(at - end) <= JITTER * rate else at


def _resampled(path: Path) -> Iterator[AudioFrame]:
    """Frames of the first sound track at :data:`RATE`, one channel, 16 bits."""
    import av

    resampler = Resampler("mono", RATE)
    with open_video(path) as (container, _):
        if (track := sound_track(path, container)) is None:
            raise MediaError(f"{path}: has no sound. Build the data set with --keep-audio, from videos with sound.")
        for packet in container.demux(track):
            try:
                frames: Any = packet.decode()
            except av.error.FFmpegError as error:
                at = float((packet.pts or 0) * (packet.time_base or 0))
                what = f"its sound is damaged at {at:.2f} s ({error.strerror})."
                fix = "Build the data set again: damaged sound becomes silence, and is counted."
                raise MediaError(f"{path}: {what} {fix}") from error
            for frame in frames:
                yield from resampler.resample(frame)
        yield from resampler.resample(None)


class Resampler:
    """FFmpeg's resampler to 16 bits, which restarts where a recording changes its channels, rate or format.

    Sixteen bits, because channels are then mixed so that the sum fits: FFmpeg adds floating point without, and five
    channels at half of the highest level come out cut off.
    """

    def __init__(self, layout: str, rate: int) -> None:
        self.layout, self.rate = layout, rate
        self._kind: tuple[str, str, int] | None = None
        self._current: Any = None

    def resample(self, frame: AudioFrame | None) -> list[AudioFrame]:
        """Take a frame (None: the last one was given) and return those that are ready."""
        import av

        kind = (frame.format.name, frame.layout.name, frame.sample_rate) if frame is not None else None
        ready: list[AudioFrame] = []
        if kind != self._kind:
            ready += self._current.resample(None) if self._current else []
            self._current = av.AudioResampler("s16", self.layout, self.rate) if frame is not None else None
            self._kind = kind
        return [*ready, *(self._current.resample(frame) if frame is not None else [])]


def add_sound(video: Path, sound: Sound, out: Path, late: float = 0.0) -> None:
    """Write a video's pictures, packet by packet as they are but ``late`` seconds later, and a sound (MP4; atomic)."""
    import av
    from av.audio.frame import AudioFrame

    with (
        open_video(video) as (read, shown),
        atomic_path(out) as temporary,
        av.open(str(temporary), "w", format="mp4") as written,
    ):
        pictures = written.add_stream_from_template(shown)
        track: Any = written.add_stream("aac", rate=RATE, layout="mono", format="fltp")
        numbers = sound.samples[None].astype(np.float32) / 32768
        frame = AudioFrame.from_ndarray(numbers, format="fltp", layout="mono")
        frame.sample_rate, frame.pts = RATE, 0
        resampler = av.AudioResampler("fltp", "mono", RATE, frame_size=1024)  # what AAC takes at once
        for piece in (*resampler.resample(frame), *resampler.resample(None), None):
            written.mux(track.encode(piece))
        for packet in read.demux(shown):
            if packet.dts is not None and packet.pts is not None:
                packet.stream, shift = pictures, round(late / packet.time_base)
                packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
                written.mux(packet)


def has_sound(path: Path, *, known: bool = True) -> bool:
    """Decide whether a video has a sound track (MediaError if it cannot be opened).

    ``known``: a track with an unknown codec does not count.
    """
    with open_video(path) as (container, _):
        return any(is_known(track) or not known for track in container.streams.audio[:1])
