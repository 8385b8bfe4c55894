"""Pictures of what siming_nano shows, from what ``nano_table.py`` and ``nano_curve.py`` left in WORK.

    python utils/nano_pictures.py WORK [--out docs/pictures]

nano-pairs.svg: history and local minimal_pairs; nano-curve.svg: exams and batches against MCC; nano-steps.svg: each
step's errors, found and missed, and false alarms. All data are SYNTHETIC.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from nano_exams import RUBRIC, STEPS
from nano_minimal_pairs import pair_result
from nano_table import TOP, VIEWS, judged, kept, said

from siming_tasks.models.nano.exam_judge import Watcher
from siming_tasks.models.nano.frame_features import WEIGHTS
from siming_tasks.report.forest_plot import STYLE

OUT = Path(__file__).parents[1] / "docs" / "pictures"
COLOURS = dict(zip(VIEWS, ("#0072b2", "#d55e00", "#007a59"), strict=True))


def pairs(axes: Any, work: Path, watcher: Watcher) -> None:
    """The share of minimal_pairs told apart and nothing else, beside what a judge of clips can reach."""
    exams = kept(work, "minimal_pairs")
    kinds = ("history", "local", "all")
    for place, (view, frames) in enumerate(VIEWS.items()):
        answers = said(watcher, judged(watcher, exams, frames), "score")
        for row, kind in enumerate(kinds):
            result, y = pair_result(answers, "score", kind), row + 0.22 * (place - 1)
            axes.plot([result.right.low, result.right.high], [y, y], color=COLOURS[view], lw=1.4)
            axes.plot(result.right.value, y, "o", color=COLOURS[view], ms=5, label=view if not row else None)
            axes.plot([result.moved.low, result.moved.high], [y + 0.07] * 2, color=COLOURS[view], lw=0.8, ls=":")
            axes.plot(result.moved.value, y + 0.07, "o", mfc="white", mec=COLOURS[view], ms=4.5)
            axes.plot([result.bound] * 2, [row - 0.4, row + 0.4], color="#333", lw=1.2, ls="--")
    axes.set_yticks(range(len(kinds)), [f"{kind} pairs" for kind in kinds])
    axes.set(ylim=(2.6, -0.6), xlim=(-0.03, 1.03), xlabel="share of pairs: right (full), moved the right way (open); "
             "dashed: the most a judge of clips can reach")  # fmt: skip
    axes.set_title("Counterfactual minimal_pairs, points (SYNTHETIC)", loc="left", fontsize=8.5)
    axes.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def curve(axes: Any, work: Path, _: Watcher) -> None:
    """Exams against MCC, a line for every length of training."""
    rows = [json.loads(line) for line in (work / "curve.jsonl").read_text(encoding="utf-8").splitlines()]
    lengths = sorted({row["batches"] for row in rows})
    for view, colour in COLOURS.items():
        for length, style in zip(lengths, (":", "--", "-")[-len(lengths) :], strict=True):
            points = sorted((row["exams"], row[view]) for row in rows if row["batches"] == length)
            axes.plot(*zip(*points, strict=True), "o", ls=style, color=colour, ms=3.5, lw=1.2,
                      label=f"{view}, {length:,} batches")  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks(sizes := sorted({row["exams"] for row in rows}), [f"{size:,}" for size in sizes], minor=False)
    axes.minorticks_off()
    axes.set(xlabel="simulated exams that the judge was trained on", ylabel="MCC on the exams of the table")
    axes.set_title("What more exams and longer training buy (SYNTHETIC)", loc="left", fontsize=8.5)
    axes.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def steps(axes: Any, work: Path, watcher: Watcher) -> None:
    """Found errors, missed errors and false alarms of every step, in numbers of exams."""
    exams = kept(work, "table")
    wrong = exams["points"] < TOP
    for side, (view, frames) in zip(axes, VIEWS.items(), strict=True):
        flagged = said(watcher, judged(watcher, exams, frames), "error") > 0
        detected, missed, false = (np.sum(mask, 0) for mask in (wrong & flagged, wrong & ~flagged, ~wrong & flagged))
        y = np.arange(len(STEPS))
        side.barh(y, detected, color="#007a59", label="errors found")
        side.barh(y, missed, left=detected, color="#d55e00", label="errors missed")
        side.barh(y, -false, color="#747474", label="false alarms")
        side.axvline(0, color="#333", lw=0.7)
        side.set_yticks(y, [f"{step.id} {step.name}" for step in RUBRIC.steps] if not frames else [], fontsize=7)
        side.set(ylim=(len(STEPS) - 0.4, -0.6), xlabel=f"of {len(wrong)} exams")
        side.tick_params(left=False)
        side.set_title(view, loc="left", fontsize=8.5)
    bars, names = axes[0].get_legend_handles_labels()
    axes[0].figure.legend(bars, names, frameon=False, fontsize=7, loc="outside lower right", ncols=3)
    axes[0].figure.suptitle("Errors by step, found, missed and false (SYNTHETIC)", fontsize=9, x=0.01, ha="left")


DRAWN: dict[str, tuple[Callable[..., None], tuple[float, float], int]] = {
    "pairs": (pairs, (7.4, 2.6), 1),
    "curve": (curve, (7.4, 3.2), 1),
    "steps": (steps, (9.0, 6.4), 3),
}


def main() -> None:
    """Draw them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    options = parser.parse_args()
    watcher = Watcher(weights=options.weights)
    for name, (draw, size, columns) in DRAWN.items():
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=size, layout="constrained")
            draw(figure.subplots(1, columns, sharex=columns > 1), options.work, watcher)
            path = options.out / f"nano-{name}.svg"
            figure.savefig(path, metadata={"Date": None})
        print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
