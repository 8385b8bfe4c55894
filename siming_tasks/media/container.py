"""Opening of untrusted videos: nothing but that file is read, and one stream is chosen."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from siming_tasks.common.errors import DISK_FULL, MediaError
from siming_tasks.media.picture import Tags, refuse_colours

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.error import FFmpegError
    from av.video.stream import VideoStream

FORMATS = (
    *("mov", "matroska", "avi", "mpegts", "mpeg", "flv", "asf", "mxf", "ogg", "dv", "dhav", "ivf"),
    *("h264", "hevc", "m4v", "mpegvideo", "mjpeg"),
)
"""FFmpeg's names of the kinds of file that cameras, phones and recorders write, and that never name other files."""

SAFE = {"format_whitelist": ",".join(FORMATS), "protocol_whitelist": "file"}
"""FFmpeg goes by content: without this, a playlist called .mp4 opens the files and addresses that it names."""

MOST_STREAMS = 16
"""Streams of a file: FFmpeg opens a decoder for each while it looks at the file, and each takes megabytes."""

MOST_BOXES = 100_000
"""Boxes of an MP4 file that are looked at: a fragment of a second has two."""


@contextmanager
def open_video(path: Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open a container and its main video stream (:func:`main_stream`), and close it afterwards.

    FFmpeg may read this file and no other: kinds that name further files or addresses are refused before they are
    opened. The tags of the first picture decide which colours it has; those of a container may be others.

    Raises:
        MediaError: the file is missing, not a file, of an unsupported kind, has no video or more than
            :data:`MOST_STREAMS` streams, has unsupported colours (HDR), or the decoder finds it damaged.
        OSError: what is written while the video is open does not fit on its disk.
    """
    with _opened(path) as (container, stream):
        refuse_colours(path, tags_of(path))
        yield container, stream


def tags_of(path: Path) -> Tags:
    """Read the tags of a video's first picture, once as long as the file looks the same (MediaError: unreadable)."""
    look = path.stat()
    return _first_tags(path, look.st_ino, look.st_size, look.st_mtime_ns)


@lru_cache(maxsize=1024)
def _first_tags(path: Path, *_look: int) -> Tags:
    import av

    with _opened(path) as (container, stream):
        for packet in container.demux(stream):
            with suppress(av.error.FFmpegError):  # the first that can be decoded counts
                for frame in stream.decode(packet):
                    return Tags.of(frame, stream.codec_context)
    return Tags()


@contextmanager
def _opened(path: Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open a container and its main video stream, whatever its colours."""
    import av

    if not path.is_file():  # a fifo would wait for ever
        raise MediaError(f"{path}: {'not a file' if path.exists() else 'no such file'}.")
    if _is_joined(path):
        raise MediaError(
            f"{path}: several recordings joined to one file; players show the first alone. Split it, or join them "
            "with ffmpeg -f concat."
        )
    try:
        # An absolute path: "subfile,,..." as a relative name would be read as an address. Options for the container
        # alone: with `options`, PyAV frees memory that it never had where streams only show while the file is probed.
        # One stream more than may be: of kinds that show their streams while they are probed, further ones are ignored.
        options = {**SAFE, "max_streams": str(MOST_STREAMS + 1)}
        opened = av.open(str(path.absolute()), container_options=options, metadata_errors="replace")
    except av.error.FFmpegError as error:
        if error.errno == errno.ENOMEM:  # FFmpeg's answer to a header that names more
            raise _too_many(path) from error
        if error.errno != errno.EINVAL:
            raise _media_error(path, error) from error
        raise MediaError(  # FFmpeg's answer to a kind that is not among FORMATS
            f"{path}: unsupported (a playlist is not a video) or damaged ({error.strerror}). Convert "
            "it to .mp4: ffmpeg -i IN -c:v libx264 OUT.mp4"
        ) from error
    with opened as container:
        if len(container.streams) > MOST_STREAMS:
            raise _too_many(path)
        chosen = main_stream([each for each in container.streams.video if each.codec_context is not None])
        if chosen is None:
            raise MediaError(
                f"{path}: contains no video{' except a cover picture' if container.streams.video else ''}."
            )
        try:
            yield container, chosen
        except av.error.FFmpegError as error:
            if error.errno in DISK_FULL:  # of what is written while the video is open
                raise OSError(error.errno, error.strerror) from error
            raise _media_error(path, error) from error


def _is_joined(path: Path) -> bool:
    """True if a file of the family of MP4 has a second head (a box ``moov``): no reader gets beyond the first."""
    at, heads, size = 0, 0, path.stat().st_size
    with path.open("rb") as stream:
        for _ in range(MOST_BOXES):
            stream.seek(at)
            head = stream.read(16)
            length, kind = int.from_bytes(head[:4], "big"), head[4:8]
            if len(head) < 8 or not (at or kind in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip")):
                break
            heads += kind == b"moov"
            at += max(int.from_bytes(head[8:], "big") if length == 1 else length or size, 8)
    return heads > 1


def is_known(track: AudioStream) -> bool:
    """True if a decoder knows a sound track; asking the library to decode another one would end the process."""
    return track.codec_context is not None and track.codec_context.name != "none"


def sound_track(path: Path, container: InputContainer) -> AudioStream | None:
    """The first sound track of an open file, None without any (MediaError: no decoder knows it)."""
    track = next(iter(container.streams.audio), None)
    if track is None or is_known(track):
        return track
    what = f"the first of its {len(container.streams.audio)} sound tracks has an unknown codec."
    raise MediaError(f"{path}: {what} Keep only another track: ffmpeg -i IN -map 0:v:0 -map 0:a:1 -c copy OUT.mov")


def _too_many(path: Path) -> MediaError:
    """Refuse a file of too many streams."""
    keep = "ffmpeg -i IN -map 0:v:0 -map 0:a:0? -c copy OUT.mp4"
    return MediaError(f"{path}: has more than {MOST_STREAMS} streams. Keep only picture and sound: {keep}")


def _media_error(path: Path, error: FFmpegError) -> MediaError:
    """Translate an error of the decoder library."""
    return MediaError(f"{path}: cannot be read ({error.strerror}): damaged, cut short, or not a video.")


def main_stream(streams: Sequence[VideoStream]) -> VideoStream | None:
    """Choose the stream that is shown: of those flagged as default, else of all, the largest; never a cover picture.

    Sound files carry cover pictures and cameras carry previews as further video streams. Ties go to the first.
    """
    from av.stream import Disposition

    covers = Disposition.attached_pic | Disposition.timed_thumbnails
    moving = [stream for stream in streams if not stream.disposition & covers]
    chosen = [stream for stream in moving if stream.disposition & Disposition.default] or moving
    return max(chosen, key=lambda stream: stream.width * stream.height, default=None)
