"""Any video to the one kind that every reader takes: H.264 .mp4, constant rate, upright, even sides, no metadata.

All videos of a build are made in parallel, interruptible, and each only once.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from siming_tasks import __version__
from siming_tasks.common.errors import DISK_FULL, DataError, MediaError, Problem
from siming_tasks.common.files import atomic_path, atomic_write, sha256_file, sha256_json
from siming_tasks.media.clips import x264_options
from siming_tasks.media.container import open_video
from siming_tasks.media.picture import BT709, WIDE_GAMUTS, Colour, copy_colour_tags, to_bt709_filter
from siming_tasks.media.timeline import Timeline, read_timeline
from siming_tasks.tools.builder.source_gate import MAX_GAP

if TYPE_CHECKING:
    from av.container import InputContainer, OutputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

CRF = 18
"""x264 quality of re-encoded videos: no visible loss."""
PICTURES = "1-5|7-9"
"""Kinds of H.264 units that travel when pictures are copied: slices, parameter sets, delimiters. Not supplemental
information (SEI), filler and private kinds, where cameras store time, place and serial numbers."""
IDR = 5
"""H.264's number for a slice of a picture from which decoding can start with nothing else known."""
THREADS = 4
"""Encoder threads: x264 writes other bytes with another number, which therefore follows neither cores nor jobs."""
_RATES = [Fraction(n) for n in (5, 10, 12, 15, 20, 24, 25, 30, 48, 50, 60)]
_RATES += [Fraction(n * 1000, 1001) for n in (24, 30, 60)]

Done = dict[str, Any]
"""What is known of a finished video: ``duration`` (s), ``sha256``, and the fields of ``Normalised``."""


@dataclass(frozen=True)
class Normalised:
    """Result: frames, their rate (1/s), picture size, and if the coded pictures were copied unchanged."""

    frames: int
    rate: str
    width: int
    height: int
    copied: bool

    @property
    def duration(self) -> float:
        """Seconds."""
        return float(self.frames / Fraction(self.rate))


def stamp(path: Path) -> list[Any]:
    """Place, size and time of change of a source file: they change when the file does."""
    status = path.stat()
    return [str(path.resolve()), status.st_size, status.st_mtime_ns]


def transcode(
    sources: Mapping[str, Path], part: Path, *, keep_audio: bool = False, jobs: int = 2, progress: bool = False
) -> dict[str, Done]:
    """Every source as ``part/media/<id>.mp4``, in the order of ``sources``.

    What an earlier, interrupted call finished is taken up; what a killed one left behind otherwise is removed.

    Args:
        sources: video files by id.
        part: the folder being built.
        keep_audio: keep the first audio stream.
        jobs: videos worked on at once.
        progress: show a bar on stderr.

    Raises:
        DataError: lists every source that cannot be read; the others are finished first.
        OSError: the disk is full.
    """
    from tqdm import tqdm

    for folder, suffix in ((part / "media", ".mp4"), (part / "done", ".json")):
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            if path.suffix != suffix or path.stem not in sources:
                path.unlink()

    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise MediaError("stopped")

    done: dict[str, Done] = {}
    problems: list[Problem] = []
    with (
        ThreadPoolExecutor(max(1, jobs)) as pool,
        tqdm(total=len(sources), unit="video", desc="Videos", disable=not progress) as bar,
    ):
        work = {pool.submit(_one, path, part, name, keep_audio, check): name for name, path in sources.items()}
        try:
            for future in as_completed(work):
                try:
                    done[work[future]] = future.result()
                except MediaError as error:
                    cause = error.__cause__
                    if isinstance(cause, OSError) and cause.errno in DISK_FULL:  # not the video's fault
                        raise OSError(cause.errno, cause.strerror) from error
                    source = str(sources[work[future]])
                    what = str(error).removeprefix(f"{source}: ")
                    problems.append(Problem("media-unreadable", what, "Export that video again.", source))
                bar.update()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    if problems:
        raise DataError.of(problems, shown=20)
    return {name: done[name] for name in sources}


def _one(source: Path, part: Path, name: str, keep_audio: bool, check: Callable[[], None]) -> Done:
    note, target = part / "done" / f"{name}.json", part / "media" / f"{name}.mp4"
    key = sha256_json([*stamp(source), keep_audio, CRF, __version__])
    if note.is_file() and target.is_file():
        known: Done = json.loads(note.read_text(encoding="utf-8"))
        if known["key"] == key and known["sha256"] == sha256_file(target):
            return known
    result = normalise(source, target, keep_audio=keep_audio, check=check)
    entry = {"key": key, "sha256": sha256_file(target), "duration": result.duration, **asdict(result)}
    with atomic_write(note) as stream:
        json.dump(entry, stream)
    return entry


def normalise(
    source: Path,
    target: Path,
    *,
    keep_audio: bool = False,
    check: Callable[[], None] = lambda: None,
) -> Normalised:
    """Write ``source`` as a plain H.264 ``.mp4`` whose time 0 is where a player starts the source.

    Coded pictures that are already as they should be are copied; anything else is decoded (honouring rotation, pixel
    shape and interlacing), brought to a constant rate and encoded. Container and stream metadata, supplemental
    information inside the video stream, audio (unless ``keep_audio``), subtitle and data streams do not travel.

    Args:
        source: any video that FFmpeg reads.
        target: the ``.mp4`` to write (atomic).
        keep_audio: encode the first audio stream as AAC.
        check: called for every picture; raise from it to stop.

    Raises:
        MediaError: the source cannot be read or breaks off.
    """
    import av

    options = {"movflags": "+faststart", "fflags": "+bitexact"}
    with (
        open_video(source) as (container, stream),
        atomic_path(target) as temporary,
        av.open(str(temporary), "w", format="mp4", options=options) as output,
    ):
        if not keep_audio and (container.start_time or 0) <= 0 and (rate := _rate_to_copy(source, stream)):
            frames = _copy(container, stream, output, check)
            result = Normalised(frames, str(rate), stream.width, stream.height, copied=True)
        else:
            writer = _Writer(output, _rate_to_write(source, stream))
            _encode(container, stream, writer, keep_audio, check)
            if not writer.frames:
                raise MediaError(f"{source}: holds no picture that can be decoded.")
            result = Normalised(writer.frames, str(writer.rate), *writer.size, copied=False)
    return result


def _timeline(source: Path) -> Timeline | None:
    try:
        return read_timeline(source)
    except MediaError:
        return None  # odd timestamps: the encoder's frame-rate filter deals with them


def _rate_to_copy(source: Path, stream: VideoStream) -> Fraction | None:
    """The constant rate of a video whose coded pictures can be copied, else None.

    A copy of all packets must show what a player shows, and need nothing but the pictures: an edit list trims nothing
    away, which a copy would bring back, and every keyframe is an IDR picture, so that no decoder needs the SEI that
    tells it where to start.
    """
    if source.suffix.lower() not in (".mp4", ".mov", ".m4v") or stream.codec_context.name != "h264":
        return None
    if stream.pix_fmt != "yuv420p" or stream.width % 2 or stream.height % 2:
        return None
    if (stream.sample_aspect_ratio or 1) != 1 or stream.codec_context.color_primaries in WIDE_GAMUTS:
        return None
    timeline = _timeline(source)
    if timeline is None or timeline.keyframes[0] != 0 or timeline.pts[0] != 0:
        return None
    with open_video(source) as (container, video):
        first = next(container.decode(video), None)
        if first is None or first.rotation or first.interlaced_frame:
            return None
    with open_video(source) as (container, video):
        setup = video.codec_context.extradata or b""
        if len(setup) < 7 or setup[0] != 1:
            return None  # not an .mp4's way of storing H.264
        size = (setup[4] & 3) + 1
        for packet in container.demux(video):
            if packet.size and (packet.is_discard or (packet.is_keyframe and IDR not in _units(bytes(packet), size))):
                return None
    steps = np.unique(np.diff(timeline.pts))
    return 1 / (int(steps[0]) * timeline.time_base) if len(steps) == 1 else None


def _units(packet: bytes, size: int) -> Iterator[int]:
    """Kinds of the H.264 units of a packet, each of which begins with its length in ``size`` bytes."""
    at = 0
    while at + size < len(packet):
        yield packet[at + size] & 31
        at += size + int.from_bytes(packet[at : at + size], "big")


def _rate_to_write(source: Path, stream: VideoStream) -> Fraction:
    """The constant rate to write, at most 60/s: the source's if it has one, else the common rate above its mean."""
    timeline = _timeline(source)
    mean, varies = stream.average_rate or Fraction(25), False
    if timeline is not None and timeline.n_frames >= 2:
        steps = np.diff(timeline.pts)
        mean = Fraction(timeline.n_frames - 1, int(timeline.pts[-1] - timeline.pts[0])) / timeline.time_base
        varies = bool(np.ptp(steps) > 0.2 * np.median(steps))
    if varies:
        return min((rate for rate in _RATES if rate >= mean), default=Fraction(60))
    near = min(_RATES, key=lambda rate: abs(rate / mean - 1))
    rate = near if abs(near / mean - 1) < Fraction(3, 100) else mean.limit_denominator(1000)
    return min(max(rate, Fraction(1)), Fraction(60))


def _copy(container: InputContainer, stream: VideoStream, output: OutputContainer, check: Callable[[], None]) -> int:
    from av.bitstream import BitStreamFilterContext

    copied: Any = output.add_stream_from_template(stream)
    copied.metadata.clear()
    pictures_only = BitStreamFilterContext(f"filter_units=pass_types={PICTURES}", stream, copied)
    frames = 0
    for packet in container.demux(stream):
        if packet.dts is not None:
            check()
            for kept in pictures_only.filter(packet):
                kept.stream = copied
                output.mux(kept)
                frames += 1
    return frames


class _Writer:
    """The output's video stream and the filters before it, opened when the first picture is known."""

    def __init__(self, output: OutputContainer, rate: Fraction) -> None:
        self.output, self.rate = output, rate
        self.frames, self.size = 0, (0, 0)
        self.stream: Any = None
        self.graph: Any = None

    def open(self, source: VideoStream, first: VideoFrame, start: Fraction) -> None:
        """FFmpeg filters from the decoder's pictures to ours, and the stream of what comes out."""
        import av

        turn = round(first.rotation / 90) % 4
        aspect = source.sample_aspect_ratio or Fraction(1)
        width, height = round(first.width * aspect), first.height
        if turn % 2:
            width, height = height, width
        width, height = self.size = max(2, width // 2 * 2), max(2, height // 2 * 2)
        coded, colour = source.codec_context, Colour.of(first)
        # The matrix stays, the range becomes limited, RGB gets the matrix of its size.
        colours = f"out_color_matrix={colour.matrix}:out_range=limited"
        if colour.coded:
            full = "full" if colour.full else "limited"
            colours = f"in_color_matrix={colour.matrix}:in_range={full}:{colours}"
        turns = {0: [], 1: [("transpose", "cclock")], 2: [("hflip", ""), ("vflip", "")], 3: [("transpose", "clock")]}
        steps = [("yadif", "deint=interlaced")] if first.interlaced_frame else []
        steps += [("fps", f"fps={self.rate}:start_time={float(start)}"), *turns[turn]]
        steps += [("scale", f"{width}:{height}:flags=area:{colours}"), ("setsar", "1")]
        if wide := to_bt709_filter(coded, colour.matrix):
            steps += [("format", "yuv420p10le"), ("colorspace", wide)]
        self.graph = av.filter.Graph()
        node = self.graph.add_buffer(template=source)
        for name, arguments in [*steps, ("format", "yuv420p")]:
            following = self.graph.add(name, arguments) if arguments else self.graph.add(name)
            node.link_to(following)
            node = following
        node.link_to(self.graph.add("buffersink"))
        self.graph.configure()

        self.stream = self.output.add_stream("libx264", rate=self.rate)
        self.stream.width, self.stream.height, self.stream.pix_fmt = width, height, "yuv420p"
        # No B-frames and a keyframe every two seconds: every reader counts alike and seeks cheaply.
        gop = str(max(1, round(2 * self.rate)))
        how = {"crf": str(CRF), "preset": "veryfast", "bf": "0", "g": gop, "threads": str(THREADS)}
        self.stream.options = x264_options(how)
        written = self.stream.codec_context
        copy_colour_tags(coded, written, colour.matrix, full=False)
        if coded.color_primaries in WIDE_GAMUTS:
            written.colorspace = written.color_primaries = written.color_trc = BT709

    def write(self, frame: VideoFrame | None) -> None:
        """Encode what is ready after this picture (None: the last one was given)."""
        import av

        self.graph.push(frame)
        while True:
            try:
                ready = self.graph.vpull()
            except (BlockingIOError, EOFError, av.error.BlockingIOError, av.error.EOFError):
                break
            ready.pts, ready.time_base, ready.pict_type = self.frames, 1 / self.rate, 0
            self.frames += 1
            self.output.mux(self.stream.encode(ready))
        if frame is None:
            self.output.mux(self.stream.encode(None))


def _encode(
    container: InputContainer, stream: VideoStream, writer: _Writer, keep_audio: bool, check: Callable[[], None]
) -> None:
    import av

    stream.thread_type = "AUTO"
    start = Fraction(max(0, container.start_time or 0), av.time_base)  # negative: audio priming, not shown
    audio_in = container.streams.audio[0] if keep_audio and container.streams.audio else None
    audio_out: Any = None
    resampler: Any = None
    last = float(start)
    for packet in container.demux([stream, *([audio_in] if audio_in else [])]):
        frames: Any = packet.decode()
        for frame in frames:
            check()
            if packet.stream.type == "video":
                if frame.pts is None:
                    continue  # no player shows it, and the filter of the rate would fill up from the beginning of time
                if abs(frame.time - last) > MAX_GAP:
                    raise MediaError(f"{container.name}: its times jump from {last:.0f} s to {frame.time:.0f} s.")
                last = frame.time
                if writer.graph is None:
                    writer.open(stream, frame, start)
                    if audio_in is not None:
                        audio_out = writer.output.add_stream("aac", rate=audio_in.rate)
                        resampler = av.AudioResampler("fltp", "stereo", audio_in.rate)
                writer.write(frame)
            elif audio_out is not None:
                for piece in resampler.resample(frame):
                    piece.pts = round((Fraction(piece.pts) * piece.time_base - start) / piece.time_base)
                    writer.output.mux(audio_out.encode(piece))
    if writer.graph is not None:
        writer.write(None)
        if audio_out is not None:
            writer.output.mux(audio_out.encode(None))
