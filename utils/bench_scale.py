"""Cost of the suite's commands at several sizes, its growth, and what a run of lmms-eval costs more than a bare task.

    python utils/bench_scale.py [--videos 200 2000] [--commands score compare report check bare run rerun off]

SYNTHETIC labels and answers, 33 steps a video, four settings; all videos are one short made-up film under many names.
Each line is one process: processor seconds (user and system), seconds on the clock, peak memory, and the processor
time and memory for each video as a ratio to the smallest size: 1 or less is linear growth.

``bare`` is the least that lmms-eval runs: as many questions as steps, a line of text, a comparison, a mean. ``run``
asks for every clip's score, the replies being kept; ``rerun`` finds them all, ``off`` keeps none. All four are
lmms-eval with its dummy model, which answers at once.
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

from siming_tasks.benchmark.rubrics import default_rubric

SECONDS = 170.0
SIMING = ["-c", "import sys; from siming_tasks.cli import main; sys.exit(main())"]
LMMS_EVAL = ["-m", "lmms_eval", "--model", "dummy", "--batch_size", "1", "--model_args", 'response={"score": 1}']
OURS = [*LMMS_EVAL, "--tasks", "siming_clip_score"]
COMMANDS = {
    "score": [*SIMING, "score", "--data", "data", "p.jsonl"],
    "compare": [*SIMING, "compare", "--data", "data", "p.jsonl", "q.jsonl"],
    "report": [*SIMING, "report", "--data", "data", "p.jsonl", "q.jsonl", "--out", "pages"],
    "check": [*SIMING, "data", "check", "data", "--quick"],
    "bare": [*LMMS_EVAL, "--tasks", "bare", "--include_path", "."],
    "run": OURS,
    "rerun": OURS,
    "off": OURS,
}
FIRST = "data/media/v000000.mp4"
WITHOUT_MEDIA = ("score", "compare")
"""Commands that need no videos; they run first."""

BARE = """\
task: bare
dataset_path: json
dataset_kwargs: {{data_files: {{test: {lines}}}}}
test_split: test
output_type: generate_until
doc_to_visual: !function hooks.doc_to_visual
doc_to_text: question
doc_to_target: answer
process_results: !function hooks.process_results
generation_kwargs: {{max_new_tokens: 4096, until: []}}
metric_list:
  - {{metric: exact, aggregation: mean, higher_is_better: true}}
"""
HOOKS = """\
def doc_to_visual(doc):
    return []


def process_results(doc, results):
    return {"exact": float(results[0].strip() == doc["answer"])}
"""


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
    """A data set without media, two runs that answer all four settings, and the bare task."""
    rubric, rng = default_rubric(), np.random.default_rng(0)
    tops = np.array([int(step.max_score) for step in rubric.steps])
    names = [step.id for step in rubric.steps]
    (root / "data" / "media").mkdir(parents=True)
    default = resources.files("siming_tasks.benchmark.rubrics") / "default.yaml"
    (root / "data" / "rubric.yaml").write_text(default.read_text(encoding="utf-8"), encoding="utf-8")
    (root / "data" / "dataset.yaml").write_text("name: scale\nversion: '1'\nsimulated: {videos: true, labels: true}\n")
    runs = {"p": 0.7, "q": 0.5}
    with (root / "data" / "videos.jsonl").open("w") as out:
        streams = {name: (root / f"{name}.jsonl").open("w") for name in runs}
        for number in range(videos):
            video = f"v{number:06d}"
            truth = np.where(rng.random(len(tops)) < 0.8, tops, rng.integers(0, tops + 1))
            second = np.maximum(truth - (rng.random(len(tops)) < 0.1), 0)
            pairs = zip(truth.tolist(), second.tolist(), strict=True)
            scores = ({"rater_a": a, "rater_b": b, "consensus": a} for a, b in pairs)
            steps = [
                {"step_id": step, "start": 5.0 * k, "end": 5.0 * k + 4, "score": score}
                for k, (step, score) in enumerate(zip(names, scores, strict=True))
            ]
            row = {"video_id": video, "media": f"media/{video}.mp4", "duration": SECONDS, "steps": steps}
            out.write(json.dumps(row) + "\n")
            for name, share in runs.items():
                predicted = np.where(rng.random(len(tops)) < share, truth, rng.integers(0, tops + 1))
                given = dict(zip(names, predicted.tolist(), strict=True))
                words = dict(zip(names, np.where(predicted < tops, "incorrect", "correct").tolist(), strict=True))
                lines = [{"setting": "full_score", "scores": given}, {"setting": "full_error", "verdicts": words}]
                lines += [{"setting": "clip_score", "step_id": k, "score": v} for k, v in given.items()]
                lines += [{"setting": "clip_error", "step_id": k, "verdict": v} for k, v in words.items()]
                streams[name].writelines(json.dumps({**line, "video_id": video}) + "\n" for line in lines)
        for stream in streams.values():
            stream.close()
    (root / "bare.yaml").write_text(BARE.format(lines=root / "lines.jsonl"))
    (root / "hooks.py").write_text(HOOKS)
    questions = (f"Question {number}? {'x' * 2000}" for number in range(videos * len(names)))
    (root / "lines.jsonl").write_text("".join(json.dumps({"question": q, "answer": "1"}) + "\n" for q in questions))


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


def measure(name: str, root: Path) -> tuple[float, float, float]:
    """Processor seconds, seconds and peak MB of one command."""
    own = {"SIMING_DATA": str(root / "data"), "SIMING_CACHE": str(root / "cache"), "HF_HOME": str(root / "hf")}
    own |= {"HF_HUB_OFFLINE": "1", "SIMING_REPLIES": "off" if name == "off" else str(root / "replies")}
    start = time.perf_counter()
    with (root / "out.txt").open("w") as out:
        words = [sys.executable, *COMMANDS[name]]
        process = subprocess.Popen(words, cwd=root, env={**os.environ, **own}, stdout=out, stderr=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    printed = (root / "out.txt").read_text()
    if process.returncode or ("lmms_eval" in COMMANDS[name] and "|none" not in printed):
        raise SystemExit(f"{name}: exit code {process.returncode}\n{printed[-2000:]}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start, usage.ru_maxrss / unit


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--videos", type=int, nargs="+", default=[200, 2000])
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    arguments = parser.parse_args()
    print("command   videos     CPU s    wall s      MB  CPU ratio  MB ratio   (SYNTHETIC)")
    first: dict[str, tuple[float, float]] = {}
    for videos in sorted(arguments.videos):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            make_folder(root, videos)
            for name in sorted(arguments.commands, key=list(COMMANDS).index):
                if name not in WITHOUT_MEDIA and not (root / FIRST).exists():
                    add_media(root, videos)
                cpu, wall, peak = measure(name, root)
                base = first.setdefault(name, (cpu / videos, peak / videos))
                ratios = f"{cpu / videos / base[0]:>10.2f} {peak / videos / base[1]:>9.2f}"
                print(f"{name:<9} {videos:>6} {cpu:>9.1f} {wall:>9.1f} {peak:>7.0f} {ratios}", flush=True)


if __name__ == "__main__":
    main()
