"""Learning curve over exams: judges trained on some of the exams, tried on the exams of the table.

    torchrun --nproc-per-node 2 utils/nano_curve.py WORK [--sizes 250 1000 4000 16000] [--steps 500 2000]

Every size is trained for every length, so that what more exams buy and what a longer training buys can be told apart.
``WORK`` is that of a finished training, with the exams that ``nano_table.py`` has drawn and read; ``curve.jsonl`` is
left there, for ``nano_pictures.py``. SYNTHETIC.
"""

from __future__ import annotations

import argparse
import json
from itertools import product
from pathlib import Path

import numpy as np
import torch
from nano_exams import STEPS
from nano_fit_judge import TOP, fit_judge, mcc, probabilities
from nano_ranks import RANK, start, wait
from nano_table import kept

from siming_tasks.models.nano.frame_state import FEATURES
from siming_tasks.models.nano.networks import StepJudge

VIEWS = {"clips, 16 frames": None, "full, 64 frames": 64, "full, 240 frames": 240}


def main() -> None:
    """Train, try, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[250, 1000, 4000, 16000])
    parser.add_argument("--steps", type=int, nargs="+", default=[500, 2000], help="batches of each training")
    options = parser.parse_args()
    torch.set_num_threads(1)
    start()
    if not RANK:
        (options.work / "curve.jsonl").unlink(missing_ok=True)
    for steps, size in product(options.steps, options.sizes):
        name = f"curve-{size}-{steps}"
        fit_judge(options.work, steps, size, name)
        wait()
        if not RANK:
            row = {"exams": size, "batches": steps, **tried(options.work, name)}
            with (options.work / "curve.jsonl").open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")
            print(row, flush=True)
        wait()


def tried(work: Path, name: str) -> dict[str, float]:
    """MCC on the exams of the table, by what is shown."""
    exams = kept(work, "table")
    wrong = exams["points"] < TOP
    net = StepJudge(len(FEATURES), len(STEPS), int(TOP.max()))
    net.load_state_dict(torch.load(work / f"{name}-best.pt", weights_only=True))
    results = {}
    for view, frames in VIEWS.items():
        chances = probabilities(net.eval(), exams, frames)
        full = np.take_along_axis(chances, np.tile(TOP, (len(chances), 1))[..., None], 2)[..., 0]
        results[view] = round(mcc(wrong, 1 - full > 0.5), 4)
    return results


if __name__ == "__main__":
    main()
