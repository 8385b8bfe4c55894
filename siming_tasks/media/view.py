"""What one request shows to a model: a list of images or a video file, and a record of exactly which frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from PIL import Image

from siming_tasks.errors import MediaError
from siming_tasks.media.clips import write_frames
from siming_tasks.media.sampler import SAMPLER, Budget, frame_range, sample_indices
from siming_tasks.media.store import QUALITY, SIZE, FrameStore, digest_of, evict
from siming_tasks.media.timeline import Timeline

__all__ = ["Mode", "Request", "View", "view"]

Mode = Literal["frames", "video"]


@dataclass(frozen=True)
class Request:
    """A part of a video (``span`` in seconds, None for all of it) and how many frames of it to show."""

    span: tuple[float, float] | None
    budget: Budget

    def indices(self, timeline: Timeline, *, even: bool = False) -> list[int]:
        """The frames that the request takes."""
        span = frame_range(timeline.times, *self.span) if self.span else None
        taken = sample_indices(timeline.n_frames, budget=self.budget, rate=float(timeline.rate), span=span, even=even)
        return [int(index) for index in taken]


@dataclass(frozen=True, eq=False)
class View:
    """One request's media.

    Attributes:
        mode: ``frames`` (use :meth:`images`) or ``video`` (use :attr:`path`).
        indices: frame indices of the source video that are shown; in video mode, all frames of the file.
        times: their times in the source video (s).
        path: the video file in video mode: the source itself, or an .mp4 of exactly the frames of the span.
        rate: mean rate of the shown frames (frames/s).
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

    def info(self) -> dict[str, Any]:
        """What was shown, as small JSON for the record of the request.

        ``indices`` are listed in frames mode; in video mode ``range`` holds the first and last frame of the file, of
        which the backend's own reader takes its choice.
        """
        first, last = self.indices[0], self.indices[-1]
        shown = {"indices": list(self.indices)} if self.mode == "frames" else {"range": [first, last]}
        return {
            "mode": self.mode,
            "n_frames": len(self.indices),
            **shown,
            "start": round(self.times[0], 3),
            "end": round(self.times[-1], 3),
            "fps": round(self.rate, 4),
            "size": self.store.size if self.mode == "frames" else None,
            "quality": self.store.quality if self.mode == "frames" else None,
            "sampler": SAMPLER if self.mode == "frames" else "backend",
            "reader": "siming-pyav" if self.mode == "frames" else "backend",
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
        digest: SHA-256 of its content if known; else it is computed (once per process).
        span: ``(start, end)`` in seconds, or None for the whole video.
        budget: how many frames; in video mode the backend's reader decides instead.
        mode: ``frames`` or ``video``.
        cache: the cache folder.
        size: longest side of stored frames in pixels (never enlarged); None keeps the original.
        quality: JPEG quality of stored frames.
        even: take an even number of frames.
        cache_gb: limit of the store in gigabytes; longest unused videos go first.
        also: further requests on the same video: if something must be decoded, they are filled in the same pass.

    Raises:
        MediaError: the file or the span cannot be shown; names both.
    """
    if not path.is_file():
        raise MediaError(f"{path}: no such file.")
    store = FrameStore(cache, path, digest or digest_of(path), size, quality)
    timeline = store.timeline()
    request = Request(span, budget)
    try:
        bounds = frame_range(timeline.times, *span) if span else (0, timeline.n_frames - 1)
        indices = request.indices(timeline, even=even) if mode == "frames" else list(range(bounds[0], bounds[1] + 1))
    except MediaError as error:
        raise MediaError(f"{path}: {error}") from None
    file = None
    if mode == "frames":
        if store.missing(indices):
            more = [index for other in also for index in other.indices(timeline, even=even)]
            store.fill([*indices, *more])
            evict(cache, cache_gb, keep=store.digest)
    elif span is None:
        file = path
    else:
        file = store.folder / "clips" / f"{bounds[0]:06d}-{bounds[1]:06d}.mp4"
        if not file.is_file():
            with store.lock():
                if not file.is_file():
                    write_frames(path, timeline, indices, file)
                    store.account(file.stat().st_size)
            evict(cache, cache_gb, keep=store.digest)
    store.touch()
    times = timeline.times
    taken = times[indices[-1]] - times[indices[0]]
    rate = (len(indices) - 1) / float(taken) if taken > 0 else float(timeline.rate)
    return View(mode, tuple(indices), tuple(float(times[index]) for index in indices), file, rate, store)
