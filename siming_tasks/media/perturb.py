"""The evidence of an ablation: the frames of a view in another order, or fewer of them; nothing is decoded for it.

A file is altered as a proxy: the frames that ``frames`` mode would show, each a keyframe. What a reader makes of a
whole recording of 25 frames a second in random order would be neither cheap nor the question.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from siming_tasks.media.clips import write_reordered
from siming_tasks.media.evict import evict
from siming_tasks.media.request_media import View
from siming_tasks.tasks import InputAblation

__all__ = ["ALTERED", "altered"]

ALTERED = "ablations/1"
"""Version of the rules below; it moves when an ablation shows something else, and is part of every cache key."""


def altered(
    found: View, ablation: InputAblation, request: str, *, cache: Path | None = None, cache_gb: float = 20.0
) -> View:
    """What an ablation shows in place of a view; ``foreign`` is a plain view, of another exam.

    Args:
        found: the view of the setting that is altered, in ``frames`` or ``proxy`` mode; its file is not needed.
        ablation: says which frames are shown, in which order.
        request: id of the question; together with the number of frames it decides a shuffled order.
        cache: the cache folder, to be kept below its limit after a file was written; None leaves that out.
        cache_gb: the limit in gigabytes.

    Raises:
        MediaError: a frame cannot be decoded.
    """
    if ablation.frame_order is None:
        return found
    indices, times = np.asarray(found.indices), np.asarray(found.times)
    chosen = ablation.frame_order(len(indices), request)
    at = ablation.frame_times(times, chosen) if ablation.frame_times else times
    share = len(chosen) / len(indices)
    shown = replace(
        found, indices=tuple(indices[chosen].tolist()), times=tuple(at.tolist()), rate=found.rate * share, path=None
    )
    return shown if found.mode == "frames" else replace(shown, path=_file(shown, ablation.name, cache, cache_gb))


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
