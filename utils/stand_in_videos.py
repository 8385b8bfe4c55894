"""Stand-ins for the videos of a public set, at the lengths that its annotations state.

    python utils/stand_in_videos.py egooops ANNOTATIONS OUT [--footage DIR] [--most 10]

The pictures are short recordings of DIR played over and over (without DIR moving noise), 160 x 90 at 2 a second, each
encoded once; a video repeats their coded pictures. They show nothing of what the labels say: for the road that data go,
never for a number about a model.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from tqdm import tqdm

from siming_tasks.tools.public_sets import SETS

SIZE = 160, 90
RATE = 2
LOOP = 20
"""Pictures of a loop."""


def pictures(path: Path | None, seed: int) -> Iterator[av.VideoFrame]:
    """At most ``LOOP`` pictures, evenly of a recording's first ten seconds, or moving noise."""
    if path is None:
        noise = np.random.default_rng(seed).integers(0, 255, (9, 16, 3), np.uint8).repeat(10, 0).repeat(10, 1)
        yield from (av.VideoFrame.from_ndarray(np.roll(noise, 8 * at, 1), format="rgb24") for at in range(LOOP))
        return
    with av.open(str(path)) as container:
        rate = round(container.streams.video[0].average_rate or 25)
        yield from itertools.islice(container.decode(video=0), 0, 10 * rate, max(1, rate // RATE))


def loop(path: Path | None, seed: int, out: Path) -> Path:
    """An .mp4 of one group of pictures, which begins with its only keyframe."""
    with av.open(str(out), "w") as container:
        stream = container.add_stream("libx264", rate=RATE)
        (stream.width, stream.height), stream.pix_fmt = SIZE, "yuv420p"
        stream.options = {"bf": "0", "g": str(LOOP), "sc_threshold": "0", "crf": "28", "threads": "1"}
        for number, picture in enumerate(pictures(path, seed)):
            frame = picture.reformat(*SIZE, format="yuv420p")
            frame.pts, frame.time_base, frame.pict_type = number, Fraction(1, RATE), 0
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return out


def repeat(source: Path, seconds: float, out: Path) -> None:
    """Write the coded pictures of a loop over and over until ``seconds``."""
    count = max(1, math.ceil(seconds * RATE))
    with av.open(str(source)) as read:
        packets = [bytes(packet) for packet in read.demux(video=0) if packet.size]
        with av.open(str(out), "w") as written:
            stream = written.add_stream_from_template(read.streams.video[0])
            for number in range(count):
                packet = av.Packet(packets[number % len(packets)])
                packet.stream, packet.time_base = stream, Fraction(1, RATE)
                packet.pts = packet.dts = number
                packet.duration, packet.is_keyframe = 1, number % len(packets) == 0
                written.mux(packet)


def make(name: str, annotations: Path, out: Path, footage: Path | None = None, most: int | None = None) -> int:
    """Write the stand-ins of a set, or of ``most`` recordings spread over it and the longest; return their number."""
    _, recordings = SETS[name].read(annotations)
    longest = max(recordings, key=lambda one: one.duration)
    step = math.ceil(len(recordings) / most) if most else 1
    chosen = {one.video_id: one for one in (*recordings[::step], longest)}.values()
    out.mkdir(parents=True)
    loops = _loops(footage, out)
    for number, one in enumerate(tqdm(chosen, unit="video")):
        repeat(loops[number % len(loops)], one.duration + 1, out / f"{one.video_id}.mp4")
    for path in loops:
        path.unlink()
    return len(chosen)


def _loops(footage: Path | None, out: Path) -> Sequence[Path]:
    sources = sorted(footage.glob("sam2_*.mp4")) if footage else [None] * 5
    return [loop(source, number, out / f".loop{number}.mp4") for number, source in enumerate(sources)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("annotations", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--footage", type=Path, help="folder with recordings sam2_*.mp4")
    parser.add_argument("--most", type=int, help="number of recordings, about")
    given = parser.parse_args()
    print(f"{make(given.set, given.annotations, given.out, given.footage, given.most)} stand-ins in {given.out}")
