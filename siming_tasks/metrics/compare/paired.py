"""Several runs over the same videos: paired differences, corrected p-values, ranks, and what could be found at all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from siming_tasks.errors import DataError
from siming_tasks.metrics.agreement.classification import Positive
from siming_tasks.metrics.agreement.labels import LabelMapping
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.metrics.compare.align import Contestant, align
from siming_tasks.metrics.compare.significance import detectable, holm, max_t, pseudo_values, sign_flip
from siming_tasks.metrics.estimate import Estimate, plain
from siming_tasks.metrics.evaluate import RESAMPLES
from siming_tasks.metrics.panel import FloatArray, IntArray
from siming_tasks.metrics.resample import bootstrap, interval, observed, spreads
from siming_tasks.metrics.summary import summarise
from siming_tasks.metrics.tally import Tally
from siming_tasks.metrics.thresholds import LEVEL

__all__ = ["Comparison", "Detectable", "Difference", "Standing", "compare"]


@dataclass(frozen=True)
class Difference:
    """``a`` minus ``b`` in one metric: paired interval, p-value by sign flips, p-values corrected within the metric."""

    metric: str
    a: str
    b: str
    value: float
    stderr: float
    low: float
    high: float
    p: float
    p_holm: float
    p_max_t: float


@dataclass(frozen=True)
class Standing:
    """Rank of a run (1 = best; equal values share the better rank), its 95 % interval, and how often it came first."""

    rank: int
    low: int
    high: int
    first: float


@dataclass(frozen=True)
class Detectable:
    """Smallest true effect found with 80 % power at the 5 % level with these videos and runs like these.

    ``against_zero``: one run against 0; ``between_two``: two runs; ``corrected``: two runs among ``pairs`` comparisons.
    """

    against_zero: float
    between_two: float
    corrected: float
    pairs: int


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found; undefined values take part as 0, as they are printed.

    ``skipped`` says which metrics could not be compared, and why.
    """

    runs: tuple[str, ...]
    n_videos: int
    estimates: Mapping[str, Mapping[str, Estimate]]
    differences: tuple[Difference, ...]
    ranks: Mapping[str, Mapping[str, Standing]]
    detectable: Mapping[str, Detectable]
    skipped: Mapping[str, str]
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {
            "runs": list(self.runs),
            "n_videos": self.n_videos,
            "estimates": plain(self.estimates),
            "differences": [asdict(item) for item in self.differences],
            "ranks": {name: {run: asdict(item) for run, item in row.items()} for name, row in self.ranks.items()},
            "detectable": {name: asdict(item) for name, item in self.detectable.items()},
            "skipped": dict(self.skipped),
            "options": plain(self.options),
        }


def compare(
    runs: Sequence[Contestant],
    *,
    allow: Collection[str] = (),
    against: str | None = None,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare runs over the same videos; the unit of resampling is the video, shared by all runs.

    Intervals of differences are paired percentile cluster bootstraps. p-values flip signs of differences of jackknife
    pseudo-values. A family for the corrections is all comparisons of one metric.

    Args:
        runs: at least two, on the same videos, steps and reference with equal facts.
        allow: differences to accept, see :func:`siming_tasks.metrics.compare.align.align`.
        against: compare every other run with this one instead of all pairs.
        mapping: how points become labels for kappa.
        positive: the class of precision, recall and F1.
        resamples: bootstrap resamples, and sign flips.
        seed: of both.

    Raises:
        DataError: fewer than two runs, videos or resamples, runs that are not comparable, or an unknown ``against``.
    """
    if len(runs) < 2:
        raise DataError(f"A comparison needs at least two runs; {len(runs)} given.")
    runs = align(runs, allow)
    names = tuple(run.name for run in runs)
    if against is not None and against not in names:
        raise DataError(f"There is no run {against!r} to compare with. The runs are {', '.join(names)}.")
    n = len(runs[0].panel.video_ids)
    if n < 2:
        raise DataError("The runs share a single video; videos are the unit of comparison, so at least two are needed.")
    if resamples < 2:
        raise DataError(f"A comparison needs at least two resamples; {resamples} given.")
    tallies = {run.name: Tally.of(run.panel, mapping, positive) for run in runs}
    for name, tally in tallies.items():
        if not tally.verdicts.any():
            raise DataError(f"Run {name!r} has nothing to compare. {tally.reason(tally.metrics[0])}")
    index = range(len(names))
    pairs = list(combinations(index, 2)) if against is None else [(j, names.index(against)) for j in index]
    pairs = [(a, b) for a, b in pairs if a != b]

    def compute(weights: FloatArray) -> dict[tuple[str, str], FloatArray]:
        return {(name, metric): v for name, tally in tallies.items() for metric, v in tally.compute(weights).items()}

    values = observed(compute, n)
    left_out = {(name, metric): v for name, tally in tallies.items() for metric, v in tally.left_out().items()}
    replicates = bootstrap(compute, n, resamples=resamples, seed=seed)
    spread = spreads(replicates)
    estimates = {
        name: {m: summarise(tally, m, values[name, m], spread[name, m]) for m in tally.metrics}
        for name, tally in tallies.items()
    }
    differences: list[Difference] = []
    skipped: dict[str, str] = {}
    ranks: dict[str, dict[str, Standing]] = {}
    found: dict[str, Detectable] = {}
    for metric in select(runs[0].panel.answer, compared=True):
        if missing := next((name for name in names if estimates[name][metric].value is None), None):
            skipped[metric] = f"{missing}: {estimates[missing][metric].reason}"
            continue
        value, left, drawn = (
            np.nan_to_num(np.stack([source[name, metric] for name in names], axis=-1))
            for source in (values, left_out, replicates)
        )
        rows = _differences(metric, names, pairs, value, left, drawn, seed)
        differences += rows
        sign = CATALOGUE[metric].sign
        ranks[metric] = _ranks(names, sign * value, sign * drawn)
        alone, two = _typical(drawn.std(axis=0, ddof=1)), _typical([row.stderr for row in rows])
        found[metric] = Detectable(detectable(alone), detectable(two), detectable(two, len(pairs)), len(pairs))
    options: dict[str, Any] = {"mapping": mapping, "positive": positive, "resamples": resamples, "seed": seed}
    options |= {"level": LEVEL, "unit": "video", "against": against, "allowed": sorted(allow), "facts": _common(runs)}
    return Comparison(names, n, estimates, tuple(differences), ranks, found, skipped, options)


def _differences(
    metric: str,
    names: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    value: FloatArray,
    left_out: FloatArray,
    replicates: FloatArray,
    seed: int,
) -> list[Difference]:
    a, b = np.transpose(pairs)
    delta, drawn = value[a] - value[b], replicates[:, a] - replicates[:, b]
    pseudo = pseudo_values(value, left_out)
    p = sign_flip(pseudo[:, a] - pseudo[:, b], flips=len(replicates), seed=seed)
    tests = zip(pairs, p.tolist(), holm(p).tolist(), max_t(delta, drawn).tolist(), strict=True)
    return [
        Difference(metric, names[i], names[j], float(delta[k]), *interval(drawn[:, k]), *ps)
        for k, ((i, j), *ps) in enumerate(tests)
    ]


def _ranks(names: Sequence[str], value: FloatArray, replicates: FloatArray) -> dict[str, Standing]:
    rank, drawn = _rank(value), _rank(replicates)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0, method="inverted_cdf")
    first = (drawn == 1).mean(axis=0)
    return {name: Standing(int(rank[k]), int(low[k]), int(high[k]), float(first[k])) for k, name in enumerate(names)}


def _typical(stderrs: Sequence[float] | FloatArray) -> float:
    """Median standard error of what varies at all: a constant has none, which says nothing of the noise of others."""
    return float(np.median([value for value in stderrs if value > 0] or [0.0]))


def _rank(values: FloatArray) -> IntArray:
    """1 + how many are larger, along the last axis."""
    larger: IntArray = (values[..., None, :] > values[..., :, None]).sum(axis=-1)
    return 1 + larger


def _common(runs: Sequence[Contestant]) -> dict[str, str]:
    """Facts that no run contradicts."""
    stated = {name: {run.facts[name] for run in runs if name in run.facts} for run in runs for name in run.facts}
    return {name: next(iter(values)) for name, values in stated.items() if len(values) == 1}
