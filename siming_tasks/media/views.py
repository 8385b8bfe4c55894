"""What one request shows to a model: a list of images or a video file, and a record of exactly which frames."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from PIL import Image

from siming_tasks.errors import MediaError
from siming_tasks.media.clips import write_frames
from siming_tasks.media.content import digest_of
from siming_tasks.media.encoding import Encoding, Sent
from siming_tasks.media.evict import evict
from siming_tasks.media.sampler import SAMPLER, Budget, frame_range, sample_indices
from siming_tasks.media.store import QUALITY, SIZE, FrameStore
from siming_tasks.media.timeline import Timeline

__all__ = ["Mode", "Request", "View", "view", "wanted_by"]

Mode = Literal["frames", "video", "proxy"]
"""Images; a video file for the backend's own reader; or such a file of just the frames that the budget takes."""


@dataclass(frozen=True)
class Request:
    """A part of a video (``span`` in seconds, None for all of it) and how many frames of it to show."""

    span: tuple[float, float] | None
    budget: Budget

    def bounds(self, timeline: Timeline) -> tuple[int, int]:
        """First and last frame of the part (MediaError if the span is empty or beyond the video)."""
        return frame_range(timeline.times, *self.span) if self.span else (0, timeline.n_frames - 1)

    def seconds(self, timeline: Timeline) -> float:
        """From the part's first frame to the end of its last, which is taken to last one mean period."""
        return timeline.seconds(*self.bounds(timeline))

    def indices(self, timeline: Timeline, *, even: bool = False) -> list[int]:
        """The frames that the budget takes of the part."""
        return self.taken(timeline, self.bounds(timeline), even=even)

    def taken(self, timeline: Timeline, bounds: tuple[int, int], *, even: bool = False) -> list[int]:
        """:meth:`indices`, for those who know :meth:`bounds` already."""
        rate = float(timeline.rate)
        taken = sample_indices(timeline.n_frames, budget=self.budget, rate=rate, span=bounds, even=even)
        return [int(index) for index in taken]


def wanted_by(requests: Sequence[Request], timeline: Timeline, *, even: bool = False) -> tuple[list[int], list[str]]:
    """All frames that the requests take, ascending, and what is wrong with those requests that cannot be met."""
    wanted: set[int] = set()
    errors = []
    for request in requests:
        try:
            wanted.update(request.indices(timeline, even=even))
        except MediaError as error:
            errors.append(str(error))
    return sorted(wanted), errors


@dataclass(frozen=True, eq=False)
class View:
    """One request's media.

    Attributes:
        mode: ``frames`` (use :meth:`images`), ``video`` or ``proxy`` (use :attr:`path`).
        indices: frames of the source video that are shown, in the order in which they are; in video mode, all frames
            of the file.
        times: their times in the source video (s); where a probe shows another frame in one's place, that one's.
        path: the file in video mode: the source itself if readers agree about it, else an .mp4 of exactly its frames;
            an .mp4 of exactly the span's frames. In proxy mode an all-intra .mp4 of :attr:`indices`.
        rate: shown frames per second of the part that was asked for.
        store: where the frames are.
    """

    mode: Mode
    indices: tuple[int, ...]
    times: tuple[float, ...]
    path: Path | None
    rate: float
    store: FrameStore

    def images(self) -> list[Image.Image]:
        """The shown frames in order, as fresh RGB images that the caller owns (frames mode)."""
        return self.store.images(self.indices)

    def files(self) -> list[Path]:
        """The shown frames in order, as the stored JPEG files (frames mode)."""
        self.store.fill(self.indices)
        return [self.store.path(index) for index in self.indices]

    def to_send(self, encoding: Encoding, *, decode: bool = True) -> tuple[list[Image.Image], Sent]:
        """The same images for a model or a service, and where they note in what form they were encoded.

        Args:
            encoding: how a backend that encodes them is to send them.
            decode: now; False leaves it to whoever looks at their pixels, for backends that never do.
        """
        sent = Sent(len(self.indices))
        return self.store.to_send(self.indices, encoding, sent, decode=decode), sent

    def info(self) -> dict[str, Any]:
        """What was shown, as small JSON for the record of the request.

        Frames are listed one by one (``indices``) or, where they are consecutive, as ``range``: first and last. A file
        is read by the backend: the frames are then those of the file, their number is ``file_frames`` and their rate
        ``file_fps``; how many of them the model saw is not known, and no number claims it.
        """
        first, last = self.indices[0], self.indices[-1]
        whole = self.indices == tuple(range(first, last + 1))
        frames = self.mode == "frames"
        number, rate = ("n_frames", "fps") if frames else ("file_frames", "file_fps")
        return {
            "mode": self.mode,
            number: len(self.indices),
            **({"range": [first, last]} if whole else {"indices": list(self.indices)}),
            "start": round(self.times[0], 3),
            "end": round(self.times[-1], 3),
            rate: round(self.rate, 4),
            "size": self.store.size if frames else None,
            "quality": self.store.quality if frames else None,
            "sampler": SAMPLER if self.mode != "video" else None,
            "reader": "siming" if frames else "backend",
        }


def view(
    path: Path,
    *,
    digest: str | None = None,
    span: tuple[float, float] | None,
    budget: Budget,
    mode: Mode = "frames",
    cache: Path,
    size: int | None = SIZE,
    quality: int = QUALITY,
    even: bool = False,
    cache_gb: float = 20.0,
    also: Sequence[Request] = (),
) -> View:
    """The media of one request, decoded into the store if they are not there yet.

    Args:
        path: the video file.
        digest: a name for its content if one is known; else its SHA-256 is computed (once).
        span: ``(start, end)`` in seconds, or None for the whole video.
        budget: how many frames; in ``video`` mode the backend's reader decides instead.
        mode: ``frames``, ``video`` or ``proxy``.
        cache: the cache folder.
        size: longest side of stored frames in pixels (never enlarged); None keeps the original.
        quality: JPEG quality of stored frames.
        even: take an even number of frames.
        cache_gb: limit of the store in gigabytes; longest unused videos go first.
        also: further requests on the same video: if something must be decoded, they are filled in the same pass.

    Raises:
        MediaError: the file or the span cannot be shown; names both.
    """
    if not os.path.isfile(path):
        raise MediaError(f"{path}: no such file.")
    store = _store(cache, path, digest or digest_of(path, cache), size, quality)
    timeline, request = store.timeline(), Request(span, budget)
    try:
        first, last = bounds = request.bounds(timeline)
        sampled = mode != "video"
        indices = request.taken(timeline, bounds, even=even) if sampled else list(range(first, last + 1))
    except MediaError as error:
        raise MediaError(f"{path}: {error}") from None
    file, written = None, 0
    if mode == "frames":
        if store.missing(indices):
            others, _ = wanted_by(also, timeline, even=even)
            written = store.fill([*indices, *others])
    elif mode == "video" and span is None and timeline.standard:
        file = path
    else:
        file, written = _file(store, timeline, indices, mode == "proxy")
    if written:
        evict(cache, cache_gb, keep=store.digest)
    store.touch()
    shown = tuple(timeline.times[indices].tolist())
    return View(mode, tuple(indices), shown, file, len(indices) / timeline.seconds(first, last), store)


_store = lru_cache(maxsize=64)(FrameStore)
"""The same object for all requests of a video: it knows what lies in its folder."""


def _file(store: FrameStore, timeline: Timeline, indices: Sequence[int], proxy: bool) -> tuple[Path, int]:
    """The .mp4 of exactly these frames and how many bytes had to be written for it."""
    name = f"{indices[0]:06d}-{indices[-1]:06d}"
    if proxy:
        name = f"{name}-{hashlib.sha256(repr(list(indices)).encode()).hexdigest()[:12]}"
    file = store.folder / ("proxies" if proxy else "clips") / f"{name}.mp4"
    if file.is_file():
        return file, 0
    with store.writing():
        if file.is_file():
            return file, 0
        write_frames(store.source, timeline, list(dict.fromkeys(indices)), file, intra=proxy)
        return file, file.stat().st_size
