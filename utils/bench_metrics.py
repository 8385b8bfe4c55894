"""Seven metrics with intervals: the suite against a loop over scikit-learn and SciPy, in one run.

Synthetic panel of 200 videos x 33 steps, the same resamples for both. The loop is timed over some resamples and
scaled to all of them; every value that it computes is compared.

    python utils/bench_metrics.py
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Mapping

import numpy as np
from scipy import stats
from sklearn import metrics as sk

from siming_tasks.analysis.power import StudyDesign, draw
from siming_tasks.metrics import ScoreMatrix, evaluate, ordinal_labels
from siming_tasks.metrics.catalogue import select
from siming_tasks.metrics.resample import bootstrap, weight_chunks
from siming_tasks.metrics.sufficient_stats import Tally

METRICS = select(compared=True)


def build_score_matrix(videos: int, rng: np.random.Generator) -> ScoreMatrix:
    """A weak synthetic judge; labels as points of steps that are worth three."""
    data = draw(StudyDesign(), videos, 1, rng, judges=1)
    shape = data.reference.shape[1:]
    return ScoreMatrix(
        video_ids=tuple(f"v{v:06d}" for v in range(videos)),
        step_ids=tuple(f"s{s}" for s in range(shape[1])),
        skills=("all",) * shape[1],
        max_score=np.full(shape[1], 3.0),
        reference=data.reference[0],
        predicted=data.judged(0.3)[0],
        asked=np.ones(shape, bool),
        answer="score",
    )


def loop(panel: ScoreMatrix, weights: np.ndarray) -> dict[str, list[float]]:
    """The same metrics, resample by resample, from scikit-learn and SciPy; totals and labels are made beforehand."""
    sides = panel.reference, panel.predicted
    totals = [side.sum(axis=1) for side in sides]
    labels = [ordinal_labels(side, panel.max_score) for side in sides]
    wrong = [side < panel.max_score for side in sides]
    values: dict[str, list[float]] = {name: [] for name in METRICS}
    for row in weights:
        taken = np.repeat(np.arange(len(row)), row.astype(int))
        x, y = (side[taken] for side in totals)
        values["plcc"].append(stats.pearsonr(x, y)[0])
        values["srcc"].append(stats.spearmanr(x, y)[0])
        a, b = (side[taken].ravel() for side in labels)
        values["qwk"].append(sk.cohen_kappa_score(a, b, weights="quadratic", labels=[0, 1, 2, 3]))
        a, b = (side[taken].ravel() for side in wrong)
        values["mcc"].append(sk.matthews_corrcoef(a, b))
        three = sk.precision_recall_fscore_support(a, b, average="binary")[:3]
        for name, value in zip(("precision", "recall", "f1"), three, strict=True):
            values[name].append(value)
    return values


def clocks() -> np.ndarray:
    """Wall and CPU seconds; on a busy machine only the second is worth quoting."""
    return np.array([time.perf_counter(), time.process_time()])


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
    panel = build_score_matrix(200, np.random.default_rng(0))
    first = np.concatenate(list(weight_chunks(np.arange(200), arguments.loop, 0)))
    ours, theirs = [], []
    for _ in range(arguments.repeats):
        start = clocks()
        tally = Tally.of(panel, metrics=METRICS)
        drawn = bootstrap(tally.compute, tally.clusters, resamples=arguments.resamples, seed=0)
        ours.append(clocks() - start)
        start = clocks()
        looped = loop(panel, first)
        theirs.append((clocks() - start) * arguments.resamples / arguments.loop)
    ratios = np.array(theirs) / np.array(ours)
    print(f"seven metrics, {arguments.resamples:,} resamples, 200 x 33, medians of {arguments.repeats} repeats")
    for name, seconds in (("suite", ours), (f"loop (timed on {arguments.loop} resamples, scaled)", theirs)):
        wall, cpu = np.median(seconds, axis=0)
        print(f"  {wall:8.2f} s, {cpu:8.2f} s of CPU   {name}")
    low, middle, high = np.quantile(ratios[:, 1], [0, 0.5, 1])
    print(f"  ratio {np.median(ratios[:, 0]):.0f}; in CPU time {middle:.0f} ({low:.0f} to {high:.0f})")
    print(f"  largest difference of any value {largest_gap(drawn, looped):.1e}")
    start = clocks()
    evaluate(panel, resamples=arguments.resamples)
    wall, cpu = clocks() - start
    print(f"evaluate(), all it reports: {wall:.2f} s, {cpu:.2f} s of CPU")
    large = build_score_matrix(20_000, np.random.default_rng(1))
    tracemalloc.start()
    start = clocks()
    evaluate(large, resamples=200)
    (wall, cpu), peak = clocks() - start, tracemalloc.get_traced_memory()[1] / 1e6
    print(f"evaluate() of 20,000 videos, 200 resamples: {wall:.1f} s, {cpu:.1f} s of CPU, peak {peak:.0f} MB (traced)")


if __name__ == "__main__":
    main()
