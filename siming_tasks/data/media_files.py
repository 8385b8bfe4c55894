"""Allowed places of media files, and checks of one without decoding it."""

from __future__ import annotations

from pathlib import Path

from siming_tasks.common.errors import MediaError, Problem
from siming_tasks.common.files import inside, open_regular
from siming_tasks.media.container import open_video

__all__ = ["media_file", "media_problem"]


def media_file(root: Path, relative: str) -> Path:
    """``root / relative``, inside ``root`` or, for a Hugging Face snapshot, in the blob store that its links point to.

    Raises:
        ValueError: the path leaves the dataset.
    """
    try:
        return inside(root, relative)
    except ValueError:
        blobs = root.resolve().parent.parent / "blobs"
        plain = "\\" not in relative and "\0" not in relative and ".." not in Path(relative).parts
        if plain and root.resolve().parent.name == "snapshots" and (root / relative).resolve().parent == blobs:
            return root / relative
        raise


def media_problem(root: Path, video_id: str, media: str, line: int, opened: bool = True) -> list[Problem]:
    """The problem of a video's file as far as opening it tells; if not ``opened``, with its path alone."""

    def problem(code: str, what: str, fix: str) -> list[Problem]:
        return [Problem(code, f"video {video_id!r}: {what}", fix, "videos.jsonl", line, "media")]

    try:
        path = media_file(root, media)
    except ValueError as error:
        return problem("media-outside", f"{error}.", "Put the file into the dataset folder and name it from there.")
    if not opened:
        return []
    if not path.is_file():
        return problem("media-missing", f"media not found. Looked for {path}.", "Copy it there or correct `media`.")
    if path.suffix != ".mp4":
        what = f"{media!r} is not an .mp4 file; some models read other kinds as audio or not at all."
        return problem("media-not-mp4", what, "`siming data build` converts it.")
    with open_regular(path) as stream:
        head = stream.read(64)
    if not head:
        return problem("media-empty", f"{media} has no bytes.", "Copy it again from the source.")
    if head.startswith(b"version https://git-lfs"):
        return problem("media-lfs-pointer", f"{media} is a Git LFS pointer, not the video.", "Run `git lfs pull`.")
    try:
        with open_video(path):
            return []
    except MediaError as error:
        return problem("media-unreadable", str(error), "Replace it with a playable H.264 .mp4.")
