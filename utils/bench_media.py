"""Cost of media: plain decoding, one-pass preparation, the usual readers, and serving one more model.

    python utils/bench_media.py [--seconds 169] [--repeats 3] [--b-frames 3] [--keep FILE]

Everything is measured in one run on one generated file (H.264, 1280 x 720, 25 frames/s, a moving scene with sensor
noise), each line several times in turn, and printed as medians and as ratios to a plain linear decode. The four
settings of one model show 64 frames of the full video and 16 frames of each of 33 clips, twice each (scores, errors).
A local model is served pixels; a service is sent the stored files, encoded as base64 and not decoded.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import av
import cv2
import numpy as np

from siming_tasks.media import FrameStore, Job, Request, StoredImage, prepare, read_timeline, view

STEPS, FULL, CLIP = 33, 64, 16
QUIET = 1e9


def generate(
    path: Path, seconds: float, b_frames: int = 3, width: int = 1280, height: int = 720, rate: int = 25
) -> None:
    """A textured room under a swaying camera, a pumping block, and noise on every frame."""
    rng = np.random.default_rng(0)
    texture = cv2.GaussianBlur(rng.normal(size=(height // 8 + 40, width // 8 + 40)), (0, 0), 2)
    room = cv2.resize(texture, (width + 320, height + 320), interpolation=cv2.INTER_CUBIC)
    room = ((room - room.min()) / np.ptp(room) * 200 + 20).astype(np.uint8)
    noise = rng.integers(-3, 4, size=(16, height, width), dtype=np.int8)
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx264", rate=rate)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.options = {"crf": "23", "preset": "veryfast", "bf": str(b_frames)}
        for index in range(int(seconds * rate)):
            x, y = int(150 + 140 * np.sin(index / 70)), int(150 + 100 * np.cos(index / 50))
            luma = room[y : y + height, x : x + width].copy()
            middle = height // 2 + int(60 * np.sin(2 * np.pi * 110 / 60 * index / rate))
            luma[middle - 60 : middle + 60, width // 2 - 90 : width // 2 + 90] = 180
            luma = cv2.add(luma, noise[index % 16], dtype=cv2.CV_8U)
            blue = 128 + (luma[::2, ::2].astype(np.int16) - 120) // 6
            chroma = np.concatenate([blue, 255 - blue]).astype(np.uint8).reshape(height // 2, width)
            frame = av.VideoFrame.from_ndarray(np.concatenate([luma, chroma]), format="yuv420p")
            frame.pts = index
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))


def linear(path: Path) -> None:
    """The floor: every frame decoded on all cores, none converted."""
    with av.open(str(path)) as container:
        container.streams.video[0].thread_type = "AUTO"
        for _ in container.decode(video=0):
            pass


def naive_full(path: Path) -> None:
    """64 uniform frames as most backends take them: decord."""
    import decord

    reader = decord.VideoReader(str(path), num_threads=2)
    reader.get_batch(np.linspace(0, len(reader) - 1, FULL, dtype=int).tolist()).asnumpy()


def naive_host(path: Path) -> None:
    """The same with lmms-eval's default reader."""
    from lmms_eval.models.model_utils.load_video import read_video

    read_video(str(path), num_frm=FULL, backend="pyav")


def naive_clips(path: Path) -> None:
    """16 uniform frames of each of 33 spans, by seeking in a fresh reader per request, as a run of requests does."""
    import decord

    for first, last in clips(path):
        reader = decord.VideoReader(str(path), num_threads=2)
        reader.get_batch(np.linspace(first, last, CLIP, dtype=int).tolist()).asnumpy()


def clips(path: Path) -> list[tuple[int, int]]:
    """33 equal spans as frame ranges."""
    borders = np.linspace(0, read_timeline(path).n_frames, STEPS + 1, dtype=int)
    return [(int(first), int(last) - 1) for first, last in pairwise(borders)]


def requests(path: Path) -> tuple[Request, ...]:
    """Media requests of the four settings."""
    spans = [(first / 25, (last + 1) / 25) for first, last in clips(path)]
    return (Request(None, FULL), *(Request(span, CLIP) for span in spans))


def fill(path: Path, cache: Path, asked: tuple[Request, ...]) -> None:
    """One-pass preparation from nothing."""
    shutil.rmtree(cache, ignore_errors=True)
    (outcome,) = prepare([Job(path, asked, digest="bench")], cache, cache_gb=QUIET)
    if outcome.errors:
        raise SystemExit(str(outcome.errors))


def serve(path: Path, cache: Path, asked: tuple[Request, ...]) -> None:
    """The images of all requests of four settings, from the store."""
    for request in asked * 2:
        view(path, digest="bench", span=request.span, frames=request.frames, cache=cache).images()


def send(path: Path, cache: Path, asked: tuple[Request, ...]) -> None:
    """The same for a service: the text of every image as it stands in a request, made of the stored file."""
    for request in asked * 2:
        shown = view(path, digest="bench", span=request.span, frames=request.frames, cache=cache)
        for image in shown.to_send(decode=False)[0]:
            if not isinstance(image, StoredImage) or not image.data_url():
                raise SystemExit("a service is not sent the stored file")


def clock(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=169)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--b-frames", type=int, default=3, help="in a row; 0 for a camera that writes none")
    options.add_argument("--keep", type=Path, help="use this file, or make it and leave it")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, cache = arguments.keep or Path(folder) / "video.mp4", Path(folder) / "cache"
        if not path.exists():
            generate(path, arguments.seconds, arguments.b_frames)
        import decord  # noqa: F401 - imports are not part of what is measured
        from lmms_eval.models.model_utils import load_video  # noqa: F401

        asked = requests(path)
        rows: dict[str, Callable[[], object]] = {
            "plain linear decode (floor)": lambda: linear(path),
            "64 frames, decord": lambda: naive_full(path),
            "64 frames, lmms-eval's default reader": lambda: naive_host(path),
            "33 clips x 16 frames, decord by seeking": lambda: naive_clips(path),
            "one-pass preparation of four settings": lambda: fill(path, cache, asked),
            "serving four settings from the store": lambda: serve(path, cache, asked),
            "the same, sent to a service undecoded": lambda: send(path, cache, asked),
        }
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in rows}
        for _ in range(arguments.repeats):
            for name, work in rows.items():
                times[name].append(clock(work))
        wall = {name: statistics.median(pair[0] for pair in pairs) for name, pairs in times.items()}
        cpu = {name: statistics.median(pair[1] for pair in pairs) for name, pairs in times.items()}
        store = FrameStore(cache, path, "bench")
        stored = len(list(store.frames.iterdir()))
        report(path, wall, cpu, stored, int((store.folder / "bytes").read_text()))


def report(path: Path, wall: dict[str, float], cpu: dict[str, float], stored: int, size: int) -> None:
    """Print the table and the ratios that matter."""
    timeline = read_timeline(path)
    with av.open(str(path)) as container:
        picture = container.streams.video[0]
        shape = f"{picture.width} x {picture.height}"
    floor, full, _, clip, once, again, sent = wall
    rate = float(timeline.rate)
    print(f"{shape}, {timeline.duration:.0f} s at {rate:g} frames/s, {os.cpu_count()} cores")
    print(f"{'':44}{'wall s':>8}{'cpu s':>8}{'x floor':>9}")
    for name in wall:
        print(f"{name:44}{wall[name]:8.2f}{cpu[name]:8.2f}{wall[name] / wall[floor]:9.2f}")
    naive = 2 * wall[full] + 2 * wall[clip]
    naive_cpu = 2 * cpu[full] + 2 * cpu[clip]
    print(f"{'four settings, naive (decord)':44}{naive:8.2f}{naive_cpu:8.2f}{naive / wall[floor]:9.2f}")
    print()
    first, first_cpu = wall[once] + wall[again], cpu[once] + cpu[again]
    print(f"preparation / linear decode            {wall[once] / wall[floor]:6.2f}  (cpu {cpu[once] / cpu[floor]:.2f})")
    print(f"first model: naive / (prepare + serve) {naive / first:6.2f}  (cpu {naive_cpu / first_cpu:.2f})")
    print(f"next models: naive / serve             {naive / wall[again]:6.2f}  (cpu {naive_cpu / cpu[again]:.2f})")
    print(f"next models, a service: naive / send   {naive / wall[sent]:6.2f}  (cpu {naive_cpu / cpu[sent]:.2f})")
    print(f"stored {stored} frames, {size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
