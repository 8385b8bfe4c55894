"""Coverage of PLCC's intervals by what a sample shows: the simulation behind docs/validation/raters.md.

A flag must tell samples whose interval is short from others. Data sets of the suite's own model, as in
utils/validate_intervals.py, in three shapes of totals; each is put into a bin by its standard error (of Fisher's z, by
the jackknife) in units of that of normal totals, 1 / sqrt(videos - 3), and by the skewness of its totals. Beside the
suite's interval, whose standard error is never below that of normal totals, stands the one without this floor.

    python utils/validate_flags.py          ten minutes of CPU; --sets 40 for a look
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from scipy.stats import skew
from validate_intervals import JUDGES, SHAPES, data_sets, tally_of

from siming_tasks.analysis.power import StudyDesign, draw
from siming_tasks.metrics.resample import jackknife_error, weight_chunks
from siming_tasks.metrics.resample import studentised as studentised_interval
from siming_tasks.report.table import Table

ALL_SHAPES = {**SHAPES, "between": StudyDesign(skew=-1.2)}
SIZES = (16, 30, 50, 100)
RESAMPLES = 299
RATIOS = (0, 0.6, 0.8, 1, 1.25, 1.5, np.inf)


def one_cell(design: StudyDesign, skill: float, n: int, sets: int, rng: np.random.Generator) -> list[dict[str, float]]:
    """For each data set: its standard error and skewness, and whether both intervals hold the truth."""
    big = draw(design, 200_000, 1, rng, judges=1)
    truth = np.arctanh(np.corrcoef(big.reference[0].sum(axis=1), big.judged(skill)[0].sum(axis=1))[0, 1])
    weights, rows = np.concatenate(list(weight_chunks(np.arange(n), RESAMPLES, int(rng.integers(2**31))))), []
    for data, size in data_sets(design, n, sets, rng, 1):
        judged = data.judged(skill)
        for k in range(size):
            tally = tally_of(data.reference[k], judged[k])
            value, drawn = np.arctanh(tally.observed["plcc"]), np.arctanh(tally.compute(weights)["plcc"])
            errors = tally.errors(tally.sums(weights))["plcc"]
            bare = jackknife_error(np.arctanh(tally.left_out["plcc"][tally.totals.keep]))
            ends = [studentised_interval(value, own, drawn, errors) for own in (tally.own_errors()["plcc"], bare)]
            held, held_bare = (low <= truth <= high for low, high in ends)
            tails = abs(skew(tally.totals.x)) >= 1.5
            rows.append({"ratio": bare * np.sqrt(n - 3), "skewed": tails, "ours": held, "without floor": held_bare})
    return rows


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=250)
    sets, rng, rows = parser.parse_args().sets, np.random.default_rng(0), []
    for shape, design in ALL_SHAPES.items():
        for judge, skill in JUDGES.items():
            for n in SIZES:
                found = one_cell(design, skill, n, sets, rng)
                rows += [{"totals": shape, "judge": judge, "videos": n, **row} for row in found]
    frame = pd.DataFrame(rows)
    frame["bin"] = pd.cut(frame["ratio"], RATIOS)

    def table(by: list[str], part: pd.DataFrame) -> str:
        cells = []
        for key, group in part.groupby(by, observed=True):
            shares = (f"{group[name].mean():.1%}" for name in ("without floor", "ours"))
            cells.append([*map(str, key), f"{len(group):,}", *shares])
        return Table.of([*by, "data sets", "without floor", "ours"], cells).to_markdown() + "\n"

    print(table(["bin"], frame))
    print(table(["videos", "skewed"], frame[(frame["totals"] == "tailed") & (frame["judge"] == "strong")]))
    print(table(["totals", "judge", "videos"], frame))


if __name__ == "__main__":
    main()
