"""Cost of ``siming score``, ``compare``, ``report`` and ``data check --quick`` at several sizes, and its growth.

    python utils/bench_scale.py [--videos 500 2000] [--commands score compare report check]

SYNTHETIC labels and answers, 33 steps a video, four settings; all videos are one short made-up film under many names.
Each line is one process: processor seconds (user and system), seconds on the clock, peak memory, and the processor
time and memory for each video as a ratio to the smallest size: 1 or less is linear growth.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import resources
from pathlib import Path

import av
import numpy as np

from siming_tasks.rubrics import default_rubric

SECONDS = 170.0
COMMANDS = {
    "score": ["score", "data", "p.jsonl"],
    "compare": ["compare", "--data", "data", "p.jsonl", "q.jsonl"],
    "report": ["report", "--data", "data", "p.jsonl", "q.jsonl", "--out", "pages"],
    "check": ["data", "check", "data", "--quick"],
}
FIRST = "data/media/v000000.mp4"
MEDIA = ("report", "check")
"""Commands for which the videos must be there; they run last."""


def make_video(path: Path) -> None:
    """A made-up exam of two pictures a second."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=2)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        for number in range(int(SECONDS * 2)):
            picture = np.full((64, 64, 3), number % 200, np.uint8)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        out.mux(stream.encode())


def make_folder(root: Path, videos: int) -> None:
    """A data set without media, and two runs that answer all four settings."""
    rubric, rng = default_rubric(), np.random.default_rng(0)
    tops = np.array([int(step.max_score) for step in rubric.steps])
    names = [step.id for step in rubric.steps]
    (root / "data" / "media").mkdir(parents=True)
    default = resources.files("siming_tasks.rubrics") / "default.yaml"
    (root / "data" / "rubric.yaml").write_text(default.read_text(encoding="utf-8"), encoding="utf-8")
    (root / "data" / "dataset.yaml").write_text("name: scale\nversion: '1'\nsynthetic: true\n")
    runs = {"p": 0.7, "q": 0.5}
    with (root / "data" / "videos.jsonl").open("w") as out:
        streams = {name: (root / f"{name}.jsonl").open("w") for name in runs}
        for number in range(videos):
            video = f"v{number:06d}"
            truth = np.where(rng.random(len(tops)) < 0.8, tops, rng.integers(0, tops + 1))
            second = np.maximum(truth - (rng.random(len(tops)) < 0.1), 0)
            steps = [
                {
                    "step_id": name,
                    "start": 5.0 * k,
                    "end": 5.0 * k + 4,
                    "score": {"rater_a": a, "rater_b": b, "consensus": a},
                }
                for k, (name, a, b) in enumerate(zip(names, truth.tolist(), second.tolist(), strict=True))
            ]
            row = {"video_id": video, "media": f"media/{video}.mp4", "duration": SECONDS, "steps": steps}
            out.write(json.dumps(row) + "\n")
            for name, share in runs.items():
                predicted = np.where(rng.random(len(tops)) < share, truth, rng.integers(0, tops + 1))
                points = dict(zip(names, predicted.tolist(), strict=True))
                words = dict(zip(names, np.where(predicted < tops, "incorrect", "correct").tolist(), strict=True))
                lines = [{"setting": "full_score", "scores": points}, {"setting": "full_error", "verdicts": words}]
                lines += [{"setting": "clip_score", "step_id": k, "score": v} for k, v in points.items()]
                lines += [{"setting": "clip_error", "step_id": k, "verdict": v} for k, v in words.items()]
                streams[name].writelines(json.dumps({**line, "video_id": video}) + "\n" for line in lines)
        for stream in streams.values():
            stream.close()


def add_media(root: Path, videos: int) -> None:
    """One film under the name of every video."""
    first = root / FIRST
    make_video(first)
    for number in range(1, videos):
        path = first.with_name(f"v{number:06d}.mp4")
        try:
            os.link(first, path)
        except OSError:
            shutil.copyfile(first, path)


def measure(command: list[str], root: Path) -> tuple[float, float, float]:
    """Processor seconds, seconds and peak MB of one ``siming`` command."""
    start = time.perf_counter()
    code = "import sys; from siming_tasks.cli import main; sys.exit(main())"
    with (root / "out.txt").open("w") as out:
        process = subprocess.Popen([sys.executable, "-c", code, *command], cwd=root, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"siming {' '.join(command)}: exit code {process.returncode}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start, usage.ru_maxrss / unit


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--videos", type=int, nargs="+", default=[500, 2000])
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    arguments = parser.parse_args()
    print("command   videos     CPU s    wall s      MB  CPU ratio  MB ratio   (SYNTHETIC)")
    first: dict[str, tuple[float, float]] = {}
    for videos in sorted(arguments.videos):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            make_folder(root, videos)
            for name in sorted(arguments.commands, key=list(COMMANDS).index):
                if name in MEDIA and not (root / FIRST).exists():
                    add_media(root, videos)
                cpu, wall, peak = measure(COMMANDS[name], root)
                base = first.setdefault(name, (cpu / videos, peak / videos))
                ratios = f"{cpu / videos / base[0]:>10.2f} {peak / videos / base[1]:>9.2f}"
                print(f"{name:<9} {videos:>6} {cpu:>9.1f} {wall:>9.1f} {peak:>7.0f} {ratios}", flush=True)


if __name__ == "__main__":
    main()
