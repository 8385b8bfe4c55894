"""Seven metrics with intervals: the suite against a loop over scikit-learn and SciPy, in one run.

Synthetic panel of 200 videos x 33 steps, the same resamples for both. The loop is timed over some resamples and
scaled to all of them; every value that it computes is compared.

    python utils/bench_metrics.py
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Mapping

import numpy as np
from scipy import stats
from sklearn import metrics as sk

from siming_tasks.metrics import Panel, evaluate, ordinal_labels
from siming_tasks.metrics.power_model import Design, draw
from siming_tasks.metrics.resample import bootstrap, weight_chunks
from siming_tasks.metrics.tally import Tally

METRICS = ("plcc", "srcc", "qwk", "mcc", "precision", "recall", "f1")


def panel_of(videos: int, rng: np.random.Generator) -> Panel:
    """A weak synthetic judge; labels as points of steps that are worth three."""
    data = draw(Design(), videos, 1, rng, judges=1)
    shape = data.reference.shape[1:]
    return Panel(
        video_ids=tuple(f"v{v:06d}" for v in range(videos)),
        step_ids=tuple(f"s{s}" for s in range(shape[1])),
        skills=("all",) * shape[1],
        max_score=np.full(shape[1], 3.0),
        reference=data.reference[0],
        predicted=data.judged(0.3)[0],
        asked=np.ones(shape, bool),
        answer="score",
    )


def loop(panel: Panel, weights: np.ndarray) -> dict[str, list[float]]:
    """The same metrics, resample by resample, from scikit-learn and SciPy; totals and labels are made beforehand."""
    sides = panel.reference, panel.predicted
    totals = [side.sum(axis=1) for side in sides]
    labels = [ordinal_labels(side, panel.max_score) for side in sides]
    wrong = [side < panel.max_score for side in sides]
    found: dict[str, list[float]] = {name: [] for name in METRICS}
    for row in weights:
        taken = np.repeat(np.arange(len(row)), row.astype(int))
        x, y = (side[taken] for side in totals)
        found["plcc"].append(stats.pearsonr(x, y)[0])
        found["srcc"].append(stats.spearmanr(x, y)[0])
        a, b = (side[taken].ravel() for side in labels)
        found["qwk"].append(sk.cohen_kappa_score(a, b, weights="quadratic", labels=[0, 1, 2, 3]))
        a, b = (side[taken].ravel() for side in wrong)
        found["mcc"].append(sk.matthews_corrcoef(a, b))
        three = sk.precision_recall_fscore_support(a, b, average="binary")[:3]
        for name, value in zip(("precision", "recall", "f1"), three, strict=True):
            found[name].append(value)
    return found


def largest_gap(ours: Mapping[str, np.ndarray], theirs: Mapping[str, list[float]]) -> float:
    """Largest difference of any value that both computed."""
    return max(float(np.abs(ours[name][: len(values)] - values).max()) for name, values in theirs.items())


def main() -> None:
    """Time both, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--loop", type=int, default=60, help="resamples that the loop is timed on, each repeat")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    panel = panel_of(200, np.random.default_rng(0))
    first = np.concatenate(list(weight_chunks(200, arguments.loop, 0)))
    ours, theirs, ratios = [], [], []
    for _ in range(arguments.repeats):
        start = time.perf_counter()
        tally = Tally.of(panel, metrics=METRICS)
        drawn = bootstrap(tally.compute, 200, resamples=arguments.resamples, seed=0)
        middle = time.perf_counter()
        looped = loop(panel, first)
        scaled = (time.perf_counter() - middle) * arguments.resamples / arguments.loop
        ours.append(middle - start)
        theirs.append(scaled)
        ratios.append(scaled / (middle - start))
    print(f"seven metrics, {arguments.resamples:,} resamples, 200 x 33, medians of {arguments.repeats} repeats")
    print(f"  suite  {statistics.median(ours):8.3f} s")
    print(f"  loop   {statistics.median(theirs):8.1f} s (timed on {arguments.loop} resamples, scaled)")
    print(f"  ratio  {statistics.median(ratios):8.0f} (lowest {min(ratios):.0f}, highest {max(ratios):.0f})")
    print(f"  largest difference of any value {largest_gap(drawn, looped):.1e}")
    start = time.perf_counter()
    evaluate(panel, resamples=arguments.resamples)
    print(f"evaluate(), all it reports: {time.perf_counter() - start:.2f} s")
    large = panel_of(20_000, np.random.default_rng(1))
    tracemalloc.start()
    start = time.perf_counter()
    evaluate(large, resamples=200)
    seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1] / 1e6
    print(f"evaluate() of 20,000 videos, 200 resamples: {seconds:.1f} s, peak {peak:.0f} MB (traced)")


if __name__ == "__main__":
    main()
