"""One video file, looked at closely: what a reader will stumble over and what should not have been left in."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import MediaError, Problem
from siming_tasks.common.files import sha256_file
from siming_tasks.common.schema import Video
from siming_tasks.media.container import open_video
from siming_tasks.media.picture import WIDE_GAMUTS
from siming_tasks.media.sampler import frame_range
from siming_tasks.media.sound import decode_sound
from siming_tasks.media.timeline import Timeline, timeline_of

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

SAMPLES = 16  # pictures per video that are kept, small and grey, to find copies and empty recordings
_THUMB = (32, 24)
BLACK, FLAT, EDGE = 44, 12, 4
"""Grey (0 to 255) below which a bar is black, greatest unevenness of one, and lines over which its end is blurred."""
_WHERE = {"top": "at the top", "bottom": "at the bottom", "left": "at the left", "right": "at the right"}
_BROKEN = (
    ("cut short or damaged:", "media-truncated"),
    ("no video frames", "media-no-frames"),
    ("timestamp", "media-timestamps"),
)
"""Words of the media room's messages, and our codes for them."""
_HARMLESS = {
    *("major_brand", "minor_version", "compatible_brands", "handler_name", "vendor_id", "language", "encoder"),
    *("ENCODER", "DURATION", "timecode"),
}


UUID, ENCODERS = 16, (b"x264 - core", b"x265 (build")
"""User data begins with 16 bytes that say whose it is; how the notes of two encoders go on."""


@dataclass(frozen=True)
class Inspection:
    """Properties of one media file and the problems found in it."""

    problems: tuple[Problem, ...]  # findings
    sha256: str | None = None  # of the file; None after a quick look
    frames: int | None = None  # decoded pictures; None after a quick look
    # ``[SAMPLES, 24, 32]`` grey pictures evenly over the video; None after a quick look or if unreadable
    pictures: NDArray[np.float32] | None = None


def inspect(
    path: Path, video: Video, line: int, quick: bool = False, sound: bool | None = None, heard: Collection[str] = ()
) -> Inspection:
    """Open one video, compare it with its row on this line of ``videos.jsonl`` and decode every picture once.

    ``quick``: read headers and packets' timestamps only. ``sound``: whether ``dataset.yaml`` states that it is kept.
    ``heard``: ids of the steps that need it.
    """
    about = _About(video, line, sound)
    try:
        with open_video(path) as (container, stream):
            has_track = bool(container.streams.audio)
            problems = list(_header(about, container, stream))
            timeline = timeline_of(path, container, stream)
    except MediaError as error:
        code = next((code for words, code in _BROKEN if words in str(error)), "media-unreadable")
        problem = about.problem(code, str(error), "Export it again; `siming data build` repairs odd timestamps.")
        return Inspection((problem,))
    problems += _timing(about, timeline)
    if quick:
        return Inspection(tuple(problems))
    frames, pictures, bars = _decode(about, path, timeline, problems)
    if bars:
        shown = ", ".join(f"{pixels} {'rows' if side in ('top', 'bottom') else 'columns'} {where}"
                          for side, pixels in bars.items() for where in [_WHERE[side]])  # fmt: skip
        what = f"has black bars ({shown}); a model gives other answers to a smaller picture within them."
        fix = "Cut them off (ffmpeg -i IN -vf crop=WIDTH:HEIGHT:LEFT:TOP OUT.mp4) and build the data set again."
        problems.append(about.problem("media-bars", what, fix, "warning"))
    if pictures is not None and pictures.std() < 2:
        what = "shows the same flat picture from beginning to end."
        problems.append(about.problem("media-blank", what, "Check the recording.", "warning"))
    if sound and has_track:
        problems += _silence(about, path, timeline.zero, heard)
    return Inspection(tuple(problems), sha256_file(path), frames, pictures)


@dataclass(frozen=True)
class _About:
    video: Video
    line: int
    sound: bool | None = None

    def problem(self, code: str, what: str, fix: str, severity: Any = "error", where: str = "media") -> Problem:
        what = f"video {self.video.video_id!r}: {what}"
        return Problem(code, what, fix, "videos.jsonl", self.line, where, severity)


def _header(about: _About, container: InputContainer, stream: VideoStream) -> Iterator[Problem]:
    """Problems in the container's header."""

    def odd(code: str, what: str, fix: str = "`siming data build` writes it as every reader expects.") -> Problem:
        return about.problem(code, what, fix, "warning")

    form, codec, pixels = container.format.name, stream.codec_context.name, stream.pix_fmt
    size, videos = f"{stream.width}x{stream.height}", container.streams.video
    if "mp4" not in form:
        yield odd("media-container", f"is called .mp4 but is {form.split(',')[0]}; some readers go by the name.")
    if codec != "h264" or pixels not in ("yuv420p", "yuvj420p"):
        yield odd("media-codec", f"is {codec} {pixels}; some models read only 8-bit H.264 4:2:0.")
    if stream.width % 2 or stream.height % 2:
        yield odd("media-odd-size", f"has odd sides ({size}); some readers refuse it.")
    if gamut := WIDE_GAMUTS.get(stream.codec_context.color_primaries):
        yield odd("media-colours", f"has wide-gamut colours ({gamut}), which models are shown pale.")
    if container.streams.audio and not about.sound:
        removed = " and `sound: false` in dataset.yaml says that it has none" if about.sound is False else ""
        what = f"has sound{removed}; voices identify people, and models may hear the examiner."
        yield odd("media-audio", what, "Leave it out, or write `sound: true` in dataset.yaml if it is meant.")
    if about.sound and not container.streams.audio:
        what = "has no sound, and `sound: true` in dataset.yaml says that it has."
        yield odd("sound-missing", what, "Build it with --keep-audio from a recording with sound, or correct the line.")
    others = [other.type for other in container.streams if other.type not in ("video", "audio")]
    if others or len(videos) > 1:
        what = f"has further streams ({', '.join(others) or 'a second video'})."
        if len(videos) > 1:
            what += f" Video stream {videos.index(stream) + 1} of {len(videos)} ({size}) is the one that is shown."
        yield odd("media-streams", what)
    tags = dict(container.metadata)
    for other_stream in container.streams:
        tags.update(other_stream.metadata)
    tags = {name: value for name, value in tags.items() if value and not value.startswith("SYNTHETIC")}
    if left := sorted(tags.keys() - _HARMLESS):
        what = f"carries metadata ({', '.join(left[:6])}), which may tell when, where and by whom it was filmed."
        yield odd("media-metadata", what)


def _timing(about: _About, timeline: Timeline) -> Iterator[Problem]:
    """Differences between the file's timestamps and its row."""
    rebuild = "`siming data build` writes it at a constant rate from 0."
    steps = np.diff(timeline.pts) * float(timeline.time_base)
    if len(steps) and np.ptp(steps) > max(0.002, 0.1 * float(np.median(steps))):
        what = f"has a variable frame rate (a picture every {steps.min():.3f} to {steps.max():.3f} s)."
        yield about.problem("media-variable-rate", what, rebuild, "warning")
    start = float(timeline.pts[0] * timeline.time_base)
    if abs(start) > 0.5 / float(timeline.rate):
        what = f"begins at {start:.3f} s, not at 0; readers disagree about what that means for spans."
        yield about.problem("media-start", what, rebuild, "warning")
    stated, real = about.video.duration, timeline.duration
    if abs(stated - real) > max(0.5, 0.01 * real):
        what = f"lasts {real:.2f} s, but its row says {stated:g} s."
        fix = "Correct `duration`, or check that it is the right file."
        yield about.problem("media-duration", what, fix, where="duration")
    times, between = timeline.times, []
    for step in about.video.applicable:
        if step.span is None:
            continue
        try:
            frame_range(times, *step.span)
        except MediaError as error:
            yield about.problem("span-outside", f"step {step.step_id}: {error}", "Correct the span.", where="steps")
        if np.searchsorted(times, step.span[0] - 1e-6) >= np.searchsorted(times, step.span[1]):
            between.append(step.step_id)
    if between:
        what = f"{len(between)} spans lie between two pictures ({', '.join(between[:3])}); one picture stands for each."
        yield about.problem("span-between", what, "Check them.", "warning", "steps")


def _silence(about: _About, path: Path, zero: float, heard: Collection[str]) -> Iterator[Problem]:
    """Sound that cannot be decoded, or that is none: a track that is silent, ends early, begins late or pauses."""
    try:
        silences = decode_sound(path, zero).part(0.0, about.video.duration).silences()
    except MediaError as error:
        yield about.problem("sound-damaged", str(error).removeprefix(f"{path}: "), "Build the data set again.")
        return
    silent, whole = sum(end - start for start, end in silences), about.video.duration
    if silent > 0.95 * whole:
        what = "has a sound track without any sound in it, which its tasks would give."
        fix = "Take a recording whose microphone was on. The channels of one that was wired wrongly cancel each other."
        yield about.problem("sound-silent", what, fix, "warning")
    elif silent > 0.05 * whole:
        spans = {step.step_id: step.span for step in about.video.applicable if step.span and step.step_id in heard}
        lost = [name for name, (start, end) in spans.items()
                if sum(max(0.0, min(end, b) - max(start, a)) for a, b in silences) > 0.9 * (end - start)]  # fmt: skip
        what = f"{silent:.1f} of its {whole:.1f} s are without any sound, the first from {silences[0][0]:.1f} s on"
        what += f", and with them {len(lost)} steps that need sound ({', '.join(lost[:3])})." if lost else "."
        yield about.problem(
            "sound-gaps", what, "Check that the recording is whole; nobody hears these steps.", "warning"
        )


def _decode(
    about: _About, path: Path, timeline: Timeline, problems: list[Problem]
) -> tuple[int, NDArray[np.float32] | None, dict[str, int]]:
    """Decode everything once; the number of pictures, the sampled ones and the black bars around them."""
    wanted = set(np.linspace(0, timeline.n_frames - 1, SAMPLES).round().astype(int).tolist())
    frames = damaged = 0
    first_bad: float | None = None
    kept: list[NDArray[Any]] = []
    reason, noted = "", False
    darkest: NDArray[np.uint8] | None = None
    brightest: NDArray[np.uint8] | None = None
    try:
        with open_video(path) as (container, stream):
            stream.thread_type = "NONE"  # videos are worked on in parallel instead, which wastes less
            for frame in container.decode(stream):
                if not frames and frame.rotation:
                    what = f"is to be shown turned by {frame.rotation:g} degrees, which some readers ignore."
                    fix = "`siming data build` turns the pictures themselves."
                    problems.append(about.problem("media-rotated", what, fix, "warning"))
                noted = noted or _user_data(frame)
                if frame.is_corrupt:
                    damaged += 1
                    first_bad = frame.time if first_bad is None else first_bad
                if frames in wanted:
                    width, height = _THUMB
                    kept.append(frame.to_ndarray(format="gray", width=width, height=height, interpolation="AREA"))
                    grey = np.rot90(np.asarray(frame.to_ndarray(format="gray"), np.uint8), round(frame.rotation / 90))
                    if darkest is None or brightest is None or darkest.shape != grey.shape:
                        darkest = brightest = grey
                    darkest, brightest = np.minimum(darkest, grey), np.maximum(brightest, grey)
                frames += 1
    except MediaError as error:
        reason = str(error)
    if noted:
        what = "carries user data inside the video stream, where cameras write time, place and serial numbers."
        problems.append(about.problem("media-user-data", what, "`siming data build` leaves it out.", "warning"))
    lost = timeline.n_frames - frames
    if damaged or lost > 0 or reason:
        at = first_bad if first_bad is not None else float(timeline.times[min(frames, timeline.n_frames - 1)])
        what = f"{max(lost, 0)} pictures cannot be decoded and {damaged} are damaged, the first at {at:.2f} s."
        problems.append(about.problem("media-damaged", what, "Export it again from the source."))
    bars = {} if darkest is None or brightest is None else black_bars(darkest, brightest)
    if len(kept) < len(wanted):
        return frames, None, bars
    pictures = np.stack(kept).astype(np.float32)
    return frames, pictures[np.linspace(0, len(pictures) - 1, SAMPLES).round().astype(int)], bars


def black_bars(darkest: NDArray[np.uint8], brightest: NDArray[np.uint8]) -> dict[str, int]:
    """Black bars around a picture: side (top, bottom, left, right) to rows or columns.

    A bar is black and flat in all pictures, and ends in a straight line: where it stops, at least half of the line
    is brighter at some time. A dark scene does not end so. Beside a bar, the opposite side needs only to be as black.

    Args:
        darkest: least value of each pixel over some pictures of a video, grey ``uint8[H, W]``.
        brightest: greatest value.

    Example:
        >>> picture = np.full((90, 160), 120, np.uint8)
        >>> picture[:10] = picture[80:] = 16
        >>> black_bars(picture, picture)
        {'top': 10, 'bottom': 10}
    """
    found: dict[str, int] = {}
    # Bars at the sides are looked for between those above and below, which would hide where they end.
    for first, last in (("top", "bottom"), ("left", "right")):
        if first == "left":
            rows = slice(found.get("top", 0), len(darkest) - found.get("bottom", 0))
            darkest, brightest = darkest[rows].T, brightest[rows].T
        runs: dict[str, int] = {}
        for side, way in ((first, 1), (last, -1)):
            low, high = darkest[::way], brightest[::way]
            black = (np.quantile(high, 0.99, axis=1) < BLACK) & (np.ptp(high, axis=1) < 2 * FLAT)
            black &= (high.astype(np.int16) - low).mean(axis=1) < FLAT / 4
            runs[side] = pixels = len(black) if black.all() else int(np.argmin(black))
            if 2 <= pixels < len(black) - EDGE:
                after = high[pixels : pixels + EDGE].max(axis=0)  # codecs blur the edge over a few lines
                if np.mean(after > high[:pixels].mean() + FLAT) >= 0.5:
                    found[side] = pixels
        for side, other, band in ((first, last, brightest[::-1]), (last, first, brightest)):
            beside = side in found and other not in found and runs[other] >= found[side]
            if beside and band[: found[side]].std() < FLAT / 6:  # flatter than the sky of a night
                found[other] = found[side]
    return {side: found[side] for side in _WHERE if side in found}


def _user_data(frame: VideoFrame) -> bool:
    """True if the picture carries user data (H.264 or HEVC SEI) other than an encoder's note about its settings."""
    beside: Any = frame.side_data
    notes = [bytes(data)[UUID:] for data in beside if data.type.name == "SEI_UNREGISTERED"]
    return any(not note.startswith(ENCODERS) for note in notes)
