"""One video file, looked at closely: what a reader will stumble over and what should not have been left in."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from siming_tasks.benchmark.exams import Video
from siming_tasks.common.errors import MediaError, Problem
from siming_tasks.common.files import sha256_file
from siming_tasks.common.printed_value import counted
from siming_tasks.media.container import is_known, open_video, tags_of
from siming_tasks.media.picture import WIDE_GAMUTS, Tags, to_rgb
from siming_tasks.media.plain_copy import has_user_data
from siming_tasks.media.sampler import frame_range
from siming_tasks.media.sound import silences_of
from siming_tasks.media.timeline import Timeline, timeline_of

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

_HARMLESS = {
    *("major_brand", "minor_version", "compatible_brands", "handler_name", "vendor_id", "language", "encoder"),
    *("ENCODER", "DURATION", "timecode"),
}
LARGE = 4096 * 2304
"""Pixels of a picture above which only key frames are decoded: decoders keep up to 16 pictures, 800 MB for 8K."""
_REBUILD = "`siming data build` converts it to what every reader expects."


@dataclass(frozen=True)
class Inspection:
    """Problems of one media file; after a look at all of it also its SHA-256 and the number of decoded pictures."""

    problems: tuple[Problem, ...]
    sha256: str | None = None
    frames: int | None = None


@dataclass(frozen=True)
class _About:
    """A video and the line of ``videos.jsonl`` on which it stands."""

    video: Video
    line: int

    def problem(
        self, code: str, what: str, fix: str, where: str = "media", severity: Literal["error", "warning"] = "error"
    ) -> Problem:
        return Problem(code, f"video {self.video.video_id!r}: {what}", fix, "videos.jsonl", self.line, where, severity)

    def warning(self, code: str, what: str, fix: str = _REBUILD, where: str = "media") -> Problem:
        return self.problem(code, what, fix, where, "warning")


def inspect(
    path: Path, video: Video, line: int, quick: bool = False, sound: bool | None = None, heard: Collection[str] = ()
) -> Inspection:
    """Open one video, compare it with its row on this line of ``videos.jsonl`` and decode every picture once.

    ``quick``: read headers and packets' timestamps only. ``sound``: whether ``dataset.yaml`` states that it is kept.
    ``heard``: ids of the steps that need it.
    """
    about = _About(video, line)
    try:
        with open_video(path) as (container, stream):
            known = [is_known(track) for track in container.streams.audio[:1]]
            problems = list(_header(about, container, sound))
            timeline = timeline_of(path, container, stream)
            odd = list(_odd_form(container, stream, timeline, tags_of(path)))
    except MediaError as error:
        fix = "Export it again; `siming data build` repairs odd timestamps."
        return Inspection((about.problem("media-unreadable", str(error), fix),))
    problems += _timing(about, timeline)
    frames = None if quick else _decode(about, path, timeline, problems, odd)
    if odd:
        problems.append(
            about.warning("media-form", f"has properties that video readers treat differently: {', '.join(odd)}.")
        )
    if quick:
        return Inspection(tuple(problems))
    if sound and all(known):
        problems += _silence(about, path, timeline.zero, heard) if known else []
    elif sound:
        what = "its first sound track has an unknown codec and cannot be played."
        problems.append(about.problem("sound-unknown", what, "Build the data set again, with another track first."))
    return Inspection(tuple(problems), sha256_file(path), frames)


def _odd_form(container: InputContainer, stream: VideoStream, timeline: Timeline, tags: Tags) -> Iterator[str]:
    """Features that readers go by, refuse or show pale, and times by which they disagree about spans."""
    codec, pixels = stream.codec_context.name, stream.pix_fmt
    if "mp4" not in container.format.name:
        yield f"a {container.format.name.split(',')[0]} that is called .mp4"
    if codec != "h264" or pixels not in ("yuv420p", "yuvj420p"):
        yield f"{codec} {pixels} (some models read only 8-bit H.264 4:2:0)"
    if stream.width % 2 or stream.height % 2:
        yield f"odd sides ({stream.width}x{stream.height})"
    if any(tags.orientation):
        yield "rotated or mirrored pictures"
    if gamut := WIDE_GAMUTS.get(tags.primaries):
        yield f"wide-gamut colours ({gamut})"
    steps = np.diff(timeline.times)
    if len(steps) and np.ptp(steps) > max(0.002, 0.1 * float(np.median(steps))):
        yield f"a variable rate (a picture every {steps.min():.3f} to {steps.max():.3f} s)"
    if abs(start := float(timeline.zero) + float(timeline.times[0])) > 0.5 / float(timeline.rate):
        yield f"a beginning at {start:.3f} s"


def _header(about: _About, container: InputContainer, sound: bool | None) -> Iterator[Problem]:
    """Problems of the container's streams: sound that is not stated or lacks, further streams, metadata."""
    videos = container.streams.video
    if container.streams.audio and not sound:
        removed = " although dataset.yaml says `sound: false`" if sound is False else ""
        what = f"has sound{removed}; voices identify people, and models may hear the examiner."
        yield about.warning("media-audio", what, "Remove it, or write `sound: true` in dataset.yaml if it is intended.")
    if sound and not container.streams.audio:
        what = "has no sound, although dataset.yaml says `sound: true`."
        fix = "Build it with --keep-audio from a recording with sound, or correct the line."
        yield about.warning("sound-missing", what, fix)
    others: list[str] = [other.type for other in container.streams if other.type not in ("video", "audio")]
    if others or len(videos) > 1 or len(container.streams.audio) > 1:
        others += ["a second video"] * (len(videos) > 1) + ["a second sound track"] * (len(container.streams.audio) > 1)
        yield about.warning("media-streams", f"has further streams ({', '.join(others)}); the first of a kind is used.")
    tags = dict(container.metadata)
    for other_stream in container.streams:
        tags.update(other_stream.metadata)
    tags = {name: value for name, value in tags.items() if value and not value.startswith("SYNTHETIC")}
    if left := sorted(tags.keys() - _HARMLESS):
        what = f"contains metadata ({', '.join(left[:6])}), which may reveal when, where and by whom it was filmed."
        yield about.warning("media-metadata", what)


def _timing(about: _About, timeline: Timeline) -> Iterator[Problem]:
    """Differences between the file's times and its row."""
    stated, real = about.video.duration, timeline.duration
    if abs(stated - real) > max(0.5, 0.01 * real):
        what = f"lasts {real:.2f} s, but its row says {stated:g} s."
        fix = "Correct `duration`, or check that it is the right file."
        yield about.problem("media-duration", what, fix, "duration")
    for step in about.video.applicable:
        if step.span is None:
            continue
        try:
            frame_range(timeline.times, *step.span)
        except MediaError as error:
            yield about.problem("span-outside", f"step {step.step_id}: {error}", "Correct the span.", "steps")


def _silence(about: _About, path: Path, zero: Fraction, heard: Collection[str]) -> Iterator[Problem]:
    """Sound that cannot be decoded, or that is none: a track that is silent, ends early, begins late or pauses."""
    try:
        silences = silences_of(path, zero, about.video.duration)
    except MediaError as error:
        yield about.problem("sound-damaged", str(error).removeprefix(f"{path}: "), "Build the data set again.")
        return
    silent, whole = sum(end - start for start, end in silences), about.video.duration
    if silent > 0.95 * whole:
        what = "has a silent sound track, which the sound tasks would use."
        fix = "Use a recording with the microphone on; channels of a wrongly wired one cancel each other."
        yield about.warning("sound-silent", what, fix)
        return
    spans = {step.step_id: step.span for step in about.video.applicable if step.span and step.step_id in heard}
    lost = [name for name, (start, end) in spans.items()
            if sum(max(0.0, min(end, b) - max(start, a)) for a, b in silences) > 0.9 * (end - start)]  # fmt: skip
    if lost:
        what = f"no sound at {counted(len(lost), 'step')} to be heard ({', '.join(lost[:3])}), "
        what += f"as {silent:.1f} of its {whole:.1f} s, the first from {silences[0][0]:.1f} s on."
        yield about.warning("sound-gaps", what, "Check that the recording is complete; these steps cannot be heard.")


def _decode(about: _About, path: Path, timeline: Timeline, problems: list[Problem], odd: list[str]) -> int:
    """Decode everything once, one picture in memory at a time, and add what is found; the number of pictures."""
    frames = damaged = 0
    first_bad: float | None = None
    darkest, brightest, broken, known = 255, 0, False, timeline.times
    try:
        if has_user_data(path):
            what = "contains user data inside the video stream, where cameras write time, place and serial numbers."
            problems.append(about.warning("media-user-data", what, "`siming data build` removes it."))
        with open_video(path) as (container, stream):
            stream.thread_type = "NONE"  # videos are worked on in parallel instead, which wastes less
            if stream.width * stream.height > LARGE:
                stream.codec_context.skip_frame = "NONKEY"
                known = timeline.times[timeline.keyframes]
                odd.append(f"pictures above 4K; only their {len(known)} key frames were decoded")
            for frame in container.decode(stream):
                if frame.is_corrupt:
                    damaged += 1
                    first_bad = float(known[min(frames, len(known) - 1)]) if first_bad is None else first_bad
                if brightest - darkest < 16:  # until any picture shows something
                    grey = to_rgb(frame, 32).mean(axis=2)
                    darkest, brightest = min(darkest, int(grey.min())), max(brightest, int(grey.max()))
                frames += 1
                del frame  # while the next one is decoded
    except MediaError:
        broken = True
    lost = len(known) - frames
    if damaged or lost > 0 or broken:
        first_lost = float(known[min(frames, len(known) - 1)]) if len(known) else 0.0  # a file may have no key frame
        at = first_lost if first_bad is None else first_bad
        what = f"{counted(max(lost, 0), 'picture')} undecodable and {damaged} damaged, the first at {at:.2f} s."
        problems.append(about.problem("media-damaged", what, "Export it again from the source."))
    elif frames and brightest - darkest < 8:
        what = "shows the same blank picture from beginning to end."
        problems.append(about.warning("media-blank", what, "Check the recording."))
    return frames
