"""Several runs over the same videos: paired differences, corrected p-values, ranks, and what could be found at all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from siming_tasks.analysis.comparison.paired_tests import (
    AnsweredDifference,
    Paired,
    answered_difference,
    detectable,
    holm,
    max_t,
    negated,
    paired_difference,
)
from siming_tasks.analysis.comparison.ranking import RunRank, compute_ranks
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.agreement.classification import Positive
from siming_tasks.metrics.agreement.labels import CUTS, LabelMapping
from siming_tasks.metrics.alignment import ComparisonEntry, align
from siming_tasks.metrics.catalogue import CATALOGUE, headline, select
from siming_tasks.metrics.estimate import Estimate, plain
from siming_tasks.metrics.evaluate import RESAMPLES, draw, summaries
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.sensitivity import chance_corrected
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import ALPHA, LEVEL, NOISE

__all__ = ["Comparison", "Detectable", "Difference", "RunRank", "compare"]


@dataclass(frozen=True)
class Difference:
    """``a`` minus ``b`` in one metric, missing answers imputed: paired interval and p, corrected within its family.

    Attributes:
        metric: which.
        a: one run.
        b: the other.
        primary: of the setting's declared primary metric; else secondary.
        value: with every missing answer as full points or "correct".
        stderr: by the jackknife; None where a value without some video is undefined.
        low: lower end of the 95 % interval; None where there is none.
        high: upper end.
        p: two-sided, of the same construction as the interval.
        p_holm: corrected by Holm over all comparisons of the primary metric, or of all secondary ones.
        p_max_t: by the step-down maximum over the comparisons of the metric.
        answered: the difference on the items that both answered; None if it is undefined there.
        answered_p: its p.
        holds: the lead is one of the answers too
            (:meth:`siming_tasks.analysis.comparison.paired_tests.Answered.holds`).
    """

    metric: str
    a: str
    b: str
    primary: bool
    value: float
    stderr: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    p_max_t: float | None
    answered: float | None
    answered_p: float | None
    holds: bool

    @property
    def better(self) -> str | None:
        """The run that is better beyond chance after Holm's correction, on its answers too; None if neither is."""
        if self.p_holm is None or self.p_holm > ALPHA or not self.holds:
            return None
        return self.a if CATALOGUE[self.metric].sign * self.value > 0 else self.b


@dataclass(frozen=True)
class Detectable:
    """Smallest true effect found with 80 % power at the 5 % level with these videos and runs like these.

    ``against_zero``: one run against 0, None where 0 is no benchmark; ``between_two``: two runs; ``corrected``: two
    runs among the ``pairs`` comparisons of the family. None where nothing varies, or the effect is out of the metric's
    reach.
    """

    against_zero: float | None
    between_two: float | None
    corrected: float | None
    pairs: int


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found.

    Attributes:
        runs: names.
        n_videos: that all share.
        primary: the declared primary metric; all others are secondary.
        estimates: by run and metric, of what each run answered.
        imputed: by run and metric, with every missing answer as full points or "correct": what is ranked and tested.
        differences: of every pair in every metric in which both have a value.
        ranks: by metric and run.
        detectable: by metric.
        footnote: by run, Gwet's AC2 and Krippendorff's alpha of what it answered.
        skipped: by metric and run, why it could not be compared; the others are.
        options: what was used.
    """

    runs: tuple[str, ...]
    n_videos: int
    primary: str
    estimates: Mapping[str, Mapping[str, Estimate]]
    imputed: Mapping[str, Mapping[str, Estimate]]
    differences: tuple[Difference, ...]
    ranks: Mapping[str, Mapping[str, RunRank]]
    detectable: Mapping[str, Detectable]
    skipped: Mapping[str, Mapping[str, str]]
    footnote: Mapping[str, Mapping[str, float | None]]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """No run left an answer out."""
        return all(row[name] == self.estimates[run][name] for run, row in self.imputed.items() for name in row)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {
            "runs": list(self.runs),
            "n_videos": self.n_videos,
            "primary": self.primary,
            "estimates": plain(self.estimates),
            "imputed": plain(self.imputed),
            "differences": [asdict(item) for item in self.differences],
            "ranks": {name: {run: asdict(item) for run, item in row.items()} for name, row in self.ranks.items()},
            "detectable": {name: asdict(item) for name, item in self.detectable.items()},
            "skipped": plain(self.skipped),
            "footnote": plain(self.footnote),
            "options": plain(self.options),
        }


def compare(
    runs: Sequence[ComparisonEntry],
    *,
    allow: Collection[str] = (),
    against: str | None = None,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare runs over the same videos; the unit of resampling is the video, shared by all runs.

    Ranks and tests take a missing answer as full points or "correct", and a lead must hold on the items that both
    answered. Interval and p-value of a difference are the jackknife's t over videos, so they never disagree. There are
    two families for Holm's correction: all comparisons of the primary metric (the headline of this kind of answer), and
    all comparisons of the secondary ones.

    Args:
        runs: at least two, on the same videos, steps and reference with equal facts.
        allow: differences to accept, see :func:`siming_tasks.metrics.alignment.align`.
        against: compare every other run with this one instead of all pairs.
        mapping: how points become labels for kappa.
        positive: the class of precision, recall and F1.
        resamples: bootstrap resamples, of the runs' own intervals and ranks.
        seed: of them.

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
    silent = [name for name, tally in tallies.items() if not tally.verdicts.any()]
    if len(silent) > len(names) - 2:
        tally = tallies[silent[0]]
        raise DataError(f"Run {silent[0]!r} has nothing to compare. {tally.reason(tally.metrics[0])}")
    full = {name: tally.imputed() for name, tally in tallies.items()}
    pairs = list(combinations(names, 2)) if against is None else [(name, against) for name in names if name != against]
    both = {("own", name): tally for name, tally in tallies.items()}
    both |= {("imputed", name): tally for name, tally in full.items() if tally is not tallies[name]}
    values, drawn, errors = draw(both, n, resamples=resamples, seed=seed)
    found = summaries(both, values, drawn, errors)
    compared = select(runs[0].panel.answer, compared=True)
    estimates = {name: found["own", name] for name in names}
    imputed = {name: {m: found.get(("imputed", name), estimates[name])[m] for m in compared} for name in names}

    def of(kind: Mapping[tuple[tuple[str, str], str], Any], name: str, metric: str) -> Any:
        return kind[("own" if full[name] is tallies[name] else "imputed", name), metric]

    apart, answered = _paired(names, tallies, full, compared)
    primary = headline(runs[0].panel.answer)
    differences: list[Difference] = []
    ranks: dict[str, dict[str, RunRank]] = {}
    skipped: dict[str, dict[str, str]] = {}
    for metric in compared:
        reasons = {name: imputed[name][metric].reason for name in names if _without(imputed[name][metric])}
        skipped |= {metric: {name: reason or "" for name, reason in reasons.items()}} if reasons else {}
        mine = [name for name in names if name not in reasons]
        chosen = [pair for pair in pairs if not {*pair} & {*reasons}]
        value = np.array([of(values, name, metric) for name in mine])
        replicates = np.array([of(drawn, name, metric) for name in mine]).T.reshape(resamples, len(mine))
        ahead = {pair: answered[pair].holds(metric, CATALOGUE[metric].sign) for pair in answered}
        ranks |= (
            {metric: compute_ranks(mine, CATALOGUE[metric].sign, value, replicates, ahead)} if len(mine) > 1 else {}
        )
        at = {name: k for k, name in enumerate(mine)}
        deltas = np.array([replicates[:, at[a]] - replicates[:, at[b]] for a, b in chosen]).T
        differences += _rows(metric, metric == primary, chosen, apart, answered, deltas)
    differences = _corrected(differences)
    reach = {
        metric: _reach(metric, ranks[metric], imputed, [row for row in differences if row.metric == metric],
                       sum(row.primary == (metric == primary) for row in differences))
        for metric in ranks
    }  # fmt: skip
    options: dict[str, Any] = {"mapping": mapping, "positive": positive, "resamples": resamples, "seed": seed}
    options |= {"level": LEVEL, "unit": "video", "against": against, "allowed": sorted(allow), "facts": _common(runs)}
    notes = {name: chance_corrected(tally) for name, tally in tallies.items()}
    options |= {"missing": "full points", "cut": CUTS.get(mapping)}
    return Comparison(names, n, primary, estimates, imputed, tuple(differences), ranks, reach, skipped, notes, options)


def _without(estimate: Estimate) -> bool:
    return estimate.value is None or estimate.undefined


def _paired(
    names: Sequence[str], tallies: Mapping[str, Tally], full: Mapping[str, Tally], metrics: Sequence[str]
) -> tuple[dict[tuple[str, str], Mapping[str, Paired]], dict[tuple[str, str], AnsweredDifference]]:
    """Of every ordered pair, its differences with answers imputed, and on what both answered."""
    slim = {name: replace(tally, metrics=tuple(metrics)) for name, tally in full.items()}
    apart: dict[tuple[str, str], Mapping[str, Paired]] = {}
    answered: dict[tuple[str, str], AnsweredDifference] = {}
    for a, b in combinations(names, 2):
        found = paired_difference(slim[a], slim[b])
        both = answered_difference(tallies[a], tallies[b], found)
        answered[a, b], answered[b, a] = both, both.negated()
        apart[a, b], apart[b, a] = found, negated(found)
    return apart, answered


def _rows(
    metric: str,
    primary: bool,
    pairs: Sequence[tuple[str, str]],
    apart: Mapping[tuple[str, str], Mapping[str, Paired]],
    answered: Mapping[tuple[str, str], AnsweredDifference],
    deltas: FloatArray,
) -> list[Difference]:
    """The comparisons of one metric, not yet corrected by Holm."""
    if not pairs:
        return []
    found = [apart[pair][metric] for pair in pairs]
    joint = max_t(np.array([d.value for d in found]), deltas)
    rows = []
    for (a, b), d, maximum in zip(pairs, found, joint.tolist(), strict=True):
        lead = CATALOGUE[metric].sign * d.value
        both = answered[a, b] if lead >= 0 else answered[b, a]
        there = answered[a, b].difference[metric]
        stderr, low, high, p, on_both, p_both = map(_known, (*d[1:], there.value, there.p))
        significant = p is not None and p <= ALPHA
        holds = abs(lead) <= NOISE or both.holds(metric, CATALOGUE[metric].sign, sure=significant)
        top = None if p is None else max(maximum, p)
        rows.append(Difference(metric, a, b, primary, d.value, stderr, low, high, p, p, top, on_both, p_both, holds))
    return rows


def _known(number: float) -> float | None:
    return None if np.isnan(number) else number


def _corrected(rows: Sequence[Difference]) -> list[Difference]:
    """Holm's correction within the primary metric, and over all secondary ones."""
    found = list(rows)
    for primary in (True, False):
        places = [k for k, row in enumerate(found) if row.primary == primary and row.p is not None]
        for k, p in zip(places, holm(np.array([found[k].p for k in places], float)).tolist(), strict=True):
            found[k] = replace(found[k], p_holm=p)
    return found


def _reach(
    metric: str,
    ranked: Collection[str],
    imputed: Mapping[str, Mapping[str, Estimate]],
    rows: Sequence[Difference],
    family: int,
) -> Detectable:
    row = CATALOGUE[metric]
    alone = _typical([imputed[name][metric].stderr for name in ranked]) if row.corrected else None
    two = _typical([item.stderr for item in rows])

    def reach(stderr: float | None, tests: int = 1) -> float | None:
        found = None if stderr is None else detectable(stderr, max(1, tests))
        return found if found is not None and found <= row.high else None

    return Detectable(reach(alone), reach(two), reach(two, family), family)


def _typical(stderrs: Sequence[float | None]) -> float | None:
    """Median standard error of what varies at all: a constant has none, which says nothing of the noise of others."""
    known = [value for value in stderrs if value is not None and value > NOISE]
    return float(np.median(known)) if known else None


def _common(runs: Sequence[ComparisonEntry]) -> dict[str, str]:
    """Facts that no run contradicts."""
    stated = {name: {run.facts[name] for run in runs if name in run.facts} for run in runs for name in run.facts}
    return {name: next(iter(values)) for name, values in stated.items() if len(values) == 1}
