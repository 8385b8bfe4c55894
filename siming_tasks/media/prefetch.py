"""Decode a whole dataset ahead of a run: one pass per video for all settings, in parallel, resumable."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from siming_tasks.common.errors import MediaError
from siming_tasks.common.schema import Video
from siming_tasks.common.workers import workers as processes
from siming_tasks.media.decode import decode
from siming_tasks.media.evict import evict
from siming_tasks.media.file_digest import digest_of
from siming_tasks.media.picture import jpeg
from siming_tasks.media.policy import Policy
from siming_tasks.media.request_media import Mode, Request, View, by_content, signal_of, view, wanted_by
from siming_tasks.media.signal import grid
from siming_tasks.media.store import QUALITY, SIZE, FrameStore
from siming_tasks.tasks import TaskSpec

__all__ = ["Job", "Outcome", "Workload", "estimate", "prepare"]


@dataclass(frozen=True)
class Job:
    """One video and all that will be asked to be shown of it.

    Attributes:
        path: the video file.
        requests: the parts and their budgets.
        digest: a name for the file's content, if known.
        mode: ``frames`` stores images, ``video`` writes one .mp4 per span, ``proxy`` one per request.
        size: longest side of stored frames in pixels.
        quality: JPEG quality of stored frames.
    """

    path: Path
    requests: tuple[Request, ...]
    digest: str | None = None
    mode: Mode = "frames"
    size: int | None = SIZE
    quality: int = QUALITY

    @classmethod
    def of(
        cls,
        policy: Policy,
        video: Video,
        path: Path,
        digest: str | None = None,
        settings: Iterable[TaskSpec] | None = None,
    ) -> Job:
        """All that some settings (all by default) show of a video under a policy; its mode must be one of the three."""
        mode = policy.mode_for()
        return cls(path, policy.requests(video, settings), digest, mode, policy.frame_size, policy.quality)

    def store(self, cache: Path) -> FrameStore:
        """Where its frames go."""
        return FrameStore(cache, self.path, self.digest or digest_of(self.path, cache), self.size, self.quality)

    def missing(self, cache: Path) -> list[int]:
        """Frames that frames mode still has to decode; requests that cannot be met do not count."""
        store = self.store(cache)
        timeline, signal = store.timeline(), store.signal()
        chosen = [request for request in self.requests if by_content([request], timeline)]
        if signal is None and chosen:  # the pass that sees the change stores the whole grid
            plain = [request for request in self.requests if request not in chosen]
            return store.missing([*grid(timeline).tolist(), *wanted_by(plain, timeline)[0]])
        return store.missing(wanted_by(self.requests, timeline, signal=signal)[0])


@dataclass(frozen=True)
class Outcome:
    """What became of one job: frames written, and what could not be done (with the file's name)."""

    path: Path
    frames: int
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Workload:
    """What is left to do, measured on a sample of the first video: frames, bytes on disk, seconds."""

    videos: int
    frames: int
    bytes: int
    seconds: float


def estimate(jobs: Sequence[Job], cache: Path, workers: int = 1) -> Workload:
    """Time and space that :func:`prepare` will take in frames mode, from two seconds or so of the first video to do.

    Videos that cannot be opened are left out; ``prepare`` reports them.
    """
    todo: list[tuple[Job, list[int]]] = []
    for job in jobs:
        try:
            if missing := job.missing(cache):
                todo.append((job, missing))
        except MediaError:
            continue
    frames = sum(len(missing) for _, missing in todo)
    if not todo:
        return Workload(0, 0, 0, 0.0)
    job = todo[0][0]
    timeline = job.store(cache).timeline()
    sample, sizes = range(0, min(50, timeline.n_frames), 10), []
    began = time.perf_counter()
    for _, frame in decode(job.path, timeline, sample):
        sizes.append(len(jpeg(frame, job.size, job.quality)))
    per_frame = (time.perf_counter() - began) / (sample[-1] + 1)
    decoded = sum(missing[-1] + 1 for _, missing in todo)
    return Workload(len(todo), frames, round(frames * float(np.mean(sizes))), decoded * per_frame / workers)


def prepare(
    jobs: Sequence[Job],
    cache: Path,
    *,
    workers: int = 1,
    cache_gb: float = 20.0,
    done: Callable[[Outcome], object] = lambda outcome: None,
) -> list[Outcome]:
    """Carry out the jobs; a video that fails is reported and does not stop the others.

    Interrupt it at will: what is written is whole, and the next call does only the rest.

    Args:
        jobs: one per video.
        cache: the cache folder.
        workers: processes (each decodes on several threads).
        cache_gb: limit of the store in gigabytes.
        done: called with each outcome as it comes, in any order.

    Returns:
        One outcome per job, in the order of the jobs.
    """
    outcomes: dict[Path, Outcome] = {}
    for outcome in _run(jobs, cache, cache_gb, workers):
        outcomes[outcome.path] = outcome
        done(outcome)
    return [outcomes[job.path] for job in jobs]


def _run(jobs: Sequence[Job], cache: Path, cache_gb: float, workers: int) -> Iterator[Outcome]:
    if workers == 1:
        yield from (_one(job, cache, cache_gb) for job in jobs)
        return
    with processes(min(workers, os.cpu_count() or 1)) as pool:
        for future in as_completed([pool.submit(_one, job, cache, cache_gb) for job in jobs]):
            yield future.result()


def _one(job: Job, cache: Path, cache_gb: float) -> Outcome:
    try:
        store = job.store(cache)
        timeline = store.timeline()
        signal, count = None, 0
        if by_content(job.requests, timeline) and job.mode != "video":
            signal, count = signal_of(store, job.requests, images=job.mode == "frames")
        requests = job.requests if job.mode != "video" else tuple(request.uniform() for request in job.requests)
        wanted, errors = wanted_by(requests, timeline, signal=signal)
        if job.mode == "frames":
            count += store.fill(wanted)
            evict(cache, cache_gb, keep=store.digest)
        else:
            given = [
                request for request in job.requests if request.span or job.mode == "proxy" or not timeline.standard
            ]
            count = sum(len(_clip(job, request, cache, cache_gb).indices) for request in given)
        return Outcome(job.path, count, tuple(f"{job.path}: {error}" for error in errors))
    except MediaError as error:
        return Outcome(job.path, 0, (str(error),))


def _clip(job: Job, request: Request, cache: Path, cache_gb: float) -> View:
    return view(
        job.path,
        digest=job.digest,
        span=request.span,
        budget=request.budget,
        mode=job.mode,
        cache=cache,
        size=job.size,
        quality=job.quality,
        cache_gb=cache_gb,
        sampler=request.sampler,
    )
