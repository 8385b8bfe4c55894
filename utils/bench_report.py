"""Time and memory of ``write_report`` at the benchmark's size: 200 videos x 4 settings x 12 models (synthetic).

    python utils/bench_report.py [--videos 200] [--models 12] [--jobs 2] [--keep DIR] [--paint]

Makes labels without rendering videos (a one-second clip stands for all), sample logs with 700-character replies, runs
the report in a fresh process and prints wall time, CPU time and the largest resident set of any process. Wall time on a
busy machine says little: CPU time divided by the number of cores in use is the lower bound. The alternative it is held
against is `json.load` of the same sample logs, once: what any tool that looks at the replies has to do.

`--paint` opens pages of the report from disk in Chromium (with chromedriver): milliseconds to the first paint and to
the end of loading, medians of five, beside those of an empty page; `--keep DIR --paint` again makes no new report.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import yaml

from siming_tasks.data import Dataset, open_dataset
from siming_tasks.parsing import format_answers, parse_reply
from siming_tasks.results.record import Conditions, Record
from siming_tasks.rubrics import default_rubric
from siming_tasks.tasks import BENCHMARK_TASKS, TASKS
from siming_tasks.tasks.expected_requests import asked_steps, expected_requests
from siming_tasks.tools.simulator.video import encode

PREVALENCE = 0.186
"""Share of the steps that are not fully correct, as the paper's table implies."""
THOUGHT = "I look at the hands, the manikin and the order of the acts before I give points. " * 8


def make_dataset(root: Path, videos: int, rng: np.random.Generator) -> Dataset:
    """Labels of simulated trainees."""
    rubric = default_rubric()
    (root / "media").mkdir(parents=True)
    encode(root / "media" / "one.mp4", (np.full((90, 160, 3), 40 + k, np.uint8) for k in range(12)), fps=12)
    shutil.copyfile(
        Path(sys.modules["siming_tasks.rubrics"].__file__ or "").parent / "default.yaml", root / "rubric.yaml"
    )
    rows = []
    for number in range(videos):
        steps = []
        for k, step in enumerate(rubric.steps):
            points = {}
            for rater in ("rater_a", "rater_b", "consensus"):
                wrong = rng.random() < PREVALENCE
                points[rater] = float(rng.integers(0, step.max_score)) if wrong else step.max_score
            if rng.random() < 0.8:
                points["rater_a"] = points["rater_b"] = points["consensus"]
            steps.append({"step_id": step.id, "start": k * 5.0, "end": k * 5.0 + 5, "score": points})
        name = f"v{number:04d}"
        shutil.copyfile(root / "media" / "one.mp4", root / "media" / f"{name}.mp4")
        rows.append({"video_id": name, "media": f"media/{name}.mp4", "duration": 170.0, "steps": steps})
    (root / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (root / "dataset.yaml").write_text(yaml.safe_dump({"name": "bench", "version": "1", "synthetic": True}))
    return open_dataset(root)


def make_run(dataset: Dataset, folder: Path, skill: float, rng: np.random.Generator) -> None:
    """Sample logs of a judge that repeats the consensus in a share ``skill`` of the steps."""
    folder.mkdir(parents=True)
    for name in BENCHMARK_TASKS:
        setting = TASKS[name]
        with (folder / f"20260101_000000_samples_siming_{name}.jsonl").open("w") as stream:
            for video_id, step_id in expected_requests(setting, dataset.videos):
                video = dataset.video(video_id)
                names = {step_id} if step_id else set(asked_steps(setting, video))
                steps = [step for step in dataset.rubric.steps if step.id in names]
                answers = {}
                for step in steps:
                    known = rng.random() < skill
                    points = (
                        float(video.step(step.id).consensus or 0)
                        if known
                        else float(rng.integers(0, step.max_score + 1))
                    )
                    answers[step.id] = points if setting.answer == "score" else float(points < step.max_score)
                reply = THOUGHT + format_answers(answers, steps, setting.answer)
                count = 16 if step_id else 64
                media = {
                    "mode": "frames",
                    "n_frames": count,
                    "indices": list(range(count)),
                    "start": 0.0,
                    "end": 5.0,
                    "fps": 3.0,
                }
                record = Record.from_reply(
                    name,
                    video_id,
                    step_id,
                    parse_reply(reply, steps, setting.answer),
                    Conditions(prompt="p", dataset=dataset.digest, media=media),
                ).to_json()
                item = {"id": record["id"], "answers": record["answers"]}
                metrics = dict.fromkeys(
                    ("plcc", "plcc_stderr", "srcc", "srcc_stderr", "qwk", "qwk_stderr", "coverage"), item
                )
                row = {
                    "doc_id": 0,
                    "target": "",
                    "filtered_resps": reply,
                    "input": "x" * (16_000 if not step_id else 900),
                }
                stream.write(json.dumps({**row, **metrics, "siming_stderr": record}) + "\n")


def paint(report: Path, repeats: int = 5) -> None:
    """Print the first paint and the loading time of pages of each kind; the page before an exam's is another exam's."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--window-size=1440,900"):
        options.add_argument(word)
    driver = shutil.which("chromedriver")
    browser = webdriver.Chrome(options=options, service=Service(driver) if driver else None)
    videos, models = (sorted((report / name).glob("*.html")) for name in ("videos", "models"))
    empty = report / "empty.html"
    empty.write_text("<!doctype html><title>empty</title><p>empty")
    names = ["index.html", "videos/index.html", f"videos/{videos[-1].name}", f"models/{models[0].name}"]
    script = (
        "const [page] = performance.getEntriesByType('navigation'), [paint] = performance.getEntriesByType('paint');"
        "return page.loadEventEnd ? [paint?.startTime ?? null, page.loadEventEnd] : null"
    )
    try:
        for name in ["empty.html", *names]:
            times = []
            for _ in range(repeats):
                browser.get((report / "videos" / videos[0].name).as_uri())
                browser.get((report / name).as_uri())
                while (found := browser.execute_script(script)) is None or found[0] is None:
                    time.sleep(0.02)
                times.append(found)
            first, loaded = np.median(times, axis=0)
            size = (report / name).stat().st_size / 1e3
            print(f"{name:32} first paint {first:6.0f} ms, loaded {loaded:6.0f} ms, {size:8.0f} kB")
    finally:
        browser.quit()
        empty.unlink()


def main() -> None:
    """Make the data, run the report, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--videos", type=int, default=200)
    parser.add_argument("--models", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="keep the data and the report here")
    parser.add_argument("--paint", action="store_true", help="open its pages in Chromium and time them")
    arguments = parser.parse_args()
    if arguments.keep and arguments.paint and (arguments.keep / "report").is_dir():
        paint(arguments.keep / "report")
        return
    root = arguments.keep or Path(tempfile.mkdtemp(prefix="bench_report."))
    rng = np.random.default_rng(0)
    dataset = make_dataset(root / "data", arguments.videos, rng)
    for number in range(arguments.models):
        make_run(dataset, root / "runs" / f"model-{number:02d}", 0.1 + 0.06 * number, rng)
    logs = sorted((root / "runs").rglob("*.jsonl"))
    start = time.perf_counter()
    for path in logs:
        with path.open() as stream:
            for line in stream:
                json.loads(line)
    reading = time.perf_counter() - start
    start = time.perf_counter()
    entry = "import sys; from siming_tasks import write_report; data, out, jobs, *runs = sys.argv[1:]; "
    entry += "write_report(runs, data, out, jobs=int(jobs), progress=False)"
    command = [sys.executable, "-c", entry, str(root / "data"), str(root / "report"), str(arguments.jobs)]
    command += map(str, sorted((root / "runs").iterdir()))
    subprocess.run(command, check=True)
    wall = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    pages = list((root / "report").rglob("*"))
    print(f"{arguments.videos} videos x 4 settings x {arguments.models} models, {arguments.jobs} jobs (synthetic)")
    print(f"sample logs          {sum(path.stat().st_size for path in logs) / 1e6:8.0f} MB")
    print(f"reading them once    {reading:8.1f} s")
    print(f"report, wall         {wall:8.1f} s  ({wall / reading:.1f} x reading)")
    print(f"report, CPU          {cpu:8.1f} s  ({cpu / arguments.jobs:.1f} s for each of {arguments.jobs} processes)")
    print(f"largest process      {used.ru_maxrss / 1024:8.0f} MB")
    size = sum(path.stat().st_size for path in pages if path.is_file())
    print(f"report on disk       {size / 1e6:8.0f} MB in {len(pages)} files")
    if arguments.paint:
        paint(root / "report")
    if not arguments.keep:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
