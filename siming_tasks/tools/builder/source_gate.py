"""The gate of recordings: what is wrong with a file is said before anything is encoded or rated.

``siming data build`` and ``siming data rate`` ask here, so that what was rated for an hour can be built.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siming_tasks.common.errors import MediaError, Problem
from siming_tasks.common.printed_value import counted
from siming_tasks.media.container import is_known, open_video
from siming_tasks.media.timeline import read_packets
from siming_tasks.tools.builder.constant_rate import RATES

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

MIN_CUT, CUT_SHARE = 0.5, 0.02
"""Seconds, and share of the stated length, by which pictures may end early: sound often lasts a little longer."""
KEPT_SHARE = 0.95
"""Share of a recording's pictures below which it is not built, unless the user says so."""
LOOK_EVERY = 10.0
"""Seconds from one keyframe that is decoded to see its size to the next."""
LEAD = "precede the first from which decoding can start"
CROWDED = f"follow within 1/{RATES[-1]} s of another, and at most {RATES[-1]} a second are written"
EARLY_END, BROKEN, DAMAGED = "are missing since the file ends early", "cannot be decoded", "are damaged"
"""Reasons for which pictures are lost; of those that are damaged something is shown."""


@dataclass(frozen=True)
class Recording:
    """Lengths of a video file that can be decoded, in seconds.

    Attributes:
        path: of the file.
        stated: what its header says (None: nothing).
        duration: when its last picture ends; this and the following are counted from where a player begins.
        sound: when the first packet of its first sound track is heard (None: it has none).
        tracks: number of sound tracks.
        sound_end: when the last packet of that track ends.
        unknown: whether no decoder knows that track.
        pictures: those that it contains, and those that its header states.
        lost: how many of these no build has, by reason, as far as it is known without decoding.
    """

    path: Path
    stated: float | None
    duration: float
    sound: float | None = None
    tracks: int = 0
    sound_end: float = 0.0
    unknown: bool = False
    pictures: int = 0
    lost: Mapping[str, int] = field(default_factory=dict)

    def cut(self) -> Problem | None:
        """A warning if the pictures end long before the header says: the file may have been cut off."""
        stated, cut = self.stated or 0.0, EARLY_END in self.lost
        if not cut and stated - self.duration <= max(MIN_CUT, stated * CUT_SHARE):
            return None
        what = f"says {stated:.1f} s, and its pictures end after {self.duration:.1f} s"
        what += "." if cut or self.sound is None else f" (its sound after {self.sound_end:.1f} s)."
        fix = "Copy it again if the source is longer; otherwise do nothing."
        return Problem("media-cut", what, fix, str(self.path), severity="warning")


def loss_problem(source: Recording, lost: Mapping[str, int], allowed: bool) -> Problem | None:
    """A finding about pictures of a recording that do not survive, by reason; an error if many are not ``allowed``."""
    number = sum(lost.values())
    if not number:
        return None
    code = "media-damaged" if DAMAGED in lost else "media-lost"
    why = ", ".join(f"{count} {reason}" for reason, count in lost.items())
    what, file = f"{number} of {counted(source.pictures, 'picture')} will be lost: {why}.", str(source.path)
    if allowed or number <= (1 - KEPT_SHARE) * source.pictures:
        return Problem(code, what, "Export it again from the source if they matter.", file, severity="warning")
    fix = "Export it again from the source, leave its rows out, or build the rest with --allow-loss."
    return Problem(code, what, fix, file)


def check_size(path: Path, frame: Any, size: tuple[int, int]) -> None:
    """Refuse a picture of another size than the first one, which had ``size`` (MediaError): it would be squeezed."""
    if (frame.width, frame.height) != size:
        at = f" at {frame.time:.2f} s" if frame.pts is not None and frame.time_base else ""
        what = f"its pictures change from {size[0]}x{size[1]} to {frame.width}x{frame.height}{at}"
        raise MediaError(f"{path}: {what}. Save each part as its own file, or join them with a video editor.")


@dataclass
class _Look:
    """Packets of a file's pictures, of which a few are decoded on the way; its sound is heard beside them."""

    path: Path
    container: Any
    stream: Any
    tracks: Any
    size: tuple[int, int] | None = None
    next: float = float("-inf")
    heard: tuple[Any, ...] = ()

    def packets(self) -> Iterator[Any]:
        """Those of the pictures."""
        last = None
        for packet in self.container.demux([self.stream, *self.tracks]):
            time = packet.pts if packet.pts is not None else packet.dts
            if packet.stream is not self.stream:
                if packet.size and time is not None:
                    begin, end = time * packet.time_base, (time + (packet.duration or 0)) * packet.time_base
                    self.heard = (self.heard[0], end) if self.heard else (begin, end)
                continue
            at = float((time or 0) * packet.time_base)
            if self.size is None or (packet.is_keyframe and at >= self.next):
                self.next = at + LOOK_EVERY
                self._decode(packet)  # not from keyframes alone: a film that was cut may have none behind the cut
            elif packet.is_keyframe:
                last = packet
            yield packet
        for packet in (last, None):
            self._decode(packet)

    def _decode(self, packet: Any) -> None:
        import av

        with suppress(av.error.FFmpegError):
            for frame in self.stream.decode(packet):
                self.size = self.size or (frame.width, frame.height)
                check_size(self.path, frame, self.size)


def look_at(path: Path) -> Recording:
    """Read every packet's time, and decode the first picture and some of the others.

    Raises:
        MediaError: it is not a supported video, no picture can be decoded, its times jump or go back, or its pictures
            change their size.
    """
    with open_video(path) as (container, stream):
        tracks, whole = container.streams.audio, (container.duration or 0) / 1e6
        unknown = any(not is_known(track) for track in tracks[:1])
        own, rate = _own_number(container, stream), float(stream.average_rate or 25)
        look = _Look(path, container, stream, tracks[:1])
        packets = read_packets(path, container, stream, look.packets())
    if look.size is None:
        raise MediaError(f"{path}: no picture can be decoded.")
    heard, heard_end = (float(at - packets.zero) for at in look.heard) if tracks and look.heard else (None, 0.0)
    duration, stored = packets.end, len(packets.pts)
    stated = float(packets.seconds[0] + own / rate) if own else whole or None
    # where the sound goes on to the end of the whole, no picture is missing
    missing = (own - stored) / rate if own else whole - max(duration, heard_end)
    cut = missing > (MIN_CUT if own else max(MIN_CUT, whole * CUT_SHARE))
    absent = round(missing * rate) if cut else 0
    lost = {why: number for why, number in ((LEAD, packets.lead), (EARLY_END, absent)) if number}
    return Recording(path, stated, duration, heard, len(tracks), heard_end, unknown, stored + absent, lost)


def _own_number(container: InputContainer, stream: VideoStream) -> int:
    """Pictures that the header says there are; 0 for kinds that say no more than how long the whole file is."""
    if container.format.name == "avi":
        return stream.frames
    base = stream.time_base if "mov" in container.format.name else None  # which counts those outside the edit list, too
    return round((stream.duration or 0) * base * (stream.average_rate or 0)) if base else 0


def look_at_all(paths: Iterable[Path]) -> Mapping[Path, Recording | MediaError]:
    """Inspect several files at once; a file that cannot be used gives its error instead."""

    def look(path: Path) -> Recording | MediaError:
        try:
            return look_at(path)
        except MediaError as error:
            return error

    files = list(dict.fromkeys(paths))
    with ThreadPoolExecutor(4) as pool:
        return dict(zip(files, pool.map(look, files), strict=True))
