"""Sound that a build keeps: AAC, whole, as loud as models hear it, each sample at its time."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from siming_tasks.media.plain_copy import sound_rate
from siming_tasks.media.sound import Resampler, without_jitter

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import OutputContainer
    from av.packet import Packet

SOUND_BITS = 192_000
"""Bits per second of sound that is kept: no loss that can be heard."""


class SoundWriter:
    """The output's sound: AAC, each sample at its time. What is heard before a picture is decoded waits for it."""

    def __init__(self, output: OutputContainer, source: AudioStream, start: Fraction) -> None:
        self.output, self.start = output, start
        self.layout = "mono" if source.channels == 1 else "stereo"  # mono on two channels is 3 dB quieter as mono
        self.resampler = Resampler(self.layout, sound_rate(source))
        self.damaged = self.loudest = 0
        self.waiting: list[Any] = []
        self.stream: Any = None
        self.end: int | None = None

    def open(self) -> None:
        """Add the stream; that of the pictures must have its size by now."""
        self.stream = self.output.add_stream("aac", rate=self.resampler.rate, layout=self.layout, bit_rate=SOUND_BITS)

    def decode(self, packet: Packet) -> list[Any]:
        """Frames of a packet; one that is damaged is counted, and silence stands for it."""
        import av

        try:
            return list(packet.decode())
        except av.error.FFmpegError:
            self.damaged += 1
            return []

    def write(self, frame: Any) -> None:
        """Encode a frame of sound (None: the last one was given)."""
        self.waiting += self.resampler.resample(frame)
        if self.stream is None:
            return
        for piece in self.waiting:
            rate = self.resampler.rate
            at = round((Fraction(piece.pts) * piece.time_base - self.start) * rate)
            at = without_jitter(at, self.end, rate)
            # Nothing from before the first picture; where joined recordings overlap, what was heard first stays.
            if (again := (max(at, 0) if self.end is None else self.end) - at) > 0:
                if again >= piece.samples:
                    continue
                piece, at = _without_beginning(piece, again), at + again
            piece.pts, piece.time_base = at, Fraction(1, rate)
            self.end = piece.pts + piece.samples
            self.loudest = max(self.loudest, int(np.abs(piece.to_ndarray().astype(np.int32)).max()))
            self.output.mux(self.stream.encode(piece))
        self.waiting.clear()
        if frame is None:
            self.output.mux(self.stream.encode(None))


def _without_beginning(frame: AudioFrame, samples: int) -> AudioFrame:
    """A frame of packed sound without its first samples."""
    from av.audio.frame import AudioFrame

    channels = frame.layout.nb_channels
    rest: Any = np.ascontiguousarray(frame.to_ndarray()[:, samples * channels :])
    cut = AudioFrame.from_ndarray(rest, format=frame.format.name, layout=frame.layout.name)
    cut.sample_rate = frame.sample_rate
    return cut
