"""Any video to the one kind that every reader takes: H.264 .mp4, constant rate, upright, even sides, no metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siming_tasks.common.errors import MediaError
from siming_tasks.common.files import atomic_path
from siming_tasks.media.clips import x264_options
from siming_tasks.media.container import open_video
from siming_tasks.media.picture import BT709, WIDE_GAMUTS, Colour, copy_colour_tags, to_bt709_filter
from siming_tasks.tools.builder.sheets.frame_rate import rate_to_copy, rate_to_write

if TYPE_CHECKING:
    from av.container import InputContainer, OutputContainer
    from av.video.codeccontext import VideoCodecContext
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

__all__ = ["CRF", "Normalised", "filters", "normalise", "pulled"]


def pulled(graph: Any) -> Iterator[VideoFrame]:
    """The pictures that are ready at the graph's end."""
    import av

    while True:
        try:
            yield graph.vpull()
        except (BlockingIOError, EOFError, av.error.BlockingIOError, av.error.EOFError):
            return


def filters(stream: VideoStream, first: VideoFrame, rate: Fraction, start: float) -> tuple[Any, tuple[int, int]]:
    """FFmpeg filters from the decoder's pictures to ours, and the size of what comes out."""
    import av

    turn = round(first.rotation / 90) % 4
    aspect = stream.sample_aspect_ratio or Fraction(1)
    width, height = round(first.width * aspect), first.height
    if turn % 2:
        width, height = height, width
    width, height = max(2, width // 2 * 2), max(2, height // 2 * 2)
    steps = [("yadif", "deint=interlaced")] if first.interlaced_frame else []
    steps += [("fps", f"fps={rate}:start_time={start}")]
    steps += {0: [], 1: [("transpose", "cclock")], 2: [("hflip", ""), ("vflip", "")], 3: [("transpose", "clock")]}[turn]
    steps += [("scale", f"{width}:{height}:flags=area:{_colours(first)}"), ("setsar", "1")]
    if wide := to_bt709_filter(stream.codec_context, Colour.of(first).matrix):
        steps += [("format", "yuv420p10le"), ("colorspace", wide)]
    steps += [("format", "yuv420p")]
    graph = av.filter.Graph()
    node = graph.add_buffer(template=stream)
    for name, arguments in steps:
        following = graph.add(name, arguments) if arguments else graph.add(name)
        node.link_to(following)
        node = following
    node.link_to(graph.add("buffersink"))
    graph.configure()
    return graph, (width, height)


def _colours(frame: VideoFrame) -> str:
    """Arguments of FFmpeg's ``scale``: the matrix stays, the range becomes limited, RGB gets the matrix of its size."""
    colour = Colour.of(frame)
    source = f"in_color_matrix={colour.matrix}:in_range={'full' if colour.full else 'limited'}:" if colour.coded else ""
    return f"{source}out_color_matrix={colour.matrix}:out_range=limited"


CRF = 18
"""x264 quality of re-encoded videos: no visible loss."""

PICTURES = "1-5|7-9"
"""Kinds of H.264 units that travel when pictures are copied: slices, parameter sets, delimiters. Not supplemental
information (SEI), filler and private kinds, where cameras store time, place and serial numbers."""


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


def normalise(
    source: Path,
    target: Path,
    *,
    keep_audio: bool = False,
    threads: int = 1,
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
        threads: encoder threads.
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
        plain = None if keep_audio or (container.start_time or 0) > 0 else rate_to_copy(source, stream)
        if plain:
            frames = _copy(container, stream, output, check)
            result = Normalised(frames, str(plain), stream.width, stream.height, copied=True)
        else:
            rate = rate_to_write(source, stream)
            writer = _Writer(output, rate, threads)
            _encode(container, stream, writer, keep_audio, check)
            if not writer.frames:
                raise MediaError(f"{source}: holds no picture that can be decoded.")
            result = Normalised(writer.frames, str(rate), *writer.size, copied=False)
    return result


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
    """The output's video stream, opened when the first picture is known."""

    def __init__(self, output: OutputContainer, rate: Fraction, threads: int) -> None:
        self.output, self.rate, self.threads = output, rate, threads
        self.frames, self.size = 0, (0, 0)
        self.stream: Any = None

    def open(self, size: tuple[int, int], coded: VideoCodecContext, colour: Colour) -> None:
        width, height = self.size = size
        self.stream = self.output.add_stream("libx264", rate=self.rate)
        self.stream.width, self.stream.height, self.stream.pix_fmt = width, height, "yuv420p"
        # No B-frames and a keyframe every two seconds: every reader counts alike and seeks cheaply.
        gop = str(max(1, round(2 * self.rate)))
        how = {"crf": str(CRF), "preset": "veryfast", "bf": "0", "g": gop, "threads": str(self.threads)}
        self.stream.options = x264_options(how)
        written = self.stream.codec_context
        copy_colour_tags(coded, written, colour.matrix, full=False)
        if coded.color_primaries in WIDE_GAMUTS:
            written.colorspace = written.color_primaries = written.color_trc = BT709

    def write(self, frame: VideoFrame) -> None:
        frame.pts, frame.time_base, frame.pict_type = self.frames, 1 / self.rate, 0
        self.frames += 1
        self.output.mux(self.stream.encode(frame))


def _encode(
    container: InputContainer, stream: VideoStream, writer: _Writer, keep_audio: bool, check: Callable[[], None]
) -> None:
    import av

    stream.thread_type = "AUTO"
    start = Fraction(max(0, container.start_time or 0), av.time_base)  # negative: audio priming, not shown
    audio_in = container.streams.audio[0] if keep_audio and container.streams.audio else None
    audio_out: Any = None
    resampler: Any = None
    graph: Any = None
    for packet in container.demux([stream, *([audio_in] if audio_in else [])]):
        frames: Any = packet.decode()
        for frame in frames:
            check()
            if packet.stream.type == "video":
                if graph is None:
                    graph, size = filters(stream, frame, writer.rate, float(start))
                    writer.open(size, stream.codec_context, Colour.of(frame))
                    if audio_in is not None:
                        audio_out = writer.output.add_stream("aac", rate=audio_in.rate)
                        resampler = av.AudioResampler("fltp", "stereo", audio_in.rate)
                graph.push(frame)
                for picture in pulled(graph):
                    writer.write(picture)
            elif audio_out is not None:
                for piece in resampler.resample(frame):
                    piece.pts = round((Fraction(piece.pts) * piece.time_base - start) / piece.time_base)
                    writer.output.mux(audio_out.encode(piece))
    if graph is not None:
        graph.push(None)
        for picture in pulled(graph):
            writer.write(picture)
        writer.output.mux(writer.stream.encode(None))
        if audio_out is not None:
            writer.output.mux(audio_out.encode(None))
