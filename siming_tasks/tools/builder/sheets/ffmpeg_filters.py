"""FFmpeg's filters between a decoder's pictures and those that a build writes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from siming_tasks.media.colour import Colour, narrowed

if TYPE_CHECKING:
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

__all__ = ["filters", "pulled"]


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
    if wide := narrowed(stream.codec_context, Colour.of(first).matrix):
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
