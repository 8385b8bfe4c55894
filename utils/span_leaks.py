"""Leaks of the labels in the times of simulated exams: ``python utils/span_leaks.py [--exams 600]``, no pictures.

The audit of ``siming data audit`` on exams that are performed but not drawn: span lengths, places of spans, order and
durations. SYNTHETIC.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from importlib import resources
from pathlib import Path

import numpy as np

from siming_tasks.analysis.leak_audit import LeakAudit, leak_audit
from siming_tasks.data import open_dataset
from siming_tasks.tools.simulator import simulate_labels
from siming_tasks.tools.simulator.video import perform

PROBES = ("span length", "place", "order", "duration")


def audit(exams: int, seed: int) -> tuple[LeakAudit, list[float]]:
    """The audit of some exams, and their durations in seconds."""
    rows = []
    for exam in simulate_labels(exams, seed):
        played = perform(exam.plan, seed=exam.look)
        steps = [
            {"step_id": step, "start": played.spans[step][0], "end": played.spans[step][1], "score": dict(scores)}
            for step, scores in exam.scores.items()
        ]
        name = exam.video_id
        rows.append({"video_id": name, "media": f"{name}.mp4", "duration": played.duration, "steps": steps})
    with tempfile.TemporaryDirectory() as folder:
        rubric = (resources.files("siming_tasks.rubrics") / "default.yaml").read_text(encoding="utf-8")
        Path(folder, "rubric.yaml").write_text(rubric, encoding="utf-8")
        Path(folder, "dataset.yaml").write_text("name: simulated-spans\nsynthetic: true\n", encoding="utf-8")
        Path(folder, "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        found = leak_audit(open_dataset(folder, media=False), probes=PROBES, media=False)
    return found, [float(row["duration"]) for row in rows]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--exams", type=int, default=600)
    parser.add_argument("--seed", type=int, default=820_007, help="of no demo, test or training")
    options = parser.parse_args()
    found, seconds = audit(options.exams, options.seed)
    print(
        f"SYNTHETIC, {len(seconds)} exams of {min(seconds):.0f} to {max(seconds):.0f} s, mean {np.mean(seconds):.0f}.\n"
    )
    print("| known beside the step | AUC | beyond the prior | Holm p | largest AUC of a step |\n|---|---|---|---|---|")
    print(f"| nothing | {found.prior.auc.value:.3f} | | | |")
    for probe in found.probes:
        cells = (
            f"{probe.auc.value:.3f} | {probe.gain.value:+.3f} | {probe.p_holm:.2g} | {probe.step} {probe.step_auc:.2f}"
        )
        print(f"| {probe.name} | {cells} |")
    print("\n| step | AUC of the span's length |\n|---|---|")
    for step, area in sorted(found.probes[0].step_aucs.items(), key=lambda item: -item[1]):
        print(f"| {step} | {area:.2f} |")


if __name__ == "__main__":
    main()
