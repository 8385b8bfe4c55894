"""Do the intervals cover and do the tests hold their size? A simulation, printed as Markdown.

Synthetic data sets from the suite's own model of raters and judges (siming_tasks.analysis.power): 33
steps, 18.6 % of them not fully correct, two raters at kappa .732. Two shapes of totals: mild (skewness about -1.2) and
tailed (about -3: a few very weak examinees). Judges: null (sees nothing), weak, strong. The truth of each metric is its
value over 200,000 videos of the same model. The intervals are those of the suite itself, from its own functions; one
set of resamples serves all data sets of a cell.

In clustered cells every part of a rating (ability, quality, errors of raters and judges) has a share of its variance
that all videos of a student, or of a site, have in common; a video by itself is distributed as in the other cells, so
that the truth is the same.

    python utils/validate_intervals.py --quick      a minute
    python utils/validate_intervals.py              twenty minutes of CPU; the tables of docs/validation/intervals.md
    python utils/validate_intervals.py --clusters   the clustered cells alone
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from tqdm import tqdm

from siming_tasks.analysis.paired_tests import holm, paired_difference
from siming_tasks.analysis.power import SimulatedRatings, StudyDesign, draw
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.catalogue import CATALOGUE, headline, select
from siming_tasks.metrics.intervals import spread_of
from siming_tasks.metrics.resample import Spread, observed, weight_chunks
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import ALPHA
from siming_tasks.report.table import Table

METRICS = select(compared=True)
SHAPES = {"mild": StudyDesign(), "tailed": StudyDesign(skew=-2.2)}
JUDGES = {"null": 0.0, "weak": 0.25, "strong": 0.8}
CLUSTERED_JUDGES = ("weak", "strong")
NAIVE = "as if independent"
SIZES = (16, 50, 200)
BATCH = 50
FAMILY = 4


class Cell(NamedTuple):
    """Clustered videos: the number of each one's student and site, and what they have in common."""

    name: str
    student: np.ndarray
    site: np.ndarray
    by_student: float
    """Share of every variance that the videos of a student have in common; ``by_site`` likewise."""
    by_site: float

    @property
    def clusters(self) -> np.ndarray:
        """Unit that is resampled: the sites if they differ, else the students."""
        return self.site if self.by_site else self.student


def split(videos: int, clusters: int, unequal: bool = False) -> np.ndarray:
    """The number of each video's cluster; unequal ones have 1 to 8 times the videos of the smallest."""
    sizes = np.resize([1, 2, 2, 3, 4, 5, 7, 8] if unequal else [1], clusters).cumsum()
    return np.searchsorted(np.round(sizes / sizes[-1] * videos), np.arange(videos), side="right")


_ONE = np.zeros(200, int)
CELLS = (
    Cell("12 students of 4", split(48, 12), _ONE[:48], 0.8, 0.0),
    Cell("50 students of 4", split(200, 50), _ONE, 0.8, 0.0),
    Cell("50 students of 1 to 8", split(200, 50, unequal=True), _ONE, 0.8, 0.0),
    Cell("4 sites of 50", np.arange(200), split(200, 4), 0.0, 0.1),
    Cell("5 sites of 40", np.arange(200), split(200, 5), 0.0, 0.1),
    Cell("8 sites of 25", np.arange(200), split(200, 8), 0.0, 0.1),
    Cell("8 sites of 6 to 50", np.arange(200), split(200, 8, unequal=True), 0.0, 0.1),
    Cell("16 sites of 12 or 13", np.arange(200), split(200, 16), 0.0, 0.1),
    Cell("40 sites of 5", np.arange(200), split(200, 40), 0.0, 0.1),
    Cell("10 sites of 5 students of 4", split(200, 50), split(200, 10), 0.6, 0.1),
)


def draw_clustered(cell: Cell, sets: int, rng: np.random.Generator, judges: int = 1) -> SimulatedRatings:
    """Data sets as :func:`siming_tasks.analysis.power.draw` makes them, of clustered videos."""
    design = StudyDesign()

    def noise(columns: int) -> np.ndarray:
        shares = (1 - cell.by_student - cell.by_site, cell.by_student, cell.by_site)
        levels = (np.arange(len(cell.site)), cell.student, cell.site)
        parts = (
            np.float32(np.sqrt(share)) * rng.standard_normal((sets, level.max() + 1, columns), np.float32)[:, level]
            for share, level in zip(shares, levels, strict=True)
            if share
        )
        return np.sum(list(parts), axis=0)

    ease = norm.ppf((np.arange(design.steps) + 0.5) / design.steps).astype(np.float32)
    rest, rho = 1 - design.video - design.step, design.reliability

    def mix(*parts: tuple[float, np.ndarray]) -> np.ndarray:
        return sum(np.float32(np.sqrt(share)) * part for share, part in parts)

    quality = mix((design.video, noise(1)), (design.step, ease / ease.std()), (rest, noise(design.steps)))
    latent = mix((rho, quality), (1 - rho, noise(design.steps)))
    reference = np.searchsorted(design.cuts.astype(np.float32), latent).astype(np.int8)
    errors = [mix((design.halo, noise(1)), (1 - design.halo, noise(design.steps))) for _ in range(judges)]
    return SimulatedRatings(design, quality, reference, tuple(errors))


def tally_of(reference: np.ndarray, judged: np.ndarray, clusters: np.ndarray | None = None) -> Tally:
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
        clusters=() if clusters is None else tuple(map(str, clusters)),
        unit="video" if clusters is None else "student",
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
                spreads, drawn = intervals(tally, weights), tally.compute(weights)
                for at, metric in enumerate(METRICS):
                    spread = spreads[metric]
                    low, high = np.nanquantile(drawn[metric], [0.025, 0.975])
                    inside = spread.low <= truth[metric] <= spread.high, low <= truth[metric] <= high
                    hits[at, done] = *inside, spread.high - spread.low
                done += 1
        ours, percentile = hits[:, :, 0].mean(axis=1), hits[:, :, 1].mean(axis=1)
        yield [shape, str(n), name, "covers", *map(marked, ours)]
        yield [shape, str(n), name, "percentile", *(f"{share:.1%}" for share in percentile)]
        yield [shape, str(n), name, "median width", *(f"{w:.3f}" for w in np.nanmedian(hits[:, :, 2], axis=1))]


def clustered_coverage(cell: Cell, sets: int, resamples: int, seed: int) -> Iterable[list[str]]:
    """Rows: what the suite's interval covers by metric, and what it would if videos were taken as independent."""
    n, rng = len(cell.site), np.random.default_rng(seed)
    units = {"covers": cell.clusters, NAIVE: None}
    weights = {}
    for row, clusters in units.items():
        numbers = np.arange(n) if clusters is None else clusters
        weights[row] = np.concatenate(list(weight_chunks(numbers, resamples, int(rng.integers(2**31)))))
    for name in CLUSTERED_JUDGES:
        truth = truths(StudyDesign(), JUDGES[name], np.random.default_rng(0))
        inside: dict[str, list[list[bool]]] = {row: [] for row in units}
        widths = []
        for start in range(0, sets, BATCH):
            data = draw_clustered(cell, min(BATCH, sets - start), rng)
            for reference, judged in zip(data.reference, data.judged(JUDGES[name]), strict=True):
                for row in units if len(inside[NAIVE]) < sets // 4 else ("covers",):
                    tally = tally_of(reference, judged, units[row])
                    spreads = intervals(tally, weights[row])
                    inside[row].append([spreads[m].low <= truth[m] <= spreads[m].high for m in METRICS])
                    if row == "covers":
                        widths.append([spreads[m].high - spreads[m].low for m in METRICS])
        yield [cell.name, name, "covers", *map(marked, np.mean(inside["covers"], axis=0))]
        yield [cell.name, name, NAIVE, *(f"{share:.1%}" for share in np.mean(inside[NAIVE], axis=0))]
        yield [cell.name, name, "median width", *(f"{w:.3f}" for w in np.nanmedian(widths, axis=0))]


def clustered_tests(cell: Cell, sets: int, seed: int) -> Iterable[list[str]]:
    """Rows: share of p <= .05 between two equal judges by metric, over clusters and as if videos were independent."""
    rng = np.random.default_rng(seed)
    for name in CLUSTERED_JUDGES:
        p: dict[str, list[list[float]]] = {"of clusters": [], NAIVE: []}
        for start in range(0, sets, BATCH):
            data = draw_clustered(cell, min(BATCH, sets - start), rng, judges=2)
            judged = data.judged(JUDGES[name]), data.judged(JUDGES[name], 1)
            for k, reference in enumerate(data.reference):
                for row, clusters in (("of clusters", cell.clusters), (NAIVE, None)):
                    if row == NAIVE and len(p[NAIVE]) >= sets // 4:
                        continue
                    found = paired_difference(*(tally_of(reference, labels[k], clusters) for labels in judged))
                    p[row].append([found[metric].p for metric in METRICS])
        for row, values in p.items():
            shares = (np.array(values) <= ALPHA).mean(axis=0)
            yield [cell.name, name, row, *(f"{share:.1%}" for share in shares)]


def intervals(tally: Tally, weights: np.ndarray) -> dict[str, Spread]:
    """The suite's interval of every metric of one data set."""
    drawn, errors, own = tally.compute(weights), tally.errors(tally.sums(weights)), tally.own_errors()
    return {
        metric: spread_of(
            tally, metric, tally.observed[metric], drawn[metric], errors.get(metric), own.get(metric, np.nan)
        )
        for metric in METRICS
    }


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
    parser.add_argument("--clusters", action="store_true", help="the clustered cells alone")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sets, resamples = (50, 300) if arguments.quick else (1000, 599)
    rng = np.random.default_rng(arguments.seed)
    error = np.sqrt(0.95 * 0.05 / sets)
    print(f"Simulation, synthetic judges: {sets:,} data sets a row, {resamples} resamples each; the error of a "
          f"share near 95 % or 5 % is {error:.1%} (one standard error). !: not between 93 and 97 %.\n")  # fmt: skip
    cells = [(shape, n) for shape in SHAPES for n in SIZES]
    bar = tqdm(total=2 * len(CELLS) + 3 * len(cells) * (not arguments.clusters), file=sys.stderr, disable=None)

    def rows(make: Iterable[list[str]]) -> list[list[str]]:
        made = list(make)
        bar.update()
        return made

    labels = [CATALOGUE[metric].label for metric in METRICS]
    seeds = range(arguments.seed, arguments.seed + len(CELLS))
    held = [
        row
        for cell, seed in zip(CELLS, seeds, strict=True)
        for row in rows(clustered_coverage(cell, sets, resamples, seed))
    ]
    print(Table.of(["clusters", "judge", "", *labels], held, left=(0, 1, 2)).to_markdown() + "\n", flush=True)
    equal = [row for cell, seed in zip(CELLS, seeds, strict=True) for row in rows(clustered_tests(cell, sets, seed))]
    print(Table.of(["clusters", "equal judges", "p <= .05", *labels], equal, left=(0, 1, 2)).to_markdown() + "\n")
    if arguments.clusters:
        return
    covered = [row for shape, n in cells for row in rows(coverage(shape, n, sets, resamples, rng))]
    print(Table.of(["totals", "videos", "judge", "", *labels], covered, left=(0, 2, 3)).to_markdown() + "\n")
    sized = [row for shape, n in cells for row in rows(tests(shape, n, sets, rng))]
    print(Table.of(["totals", "videos", "share of p <= .05", *labels], sized, left=(0, 2)).to_markdown() + "\n")
    head = ["totals", "videos", *(CATALOGUE[m].label for m in (headline("score"), headline("error"), "plcc"))]
    print(Table.of(head, [row for shape, n in cells for row in rows(families(shape, n, sets, rng))]).to_markdown())


if __name__ == "__main__":
    main()
