"""Overhead of the suite: 6,600 clip documents and a model that answers at once, against a bare task.

    python utils/bench_overhead.py [--videos 200] [--repeats 3]

Ours runs four times: with replies kept as they come (the default), once more, where all are found, with none kept, and
with replies kept that all differ: in the other three the model says the same to everything, which is read once a step.
Both tasks ask as many questions and get replies of the same length from the same null model, which looks at no media.
The bare task is the least that lmms-eval runs: a line of text, a comparison, a mean. Each side runs in a process of its
own, in turn. Two things are timed: ``simple_evaluate``, from loading the task (for ours: checking 200 video files) to
the last metric; and the whole process, with lmms-eval's imports and its walk over all task files, as every run has it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import resources
from pathlib import Path
from typing import Any

BARE_YAML = """\
task: bare
dataset_path: json
dataset_kwargs: {{data_files: {{test: {lines}}}}}
test_split: test
output_type: generate_until
doc_to_visual: !function bare_hooks.doc_to_visual
doc_to_text: !function bare_hooks.doc_to_text
doc_to_target: answer
process_results: !function bare_hooks.process_results
generation_kwargs: {{max_new_tokens: 4096, until: []}}
metric_list:
  - {{metric: exact, aggregation: mean, higher_is_better: true}}
metadata: {{version: 1}}
"""

BARE_HOOKS = """\
def doc_to_visual(doc):
    return []


def doc_to_text(doc):
    return doc["question"]


def process_results(doc, results):
    return {"exact": float(results[0].strip() == doc["answer"])}
"""


OURS, DIFFER = "siming_clip_score", "kept, all differ"


def make_data(folder: Path, videos: int) -> None:
    """A labelled dataset of tiny videos that all show the same, and the bare task beside it."""
    import av
    import numpy as np

    from siming_tasks.rubrics import default_rubric

    media = folder / "data" / "media"
    media.mkdir(parents=True)
    with av.open(str(media / "v000.mp4"), "w") as output:
        stream = output.add_stream("libx264", rate=5)
        stream.width = stream.height = 64
        for index in range(34 * 5):
            frame = av.VideoFrame.from_ndarray(np.full((64, 64, 3), index, np.uint8), format="rgb24")
            frame.pts = index
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    shutil.copy(str(resources.files("siming_tasks.rubrics") / "default.yaml"), folder / "data" / "rubric.yaml")
    (folder / "data" / "dataset.yaml").write_text("name: overhead\nversion: '1'\nsynthetic: true\n")
    rng = np.random.default_rng(0)
    steps = default_rubric().steps
    with (folder / "data" / "videos.jsonl").open("w") as lines:
        for number in range(videos):
            name = f"v{number:03d}"
            if number:
                shutil.copy(media / "v000.mp4", media / f"{name}.mp4")
            labels = [
                {
                    "step_id": s.id,
                    "start": i,
                    "end": i + 1,
                    "score": {"consensus": float(rng.integers(s.max_score + 1))},
                }
                for i, s in enumerate(steps)
            ]
            row = {"video_id": name, "media": f"media/{name}.mp4", "duration": 34, "steps": labels}
            lines.write(json.dumps(row) + "\n")
    bare = folder / "bare"
    bare.mkdir()
    with (bare / "lines.jsonl").open("w") as lines:
        for number in range(videos * len(steps)):
            lines.write(json.dumps({"question": f"Question {number}? " + "x" * 2000, "answer": "1"}) + "\n")
    (bare / "bare.yaml").write_text(BARE_YAML.format(lines=bare / "lines.jsonl"))
    (bare / "bare_hooks.py").write_text(BARE_HOOKS)


def run(task: str, folder: Path, differ: bool) -> None:
    """In a process of its own: evaluate the null model on one task and print the seconds of both parts."""
    born = time.perf_counter()
    from lmms_eval.api.model import lmms
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.tasks import TaskManager

    class Null(lmms):  # type: ignore[misc]
        is_simple = True

        def generate_until(self, requests: list[Any]) -> list[str]:
            if differ:  # args[3] is the number of the document
                return [
                    f'VideoFeatures {request.args[3]} times.\n\n{{"score": {request.args[3] % 3}}}'
                    for request in requests
                ]
            return ['{"score": 1}' for _ in requests]

        def loglikelihood(self, requests: list[Any]) -> Any:
            raise NotImplementedError

        def generate_until_multi_round(self, requests: list[Any]) -> Any:
            raise NotImplementedError

    manager = TaskManager("ERROR", include_path=str(folder / "bare"))
    wall, cpu = time.perf_counter(), time.process_time()
    simple_evaluate(model=Null(), tasks=[task], task_manager=manager, batch_size=1, verbosity="ERROR")
    now, spent = time.perf_counter(), time.process_time()
    print("SECONDS", now - wall, spent - cpu, now - born, spent)


def main() -> None:
    """Measure both and print the ratio."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--videos", type=int, default=200)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--run", nargs=3, metavar=("TASK", "FOLDER", "CASE"), help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.run:
        run(arguments.run[0], Path(arguments.run[1]), arguments.run[2] == DIFFER)
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_data(folder, arguments.videos)
        env = {**os.environ, "SIMING_DATA": str(folder / "data"), "SIMING_CACHE": str(folder / "cache")}
        env |= {"HF_HOME": str(folder / "hf"), "HF_DATASETS_OFFLINE": "1"}
        cases = {"bare": "bare", "kept as they come": OURS, "all found": OURS, "none kept": OURS, DIFFER: OURS}
        seconds: dict[str, list[list[float]]] = {name: [] for name in cases}
        for _ in range(arguments.repeats):
            for name, times in seconds.items():
                if name in ("bare", DIFFER):
                    shutil.rmtree(folder / "replies", ignore_errors=True)
                task = cases[name]
                env["SIMING_REPLIES"] = "off" if name == "none kept" else str(folder / "replies")
                command = [sys.executable, __file__, "--run", task, str(folder), name]
                done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
                line = next((line for line in done.stdout.splitlines() if line.startswith("SECONDS")), None)
                if line is None:
                    raise SystemExit(done.stdout[-2000:] + done.stderr[-4000:])
                times.append([float(part) for part in line.split()[1:]])
    print(f"{33 * arguments.videos:,} documents, median of {arguments.repeats}")
    medians = {
        task: [statistics.median(column) for column in zip(*times, strict=True)] for task, times in seconds.items()
    }
    print(f"{'':26}{'evaluate, s':>13}{'cpu s':>8}{'process, s':>13}{'cpu s':>8}")
    for task, (wall, cpu, whole, all_cpu) in medians.items():
        print(f"{task:26}{wall:13.2f}{cpu:8.2f}{whole:13.2f}{all_cpu:8.2f}")
    bare, *others = medians.values()
    for name, ours in zip(list(medians)[1:], others, strict=True):
        ratios = zip(bare, ours, (13, 8, 13, 8), strict=True)
        print(f"{'x bare: ' + name:26}" + "".join(f"{b / a:{w}.2f}" for a, b, w in ratios))


if __name__ == "__main__":
    main()
