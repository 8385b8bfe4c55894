"""Speed of the simulator as a multiple of real time, with its parts and two named alternatives.

    python utils/bench_simulator.py [--videos 4] [--jobs 2]

Alternatives: drawing every frame anew instead of only what changed, and x264's own "veryfast" preset.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import av
import cv2

from siming_tasks.tools.simulator import make_demo, simulate_labels
from siming_tasks.tools.simulator.canvas import draw_appearance
from siming_tasks.tools.simulator.choreography import CHANNELS, Performance
from siming_tasks.tools.simulator.scene import Scene
from siming_tasks.tools.simulator.simulated_exam import Exam
from siming_tasks.tools.simulator.video import FPS, encode, frames, perform


def processor_seconds(work: Callable[[], object]) -> float:
    """Processor time of one call; other load on the machine does not count as ours, though it slows us."""
    start = time.process_time()
    work()
    return time.process_time() - start


def draw_every_frame(exam: Exam, played: Performance) -> None:
    """The naive way."""
    scene = Scene(draw_appearance(exam.look), list(CHANNELS))
    for index, row in enumerate(played.sample(FPS).tolist()):
        moment = (index + 0.5) / FPS
        utterances = [(word.who, word.text) for word in played.utterances if word.start <= moment < word.end]
        scene.draw(row, utterances, moment)


def encode_veryfast(path: Path, exam: Exam, played: Performance) -> None:
    """The same frames with a stock preset."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=FPS, options={"preset": "veryfast", "crf": "27", "threads": "1"})
        stream.width, stream.height, stream.pix_fmt = 480, 272, "yuv420p"
        for image in frames(played, exam.look):
            planes = cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(planes, format="yuv420p")))
        out.mux(stream.encode(None))


def measure(path: Path, exam: Exam, played: Performance) -> dict[str, float]:
    """Processor seconds of each way to make one exam's video; ours is left at ``path``."""
    return {
        "all, x264 veryfast": processor_seconds(lambda: encode_veryfast(path, exam, played)),
        "draw every frame": processor_seconds(lambda: draw_every_frame(exam, played)),
        "draw": processor_seconds(lambda: list(map(id, frames(played, exam.look)))),
        "all": processor_seconds(lambda: encode(path, frames(played, exam.look), fps=FPS)),
    }


def main() -> None:
    """Print medians over exams."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--videos", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    labels = processor_seconds(lambda: simulate_labels(200, 0))
    speeds: dict[str, list[float]] = {"all": [], "draw": [], "draw every frame": [], "all, x264 veryfast": []}
    sizes = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.mp4"
        for exam in simulate_labels(options.videos, 0):
            played = perform(exam.plan, fps=FPS, seed=exam.look)
            for name, seconds in measure(path, exam, played).items():
                speeds[name].append(played.duration / seconds)
            sizes.append(path.stat().st_size / played.duration * 170 / 1e6)
        start = time.perf_counter()
        out = make_demo(Path(folder) / "demo", videos=options.videos, jobs=options.jobs, progress=False)
        wall = time.perf_counter() - start
        rows = [line for line in (out / "videos.jsonl").read_text().splitlines() if line]
    print(f"labels only: {200 / labels:,.0f} exams per processor second")
    for name, values in speeds.items():
        print(f"{name}: {statistics.median(values):.1f} x real time per processor second")
    print(f"size: {statistics.median(sizes):.2f} MB per 170 s")
    print(f"make_demo, {len(rows)} full-length exams, {options.jobs} jobs: {wall:.1f} s wall, start-up included")


if __name__ == "__main__":
    main()
