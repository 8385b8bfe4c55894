"""Comparison of runs over the same videos: paired differences, corrected p-values, ranks, detectable effects."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np

from siming_tasks.analysis import paired_tests
from siming_tasks.analysis.paired_tests import AnsweredDifference, Pair, Paired
from siming_tasks.analysis.ranks import RunRank, compute_ranks, with_intervals
from siming_tasks.common.display import ShortRepr
from siming_tasks.common.errors import DataError
from siming_tasks.common.printed_value import fixed
from siming_tasks.metrics.alignment import ComparisonEntry, align
from siming_tasks.metrics.catalogue import CATALOGUE, headline, select
from siming_tasks.metrics.classification import Positive
from siming_tasks.metrics.estimate import Estimate, plain
from siming_tasks.metrics.evaluate import RESAMPLES, draw, summaries
from siming_tasks.metrics.kappa import CUTS, LabelMapping
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import ALPHA, COMPARABLE, LEVEL, NOISE

PARTIAL_TOTALS = (
    f"It answered less than {100 * COMPARABLE:g} % of the steps: totals with full points in place of the rest can rise "
    "by answering less."
)
"""Reason why totals of a run are neither ranked nor tested."""

Family = Literal["headline", "secondary"]


@dataclass(frozen=True)
class Difference:
    """``a`` minus ``b`` in one metric, missing answers imputed: paired interval and p, corrected within its family.

    Attributes:
        family: the tests that are corrected together: ``headline`` or ``secondary``, after its metric.
        value: with every missing answer taken as full points or "correct".
        stderr: by the jackknife; None where a value without some video is undefined.
        low: lower end of the 95 % interval; None where there is none.
        p: two-sided, of the same construction as the interval.
        p_holm: corrected by Holm over all comparisons of the family, in all settings that are compared.
        answered: the difference on the items that both answered; None if it is undefined there. ``answered_p``: its p.
        holds: the lead is also a lead of the answers
            (:meth:`siming_tasks.analysis.paired_tests.AnsweredDifference.holds`).
        clusters: independent clusters of videos behind the test: its degrees of freedom and one more.
        leader_answered: the run that leads answered enough of what it was asked to be called better:
            :data:`siming_tasks.metrics.thresholds.COMPARABLE`.
    """

    metric: str
    a: str
    b: str
    family: Family
    value: float
    stderr: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    answered: float | None
    answered_p: float | None
    holds: bool
    clusters: int
    leader_answered: bool = True

    @property
    def better(self) -> str | None:
        """Run that is better beyond chance after Holm's correction, on its answers too; None if neither is."""
        if self.p_holm is None or self.p_holm > ALPHA or not (self.holds and self.leader_answered):
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


@dataclass(frozen=True, repr=False)
class Comparison(ShortRepr):
    """Result of :func:`compare_scores`.

    Attributes:
        headline: metric that orders tables of this kind of answer; all others are secondary.
        estimates: by run and metric, of the answers that each run gave.
        imputed: by run and metric, with every missing answer as full points or "correct"; ranks and tests use these.
        differences: of every pair in every metric in which both have a value.
        ranks: by metric and run.
        detectable: by metric.
        skipped: by metric and run, the reason why the run could not be compared in this metric. A run that answered
            too little is compared, and has no rank.
        families: number of tests in each family, those of other settings included; ``settings``: how many there are.
        options: options of the comparison and the facts that all runs share.
    """

    runs: tuple[str, ...]
    n_videos: int
    headline: str
    estimates: Mapping[str, Mapping[str, Estimate]]
    imputed: Mapping[str, Mapping[str, Estimate]]
    differences: tuple[Difference, ...]
    ranks: Mapping[str, Mapping[str, RunRank]]
    detectable: Mapping[str, Detectable]
    skipped: Mapping[str, Mapping[str, str]]
    families: Mapping[str, int] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def partial(self) -> list[str]:
        """Runs that answered too little to be ranked."""
        own = {run: row[self.headline] for run, row in self.estimates.items()}
        return [run for run, estimate in own.items() if "not-comparable" in estimate.flags]

    @property
    def complete(self) -> bool:
        """True if no run left an answer out."""
        return all(row[name] == self.estimates[run][name] for run, row in self.imputed.items() for name in row)

    def sentence(self, exams: str = "exams") -> str:
        """Run that agrees best with the reference by the headline metric, and if that can be told from chance.

        Plain text: escape it, as names of runs are in it. Missing answers are imputed. ``exams`` is the word for them.
        """
        metric = CATALOGUE[self.headline].label
        ranks, skipped = self.ranks.get(self.headline, {}), self.skipped.get(self.headline, {})
        exams = f"over {self.n_videos:,} {exams}"
        if len(ranks) < 2:
            few = f"It answered less than {100 * COMPARABLE:g} %, which has no rank."
            unranked = [run for run in self.runs if run not in ranks and (run in skipped or run in self.partial)]
            why = "; ".join(f"{run}: {skipped.get(run, few)}" for run in unranked)
            return f"By {metric} {exams} there are no two runs to compare{f' ({why})' if why else ''}."
        order = sorted(ranks, key=lambda run: ranks[run].rank)
        values = {run: fixed(self.imputed[run][self.headline].value or 0.0) for run in order}
        first, second = order[:2]
        pair = (item for item in self.differences if item.metric == self.headline and {item.a, item.b} == {*order})
        if len(order) == 2 and (found := next(pair, None)):
            sign = 1 if found.a == first else -1
            low, high = (None, None) if found.low is None or found.high is None else sorted(
                (sign * found.low, sign * found.high))  # fmt: skip
            interval = "" if low is None or high is None else f" [{fixed(low)}, {fixed(high)}]"
            p = "" if found.p_holm is None else f", p = {fixed(found.p_holm)}".replace("= 0.000", "< 0.001")
            by = f"a difference of {fixed(sign * found.value)}{interval} in {metric}{p}, {exams}"
            if found.better == first:
                says = f"{first} ({values[first]}) agrees better with the reference than {second} ({values[second]})"
            else:
                says = f"{first} ({values[first]}) and {second} ({values[second]}) cannot be told apart"
            return f"{says}: {by}."
        top = [run for run in order if ranks[run].may_be_best]
        named = ", ".join(f"{run} ({values[run]})" for run in top[:4]) + (", ..." if len(top) > 4 else "")
        if len(top) == 1:
            return (
                f"{named} agrees better with the reference than each of {len(order) - 1} others in {metric}, {exams}."
            )
        return f"{len(top)} of {len(order)} runs may be the best in {metric}, {exams}: {named}."

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {name: plain(value) for name, value in vars(self).items()}


def compare_scores(
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
    two families for Holm's correction: all comparisons of the headline metric, and all comparisons of the secondary
    ones; of several settings, :func:`correct_families` makes one family. ``allow`` has differences to accept
    (:func:`siming_tasks.metrics.alignment.align`); with ``against`` every other run is compared with that one instead
    of all pairs.

    Raises:
        DataError: fewer than two runs, videos or resamples, runs that are not comparable, or an unknown ``against``.
    """
    if len(runs) < 2:
        raise DataError(f"A comparison needs at least two runs; {len(runs)} given.")
    runs = align(runs, allow)
    names, answer = tuple(run.name for run in runs), runs[0].panel.answer
    if against is not None and against not in names:
        raise DataError(f"There is no run {against!r} to compare with. The runs are {', '.join(names)}.")
    panel = runs[0].panel
    n = len(panel.video_ids)
    if n < 2:
        raise DataError("The runs share a single video; videos are the unit of comparison, so at least two are needed.")
    if resamples < 2:
        raise DataError(f"A comparison needs at least two resamples; {resamples} given.")
    tallies = {run.name: Tally.of(run.panel, mapping, positive) for run in runs}
    silent = [name for name, tally in tallies.items() if not tally.verdicts.any()]
    if len(silent) > len(names) - 2:
        tally = tallies[silent[0]]
        raise DataError(f"Run {silent[0]!r} has nothing to compare. {tally.reason(tally.metrics[0])}")

    facts = {name: {run.facts[name] for run in runs if name in run.facts} for run in runs for name in run.facts}
    options: dict[str, Any] = {
        "mapping": mapping,
        "positive": positive,
        "resamples": resamples,
        "seed": seed,
        "level": LEVEL,
    }
    options |= {"unit": panel.unit, "n_clusters": panel.n_clusters, "fixed": list(panel.fixed)}
    options |= {"against": against, "allowed": sorted(allow)}
    options |= {"facts": {name: next(iter(stated)) for name, stated in facts.items() if len(stated) == 1}}
    options |= {"missing": "full points", "cut": CUTS.get(mapping)}
    pairs = list(combinations(names, 2)) if against is None else [(name, against) for name in names if name != against]
    comparison = Comparison(
        runs=names,
        n_videos=n,
        headline=headline(answer),
        **_compare_metrics(tallies, pairs, select(answer, compared=True), resamples, seed),
        options=options,
    )
    return correct_families({"": comparison})[""]


def correct_families(comparisons: Mapping[str, Comparison]) -> dict[str, Comparison]:
    """Comparisons with one family of tests over several settings, intervals of ranks by it, and detectable effects.

    Who looks at four settings has four chances of a finding: all comparisons of the headline metrics in all settings
    that are ranked are one family of Holm's correction, all others another.
    """
    families: dict[Family, list[tuple[str, int]]] = {"headline": [], "secondary": []}
    corrected = {setting: list(comparison.differences) for setting, comparison in comparisons.items()}
    for setting, comparison in comparisons.items():
        for place, item in enumerate(comparison.differences):
            ranked = not {item.a, item.b} & {*comparison.partial}  # the family is the same with or without partial runs
            of_headline: Family = "headline" if item.metric == comparison.headline and ranked else "secondary"
            families[of_headline].append((setting, place))
    for family, members in families.items():
        tested = [at for at in members if corrected[at[0]][at[1]].p is not None]
        adjusted = paired_tests.holm(np.array([corrected[setting][place].p for setting, place in tested], float))
        holm = dict(zip(tested, adjusted.tolist(), strict=True))
        for setting, place in members:
            row = corrected[setting][place]
            corrected[setting][place] = replace(row, family=family, p_holm=holm.get((setting, place)))
    sizes = {family: len(members) for family, members in families.items()} | {"settings": len(comparisons)}
    return {
        setting: replace(
            comparison,
            differences=tuple(corrected[setting]),
            ranks={
                name: with_intervals(ranks, _found(name, corrected[setting]))
                for name, ranks in comparison.ranks.items()
            },
            families=sizes,
            detectable={name: _detectable(name, comparison, corrected[setting], sizes) for name in comparison.ranks},
        )
        for setting, comparison in comparisons.items()
    }


def _found(metric: str, differences: Iterable[Difference]) -> set[Pair]:
    """The pairs (better, worse) that the corrected tests of one metric found."""
    found = [(item, item.better) for item in differences if item.metric == metric and item.better]
    return {(better, item.b if better == item.a else item.a) for item, better in found}


def _compare_metrics(
    tallies: Mapping[str, Tally],
    pairs: Sequence[Pair],
    metrics: tuple[str, ...],
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    """Fields of :class:`Comparison`; differences are not yet corrected by Holm, nor have ranks their intervals."""
    full = {name: tally.imputed() for name, tally in tallies.items()}
    # A run without a missing answer has one tally, under "own", for both readings.
    source = {name: ("own" if full[name] is tallies[name] else "imputed", name) for name in tallies}
    both = {("own", name): tally for name, tally in tallies.items()}
    both |= {source[name]: tally for name, tally in full.items()}
    values, drawn, errors = draw(both, resamples=resamples, seed=seed)
    summarised = summaries(both, values, drawn, errors)
    imputed = {name: {metric: summarised[source[name]][metric] for metric in metrics} for name in tallies}

    compared = {name: replace(tally, metrics=metrics) for name, tally in full.items()}
    on_imputed: dict[Pair, Mapping[str, Paired]] = {}
    on_answered: dict[Pair, AnsweredDifference] = {}
    for a, b in combinations(tallies, 2):
        difference = paired_tests.paired_difference(compared[a], compared[b])
        answered = paired_tests.answered_difference(tallies[a], tallies[b], difference)
        on_imputed[a, b], on_imputed[b, a] = difference, paired_tests.negated(difference)
        on_answered[a, b], on_answered[b, a] = answered, answered.negated()

    partial = {name for name, tally in tallies.items() if _answered_share(tally) < COMPARABLE}
    rows: list[Difference] = []
    ranks: dict[str, dict[str, RunRank]] = {}
    skipped: dict[str, dict[str, str]] = {}
    for metric in metrics:
        estimated = {name: imputed[name][metric] for name in tallies}
        reasons = {name: e.reason or "" for name, e in estimated.items() if e.value is None or e.undefined}
        if CATALOGUE[metric].family == "totals":
            reasons |= {name: PARTIAL_TOTALS for name in tallies if name in partial and name not in reasons}
        skipped |= {metric: reasons} if reasons else {}
        ranked = [name for name in tallies if name not in reasons and name not in partial]
        if len(ranked) > 1:
            value = np.array([values[source[name], metric] for name in ranked])
            ranks[metric] = compute_ranks(ranked, metric, value, on_answered)
        tested = [pair for pair in pairs if not {*pair} & {*reasons}]
        rows += _test_pairs(metric, tested, on_imputed, on_answered, partial)
    return {
        "estimates": {name: summarised["own", name] for name in tallies},
        "imputed": imputed,
        "differences": tuple(rows),
        "ranks": ranks,
        "detectable": {},
        "skipped": skipped,
    }


def _answered_share(tally: Tally) -> float:
    """Share of the asked steps with a reference that were answered; 1 where nothing was asked."""
    due = tally.panel.counted
    return float((due & tally.panel.answered).sum() / due.sum()) if due.any() else 1.0


def _test_pairs(
    metric: str,
    pairs: Sequence[Pair],
    on_imputed: Mapping[Pair, Mapping[str, Paired]],
    on_answered: Mapping[Pair, AnsweredDifference],
    partial: Collection[str],
) -> list[Difference]:
    """Comparisons of one metric, not yet corrected by Holm."""
    sign = CATALOGUE[metric].sign
    rows = []
    for a, b in pairs:
        difference = on_imputed[a, b][metric]
        lead = sign * difference.value
        leader = on_answered[a, b] if lead >= 0 else on_answered[b, a]
        shared = on_answered[a, b].difference[metric]
        numbers = (*difference[1:5], shared.value, shared.p)
        stderr, low, high, p, answered, answered_p = (None if np.isnan(number) else number for number in numbers)
        holds = abs(lead) <= NOISE or leader.holds(metric, sign, significant=p is not None and p <= ALPHA)
        rows.append(
            Difference(
                metric,
                a,
                b,
                "secondary",
                difference.value,
                stderr,
                low,
                high,
                p,
                p,
                answered,
                answered_p,
                holds,
                difference.clusters,
                (a if lead >= 0 else b) not in partial,
            )
        )
    return rows


def _detectable(
    metric: str, comparison: Comparison, differences: Sequence[Difference], sizes: Mapping[str, int]
) -> Detectable:
    """Smallest effects in one metric from the median standard errors of its runs and of their differences."""
    row, ranked = CATALOGUE[metric], comparison.ranks[metric]
    of_metric = [item for item in differences if item.metric == metric and {item.a, item.b} <= {*ranked}]
    family = max((sizes[item.family] for item in of_metric), default=0)

    def smallest(stderrs: Iterable[float | None], tests: int = 1) -> float | None:
        # A constant run has no standard error, which says nothing of the noise of the others.
        known = [value for value in stderrs if value is not None and value > NOISE]
        clusters = max(2, comparison.options["n_clusters"])
        effect = paired_tests.detectable(float(np.median(known)), clusters, max(1, tests)) if known else None
        return effect if effect is not None and effect <= row.high else None

    paired = [item.stderr for item in of_metric]
    alone = [comparison.imputed[name][metric].stderr for name in ranked]
    return Detectable(
        against_zero=smallest(alone) if row.corrected else None,
        between_two=smallest(paired),
        corrected=smallest(paired, family),
        pairs=family,
    )
