"""Media of one request: the frames that it takes, shown as images or as a file, and a record of exactly which.

An input ablation alters them: it shows the frames in another order, or fewer of them; nothing is decoded for it. A
file is altered as a proxy: the frames that ``frames`` mode would show, each a keyframe. A whole recording of 25 frames
a second in random order would be neither cheap nor the question.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from siming_tasks.common.errors import MediaError
from siming_tasks.common.files import digest_of
from siming_tasks.common.version_0_1 import former_ablation_file
from siming_tasks.media.cache_size import evict
from siming_tasks.media.clips import write_reordered
from siming_tasks.media.modes import FRAMES, MEDIA_MODES, MediaMode
from siming_tasks.media.sampler import (
    SAMPLER,
    SAMPLERS,
    UNIFORM,
    Budget,
    ChangeSignal,
    choose_by_content,
    frame_range,
    grid_frames,
    offers_choice,
    sample_count,
    sample_indices,
)
from siming_tasks.media.store import QUALITY, SIZE, FrameStore
from siming_tasks.media.stored_image import Encoding, SentImages
from siming_tasks.media.timeline import Timeline
from siming_tasks.tasks import InputAblation

__all__ = [
    "ABLATION_RULES",
    "Request",
    "View",
    "ablate",
    "measure_signal",
    "needs_signal",
    "union_of_frames",
    "view",
]

ABLATION_RULES = "ablations/1"
"""Version of what the ablations show; it moves when one shows something else, and is part of every cache key."""


@dataclass(frozen=True)
class Request:
    """Part of a video (``span`` in seconds, None for all of it), the budget of frames to show, and the sampler.

    ``sampler`` is ``uniform`` or a rule by content (:mod:`siming_tasks.media.sampler`), which needs the video's signal.
    """

    span: tuple[float, float] | None
    budget: Budget
    sampler: str = UNIFORM

    def bounds(self, timeline: Timeline) -> tuple[int, int]:
        """Find the first and last frame of the part (MediaError if the span is empty or beyond the video)."""
        return frame_range(timeline.times, *self.span) if self.span else (0, timeline.n_frames - 1)

    def seconds(self, timeline: Timeline) -> float:
        """Seconds from the part's first frame to the end of its last, which is taken to last one mean period."""
        return timeline.seconds(*self.bounds(timeline))

    def indices(self, timeline: Timeline, *, even: bool = False, signal: ChangeSignal | None = None) -> list[int]:
        """Choose the frames that the budget takes of the part.

        Raises:
            ValueError: a rule by content, and no signal.
        """
        return self.choose(timeline, self.bounds(timeline), even=even, signal=signal)[0]

    def choose(
        self, timeline: Timeline, bounds: tuple[int, int], *, even: bool = False, signal: ChangeSignal | None = None
    ) -> tuple[list[int], str]:
        """Choose the frames where :meth:`bounds` are known already; returns them and the rule that took them."""
        rate = float(timeline.rate)
        if self.is_by_content(timeline, bounds, even=even):
            if signal is None:
                raise ValueError(f"the sampler {self.sampler!r} needs the video's signal")
            count = sample_count(bounds[1] - bounds[0] + 1, rate, self.budget, even=even)
            if by_content := choose_by_content(signal, self.sampler, bounds, count):
                return by_content, SAMPLERS[self.sampler]
        evenly = sample_indices(timeline.n_frames, budget=self.budget, rate=rate, span=bounds, even=even)
        return [int(index) for index in evenly], SAMPLER

    def is_by_content(self, timeline: Timeline, bounds: tuple[int, int] | None = None, *, even: bool = False) -> bool:
        """Decide whether its frames depend on what they show: not where the grid offers no choice, as for most clips.

        Raises:
            MediaError: the span is empty or beyond the video.
        """
        if self.sampler == UNIFORM:
            return False
        first, last = bounds or self.bounds(timeline)
        count = sample_count(last - first + 1, float(timeline.rate), self.budget, even=even)
        return offers_choice(grid_frames(timeline), (first, last), count)

    def uniform(self) -> Request:
        """Return the same request by the uniform rule: as many frames, other ones."""
        return replace(self, sampler=UNIFORM)


def union_of_frames(
    requests: Sequence[Request], timeline: Timeline, *, even: bool = False, signal: ChangeSignal | None = None
) -> tuple[list[int], list[str]]:
    """Collect the frames that the requests take, ascending, and the errors of the requests that cannot be met."""
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
    """Media of one request.

    Attributes:
        mode: form in which they are shown: images (use :meth:`images`) or a file (use :attr:`path`).
        indices: frames of the source video that are shown, in the order in which they are; in video mode, all frames
            of the file.
        times: their times in the source video (s); where an ablation shows another frame in one's place, that one's.
        path: the file in video mode: the source itself if readers agree about it, else an .mp4 of exactly its frames;
            an .mp4 of exactly the span's frames. In proxy mode an all-intra .mp4 of :attr:`indices`.
        rate: shown frames per second of the part that was asked for.
        store: holds the frames.
        sampler: name and version of the rule that took them.
    """

    mode: MediaMode
    indices: tuple[int, ...]
    times: tuple[float, ...]
    path: Path | None
    rate: float
    store: FrameStore
    sampler: str = SAMPLER

    def images(self) -> list[Image.Image]:
        """Read the shown frames in order, as fresh RGB images that the caller owns (frames mode)."""
        return self.store.images(self.indices)

    def files(self) -> list[Path]:
        """Paths of the shown frames in order, stored as JPEG (frames mode)."""
        self.store.fill(self.indices)
        return [self.store.path(index) for index in self.indices]

    def to_send(self, encoding: Encoding, *, decode: bool = True) -> tuple[list[Image.Image], SentImages]:
        """Read the images for a model or a service; returns them and where they note how they were encoded.

        Args:
            encoding: how a backend that encodes them is to send them.
            decode: now; False leaves it to whoever looks at their pixels, for backends that never look.
        """
        sent = SentImages(len(self.indices))
        return self.store.to_send(self.indices, encoding, sent, decode=decode), sent

    def info(self) -> dict[str, Any]:
        """Describe what was shown, as small JSON for the record of the request.

        Frames are listed one by one (``indices``) or, where they are consecutive, as ``range``: first and last. A file
        is read by the backend: the frames are then those of the file, their number is ``file_frames`` and their rate
        ``file_fps``; how many of them the model saw is not known, and no number claims it.
        """
        first, last = self.indices[0], self.indices[-1]
        whole = self.indices == tuple(range(first, last + 1))
        images = self.mode.images
        number, rate = ("n_frames", "fps") if images else ("file_frames", "file_fps")
        return {
            "mode": self.mode.name,
            number: len(self.indices),
            **({"range": [first, last]} if whole else {"indices": list(self.indices)}),
            "start": round(self.times[0], 3),
            "end": round(self.times[-1], 3),
            rate: round(self.rate, 4),
            "size": self.store.size if images else None,
            "quality": self.store.quality if images else None,
            "sampler": self.sampler if self.mode.sampled else None,
            "reader": "siming" if images else "backend",
        }


def view(
    path: Path,
    *,
    digest: str | None = None,
    span: tuple[float, float] | None,
    budget: Budget,
    mode: MediaMode | str = FRAMES,
    cache: Path,
    size: int | None = SIZE,
    quality: int = QUALITY,
    even: bool = False,
    cache_gb: float = 20.0,
    also: Sequence[Request] = (),
    sampler: str = UNIFORM,
    file: bool = True,
) -> View:
    """Prepare the media of one request, decoded into the store if they are not there yet.

    Args:
        path: the video file.
        digest: a name for its content if one is known; else its SHA-256 is computed (once).
        span: ``(start, end)`` in seconds, or None for the whole video.
        budget: how many frames; where the mode does not sample, the backend's reader decides instead.
        mode: form in which they are shown, or its name: ``frames``, ``video`` or ``proxy``.
        cache: the cache folder.
        size: longest side of stored frames in pixels (never enlarged); None keeps the original.
        quality: JPEG quality of stored frames.
        even: take an even number of frames.
        cache_gb: limit of the store in gigabytes; longest unused videos go first.
        also: further requests on the same video: if something must be decoded, their frames are stored in that pass.
        sampler: by which rule frames are taken; a rule by content looks at the whole video first, once.
        file: make the file of a mode that shows one; False: for those who want only its frames and times.

    Raises:
        MediaError: the file or the span cannot be shown; names both.
    """
    if not os.path.isfile(path):
        raise MediaError(f"{path}: no such file.")
    mode = MEDIA_MODES[mode] if isinstance(mode, str) else mode
    store = _store(cache, path, digest or digest_of(path, cache), size, quality)
    timeline, request = store.timeline(), Request(span, budget, sampler)
    written, rule, signal = 0, SAMPLER, None
    try:
        first, last = bounds = request.bounds(timeline)
        if not mode.sampled:
            indices = list(range(first, last + 1))
        else:
            if request.is_by_content(timeline, bounds, even=even) or needs_signal(also, timeline, even=even):
                signal, written = measure_signal(store, [request, *also], even=even, images=mode.images)
            indices, rule = request.choose(timeline, bounds, even=even, signal=signal)
    except MediaError as error:
        raise MediaError(f"{path}: {error}") from None
    shown = None
    if mode.images or file:
        shown, new = mode.prepare(
            store,
            timeline,
            indices,
            whole=span is None,
            others=lambda: union_of_frames(also, timeline, even=even, signal=signal)[0],
        )
        written += new
    if written:
        evict(cache, cache_gb, keep=store.digest)
    store.touch()
    times = tuple(timeline.times[indices].tolist())
    return View(mode, tuple(indices), times, shown, len(indices) / timeline.seconds(first, last), store, rule)


def ablate(
    plain: View, ablation: InputAblation, request: str, *, cache: Path | None = None, cache_gb: float = 20.0
) -> View:
    """Alter a view as an ablation says; one that shows another exam gets the view of that exam and leaves it.

    Args:
        plain: view of the setting that is altered, in a mode that samples; its file is not needed.
        ablation: says which frames are shown in place of those.
        request: id of the question; together with the number of frames it decides a shuffled order.
        cache: the cache folder, to be kept below its limit after a file was written; None leaves that out.
        cache_gb: the limit in gigabytes.

    Raises:
        MediaError: a frame cannot be decoded.
    """
    if ablation.frame_order is None:
        return plain
    places, times = ablation.frame_order(len(plain.indices), request), np.asarray(plain.times)
    if ablation.frame_times:
        times = ablation.frame_times(times, places)
    indices = tuple(np.asarray(plain.indices)[places].tolist())
    rate = plain.rate * (len(places) / len(plain.indices))
    shown = replace(plain, indices=indices, times=tuple(times.tolist()), rate=rate, path=None)
    if plain.mode.images:
        return shown
    store = shown.store
    timeline = store.timeline()
    pts = np.rint((np.asarray(shown.times) - shown.times[0]) / float(timeline.time_base)).astype(np.int64)
    which = hashlib.sha256(repr((shown.indices, pts.tolist())).encode()).hexdigest()[:12]
    file = store.folder / former_ablation_file(ablation.name, which)
    if not file.is_file():
        with store.writing():
            if not file.is_file():  # another process may have been faster
                write_reordered(store.source, timeline, shown.indices, pts, file)
        if cache is not None:
            evict(cache, cache_gb, keep=store.digest)
    return replace(shown, path=file)


def needs_signal(requests: Sequence[Request], timeline: Timeline, *, even: bool = False) -> bool:
    """Decide whether a signal is needed for some of the requests that can be met."""
    for request in requests:
        try:
            if request.is_by_content(timeline, even=even):
                return True
        except MediaError:
            continue
    return False


def measure_signal(
    store: FrameStore, requests: Sequence[Request], *, even: bool = False, images: bool = True
) -> tuple[ChangeSignal, int]:
    """Measure how much a video changes; returns that and how many frames were stored on the way.

    If it is not known yet, one pass looks at the frames of the grid and stores them, with those that the requests
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
    plain = [request for request in requests if not needs_signal([request], timeline, even=even)]
    uniform, _ = union_of_frames(plain, timeline, even=even)

    def keep(signal: ChangeSignal) -> list[int]:
        return union_of_frames(requests, timeline, even=even, signal=signal)[0]

    return store.measure_change(grid_frames(timeline), uniform if images else [], keep if images else None)


_store = lru_cache(maxsize=64)(FrameStore)
"""Return the same object for all requests of a video: it knows what lies in its folder."""
