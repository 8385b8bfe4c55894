"""The gate of recordings: what is wrong with a file is said before anything is encoded or rated.

``siming data build`` and ``siming data rate`` ask here, so that what was rated for an hour can be built.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from siming_tasks.common.errors import MediaError, Problem
from siming_tasks.media.container import open_video

MIN_CUT, CUT_SHARE = 0.5, 0.02
"""Seconds, and share of the stated length, by which pictures may end early: sound often goes on a little."""
MAX_GAP = 3600
"""Seconds between two pictures beyond which times are damaged: the gap would be filled with one picture."""


@dataclass(frozen=True)
class Recording:
    """Lengths of a video file that can be decoded, in seconds.

    ``stated`` is what its header says (None: nothing), ``duration`` when its last picture ends and ``sound`` when the
    first packet of its first sound track is heard (None: it has none), counted from where a player begins; ``tracks``
    is the number of sound tracks.
    """

    path: Path
    stated: float | None
    duration: float
    sound: float | None = None
    tracks: int = 0

    def cut(self) -> Problem | None:
        """A warning if the pictures end long before the header says: the file may have been cut off."""
        if self.stated is None or self.stated - self.duration <= max(MIN_CUT, self.stated * CUT_SHARE):
            return None
        what = f"says {self.stated:.1f} s, and its pictures end after {self.duration:.1f} s."
        fix = "Copy it again from the source, if that is longer; else nothing is to be done."
        return Problem("media-cut", what, fix, str(self.path), severity="warning")


def look_at(path: Path) -> Recording:
    """Read every packet's time, and decode until the first picture comes.

    Raises:
        MediaError: it is no video that is read here, has no picture that can be decoded, or its times jump.
    """
    import av

    spans: list[tuple[float, float]] = []
    heard: list[float] = []
    with open_video(path) as (container, stream):
        stated = container.duration / 1e6 if container.duration else None
        start = max(0, container.start_time or 0) / 1e6  # negative: audio priming, not shown
        tracks, decodes = container.streams.audio, False
        for packet in container.demux([stream, *tracks[:1]]):
            time, base = packet.pts if packet.pts is not None else packet.dts, float(packet.time_base)
            if packet.stream.type == "audio":
                if packet.size and time is not None and not heard:
                    heard.append(time * base)  # Matroska's header says 0 also where the sound begins late
                continue
            if packet.size and time is not None:
                spans.append((time * base, (packet.duration or 0) * base))
            if not decodes:  # not from keyframes alone: a film that was cut may have none behind the cut
                with suppress(av.error.InvalidDataError):
                    decodes = bool(packet.decode())
    if not decodes:
        raise MediaError(f"{path}: holds no picture that can be decoded.")
    for before, after in pairwise(sorted(time for time, _ in spans)):
        if after - before > MAX_GAP:
            raise MediaError(f"{path}: its times jump from {before:.0f} s to {after:.0f} s.")
    end = max((time + length for time, length in spans), default=0.0)
    return Recording(path, stated, max(0.0, end - start), heard[0] - start if heard else None, len(tracks))


def look_at_all(paths: Iterable[Path]) -> Mapping[Path, Recording | MediaError]:
    """Look at several files at once; the error of one that cannot be used stands in its place."""

    def look(path: Path) -> Recording | MediaError:
        try:
            return look_at(path)
        except MediaError as error:
            return error

    files = list(dict.fromkeys(paths))
    with ThreadPoolExecutor(4) as pool:
        return dict(zip(files, pool.map(look, files), strict=True))
