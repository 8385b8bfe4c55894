"""Backbone features of what each question shows: pooled over its frames, kept by the video's content."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.files import atomic_write, sha256_json
from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset
from siming_tasks.media import Policy, Request, View, view
from siming_tasks.options import Options
from siming_tasks.tools.baseline.encoders import Backbone

_VERSION = "1"
_AT_ONCE = 64
"""Frames in memory, whatever the length of the video."""


Media = Mapping[str, Mapping[str, Any]]
"""Which frames were shown, as the record of a request says it: by step id of a clip, and under the empty name."""


def pool(frames: NDArray[np.float32], times: Sequence[float]) -> NDArray[np.float32]:
    """Mean, maximum and spread of each feature, and its mean in each third of the time; shape (6 × features,).

    A third without a frame is given the mean of all.

    Args:
        frames: shape (frames, features).
        times: of each frame (s), ascending.
    """
    since = np.asarray(times) - times[0]
    third = np.minimum((3 * since / (since[-1] or 1.0)).astype(int), 2)
    mean = frames.mean(0)
    parts = [frames[third == k].mean(0) if (third == k).any() else mean for k in range(3)]
    return np.concatenate([mean, frames.max(0), frames.std(0), *parts]).astype(np.float32)


def requests_of(video: Video, policy: Policy) -> dict[str, Request]:
    """Media requests of a video: by step id of its clips, and under the empty name of the whole."""
    asked: dict[str, Request] = {"": policy.request(video.duration, None, "full")}
    return asked | {name: policy.request(video.duration, video.step(name).span, "clip") for name in video.timed_ids}


def shown_facts(video: Video, policy: Policy) -> list[Any]:
    """All that decides which frames these are, but for the file."""
    asked = requests_of(video, policy).items()
    return [policy.facts(), [[name, view.span, view.budget.frames, view.budget.fps] for name, view in asked]]


def views_of(dataset: Dataset, video: Video, digest: str, options: Options) -> dict[str, View]:
    """The frames of each of :func:`requests_of`, not read yet (MediaError: the video cannot be shown)."""
    policy = Policy.of(options)
    asked = requests_of(video, policy)
    return {
        name: view(
            dataset.media_path(video),
            digest=digest,
            span=request.span,
            budget=request.budget,
            cache=options.cache_dir,
            size=policy.frame_size,
            quality=policy.quality,
            cache_gb=options.cache_gb,
            also=tuple(asked.values()),
            sampler=request.sampler,
        )
        for name, request in asked.items()
    }


def media_of(views: Mapping[str, View], options: Options) -> Media:
    """Media facts of these frames."""
    policy = Policy.of(options)
    return {
        name: {**view.info(), "density": policy.density_of("clip" if name else "full")} for name, view in views.items()
    }


def features_of(
    dataset: Dataset, video: Video, digest: str, backbone: Backbone, options: Options
) -> tuple[dict[str, NDArray[np.float32]], Media]:
    """Pooled features of a video (under the empty name) and of its steps' clips, and which frames they are of.

    They are of exactly the frames that a model is shown, and are computed once.

    Raises:
        MediaError: the video cannot be shown.
        DataError: its path leaves the folder.
    """
    policy = Policy.of(options)
    names = list(requests_of(video, policy))
    key = sha256_json([_VERSION, backbone.digest, *shown_facts(video, policy)])[:16]
    kept = options.cache_dir / "baseline" / f"{digest}-{key}.npz"
    broken = suppress(OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error)  # none, or none whole
    with broken, kept.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        known, media = stored["vectors"], json.loads(str(stored["media"]))
        if len(known) == len(names) and list(media) == names and np.isfinite(known).all():
            return dict(zip(names, known, strict=True)), media
    views = views_of(dataset, video, digest, options)
    indices = sorted({index for view in views.values() for index in view.indices})
    by_frame: dict[int, NDArray[np.float32]] = {}
    for first in range(0, len(indices), _AT_ONCE):
        some = indices[first : first + _AT_ONCE]
        by_frame.update(zip(some, backbone(views[""].store.images(some)), strict=True))
    vectors = {
        name: pool(np.stack([by_frame[index] for index in view.indices]), view.times) for name, view in views.items()
    }
    media = media_of(views, options)
    with atomic_write(kept, "wb") as stream:
        np.savez(stream, vectors=np.stack(list(vectors.values())), media=np.array(json.dumps(media)))
    return vectors, media
