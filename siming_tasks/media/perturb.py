"""The evidence of an ablation: the frames of a view in another order, or fewer of them; nothing is decoded for it.

A file is altered as a proxy: the frames that ``frames`` mode would show, each a keyframe. What a reader makes of a
whole recording of 25 frames a second in random order would be neither cheap nor the question.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.version_0_1 import former_request_id
from siming_tasks.media.clips import write_reordered
from siming_tasks.media.evict import evict
from siming_tasks.media.request_media import View

__all__ = ["ALTERED", "ORDERS", "altered"]

ALTERED = "ablations/1"
"""Version of the rules below; it moves when an ablation shows something else, and is part of every cache key."""


def altered(found: View, ablation: str, request: str, *, cache: Path | None = None, cache_gb: float = 20.0) -> View:
    """What an ablation shows in place of a view; ``foreign`` is a plain view, of another exam.

    Args:
        found: the view of the setting that is altered, in ``frames`` or ``proxy`` mode; its file is not needed.
        ablation: ``single``, ``shuffled``, ``reversed`` or ``frozen``.
        request: id of the question; together with the number of frames it decides a shuffled order.
        cache: the cache folder, to be kept below its limit after a file was written; None leaves that out.
        cache_gb: the limit in gigabytes.

    Raises:
        MediaError: a frame cannot be decoded.
    """
    if ablation == "mismatched_video":
        return found
    indices, times = np.asarray(found.indices), np.asarray(found.times)
    chosen, at = ORDERS[ablation](len(indices), request), times
    if ablation == "single_frame":
        at = times[chosen]
    elif (
        ablation == "reversed_frames"
    ):  # as if the recording ran backwards: the gaps between frames are turned round too
        at = times[0] + times[-1] - times[::-1]
    share = len(chosen) / len(indices)
    shown = replace(
        found, indices=tuple(indices[chosen].tolist()), times=tuple(at.tolist()), rate=found.rate * share, path=None
    )
    return shown if found.mode == "frames" else replace(shown, path=_file(shown, ablation, cache, cache_gb))


def _file(shown: View, ablation: str, cache: Path | None, cache_gb: float) -> Path:
    """The .mp4 of the altered view, made unless it is there."""
    store = shown.store
    timeline = store.timeline()
    pts = np.rint((np.asarray(shown.times) - shown.times[0]) / float(timeline.time_base)).astype(np.int64)
    what = hashlib.sha256(repr((shown.indices, pts.tolist())).encode()).hexdigest()[:12]
    file = store.folder / "ablations" / f"{ablation}-{what}.mp4"
    if not file.is_file():
        with store.writing():
            if not file.is_file():
                write_reordered(store.source, timeline, shown.indices, pts, file)
        if cache is not None:
            evict(cache, cache_gb, keep=store.digest)
    return file


def _middle(number: int, _: str) -> NDArray[np.int64]:
    return np.array([number // 2])


def _shuffled(number: int, request: str) -> NDArray[np.int64]:
    """A random order that is not the true one, where there is another."""
    # The order is a published fact of each request: it does not change when a task is renamed.
    seed = f"{former_request_id(request)}/{number}"
    rng = np.random.default_rng(list(hashlib.sha256(seed.encode()).digest()))
    order = rng.permutation(number)
    while number > 1 and (order[:-1] < order[1:]).all():
        order = rng.permutation(number)
    return order


ORDERS: dict[str, Callable[[int, str], NDArray[np.int64]]] = {
    "single_frame": _middle,
    "shuffled_frames": _shuffled,
    "reversed_frames": lambda number, _: np.arange(number)[::-1],
    "frozen_frame": lambda number, _: np.zeros(number, np.int64),
}
"""By ablation, the places of the frames that are shown, in order: of how many, and for which request."""
