"""Backbone features of what each question shows: pooled over its frames, kept by the video's content."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.files import atomic_write, sha256_json
from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset
from siming_tasks.media import Policy, Request, View, view
from siming_tasks.options import Options

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["POOLS", "Backbone", "VideoFeatures", "media_of", "pool", "seen_of", "shown_facts", "views_of"]

POOLS = ("mean", "max", "std", "first third", "middle third", "last third")
"""What is kept of each feature, in this order; the thirds are means over thirds of the time."""

_VERSION = "1"
_AT_ONCE = 64
"""Frames in memory, whatever the length of the video."""


class Backbone(Protocol):
    """Backbone that turns pictures into features; it is never trained here.

    Attributes:
        name: for people.
        digest: moves when the same picture gives other features.
    """

    name: str
    digest: str

    def __call__(self, pictures: Sequence[Image]) -> NDArray[np.float32]:
        """Features, shape (pictures, features)."""


@dataclass(frozen=True)
class VideoFeatures:
    """Features of one video by step id, and under the empty name of the whole video.

    Attributes:
        vectors: pooled features, shape (6 × features,).
        media: which frames they are of, as the record of a request says it.
    """

    vectors: Mapping[str, NDArray[np.float32]]
    media: Mapping[str, Mapping[str, Any]]


def pool(frames: NDArray[np.float32], times: Sequence[float]) -> NDArray[np.float32]:
    """One vector for some frames: :data:`POOLS` of each feature.

    Args:
        frames: shape (frames, features).
        times: of each frame (s), ascending.

    Returns:
        Shape (6 × features,); a third without a frame is given the mean of all.
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
    """The frames of each of :func:`requests_of`, not read yet.

    Raises:
        MediaError: the video cannot be shown.
        DataError: its path leaves the folder.
    """
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


def media_of(views: Mapping[str, View], options: Options) -> dict[str, Mapping[str, Any]]:
    """Media facts of these frames, as the record of a request states them."""
    policy = Policy.of(options)
    return {
        name: {**view.info(), "density": policy.density_of("clip" if name else "full")} for name, view in views.items()
    }


def seen_of(dataset: Dataset, video: Video, digest: str, frozen: Backbone, options: Options) -> VideoFeatures:
    """Features of a video and of its steps' clips, from exactly the frames that a model is shown; computed once.

    Raises:
        MediaError: the video cannot be shown.
        DataError: its path leaves the folder.
    """
    policy = Policy.of(options)
    key = sha256_json([_VERSION, frozen.digest, *shown_facts(video, policy)])[:16]
    kept = options.cache_dir / "baseline" / f"{digest}-{key}.npz"
    if (known := _read(kept, list(requests_of(video, policy)))) is not None:
        return known
    views = views_of(dataset, video, digest, options)
    by_frame = _by_frame(views[""], sorted({index for view in views.values() for index in view.indices}), frozen)
    vectors = {
        name: pool(np.stack([by_frame[index] for index in view.indices]), view.times) for name, view in views.items()
    }
    media = media_of(views, options)
    with atomic_write(kept, "wb") as stream:
        np.savez(stream, vectors=np.stack(list(vectors.values())), media=np.array(json.dumps(media)))
    return VideoFeatures(vectors, media)


def _by_frame(shown: View, indices: Sequence[int], frozen: Backbone) -> dict[int, NDArray[np.float32]]:
    by_index: dict[int, NDArray[np.float32]] = {}
    for first in range(0, len(indices), _AT_ONCE):
        some = indices[first : first + _AT_ONCE]
        by_index.update(zip(some, frozen(shown.store.images(some)), strict=True))
    return by_index


def _read(path: Path, names: Sequence[str]) -> VideoFeatures | None:
    """Stored features; None if there are none, or none whole."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as kept:
            vectors, media = kept["vectors"], json.loads(str(kept["media"]))
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error):
        return None
    if len(vectors) != len(names) or list(media) != list(names) or not np.isfinite(vectors).all():
        return None
    return VideoFeatures(dict(zip(names, vectors, strict=True)), media)
