"""Do the intervals cover and do the tests hold their size? A simulation, printed as Markdown.

Synthetic data sets from the suite's own model of raters and judges (siming_tasks.analysis.power): 33
steps, 18.6 % of them not fully correct, two raters at kappa .732. Two shapes of totals: mild (skewness about -1.2) and
tailed (about -3: a few very weak examinees). Judges: null (sees nothing), weak, strong. The truth of each metric is its
value over 200,000 videos of the same model. The intervals are those of the suite itself, from its own functions; one
set of resamples serves all data sets of a cell.

    python utils/validate_intervals.py --quick      a minute
    python utils/validate_intervals.py              about ten minutes of CPU; the tables in docs/validation/intervals.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from itertools import combinations

import numpy as np
from tqdm import tqdm

from siming_tasks.analysis.paired_tests import holm, paired_difference
from siming_tasks.analysis.power import SimulatedRatings, StudyDesign, draw
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.catalogue import CATALOGUE, headline, select
from siming_tasks.metrics.intervals import spread_of
from siming_tasks.metrics.resample import observed, weight_chunks
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import ALPHA
from siming_tasks.report.table import Table

METRICS = select(compared=True)
SHAPES = {"mild": StudyDesign(), "tailed": StudyDesign(skew=-2.2)}
JUDGES = {"null": 0.0, "weak": 0.25, "strong": 0.8}
SIZES = (16, 50, 200)
BATCH = 50
FAMILY = 4


def tally_of(reference: np.ndarray, judged: np.ndarray) -> Tally:
    """Every metric of one data set; labels 0..3 as points of steps that are worth three."""
    videos, steps = reference.shape
    panel = ScoreMatrix(
        video_ids=tuple(map(str, range(videos))),
        step_ids=tuple(map(str, range(steps))),
        skills=("all",) * steps,
        max_score=np.full(steps, 3.0),
        reference=reference,
        predicted=judged,
        asked=np.ones(reference.shape, bool),
        answer="score",
    )
    return Tally.of(panel, metrics=METRICS)


def data_sets(
    design: StudyDesign, videos: int, sets: int, rng: np.random.Generator, judges: int
) -> Iterator[tuple[SimulatedRatings, int]]:
    """Draws of some data sets at a time, with how many there are."""
    for start in range(0, sets, BATCH):
        size = min(BATCH, sets - start)
        yield draw(design, videos, size, rng, judges=judges), size


def severe(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same judge with more positives: three in four of its full marks become a label 2, blindly."""
    return np.where((labels == 3) & (rng.random(labels.shape) < 0.75), 2, labels)


def truths(design: StudyDesign, skill: float, rng: np.random.Generator) -> dict[str, float]:
    """Every metric over a very large sample."""
    values = [
        observed(tally_of(big.reference[0], big.judged(skill)[0]).compute, 40_000)
        for big in (draw(design, 40_000, 1, rng, judges=1) for _ in range(5))
    ]
    return {metric: float(np.mean([metrics[metric] for metrics in values])) for metric in METRICS}


def coverage(shape: str, n: int, sets: int, resamples: int, rng: np.random.Generator) -> Iterable[list[str]]:
    """Rows: what the suite's interval covers by metric, what a percentile interval would, and the median width."""
    weights = np.concatenate(list(weight_chunks(np.arange(n), resamples, int(rng.integers(2**31)))))
    for name, skill in JUDGES.items():
        truth = truths(SHAPES[shape], skill, rng)
        hits = np.full((len(METRICS), sets, 3), np.nan)
        done = 0
        for data, size in data_sets(SHAPES[shape], n, sets, rng, 1):
            judged = data.judged(skill)
            for k in range(size):
                tally = tally_of(data.reference[k], judged[k])
                values, drawn = observed(tally.compute, n), tally.compute(weights)
                errors, own = tally.errors(tally.sums(weights)), tally.own_errors()
                for at, metric in enumerate(METRICS):
                    value, got = values[metric], drawn[metric]
                    spread = spread_of(tally, metric, value, got, errors.get(metric), own.get(metric, np.nan))
                    low, high = np.nanquantile(got, [0.025, 0.975])
                    inside = spread.low <= truth[metric] <= spread.high, low <= truth[metric] <= high
                    hits[at, done] = *inside, spread.high - spread.low
                done += 1
        ours, percentile = hits[:, :, 0].mean(axis=1), hits[:, :, 1].mean(axis=1)
        yield [shape, str(n), name, "covers", *map(marked, ours)]
        yield [shape, str(n), name, "percentile", *(f"{share:.1%}" for share in percentile)]
        yield [shape, str(n), name, "median width", *(f"{w:.3f}" for w in np.nanmedian(hits[:, :, 2], axis=1))]


def marked(share: float) -> str:
    """A share, with a mark where it is not between 93 and 97 %."""
    return f"{share:.1%}" + ("" if 0.93 <= round(share, 3) <= 0.97 else " !")


SCENES = {
    "size: null, null": (0.0, 0.0, False),
    "size: null, null, other positive rate": (0.0, 0.0, True),
    "size: strong, strong": (0.8, 0.8, False),
    "power: strong, weaker": (0.8, 0.7, False),
}


def tests(shape: str, n: int, sets: int, rng: np.random.Generator) -> Iterable[list[str]]:
    """Rows: scene, share of p <= .05 by metric."""
    for scene, (first, second, shifted) in SCENES.items():
        p = []
        for data, size in data_sets(SHAPES[shape], n, sets, rng, 2):
            judged = [data.judged(skill, judge) for judge, skill in enumerate((first, second))]
            judged[1] = severe(judged[1], rng) if shifted else judged[1]
            for k in range(size):
                sides = [tally_of(data.reference[k], labels[k]) for labels in judged]
                result = paired_difference(*sides)
                p.append([result[metric].p for metric in METRICS])
        kept = [metric for metric in METRICS if not shifted or CATALOGUE[metric].corrected]
        shares = (np.array(p) <= ALPHA).mean(axis=0)
        yield [shape, str(n), scene, *(f"{s:.1%}" if m in kept else "" for m, s in zip(METRICS, shares, strict=True))]


def families(shape: str, n: int, sets: int, rng: np.random.Generator) -> Iterable[list[str]]:
    """Rows: share of families of equal judges in which Holm's correction finds any difference."""
    pairs = list(combinations(range(FAMILY), 2))
    primary = [headline("score"), headline("error"), "plcc"]
    any_found = []
    for data, size in data_sets(SHAPES[shape], n, sets, rng, FAMILY):
        judged = [data.judged(0.8, judge) for judge in range(FAMILY)]
        for k in range(size):
            sides = [tally_of(data.reference[k], labels[k]) for labels in judged]
            results = [paired_difference(sides[a], sides[b]) for a, b in pairs]
            any_found.append([(holm(np.array([d[m].p for d in results])) <= ALPHA).any() for m in primary])
    yield [shape, str(n), *(f"{share:.1%}" for share in np.array(any_found).mean(axis=0))]


def main() -> None:
    """Run the simulations and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sets, resamples = (50, 300) if arguments.quick else (1000, 599)
    rng = np.random.default_rng(arguments.seed)
    error = np.sqrt(0.95 * 0.05 / sets)
    print(f"Simulation, synthetic judges: {sets:,} data sets a row, {resamples} resamples each; the error of a "
          f"share near 95 % or 5 % is {error:.1%} (one standard error). !: not between 93 and 97 %.\n")  # fmt: skip
    cells = [(shape, n) for shape in SHAPES for n in SIZES]
    bar = tqdm(total=3 * len(cells), file=sys.stderr, disable=None)

    def rows(make: Iterable[list[str]]) -> list[list[str]]:
        made = list(make)
        bar.update()
        return made

    labels = [CATALOGUE[metric].label for metric in METRICS]
    covered = [row for shape, n in cells for row in rows(coverage(shape, n, sets, resamples, rng))]
    print(Table.of(["totals", "videos", "judge", "", *labels], covered, left=(0, 2, 3)).to_markdown() + "\n")
    sized = [row for shape, n in cells for row in rows(tests(shape, n, sets, rng))]
    print(Table.of(["totals", "videos", "share of p <= .05", *labels], sized, left=(0, 2)).to_markdown() + "\n")
    head = ["totals", "videos", *(CATALOGUE[m].label for m in (headline("score"), headline("error"), "plcc"))]
    print(Table.of(head, [row for shape, n in cells for row in rows(families(shape, n, sets, rng))]).to_markdown())


if __name__ == "__main__":
    main()
