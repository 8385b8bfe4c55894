"""Media of one request: the frames that it takes, shown as images or as a file, and a record of exactly which.

An input ablation alters them: it shows the frames in another order, or those of another exam; nothing is decoded for
it. A file is altered as a proxy: the frames that ``frames`` mode would show, each a keyframe. A whole recording of 25
frames a second in random order would be neither cheap nor the question.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from siming_tasks.common.errors import MediaError
from siming_tasks.common.files import digest_of
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
from siming_tasks.media.store import QUALITY, SIZE, FrameStore, evict
from siming_tasks.media.stored_image import Encoding, SentImages
from siming_tasks.media.timeline import Timeline
from siming_tasks.tasks import InputAblation

ABLATION_RULES = "ablations/2"
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

    def choose(self, timeline: Timeline, signal: ChangeSignal | None = None) -> tuple[list[int], str]:
        """Choose the frames that the budget takes of the part; returns them and the rule that took them.

        Raises:
            ValueError: a rule by content, and no signal.
            MediaError: the span is empty or beyond the video.
        """
        bounds, rate = self.bounds(timeline), float(timeline.rate)
        if self.is_by_content(timeline):
            if signal is None:
                raise ValueError(f"the sampler {self.sampler!r} needs the video's signal")
            count = sample_count(bounds[1] - bounds[0] + 1, rate, self.budget)
            if by_content := choose_by_content(signal, self.sampler, bounds, count):
                return by_content, SAMPLERS[self.sampler]
        evenly = sample_indices(timeline.n_frames, budget=self.budget, rate=rate, span=bounds)
        return evenly.tolist(), SAMPLER

    def indices(self, timeline: Timeline, *, signal: ChangeSignal | None = None) -> list[int]:
        """Choose the frames alone (:meth:`choose`)."""
        return self.choose(timeline, signal)[0]

    def is_by_content(self, timeline: Timeline) -> bool:
        """Decide whether its frames depend on what they show: not where the grid offers no choice, as for most clips.

        Raises:
            MediaError: the span is empty or beyond the video.
        """
        if self.sampler == UNIFORM:
            return False
        first, last = self.bounds(timeline)
        count = sample_count(last - first + 1, float(timeline.rate), self.budget)
        return offers_choice(grid_frames(timeline), (first, last), count)

    def uniform(self) -> Request:
        """Return the same request by the uniform rule: as many frames, other ones."""
        return replace(self, sampler=UNIFORM)


def union_of_frames(
    requests: Iterable[Request], timeline: Timeline, signal: ChangeSignal | None = None
) -> tuple[list[int], list[str]]:
    """Collect the frames that the requests take, ascending, and the errors of the requests that cannot be met."""
    wanted: set[int] = set()
    errors = []
    for request in requests:
        try:
            wanted.update(request.indices(timeline, signal=signal))
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
        first, last = request.bounds(timeline)
        if not mode.sampled:
            indices = list(range(first, last + 1))
        else:
            signal, written = change_signal([request, *also], store, images=mode.images)
            indices, rule = request.choose(timeline, signal)
    except MediaError as error:
        raise MediaError(f"{path}: {error}") from None
    shown = None
    if mode.images or file:
        shown, new = mode.prepare(
            store, indices, whole=span is None, others=lambda: union_of_frames(also, timeline, signal)[0]
        )
        written += new
    if written:
        evict(cache, cache_gb, keep=store.digest)
    store.touch()
    times = tuple(timeline.times[indices].tolist())
    return View(mode, tuple(indices), times, shown, len(indices) / timeline.seconds(first, last), store, rule)


_store = lru_cache(maxsize=64)(FrameStore)
"""Return the same object for all requests of a video: it knows what lies in its folder."""


def video_store(path: Path, digest: str, cache: Path) -> FrameStore:
    """Everything stored about a video, for what does not depend on the size of its frames (sound)."""
    return _store(cache, path, digest, SIZE, QUALITY)


def ablate(
    plain: View,
    ablation: InputAblation,
    request: str,
    *,
    own: Sequence[float] = (),
    cache: Path | None = None,
    cache_gb: float = 20.0,
) -> View:
    """Alter a view as an ablation says; one that shows another exam gets the view of that exam.

    Args:
        plain: in a mode that samples; its file is not needed.
        ablation: what is altered.
        request: id of the question, which with the number of frames decides a shuffled order.
        own: times of the frames that the exam itself would show (s); for an ablation that shows another one.
        cache: the cache folder, which is kept below ``cache_gb`` gigabytes after a file was written.
        cache_gb: its limit.

    Raises:
        MediaError: a frame cannot be decoded.
    """
    if ablation.shows_other_exam:
        times = tuple(own)
        # the middle of each of as many equal parts
        places = (2 * np.arange(len(times)) + 1) * len(plain.indices) // (2 * len(times))
    elif ablation.frame_order:
        times, places = plain.times, ablation.frame_order(len(plain.indices), request)
    else:
        return plain
    indices = tuple(np.asarray(plain.indices)[places].tolist())
    rate = plain.rate * (len(places) / len(plain.indices))
    shown = replace(plain, indices=indices, times=times, rate=rate, path=None)
    if plain.mode.images:
        return shown
    store = shown.store
    timeline = store.timeline()
    pts = np.rint((np.asarray(shown.times) - shown.times[0]) / float(timeline.time_base)).astype(np.int64)
    which = hashlib.sha256(repr((shown.indices, pts.tolist())).encode()).hexdigest()[:12]
    file = store.folder / "ablations" / f"{ablation.name}-{which}.mp4"
    if store.make_file(file, lambda: write_reordered(store.source, timeline, indices, pts, file)) and cache is not None:
        evict(cache, cache_gb, keep=store.digest)
    return replace(shown, path=file)


def needs_signal(request: Request, timeline: Timeline) -> bool:
    """Decide whether a request takes its frames by content; one that cannot be met does not."""
    try:
        return request.is_by_content(timeline)
    except MediaError:
        return False


def change_signal(
    requests: Sequence[Request], store: FrameStore, *, images: bool = True
) -> tuple[ChangeSignal | None, int]:
    """Measure how much a video changes, if any request needs that; returns it and how many frames were stored.

    If it is not known yet, one pass looks at the frames of the grid and stores them, with those that the requests
    take without a look; then those of the grid that no request takes are removed again.
    Requests that cannot be met do not count. ``images`` says whether frames are to be stored.

    Raises:
        MediaError: a frame cannot be decoded.
    """
    timeline = store.timeline()
    if not any(needs_signal(request, timeline) for request in requests):
        return None, 0
    if known := store.signal():
        return known, 0
    if not images:
        return store.measure_change([], None)
    plain = [request for request in requests if not needs_signal(request, timeline)]
    return store.measure_change(
        union_of_frames(plain, timeline)[0], lambda signal: union_of_frames(requests, timeline, signal)[0]
    )
