"""Decoding of a whole dataset ahead of a run: one pass per video for all settings, in parallel, resumable."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from siming_tasks.benchmark.exams import Video
from siming_tasks.common.errors import MediaError
from siming_tasks.common.processes import worker_pool
from siming_tasks.media.decode import decode
from siming_tasks.media.modes import FRAMES, MediaMode
from siming_tasks.media.picture import to_jpeg
from siming_tasks.media.policy import Policy
from siming_tasks.media.request_media import Request, union_of_frames, view
from siming_tasks.media.sampler import UNIFORM
from siming_tasks.media.store import QUALITY, SIZE, FrameStore
from siming_tasks.options import Options


@dataclass(frozen=True)
class Job:
    """Video and the parts that a run will show: the arguments of :func:`~siming_tasks.media.view`.

    ``mode`` says whether images are stored or .mp4 files written.
    """

    path: Path
    requests: tuple[Request, ...]
    digest: str | None = None
    mode: MediaMode = FRAMES
    size: int | None = SIZE

    @classmethod
    def of(cls, policy: Policy, video: Video, path: Path, digest: str | None = None) -> Job:
        """Collect all that the plain settings show of a video under a policy."""
        return cls(path, policy.requests(video), digest, policy.mode_for(), policy.frame_size)

    def store(self, cache: Path, cache_gb: float = Options.cache_gb) -> FrameStore:
        """Frame store of the video (MediaError if the file is not there)."""
        return FrameStore.of(self.path, cache, digest=self.digest, size=self.size, cache_gb=cache_gb)

    def missing(self, cache: Path) -> list[int]:
        """List the frames that still have to be decoded as images; spans beyond the video do not count.

        Where frames go by motion that was not measured yet, as many even ones stand for them.
        """
        store = self.store(cache)
        known = store.motion_file.is_file()
        requests = [request if known else replace(request, sampler=UNIFORM) for request in self.requests]
        return store.missing(union_of_frames(requests, store)[0])


@dataclass(frozen=True)
class Outcome:
    """Result of one job: what could not be done (with the file's name)."""

    path: Path
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Workload:
    """Work that is left, measured on a sample of the first video: frames, bytes on disk, seconds."""

    videos: int
    frames: int
    bytes: int
    seconds: float


def estimate(jobs: Sequence[Job], cache: Path, workers: int = 1) -> Workload:
    """Estimate time and space that :func:`prepare` will take for images, from about two seconds of the first video.

    Videos that cannot be opened are left out; ``prepare`` reports them.
    """
    todo: list[tuple[Job, list[int]]] = []
    for job in jobs:
        with suppress(MediaError):
            if missing := job.missing(cache):
                todo.append((job, missing))
    if not todo:
        return Workload(0, 0, 0, 0.0)
    frames = sum(len(missing) for _, missing in todo)
    job, timeline = todo[0][0], todo[0][0].store(cache).timeline()
    sample = range(0, min(50, timeline.n_frames), 10)
    start = time.perf_counter()
    sizes = [len(to_jpeg(frame, job.size, QUALITY)) for _, frame in decode(job.path, timeline, sample)]
    per_frame = (time.perf_counter() - start) / (sample[-1] + 1)
    decoded = sum(missing[-1] + 1 for _, missing in todo)
    return Workload(len(todo), frames, round(frames * float(np.mean(sizes))), decoded * per_frame / workers)


def prepare(
    jobs: Sequence[Job], cache: Path, *, workers: int = 1, cache_gb: float = Options.cache_gb
) -> Iterator[Outcome]:
    """Carry out the jobs while their outcomes are iterated, in order; a video that fails does not stop the others.

    Interrupt it at will: what is written is whole, and the next call does only the rest. There is one job per video.
    The cache is kept below ``cache_gb`` gigabytes. Each of the ``workers``, processes, decodes on several threads.
    """
    if workers == 1:
        yield from (_carry_out(job, cache, cache_gb) for job in jobs)
        return
    with worker_pool(min(workers, os.cpu_count() or 1)) as pool:
        futures = [pool.submit(_carry_out, job, cache, cache_gb) for job in jobs]
        yield from (future.result() for future in futures)


def _carry_out(job: Job, cache: Path, cache_gb: float) -> Outcome:
    """Store the frames, and write the files, of one job."""
    errors: list[str] = []
    try:
        store = job.store(cache, cache_gb)
        store.timeline()
        if job.mode.sampled:  # a proxy is made of the images
            wanted, errors = union_of_frames(job.requests, store)
            store.fill(wanted)
        for request in () if job.mode.images else job.requests:
            try:
                view(
                    job.path, digest=store.digest, span=request.span, frames=request.frames, mode=job.mode, cache=cache,
                    size=job.size, cache_gb=cache_gb, sampler=request.sampler,
                )  # fmt: skip
            except MediaError as error:
                errors.append(str(error).removeprefix(f"{job.path}: "))
    except MediaError as error:
        return Outcome(job.path, (str(error),))
    return Outcome(job.path, tuple(f"{job.path}: {error}" for error in dict.fromkeys(errors)))
