"""Any video to the one kind that every reader takes: H.264 .mp4, constant rate, upright, even sides, no metadata.

Where readers agree about a file, its packets are copied as they are; any other is decoded, and encoded once at a
constant rate. All videos of a build are made in parallel, interruptible, and each only once.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from siming_tasks import __version__
from siming_tasks.common.errors import DataError, MediaError, Problem
from siming_tasks.common.files import atomic_path, atomic_write, sha256_file, sha256_json
from siming_tasks.media.clips import x264_options
from siming_tasks.media.container import open_video, sound_track, tags_of
from siming_tasks.media.picture import BT709, WIDE_GAMUTS, Colour, Tags, to_bt709_filter
from siming_tasks.media.plain_copy import copy_plain, options_for, unit_lengths, units
from siming_tasks.media.timeline import REENCODE, STATES_LENGTH, Packets, read_packets, read_timeline
from siming_tasks.tools.builder.constant_rate import constant_rate, places
from siming_tasks.tools.builder.kept_sound import SoundWriter
from siming_tasks.tools.builder.source_gate import BROKEN, CROWDED, DAMAGED, LEAD, check_size

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer, OutputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

CRF = 18
"""x264 quality of re-encoded videos: no visible loss."""
IDR = 5
"""H.264's number for a slice of a picture from which decoding can start with nothing else known."""
THREADS = 4
"""Encoder threads: x264 writes other bytes with another number, which therefore follows neither cores nor jobs."""

Done = dict[str, Any]
"""Facts about a finished video: ``duration`` (s), ``sha256``, and the fields of ``Normalised``."""


@dataclass(frozen=True)
class Normalised:
    """Result.

    Attributes:
        frames: pictures written.
        rate: of these, 1/s.
        width: pixels.
        height: pixels.
        copied: whether the coded pictures were copied unchanged.
        stored: pictures that the source contains.
        lost: how many of these are not among those written.
        damaged: how many of those written the decoder reported errors for, or (of a copy) gave no picture for.
        losses: how many of the source's pictures are lost or damaged, by reason
            (:mod:`siming_tasks.tools.builder.source_gate`).
        unheard: packets of sound that cannot be decoded; silence stands for each.
        loudest: loudest sample of the sound that is kept, of 32,768; None without sound.
    """

    frames: int
    rate: str
    width: int
    height: int
    copied: bool
    stored: int
    lost: int = 0
    damaged: int = 0
    losses: Mapping[str, int] = field(default_factory=dict)
    unheard: int = 0
    loudest: int | None = None

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

    Coded pictures that are already as they should be are copied; anything else is decoded (honouring the display
    matrix, pixel shape and interlacing), brought to a constant rate and encoded. Container and stream metadata,
    supplemental information inside the video stream, audio (unless ``keep_audio``), subtitle and data streams do not
    travel.

    Args:
        source: any video that FFmpeg reads.
        target: the ``.mp4`` to write (atomic).
        keep_audio: encode the first audio stream as AAC.
        check: called for every picture; raise from it to stop.

    Raises:
        MediaError: the source cannot be read or breaks off, or what was written is not what was meant.
    """
    import av

    if not keep_audio and (copied := _copied(source, target, check)):
        return copied
    with open_video(source) as (container, stream), atomic_path(target) as temporary:
        track = sound_track(source, container) if keep_audio else None
        with av.open(str(temporary), "w", format="mp4", options=options_for(track)) as output:
            result = _encode(source, container, stream, output, track, check)
        _verify(source, temporary, result)
    return result


def _verify(source: Path, written: Path, result: Normalised) -> None:
    """Compare what was written with what was meant: a picture every period from 0 on, and no stream too many."""
    timeline = read_timeline(written)
    steps = np.diff(timeline.times)
    constant = np.abs(steps - float(1 / Fraction(result.rate))).max(initial=0) < 1e-4
    late = timeline.zero or timeline.times[0]
    if timeline.n_frames != result.frames or late or not constant or not timeline.standard:
        raise MediaError(f"{source}: could not be written at a constant rate. {REENCODE}")


def _copied(source: Path, target: Path, check: Callable[[], None]) -> Normalised | None:
    """Copy the coded pictures of a file that is as an ``.mp4`` should be already, and count the damaged; else None.

    It is upright, at a constant rate from 0 on, of even sides and square pixels, and needs nothing but its pictures:
    every keyframe is an IDR picture, so that no decoder needs the SEI that tells it where to start.
    """
    import av

    try:
        timeline = read_timeline(source, STATES_LENGTH)
    except MediaError:
        return None
    steps, late = np.unique(np.diff(timeline.pts)), timeline.zero or timeline.times[0]
    if not timeline.standard or late or 0 not in timeline.keyframes or len(steps) != 1:
        return None
    whole = 0
    with open_video(source) as (container, stream):
        coded, length = stream.codec_context, unit_lengths(stream)
        if coded.name != "h264" or stream.pix_fmt != "yuv420p" or stream.width % 2 or stream.height % 2 or not length:
            return None
        if (stream.sample_aspect_ratio or 1) != 1 or tags_of(source).primaries in WIDE_GAMUTS:
            return None
        stream.thread_type, size = "AUTO", (stream.width, stream.height)
        for packet in container.demux(stream):
            check()
            if packet.is_keyframe and IDR not in {unit[0] & 31 for unit in units(bytes(packet), length)}:
                return None
            with suppress(av.error.InvalidDataError):
                frames: Any = packet.decode()
                if any(frame.interlaced_frame for frame in frames):
                    return None
                for frame in frames:
                    check_size(source, frame, size)
                whole += sum(not frame.is_corrupt for frame in frames)
    try:
        copy_plain(source, target)
    except MediaError:  # its packets alone do not show the same
        return None
    number, lost = timeline.n_frames, timeline.n_frames - whole
    losses, rate = {DAMAGED: lost} if lost else {}, 1 / (int(steps[0]) * timeline.time_base)
    return Normalised(number, str(rate), *size, copied=True, stored=number, damaged=lost, losses=losses)


def _encode(
    source: Path,
    container: InputContainer,
    stream: VideoStream,
    output: OutputContainer,
    track: AudioStream | None,
    check: Callable[[], None],
) -> Normalised:
    """Encode the pictures, and the sound if there is one to be kept."""
    import av

    with open_video(source) as (first_read, pictures):
        packets = read_packets(source, first_read, pictures)
    stream.thread_type = "AUTO"
    sound = SoundWriter(output, track, packets.zero) if track else None
    writer: _Writer | None = None
    place = _Places(packets)
    for packet in container.demux([stream, track] if track else stream):
        if sound is not None and packet.stream is track:
            for heard in sound.decode(packet):
                sound.write(heard)
            continue
        frames: Any = ()
        with suppress(av.error.InvalidDataError):  # counted among the lost
            frames = packet.decode()
        for frame in frames:
            check()
            if (at := place.of(frame)) is None:
                continue
            if writer is None:
                writer = _Writer(output, place.rate, stream, frame, tags_of(source))
                if sound is not None:
                    sound.open()
            check_size(source, frame, writer.source_size)
            writer.write(frame, at)
    if writer is None:
        raise MediaError(f"{source}: no picture can be decoded.")
    writer.write(None, round(packets.end * float(place.rate)))
    if sound is not None:
        sound.write(None)
    losses = place.losses()
    lost, losses = sum(losses.values()), {**losses, **({DAMAGED: writer.damaged} if writer.damaged else {})}
    result = Normalised(writer.frames, str(place.rate), *writer.size, False, len(packets.pts), lost,
                        writer.damaged, losses)  # fmt: skip
    return replace(result, unheard=sound.damaged, loudest=sound.loudest) if sound is not None else result


class _Places:
    """Numbers of the written pictures that those of the source become, and the rate of the former."""

    def __init__(self, packets: Packets) -> None:
        self.packets, self.rate = packets, constant_rate(packets.seconds)
        self.numbers = places(packets.seconds, self.rate).tolist()
        self.by_time = dict(zip(packets.pts.tolist(), self.numbers, strict=True))
        self.given: list[int] = []

    def of(self, frame: VideoFrame) -> int | None:
        """The place of the picture that a decoder returns next; None for one without."""
        number = self.packets.lead + len(self.given)
        if self.packets.by_order:
            at = self.numbers[number] if number < len(self.numbers) else None
        else:
            at = None if frame.pts is None else self.by_time.get(frame.pts)
        self.given += [] if at is None else [at]
        return at

    def losses(self) -> dict[str, int]:
        """Count the source's pictures that were given no place of their own, by reason."""
        missing = max(0, len(self.numbers) - len(self.given))
        lead = min(self.packets.lead, missing)
        crowded = len(self.given) - len(set(self.given))
        found = {LEAD: lead, BROKEN: missing - lead, CROWDED: crowded}
        return {why: number for why, number in found.items() if number}


class _Writer:
    """The output's video stream and the filters before it, made for the first picture."""

    def __init__(self, output: Any, rate: Fraction, source: VideoStream, first: VideoFrame, tags: Tags) -> None:
        self.output, self.rate, self.source_size = output, rate, (first.width, first.height)
        self.frames, self.damaged = 0, 0
        self.places: deque[int] = deque()
        self.shown: Any = None
        colour, aspect = Colour.of(first), source.sample_aspect_ratio or Fraction(1)
        width, height = tags.orientation.size(round(first.width * aspect), first.height)
        width, height = self.size = max(2, width // 2 * 2), max(2, height // 2 * 2)
        self.graph = self._filters(source, first, tags, colour)

        self.stream = output.add_stream("libx264", rate=self.rate)
        self.stream.width, self.stream.height, self.stream.pix_fmt = width, height, "yuv420p"
        # No B-frames and a keyframe every two seconds: every reader counts alike and seeks cheaply.
        gop = str(max(1, round(2 * self.rate)))
        how = {"crf": str(CRF), "preset": "veryfast", "bf": "0", "g": gop, "threads": str(THREADS)}
        self.stream.options = x264_options(how)
        matrix = colour.matrix
        if tags.primaries in WIDE_GAMUTS:  # the filter brings them to BT.709
            tags, matrix = tags._replace(primaries=BT709, curve=BT709), BT709
        tags._replace(matrix=matrix).write(self.stream.codec_context, full=False)

    def _filters(self, source: VideoStream, first: VideoFrame, tags: Tags, colour: Colour) -> Any:
        """FFmpeg's filters from the decoder's pictures to ours."""
        import av

        # The matrix stays, range becomes limited, RGB gets the matrix of its size; to FFmpeg 7 all grey has full range.
        full, made = (("limited", "full")[it] for it in (colour.full or colour.grey, colour.grey and not colour.full))
        colours = f"out_color_matrix={colour.matrix}:out_range={made}"
        colours = f"in_color_matrix={colour.matrix}:in_range={full}:{colours}" if colour.coded else colours
        steps = [("yadif", "deint=interlaced")] if first.interlaced_frame else []
        steps += [("transpose", "cclock_flip")] if tags.orientation.transposed else []  # rows to columns
        steps += [("vflip", "")] if tags.orientation.rows else []
        steps += [("hflip", "")] if tags.orientation.columns else []
        steps += [("scale", "{}:{}:flags=area:{}".format(*self.size, colours)), ("setsar", "1")]
        steps += [("setparams", "range=limited")]
        if wide := to_bt709_filter(tags, colour.matrix):
            steps += [("format", "yuv420p10le"), ("colorspace", wide)]
        steps += [("format", "yuv420p")]
        graph = av.filter.Graph()
        node = graph.add_buffer(template=source)
        for name, arguments in steps:
            following = graph.add(name, arguments) if arguments else graph.add(name)
            node.link_to(following)
            node = following
        node.link_to(graph.add("buffersink"))
        graph.configure()
        return graph

    def write(self, frame: VideoFrame | None, place: int) -> None:
        """Encode what is ready after this picture and its place (None: the last one was given; where the film ends)."""
        import av

        if frame is not None:
            self.places.append(place)
            self.damaged += frame.is_corrupt
        self.graph.push(frame)
        while True:
            try:
                ready = self.graph.vpull()
            except (BlockingIOError, EOFError, av.error.BlockingIOError, av.error.EOFError):
                break
            ready.pict_type, at = 0, self.places.popleft()
            self._repeat(self.shown or ready, at)
            if at == self.frames:  # else it shares the place of the one before
                self.shown = ready
                self._repeat(ready, at + 1)
        if frame is None:
            self._repeat(self.shown, place)
            self.output.mux(self.stream.encode(None))

    def _repeat(self, picture: VideoFrame, until: int) -> None:
        """Write a picture at every place that is left before this one."""
        for number in range(self.frames, until):
            picture.pts, picture.time_base = number, 1 / self.rate
            self.output.mux(self.stream.encode(picture))
            self.frames = number + 1
