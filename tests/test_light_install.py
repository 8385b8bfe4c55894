"""The light install: rating, building, checking, scoring, comparing and reporting without lmms-eval and PyTorch."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from siming_tasks import open_dataset
from tests.records import write_labels, write_rater

ROOT = Path(__file__).parents[1]
LIGHT = """
import contextlib, io, json, re, signal, sys, threading, time, urllib.request
lines, left_out = json.load(sys.stdin)
class Missing:  # an importer that finds none of them, be they installed or not
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in left_out:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from siming_tasks.cli import main
def look_at_page(printed):
    while not (address := re.search(r"http://\\S+", printed.getvalue())):
        time.sleep(0.05)
    with urllib.request.urlopen(address[0], timeout=30) as page:
        printed.write(f"page {page.status}")
    signal.raise_signal(signal.SIGINT)
found = []
for line in lines:
    printed = io.StringIO()
    if line.startswith("data rate"):
        threading.Thread(target=look_at_page, args=(printed,), daemon=True).start()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        found.append([main(line.split()), printed.getvalue()])
print(json.dumps([found, sorted({*left_out} & {*sys.modules})]))
"""
"""Program that runs commands where some packages cannot be imported; exit codes, what they print, what is imported."""
COMMANDS = {
    "data check {exams}": "0 errors",
    "data template {out}/sheet.xlsx --rubric {exams}/rubric.yaml --videos {exams}/media": "sheets a, b and spans",
    "data build {out}/new --rubric {exams}/rubric.yaml --videos {exams}/media --labels {out}/scores.csv": (
        "132 judged steps"
    ),
    "data rate {exams} --rater kim --no-browser --store {out}/kim.sqlite": "page 200",
    "run requests {out}/job.jsonl --data {exams} --model m --setting full_score --limit 1 --frames 2": "1 request ",
    "score {out}/rater_a.jsonl --data {exams}": "kappa (quadratic)",
    "compare {out}/rater_a.jsonl {out}/rater_b.jsonl --data {exams}": "rater_b",
    "report {out}/rater_a.jsonl --data {exams} --out {out}/report --jobs 1": "1 run",
    "board submit {out}/rater_a.jsonl --data {exams} --out {out}/submission.zip": "ready",
    "run baseline --data {exams} --backbone {out} --out {out}/baseline.jsonl": (
        "needs torch, which is not installed: pip install 'siming-tasks'"
    ),
}
"""Command lines, each with a piece of what it prints."""


@pytest.fixture(scope="module")
def inputs(short_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each physician's points as predictions (``rater_a.jsonl``, ...), and a table of labels."""
    out = tmp_path_factory.mktemp("light")
    dataset = open_dataset(short_demo)
    for rater in ("rater_a", "rater_b"):
        write_rater(dataset, out / f"{rater}.jsonl", rater)
    write_labels(dataset.videos, out / "scores.csv", ("rater_a", "consensus"))
    return out


def test_the_commands_run_where_the_framework_cannot_be_imported(short_demo: Path, inputs: Path) -> None:
    lines = [line.format(exams=short_demo, out=inputs) for line in COMMANDS]
    names = re.findall(r"^[a-z][\w-]*", (ROOT / "requirements-models.txt").read_text(encoding="utf-8"), re.MULTILINE)
    left_out = [name.replace("-", "_") for name in names]
    assert {"lmms_eval", "torch", "datasets", "transformers"} <= {*left_out}
    words = [sys.executable, "-c", LIGHT]
    done = subprocess.run(words, input=json.dumps([lines, left_out]), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    found, imported = json.loads(done.stdout)
    assert imported == []
    for (line, piece), (code, printed) in zip(COMMANDS.items(), found, strict=True):
        assert code == (2 if "baseline" in line else 0) and piece in printed, (line, printed[-3000:])
