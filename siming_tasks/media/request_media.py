"""What one request shows to a model: a list of images or a video file, and a record of exactly which frames."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from PIL import Image

from siming_tasks.common.errors import MediaError
from siming_tasks.media.clips import write_frames
from siming_tasks.media.encoding import Encoding, Sent
from siming_tasks.media.evict import evict
from siming_tasks.media.file_digest import digest_of
from siming_tasks.media.sampler import SAMPLER, UNIFORM, Budget, frame_range, sample_count, sample_indices
from siming_tasks.media.signal import SAMPLERS, Signal, chosen, grid, offers_choice
from siming_tasks.media.store import QUALITY, SIZE, FrameStore
from siming_tasks.media.timeline import Timeline

__all__ = ["Mode", "Request", "View", "by_content", "signal_of", "view", "wanted_by"]

Mode = Literal["frames", "video", "proxy"]
"""Images; a video file for the backend's own reader; or such a file of just the frames that the budget takes."""


@dataclass(frozen=True)
class Request:
    """A part of a video (``span`` in seconds, None for all of it), how many frames of it to show, and by which rule.

    ``sampler`` is ``uniform`` or a rule by content (:mod:`siming_tasks.media.signal`), which needs the video's signal.
    """

    span: tuple[float, float] | None
    budget: Budget
    sampler: str = UNIFORM

    def bounds(self, timeline: Timeline) -> tuple[int, int]:
        """First and last frame of the part (MediaError if the span is empty or beyond the video)."""
        return frame_range(timeline.times, *self.span) if self.span else (0, timeline.n_frames - 1)

    def seconds(self, timeline: Timeline) -> float:
        """From the part's first frame to the end of its last, which is taken to last one mean period."""
        return timeline.seconds(*self.bounds(timeline))

    def indices(self, timeline: Timeline, *, even: bool = False, signal: Signal | None = None) -> list[int]:
        """The frames that the budget takes of the part.

        Raises:
            ValueError: a rule by content, and no signal.
        """
        return self.taken(timeline, self.bounds(timeline), even=even, signal=signal)[0]

    def taken(
        self, timeline: Timeline, bounds: tuple[int, int], *, even: bool = False, signal: Signal | None = None
    ) -> tuple[list[int], str]:
        """:meth:`indices`, for those who know :meth:`bounds` already, and the rule that took them."""
        rate = float(timeline.rate)
        if self.by_content(timeline, bounds, even=even):
            if signal is None:
                raise ValueError(f"the sampler {self.sampler!r} needs the video's signal")
            count = sample_count(bounds[1] - bounds[0] + 1, rate, self.budget, even=even)
            if found := chosen(signal, self.sampler, bounds, count):
                return found, SAMPLERS[self.sampler]
        taken = sample_indices(timeline.n_frames, budget=self.budget, rate=rate, span=bounds, even=even)
        return [int(index) for index in taken], SAMPLER

    def by_content(self, timeline: Timeline, bounds: tuple[int, int] | None = None, *, even: bool = False) -> bool:
        """Whether its frames depend on what they show: not where the grid offers no choice, as for most clips.

        Raises:
            MediaError: the span is empty or beyond the video.
        """
        if self.sampler == UNIFORM:
            return False
        first, last = bounds or self.bounds(timeline)
        count = sample_count(last - first + 1, float(timeline.rate), self.budget, even=even)
        return offers_choice(grid(timeline), (first, last), count)

    def uniform(self) -> Request:
        """The same without a look at the content: as many frames, other ones."""
        return replace(self, sampler=UNIFORM)


def wanted_by(
    requests: Sequence[Request], timeline: Timeline, *, even: bool = False, signal: Signal | None = None
) -> tuple[list[int], list[str]]:
    """All frames that the requests take, ascending, and what is wrong with those requests that cannot be met."""
    wanted: set[int] = set()
    errors = []
    for request in requests:
        try:
            wanted.update(request.indices(timeline, even=even, signal=signal))
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
        times: their times in the source video (s); where an ablation shows another frame in one's place, that one's.
        path: the file in video mode: the source itself if readers agree about it, else an .mp4 of exactly its frames;
            an .mp4 of exactly the span's frames. In proxy mode an all-intra .mp4 of :attr:`indices`.
        rate: shown frames per second of the part that was asked for.
        store: where the frames are.
        sampler: the rule that took them.
    """

    mode: Mode
    indices: tuple[int, ...]
    times: tuple[float, ...]
    path: Path | None
    rate: float
    store: FrameStore
    sampler: str = SAMPLER

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
            "sampler": self.sampler if self.mode != "video" else None,
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
    sampler: str = UNIFORM,
    file: bool = True,
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
        sampler: by which rule frames are taken; a rule by content looks at the whole video first, once.
        file: make the file of ``video`` and ``proxy`` mode; False: for those who want only its frames and times.

    Raises:
        MediaError: the file or the span cannot be shown; names both.
    """
    if not os.path.isfile(path):
        raise MediaError(f"{path}: no such file.")
    store = _store(cache, path, digest or digest_of(path, cache), size, quality)
    timeline, request = store.timeline(), Request(span, budget, sampler)
    written, sampled, rule = 0, mode != "video", SAMPLER
    try:
        first, last = bounds = request.bounds(timeline)
        signal = None
        if sampled and (request.by_content(timeline, bounds, even=even) or by_content(also, timeline, even=even)):
            signal, written = signal_of(store, [request, *also], even=even, images=mode == "frames")
        if sampled:
            indices, rule = request.taken(timeline, bounds, even=even, signal=signal)
        else:
            indices = list(range(first, last + 1))
    except MediaError as error:
        raise MediaError(f"{path}: {error}") from None
    shown = None
    if mode == "frames":
        if store.missing(indices):
            others, _ = wanted_by(also, timeline, even=even, signal=signal)
            written += store.fill([*indices, *others])
    elif mode == "video" and span is None and timeline.standard:
        shown = path
    elif file:
        shown, size_of_file = _file(store, timeline, indices, mode == "proxy")
        written += size_of_file
    if written:
        evict(cache, cache_gb, keep=store.digest)
    store.touch()
    times = tuple(timeline.times[indices].tolist())
    return View(mode, tuple(indices), times, shown, len(indices) / timeline.seconds(first, last), store, rule)


def by_content(requests: Sequence[Request], timeline: Timeline, *, even: bool = False) -> bool:
    """Whether a signal is needed for some of the requests that can be met."""
    for request in requests:
        try:
            if request.by_content(timeline, even=even):
                return True
        except MediaError:
            continue
    return False


def signal_of(
    store: FrameStore, requests: Sequence[Request], *, even: bool = False, images: bool = True
) -> tuple[Signal, int]:
    """How much a video changes, and how many frames were stored on the way.

    If that is not known yet, one pass looks at the frames of the grid and stores them, with those that the requests
    take without a look; then those of the grid that no request takes are removed again.

    Args:
        store: of the video.
        requests: what will be shown of it; those that cannot be met do not count.
        even: as for :func:`view`.
        images: whether frames are to be stored.

    Raises:
        MediaError: a frame cannot be decoded.
    """
    if known := store.signal():
        return known, 0
    timeline = store.timeline()
    plain = [request for request in requests if not by_content([request], timeline, even=even)]
    uniform, _ = wanted_by(plain, timeline, even=even)

    def keep(found: Signal) -> list[int]:
        return wanted_by(requests, timeline, even=even, signal=found)[0]

    return store.watch(grid(timeline), uniform if images else [], keep if images else None)


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
