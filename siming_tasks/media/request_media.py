"""Media of one request: the frames that it takes, shown as images or as a file, and a record of exactly which.

An input ablation alters them: it shows the frames in another order, or those of another exam. A file is altered as a
proxy: the frames that ``frames`` mode would show. A whole recording of 25 frames a second in random order would be
neither cheap nor the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from siming_tasks.benchmark.tasks import InputAblation
from siming_tasks.common.errors import MediaError
from siming_tasks.media.decode import decoder, pixels
from siming_tasks.media.modes import FRAMES, MEDIA_MODES, MediaMode
from siming_tasks.media.motion import choose_by_motion, grid_frames, offers_choice
from siming_tasks.media.sampler import SAMPLER, SAMPLERS, UNIFORM, frame_range, sample_indices
from siming_tasks.media.sound import has_sound
from siming_tasks.media.store import QUALITY, SIZE, FrameStore
from siming_tasks.media.stored_image import SentImages
from siming_tasks.media.timeline import Timeline
from siming_tasks.options import Options

ABLATION_RULES = "ablations/3"
"""Version of what the ablations show; it moves when one shows something else."""


@dataclass(frozen=True)
class Request:
    """Part of a video (``span`` in seconds, None for all of it), its number of frames, and the sampler.

    ``sampler`` is ``uniform`` or ``motion`` (:mod:`siming_tasks.media.motion`).
    """

    span: tuple[float, float] | None
    frames: int
    sampler: str = UNIFORM

    def bounds(self, timeline: Timeline) -> tuple[int, int]:
        """Find the first and last frame of the part (MediaError if the span is empty or beyond the video)."""
        return frame_range(timeline.times, *self.span) if self.span else (0, timeline.n_frames - 1)

    def indices(self, timeline: Timeline) -> list[int]:
        """Choose the frames evenly; the sampler ``motion`` takes as many, other ones (MediaError as :meth:`bounds`)."""
        indices: list[int] = sample_indices(timeline.n_frames, self.frames, self.bounds(timeline)).tolist()
        return indices

    def choose(self, store: FrameStore) -> tuple[list[int], str]:
        """Choose the frames by the sampler; returns them and the rule that took them.

        Raises:
            MediaError: the span is empty or beyond the video, or a frame cannot be decoded.
        """
        timeline = store.timeline()
        indices, grid = self.indices(timeline), grid_frames(timeline)
        bounds = self.bounds(timeline)
        if self.sampler == UNIFORM or not offers_choice(grid, bounds, len(indices)):
            return indices, SAMPLER
        return choose_by_motion(grid, store.change(), bounds, len(indices)), SAMPLERS[self.sampler]


def union_of_frames(requests: Iterable[Request], store: FrameStore) -> tuple[list[int], list[str]]:
    """Collect the frames that the requests take, ascending, and the errors of the requests that cannot be met."""
    wanted: set[int] = set()
    errors = []
    for request in requests:
        try:
            wanted.update(request.choose(store)[0])
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
            an .mp4 of exactly the span's frames. In proxy mode an all-intra .mp4 of the images of :attr:`indices`.
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

    def to_send(self, *, decode: bool = True) -> tuple[list[Image.Image], SentImages]:
        """Read the images for a model or a service; returns them and where they note how they were encoded.

        ``decode``: True decodes now; False decodes when pixels are first read, for backends that only need the files.
        """
        sent = SentImages(len(self.indices))
        return self.store.images(self.indices, sent, decode=decode), sent

    def recipe(self) -> list[Any]:
        """Everything that decides the shown images and their times; the same recipe gives the same bytes."""
        longest = self.store.timeline().longest
        size = min(longest, self.store.size or longest)  # smaller pictures are not enlarged
        times = [round(time, 3) for time in self.times]
        return [self.store.digest, list(self.indices), times, size, QUALITY, pixels()]

    def info(self) -> dict[str, Any]:
        """Describe the media of a request, as small JSON for its record.

        Frames are listed one by one (``indices``) or, where they are consecutive, as ``range``: first and last. A file
        is read by the backend: the frames are then those of the file, their number is ``file_frames`` and their rate
        ``file_fps``; how many of them the model saw is not known, and no number claims it.
        """
        first, last = self.indices[0], self.indices[-1]
        whole = self.indices == tuple(range(first, last + 1))
        images, stored = self.mode.images, self.mode.sampled
        number, rate = ("n_frames", "fps") if images else ("file_frames", "file_fps")
        return {
            "mode": self.mode.name,
            number: len(self.indices),
            **({"range": [first, last]} if whole else {"indices": list(self.indices)}),
            "start": round(self.times[0], 3),
            "end": round(self.times[-1], 3),
            rate: round(self.rate, 4),
            "size": self.store.size if stored else None,
            "quality": QUALITY if stored else None,
            "sampler": self.sampler if stored else None,
            "reader": "siming" if images else "backend",
            "pixels": pixels(),
            "decoder": decoder(),
        }


def view(
    path: Path,
    *,
    digest: str | None = None,
    span: tuple[float, float] | None,
    frames: int,
    mode: MediaMode | str = FRAMES,
    cache: Path,
    size: int | None = SIZE,
    cache_gb: float = Options.cache_gb,
    also: Callable[[], Iterable[Request]] = tuple,
    sampler: str = UNIFORM,
    made: bool = True,
    plain: bool = False,
) -> View:
    """Prepare the media of one request, decoded into the store if they are not there yet.

    Args:
        path: the video file.
        digest: a name for its content if one is known; otherwise its SHA-256 is computed (once).
        span: ``(start, end)`` in seconds, or None for the whole video.
        frames: how many frames; where the mode does not sample, the backend's reader decides instead.
        mode: form in which they are shown, or its name: ``frames``, ``video`` or ``proxy``.
        cache: the cache folder.
        size: longest side of stored frames in pixels (never enlarged); None keeps the original.
        cache_gb: limit of the store in gigabytes; longest unused videos go first.
        also: gives further requests on the same video, whose frames are stored too if something must be decoded.
        sampler: ``uniform``, or ``motion``, which looks at the whole video first, once.
        plain: show no file that may contain more than pictures: a copy of the recording instead of the recording
            itself.
        made: decode the frames, and make the file of a mode that shows one; False: say only which and when.

    Raises:
        MediaError: the file or the span cannot be shown; names both.
    """
    mode = MEDIA_MODES[mode] if isinstance(mode, str) else mode
    store = FrameStore.of(path, cache, digest=digest, size=size, cache_gb=cache_gb)
    timeline, request, rule = store.timeline(), Request(span, frames, sampler), SAMPLER
    try:
        first, last = request.bounds(timeline)
    except MediaError as error:
        raise MediaError(f"{path}: {error}") from None
    if mode.sampled:
        indices, rule = request.choose(store)
    else:
        indices = list(range(first, last + 1))
    times = tuple(timeline.times[indices].tolist())
    shown = None
    if made and mode.images and store.missing(indices):
        store.fill([*indices, *union_of_frames(also(), store)[0]])
    elif made and not mode.images:
        if mode.sampled:
            shown = store.proxy(indices, times)
        else:
            # A class that reads a file may take other frames than these, or hear a track of which no record would know.
            is_source = span is None and timeline.standard and not has_sound(path, known=False)
            shown = path if is_source and not plain else store.plain() if is_source else store.clip(first, last)
    store.touch()
    return View(mode, tuple(indices), times, shown, len(indices) / timeline.seconds(first, last), store, rule)


def ablate(plain: View, ablation: InputAblation, request: str, *, own: Sequence[float] = ()) -> View:
    """Alter a view as an ablation says; one that shows another exam gets the view of that exam.

    Args:
        plain: in a mode that samples; its file is not needed.
        ablation: what is altered.
        request: id of the question, which with the number of frames decides a shuffled order.
        own: times of the frames that the exam itself would show (s); for an ablation that shows another one.

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
    path = None if plain.mode.images else plain.store.proxy(indices, times)
    return replace(plain, indices=indices, times=times, rate=rate, path=path)
