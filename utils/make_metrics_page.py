"""Put what `siming compare` and `siming study raters` print now into the samples of docs/reference/metrics.md.

A block of the page that begins with ``$ siming ...`` is replaced by that command's output, on a demo of 60 short exams
and runs of reference judges on it (synthetic).

    python utils/make_metrics_page.py            a minute or two; makes the demo
    python utils/make_metrics_page.py --data D   with a demo that is there: siming data demo D --videos 60 --short
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from siming_tasks.data import Dataset, open_dataset
from siming_tasks.models.baselines import judge
from siming_tasks.parsing import Parsed
from siming_tasks.results.read_predictions import write_predictions
from siming_tasks.results.record import Conditions, Record
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import expected_requests, steps_of
from siming_tasks.tools.simulator import make_demo

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "metrics.md"
KINDS = ("rater_b", "step_prior")
SHOWN_STEPS = 3


def write_run(dataset: Dataset, kind: str, path: Path, *, unsure: bool = False) -> None:
    """Predictions of a reference judge to full videos; ``unsure``: every second step of every second one left out."""
    ask, setting = judge(kind, dataset), TASKS["full_score"]
    records = []
    for number, (video_id, step_id) in enumerate(expected_requests(setting, dataset.videos)):
        video = dataset.video(video_id)
        steps = [dataset.rubric.by_id[name] for name in steps_of(setting, video, step_id)]
        answers = ask(video, steps, setting.answer)
        gone = [step.id for step in steps[::2]] if unsure and number % 2 else []
        parsed = Parsed("ok", {k: v for k, v in answers.items() if k not in gone}, dict.fromkeys(gone, "absent"))
        records.append(Record.from_reply(setting.name, video_id, step_id, parsed, Conditions(dataset=dataset.digest)))
    write_predictions(records, path)


def output(command: str, folder: Path) -> str:
    """Output of a command, without most step rows of the rater table and what comes after its totals."""
    program = shutil.which("siming")
    assert program, "siming is not on the PATH"
    done = subprocess.run([program, *shlex.split(command)[1:]], cwd=folder, capture_output=True, text=True, check=True)
    kept, steps = [], 0
    for line in done.stdout.rstrip().split("\n"):
        steps += bool(re.match(r"\| (cpr|aed|bmv)_\d+ \|", line))
        if steps <= SHOWN_STEPS or not re.match(r"\| (cpr|aed|bmv)_\d+ \|", line):
            kept.append(line)
    shown, *rest = "\n".join(kept).split("\n\n### Generalisability")
    return shown + "\n\n..." * bool(rest)


def main() -> None:
    """Run every command of the page and write its output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if arguments.data:
            (folder / "d60").symlink_to(arguments.data.resolve())
        else:
            make_demo(folder / "d60", videos=60, short=True)
        dataset = open_dataset(folder / "d60")
        for kind in KINDS:
            write_run(dataset, kind, folder / f"{kind}.jsonl")
        write_run(dataset, "rater_b", folder / "rater_b_half.jsonl", unsure=True)
        text = PAGE.read_text(encoding="utf-8")

        def anew(block: re.Match[str]) -> str:
            return f"```text\n$ {block[1]}\n{output(block[1], folder)}\n```"

        PAGE.write_text(re.sub(r"```text\n\$ (siming [^\n]*)\n.*?\n```", anew, text, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main()
