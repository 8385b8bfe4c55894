"""Time of ``siming data check``, as a ratio to decoding the same videos once.

    python utils/bench_check.py [DATASET_FOLDER] [--videos 6] [--seconds 60] [--rounds 3]

Without a folder, exams of 640x360 pixels at 25 frames/s are made up (shapes moving over a noisy ground).
Medians over the rounds; what is compared runs in turn, so that a busy machine slows all of it alike.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import av
import numpy as np

from siming_tasks.common.files import sha256_file
from siming_tasks.data import Dataset, check_dataset, open_dataset
from siming_tasks.data.folder_files import write_folder
from siming_tasks.rubrics import default_rubric


def make_video(path: Path, seconds: int, seed: int) -> None:
    """A made-up exam."""
    rng = np.random.default_rng(seed)
    width, height, rate = 640, 360, 25
    ground = rng.integers(90, 140, (height, width, 3)).astype(np.int16)
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w", options={"movflags": "faststart"}) as out:
        stream = out.add_stream("libx264", rate=rate)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.options = {"preset": "veryfast", "crf": "27", "g": "50"}
        places = rng.uniform(0, 1, (6, 2))
        for number in range(seconds * rate):
            picture = ground + rng.integers(-3, 4, (height, width, 1), dtype=np.int16)
            for index, (x, y) in enumerate(places):
                left = int((x + 0.3 * np.sin(number / 40 + index)) % 1 * (width - 80))
                top = int((y + 0.2 * np.cos(number / 25 + index)) % 1 * (height - 80))
                picture[top : top + 80, left : left + 80] = 40 * index
            image = np.clip(picture, 0, 255).astype(np.uint8)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        out.mux(stream.encode(None))


def make_dataset(root: Path, videos: int, seconds: int) -> Dataset:
    """A made-up dataset."""
    rubric = default_rubric()
    rubric_file = root.parent / "rubric.json"
    rubric_file.write_text(rubric.model_dump_json())
    rows, media = [], {}
    for number in range(videos):
        name = f"media/v{number:03}.mp4"
        make_video(root / name, seconds, number)
        media[name] = sha256_file(root / name)
        length = seconds / len(rubric.steps)
        steps = [
            {
                "step_id": step.id,
                "start": index * length,
                "end": (index + 0.9) * length,
                "score": {"consensus": int(step.max_score)},
            }
            for index, step in enumerate(rubric.steps)
        ]
        rows.append({"video_id": f"v{number:03}", "media": name, "duration": float(seconds), "steps": steps})
    write_folder(root, rubric_file, rows, {"name": "bench", "version": "1", "synthetic": True}, media)
    return open_dataset(root)


def decode(path: Path, threads: str) -> int:
    """Decode a video once and do nothing with the pictures."""
    with av.open(str(path)) as container:
        container.streams.video[0].thread_type = threads
        return sum(1 for _ in container.decode(video=0))


def one_by_one(dataset: Dataset) -> None:
    """The plain loop: one video after the other, the decoder's own threads."""
    for video in dataset.videos:
        decode(dataset.media_path(video), "AUTO")


def side_by_side(dataset: Dataset) -> None:
    """As many videos at once as there are processors."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda video: decode(dataset.media_path(video), "NONE"), dataset.videos))


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--videos", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if arguments.folder:
            dataset = open_dataset(arguments.folder)
        else:
            dataset = make_dataset(Path(scratch) / "bench", arguments.videos, arguments.seconds)
        jobs: dict[str, Callable[[], object]] = {
            "decode, one by one": lambda: one_by_one(dataset),
            "decode, side by side": lambda: side_by_side(dataset),
            "siming data check": lambda: check_dataset(dataset.root),
            "siming data check --quick": lambda: check_dataset(dataset.root, quick=True),
        }
        times: dict[str, list[float]] = {name: [] for name in jobs}
        for _ in range(arguments.rounds):
            for name, job in jobs.items():
                start = time.perf_counter()
                job()
                times[name].append(time.perf_counter() - start)
        medians = {name: statistics.median(values) for name, values in times.items()}
        length = sum(video.duration for video in dataset.videos)
        print(f"{len(dataset.videos)} videos, {length:.0f} s in all, {os.cpu_count()} processors")
        print(f"{'':<22} {'seconds':>8} {'to one by one':>14} {'to side by side':>16} {'real time':>10}")
        for name, seconds in medians.items():
            ratios = [seconds / medians[base] for base in ("decode, one by one", "decode, side by side")]
            print(f"{name:<22} {seconds:>8.2f} {ratios[0]:>14.2f} {ratios[1]:>16.2f} {length / seconds:>9.0f}x")


if __name__ == "__main__":
    main()
