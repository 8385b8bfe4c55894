"""Run what the light install promises: rating, building, checking, scoring, comparing and reporting, each as a command.

    python utils/light_commands.py FOLDER [DATASET]

FOLDER takes what the commands write; DATASET is a data set folder (default: a demo is made). What
requirements-models.txt names cannot be imported, be it installed or not. Prints a line per command, with its seconds;
exit code 1 if one ended otherwise than it should.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import signal
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMES = re.findall(r"^[a-z][\w-]*", (ROOT / "requirements-models.txt").read_text(encoding="utf-8"), re.MULTILINE)
LEFT_OUT = {name.replace("-", "_") for name in NAMES}
"""Modules that a light install lacks."""
NOT_THERE = "needs {}, which is not installed: pip install 'siming-tasks'"


class Missing:
    """An importer that finds none of the modules that are left out, as if they were not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse a module that is left out; leave the others to the next importer."""
        if name.partition(".")[0] in LEFT_OUT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def write_inputs(exams: Path, out: Path) -> None:
    """Write each physician's points as predictions (``rater_a.jsonl``, ...), and a table of labels."""
    from siming_tasks import open_dataset

    videos = open_dataset(exams).videos
    for rater in ("rater_a", "rater_b"):
        points = {video.video_id: {label.step_id: label.scores[rater] for label in video.steps} for video in videos}
        lines = [{"setting": "full_score", "video_id": name, "scores": each} for name, each in points.items()]
        (out / f"{rater}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    with open(out / "scores.csv", "w", encoding="utf-8", newline="") as stream:
        sheet = csv.writer(stream)
        sheet.writerow(("video_id", "step_id", "start", "end", "rater", "points"))
        for video in videos:
            sheet.writerows(
                (video.video_id, one.step_id, one.start, one.end, rater, one.scores[rater])
                for one in video.steps
                for rater in ("rater_a", "consensus")
            )


def commands(exams: Path, out: Path) -> Iterator[tuple[str, int, str]]:
    """Command lines in their order, each with its exit code and a piece of what it prints."""
    a, b = f"{out}/rater_a.jsonl", f"{out}/rater_b.jsonl"
    rubric, videos = f"--rubric {exams}/rubric.yaml", f"--videos {exams}/media"
    yield f"data check {exams}", 0, "0 errors"
    yield f"data template {out}/sheet.xlsx {rubric} {videos}", 0, "sheets a, b and spans"
    yield f"data build {out}/built {rubric} {videos} --labels {out}/scores.csv --synthetic", 0, "132 judged steps"
    yield f"data rate {exams} --rater kim --no-browser --store {out}/kim.sqlite", 0, "Every event is kept"
    yield (
        f"run requests {out}/job.jsonl --data {exams} --model m --setting full_score --limit 1 --frames 2",
        0,
        "1 requests",
    )
    yield f"score {a} --data {exams}", 0, "kappa (qwk)"
    yield f"compare {a} {b} --data {exams}", 0, "rater_b"
    yield f"report {a} --data {exams} --out {out}/report --jobs 1", 0, "1 run"
    yield f"board submit {a} --data {exams} --out {out}/submission.zip", 0, "ready"
    yield f"run baseline --data {exams} --backbone {out} --out {out}/baseline.jsonl", 2, NOT_THERE.format("torch")


def look_at_page(printed: io.StringIO) -> None:
    """Open the rating page as soon as its address is printed, then end the command as Ctrl+C does."""
    while not (address := re.search(r"http://\S+", printed.getvalue())):
        time.sleep(0.05)
    with urllib.request.urlopen(address[0], timeout=30) as page:
        printed.write(f"\npage {page.status}\n")
    signal.raise_signal(signal.SIGINT)


def run(line: str) -> tuple[int, str]:
    """Exit code of a command, and all that it printed."""
    from siming_tasks.cli import main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        if line.startswith("data rate"):
            threading.Thread(target=look_at_page, args=(printed,), daemon=True).start()
        code = main(line.split())
    return code, printed.getvalue()


def try_all(out: Path, exams: Path | None) -> int:
    """Run every command; the number of those that ended otherwise than they should."""
    out.mkdir(parents=True, exist_ok=True)
    if exams is None:
        run(f"data demo {(exams := out / 'demo')} --videos 4 --short")
    write_inputs(exams, out)
    wrong = 0
    for line, wanted, piece in commands(exams, out):
        began = time.perf_counter()
        code, printed = run(line)
        is_well = code == wanted and piece in printed and ("page 200" in printed or not line.startswith("data rate"))
        wrong += not is_well
        print(f"{'ok' if is_well else 'WRONG':5} {time.perf_counter() - began:5.1f} s  siming {line}", flush=True)
        if not is_well:
            print(f"exit code {code}, wanted {wanted} and {piece!r}:\n{printed[-3000:]}")
    if loaded := LEFT_OUT & set(sys.modules):
        print(f"WRONG: loaded although left out: {sorted(loaded)}")
    return wrong + len(loaded)


if __name__ == "__main__":
    sys.meta_path.insert(0, Missing())
    sys.exit(1 if try_all(Path(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2:] else None) else 0)
