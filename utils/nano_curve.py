"""What more exams buy: judges trained on some of the exams, tried on the exams of the table.

    torchrun --nproc-per-node 2 utils/nano_curve.py WORK [--sizes 250 1000 4000] [--steps 1000]

``WORK`` is that of a finished training, with the exams that ``nano_table.py`` has drawn and read. SYNTHETIC.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from nano_exams import STEPS
from nano_fit_judge import TOP, fit_judge, mcc, probabilities
from nano_ranks import RANK, start, wait
from nano_table import kept

from siming_tasks.nano.judge import StepJudge
from siming_tasks.nano.state import FEATURES

VIEWS = {"clips, 16 frames": None, "full, 64 frames": 64, "full, 240 frames": 240}


def main() -> None:
    """Train, try, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[250, 1000, 4000])
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    start()
    exams = kept(options.work, "table")
    wrong = exams["points"] < TOP
    if not RANK:
        print(f"SYNTHETIC, {len(wrong)} exams.\n\n| exams | " + " | ".join(f"MCC, {view}" for view in VIEWS) + " |")
        print("|---|" + "---|" * len(VIEWS), flush=True)
    for size in options.sizes:
        name = f"curve-{size}-{options.steps}"
        fit_judge(options.work, options.steps, size, name)
        wait()
        if not RANK:
            net = StepJudge(len(FEATURES), len(STEPS), int(TOP.max()))
            net.load_state_dict(torch.load(options.work / f"{name}-best.pt", weights_only=True))
            found = []
            for frames in VIEWS.values():
                chances = probabilities(net.eval(), exams, frames)
                full = np.take_along_axis(chances, np.tile(TOP, (len(chances), 1))[..., None], 2)[..., 0]
                found.append(f"{mcc(wrong, 1 - full > 0.5):.3f}")
            print(f"| {size:,} | " + " | ".join(found) + " |", flush=True)
        wait()


if __name__ == "__main__":
    main()
