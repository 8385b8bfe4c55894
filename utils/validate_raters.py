"""Do the intervals of `siming study raters` cover? A simulation, printed as Markdown for docs/validation/raters.md.

Synthetic data sets of two raters from the suite's own model (siming_tasks.analysis.power), the second 0.3 of a latent
standard deviation stricter; two shapes of totals, as in utils/validate_intervals.py. The truth is the value over
200,000 videos. Beside the suite's intervals of the totals stand the percentile interval of the bootstrap and Lin's by
Fisher's z. The kappa of a single step is grouped by the videos of the sample in which either rater took points off.

    python utils/validate_raters.py          a few minutes of CPU; --sets 60 for a look
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from validate_intervals import SHAPES

from siming_tasks.analysis.power import StudyDesign, draw
from siming_tasks.analysis.totals_agreement import icc, totals_agreement
from siming_tasks.metrics.kappa import confusion, qwk
from siming_tasks.metrics.ratio_estimates import Stat, estimate_stats
from siming_tasks.metrics.resample import spreads, weight_chunks
from siming_tasks.metrics.thresholds import Z
from siming_tasks.report.table import Table

SIZES = (12, 16, 30, 50, 200)
STRICTER = 0.3
RESAMPLES = 299
BATCH = 50
GROUPS = {"1-4": range(1, 5), "5-9": range(5, 10), "10-19": range(10, 20), "20 and more": range(20, 10**6)}


def ratings(design: StudyDesign, videos: int, sets: int, rng: np.random.Generator) -> Iterator[list[np.ndarray]]:
    """Labels 0..3 of both raters, ``int8[V, S]`` each, of one data set after the other."""
    for start in range(0, sets, BATCH):
        quality = draw(design, videos, min(BATCH, sets - start), rng, judges=1).quality
        true, noise = math.sqrt(design.reliability), math.sqrt(1 - design.reliability)
        sides = [
            np.searchsorted(design.cuts, true * quality + noise * rng.standard_normal(quality.shape) - offset)
            for offset in (0.0, STRICTER)
        ]
        yield from ([side[k].astype(np.int8) for side in sides] for k in range(len(quality)))


def of_totals(labels: list[np.ndarray]) -> np.ndarray:
    """Totals as shares of the points, ``float64[V, 2]``."""
    return np.stack([side.mean(axis=1) / 3 for side in labels], axis=1)


def by_fisher(x: np.ndarray) -> tuple[float, float]:
    """Lin's interval of his concordance, by Fisher's z (1989, 2000)."""
    vx, vy, r = *x.var(axis=0), np.corrcoef(*x.T)[0, 1]
    value = totals_agreement(*x.T).concordance.value or 0.0
    u2 = np.diff(x.mean(axis=0))[0] ** 2 / math.sqrt(vx * vy)
    a, b = (1 - r**2) * value**2 * (1 - value**2) / r**2, 2 * value**3 * (1 - value) * u2 / r
    stderr = math.sqrt(max((a + b - value**4 * u2**2 / (2 * r**2)) / (len(x) - 2), 0)) / (1 - value**2)
    return math.tanh(math.atanh(value) - Z * stderr), math.tanh(math.atanh(value) + Z * stderr)


def lin(sums: np.ndarray) -> np.ndarray:
    """Lin's concordance of sums of 1, x, y, xx, yy, xy."""
    n, sx, sy, sxx, syy, sxy = sums.T
    square = sxx / n - (sx / n) ** 2 + syy / n - (sy / n) ** 2 + ((sx - sy) / n) ** 2
    return 2 * (sxy / n - sx * sy / n**2) / square


def totals_table(sets: int, rng: np.random.Generator) -> Table:
    """Share of the intervals of totals that hold the truth."""
    rows = []
    for shape, design in SHAPES.items():
        big = of_totals(next(ratings(design, 200_000, 1, rng)))
        whole = icc(big)
        pair = totals_agreement(*big.T)
        truth = {"A1": whole.agreement, "C1": whole.consistency, "A2": whole.mean_agreement, "lin": pair.concordance,
                 "bias": pair.bias, "lower": pair.lower}  # fmt: skip
        for n in SIZES:
            weights = np.concatenate(list(weight_chunks(np.arange(n), RESAMPLES, int(rng.integers(2**31)))))
            hits = defaultdict(list)
            for labels in ratings(design, n, sets, rng):
                x = of_totals(labels)
                mine, of_pair = icc(x), totals_agreement(*x.T)
                found = {"A1": mine.agreement, "C1": mine.consistency, "A2": mine.mean_agreement,
                         "lin": of_pair.concordance, "bias": of_pair.bias, "lower": of_pair.lower}  # fmt: skip
                ends = {key: (item.low, item.high) for key, item in found.items()}
                terms = np.column_stack([np.ones(n), x, x**2, x[:, 0] * x[:, 1]])
                percentile = spreads({"lin": lin(weights @ terms)}, n)["lin"]
                ends |= {"percentile": (percentile.low, percentile.high), "fisher": by_fisher(x)}
                for key, (low, high) in ends.items():
                    value = truth.get(key, truth["lin"]).value
                    hits[key].append(low is not None and low <= value <= high)
            rows.append([shape, n, *(f"{np.mean(hits[key]):.1%}" for key in (*truth, "percentile", "fisher"))])
    head = ["ICC(A,1)", "ICC(C,1)", "ICC(A,2)", "Lin", "mean difference", "lower limit", "Lin, percentile",
            "Lin, Fisher's z"]  # fmt: skip
    return Table.of(["totals", "videos", *head], rows)


def steps_table(sets: int, rng: np.random.Generator) -> Table:
    """Share of the intervals of single steps' kappas that hold the truth, by imperfect videos."""
    rows = []
    for shape, design in SHAPES.items():
        first, second = next(ratings(design, 200_000, 1, rng))
        truth = [float(qwk(confusion(first[:, [s]], second[:, [s]]).sum(axis=0))) for s in range(first.shape[1])]
        for n in (50, 200):
            hits = defaultdict(list)
            for labels in ratings(design, n, sets // 4, rng):
                imperfect = ((labels[0] < 3) | (labels[1] < 3)).sum(axis=0)
                stats = {s: Stat(confusion(*(side[:, [s]] for side in labels)), qwk, n) for s in range(len(truth))}
                for s, item in estimate_stats(stats, np.arange(n), RESAMPLES, int(rng.integers(2**31))).items():
                    for group, numbers in GROUPS.items():
                        if imperfect[s] in numbers and not item.undefined:
                            low, high = (item.value if end is None else end for end in (item.low, item.high))
                            hits[group].append(low <= truth[s] <= high)
            cells = [f"{np.mean(hits[g]):.1%} ({len(hits[g]):,})" if len(hits[g]) > 100 else None for g in GROUPS]
            rows.append([shape, n, *cells])
    return Table.of(["totals", "videos", *(f"{group} imperfect" for group in GROUPS)], rows)


def main() -> None:
    """Run both simulations and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    print(f"{arguments.sets:,} synthetic data sets a row, {RESAMPLES} resamples.\n")
    print(totals_table(arguments.sets, rng).to_markdown() + "\n")
    print(steps_table(arguments.sets, rng).to_markdown())


if __name__ == "__main__":
    main()
