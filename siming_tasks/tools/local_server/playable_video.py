"""A file that browsers play: a video's own where they can, else a copy of exactly its frames in the cache."""

from __future__ import annotations

from pathlib import Path

from siming_tasks.media import VIDEO, Budget, read_timeline, view
from siming_tasks.media.container import open_video

__all__ = ["playable", "plays"]

_CODECS = {
    ".mp4": ("h264", "av1", "vp9"),
    ".m4v": ("h264",),
    ".mov": ("h264",),
    ".webm": ("vp8", "vp9", "av1"),
}
"""Containers and codecs that today's browsers play without help."""
_PIXELS = ("yuv420p", "yuvj420p")


def plays(path: Path) -> bool:
    """True if browsers play a file as it is: a codec of theirs in a container of theirs, one video stream, 8 bits.

    Raises:
        MediaError: it cannot be read.
    """
    codecs = _CODECS.get(path.suffix.lower(), ())
    with open_video(path) as (container, stream):
        context = stream.codec_context
        known = context.codec.canonical_name in codecs and context.pix_fmt in _PIXELS
        return known and len(container.streams.video) == 1


def playable(path: Path, digest: str, cache: Path) -> tuple[Path, str]:
    """The file to play and its type; a copy (all frames at their times, no sound) is made on first use.

    Args:
        path: the video.
        digest: SHA-256 of its content.
        cache: the cache folder.

    Raises:
        MediaError: the file cannot be read.
    """
    if plays(path):
        return path, "video/webm" if path.suffix.lower() == ".webm" else "video/mp4"
    whole = (0.0, read_timeline(path).duration)
    copy = view(path, digest=digest, span=whole, budget=Budget(1), mode=VIDEO, cache=cache)
    assert copy.path is not None
    return copy.path, "video/mp4"
