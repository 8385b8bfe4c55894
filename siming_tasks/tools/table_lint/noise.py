"""Effects of chance alone on a column of correlations: its spread, its best row, its differences.

Theory under "no true correlation": a Pearson correlation over n videos has standard error ``1 / sqrt(n - 1)``; Fisher's
z = atanh(r) has variance ``1 / (n - 3)``, Spearman's 1.06 times that (Fieller, Hartley and Pearson 1957). MCC over N
independent items is a Pearson correlation too; items of one video are not independent, so its true error is larger.
For totals that are near normal, Pearson and Spearman of the same data correlate at 3/π, so that their difference has
standard error ``sqrt((2 - 6/π) / (n - 1))``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from scipy import stats

from siming_tasks.report.published_tables import COLUMNS, Document, Finding, Kind, Table

FIELLER = 1.06
LEVEL = 0.05
GAP = 4.0
"""Standard errors (or usual gaps of the table) beyond which PLCC and SRCC of one row are called apart."""

FEWEST_GAPS = 5
"""Rows that tell what is usual."""


def homogeneity(correlations: list[float], n: int, variance: float = 1.0) -> tuple[float, int, float]:
    """Chi-square, degrees of freedom and p-value of the hypothesis that all correlations have one true value.

    Args:
        correlations: two or more values in (-1, 1), each over the same number of units.
        n: units (videos) behind each, above 3.
        variance: factor on ``1 / (n - 3)``, 1.06 for Spearman.
    """
    z = np.arctanh(correlations)
    statistic = float(np.sum((z - z.mean()) ** 2) * (n - 3) / variance)
    degrees = len(correlations) - 1
    return statistic, degrees, float(stats.chi2.sf(statistic, degrees))


def best_of_k(correlation: float, n: int, k: int) -> float:
    """Chance that the best of k independent predictors without any true correlation reaches this one over n units."""
    if abs(correlation) >= 1:
        return 0.0
    t = correlation * math.sqrt((n - 2) / (1 - correlation**2))
    tail = float(stats.t.sf(t, n - 2))
    return 1.0 if tail >= 1 else -math.expm1(k * math.log1p(-tail))


def differences(correlations: list[float], n: int, variance: float = 1.0) -> tuple[int, int, int]:
    """Pairs, pairs that differ at 5 % alone, and pairs that still differ after Holm over all pairs (Fisher z)."""
    z = np.arctanh(correlations)
    gaps = np.array([abs(a - b) for a, b in combinations(z, 2)])
    p = np.sort(2 * stats.norm.sf(gaps / math.sqrt(2 * variance / (n - 3))))
    holm = p * np.arange(len(p), 0, -1) <= LEVEL
    return len(p), int((p <= LEVEL).sum()), int(np.argmin(holm)) if not holm.all() else len(p)


def check_columns(table: Table) -> Iterator[Finding]:
    """Spread, best row and pairwise differences of the PLCC, SRCC and MCC columns."""
    for metric in ("plcc", "srcc", "mcc"):
        n = table.n_items if metric == "mcc" else table.n_videos
        column = {name: printed.value for name, printed in table.column(metric).items() if abs(printed.value) < 1}
        if n is None or n < 10 or len(column) < 3:
            continue
        values, k, label = list(column.values()), len(column), COLUMNS[metric]
        variance = FIELLER if metric == "srcc" else 1.0
        error = math.sqrt(variance / (n - 1))
        unit, tail = "videos", "."
        if metric == "mcc":
            unit, tail = "items", "; items of one video are not independent, so the true errors are larger."
        assumes = f"Each row is over {n:,} {unit}, and the rows' errors are unrelated to each other{tail}"
        statistic, degrees, p = homogeneity(values, n, variance)
        pairs, alone, after = differences(values, n, variance)
        smallest = float(stats.norm.isf(LEVEL / 2)) * math.sqrt(2) * error
        spread = (
            f"The {k} {label} have a standard deviation of {np.std(values, ddof=1):.3f}; the standard error of each is "
            f"{error:.3f}. If all were equal: chi-square {statistic:.1f} on {degrees} degrees of freedom, {_p(p)}. "
            f"Two rows differ beyond chance from a gap near {smallest:.2f}: {alone} of {pairs} pairs alone, {after} "
            f"after Holm's correction."
        )
        kind: Kind = "noise" if p > LEVEL else "note"
        code = "spread-is-noise" if p > LEVEL else "spread-exceeds-noise"
        yield Finding(code, kind, table.name, spread, assumes, tuple(column), metric)
        best = max(column, key=column.__getitem__)
        chance = best_of_k(column[best], n, k)
        yield Finding(
            "best-of-k", "noise" if chance > LEVEL else "note", table.name,
            f"The best {label} is {column[best]:.3f}. The best of {k} predictors that know nothing reaches it with "
            f"{_p(chance)}.", assumes, (best,), metric,
        )  # fmt: skip


def check_deltas(document: Document, table: Table) -> Iterator[Finding]:
    """Differences from the base row that exceed what two unrelated correlations differ by."""
    n = table.n_videos or 0
    for metric, variance in (("plcc", 1.0), ("srcc", FIELLER)) if n >= 10 else ():
        limit = float(stats.norm.isf(LEVEL / 2)) * math.sqrt(2 * variance / (n - 3))
        beyond, total = [], 0
        for row in table.rows:
            base = document.base_of(table, row)
            if base is None or metric not in row.deltas or metric not in row.values or metric not in base.values:
                continue
            total += 1
            here, there = row.values[metric].value, base.values[metric].value
            if max(abs(here), abs(there)) < 1 and abs(math.atanh(here) - math.atanh(there)) > limit:
                beyond.append(f"{row.name} ({here - there:+.3f})")
        if total:
            yield Finding(
                "delta-noise", "noise", table.name,
                f"{total - len(beyond)} of {total} {COLUMNS[metric]} differences lie within {limit:.2f}, what two "
                f"unrelated correlations over {n} videos differ by in 19 of 20 cases. Beyond it: "
                f"{', '.join(beyond) or 'none'}; about {total * LEVEL:.1f} are expected by chance.",
                "Recomputed from the two rows, not taken from the print. Runs whose errors are alike differ by less.",
                (), metric,
            )  # fmt: skip


def check_gaps(table: Table) -> Iterator[Finding]:
    """Rows whose PLCC and SRCC lie further apart than near-normal totals allow, and than those of the other rows do.

    All rows share one reference. If its totals have a long tail, every row has a gap: the usual gap of the table then
    is the measure.
    """
    both = [row for row in table.rows if {"plcc", "srcc"} <= row.values.keys()]
    apart = [(row, row.values["plcc"].value - row.values["srcc"].value) for row in both]
    if table.n_videos is None or table.n_videos < 10 or len(apart) < FEWEST_GAPS:
        return
    usual = float(np.median([abs(gap) for _, gap in apart])) / stats.norm.ppf(0.75)
    error = max(math.sqrt((2 - 6 / math.pi) / (table.n_videos - 1)), usual)
    for row, gap in apart:
        if abs(gap) > GAP * error and max(abs(row.values[name].value) for name in ("plcc", "srcc")) < 0.3:
            yield Finding(
                "pearson-spearman-gap", "note", table.name,
                f"PLCC {row.values['plcc'].text} and SRCC {row.values['srcc'].text} lie {abs(gap):.3f} apart, "
                f"{abs(gap) / error:.0f} times what it usually is in such a table. A few extreme "
                "totals of this row do that, for instance replies without an answer that were counted as zero.",
                "The other rows tell what is usual; both are over the same videos.",
                (row.name,), "plcc",
            )  # fmt: skip


def _p(p: float) -> str:
    return f"p = {p:.2f}" if p >= 0.01 else f"p = {p:.4f}" if p >= 0.0001 else "p < 0.0001"
