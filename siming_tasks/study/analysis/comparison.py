"""Comparison of judges over the same videos: values, paired differences, ranks, leads over no-video baselines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from siming_tasks.benchmark.metrics.catalogue import CATALOGUE, COVERAGE, headline, select, statistic
from siming_tasks.benchmark.metrics.estimate import Estimate, Rows
from siming_tasks.benchmark.metrics.evaluate import ANSWERED, RANKED, flagged
from siming_tasks.benchmark.metrics.jackknife import Jackknifed, holm, jackknife, quantile_of_t
from siming_tasks.benchmark.metrics.no_video import (
    CONSTANT,
    SHUFFLED,
    no_video_baselines,
    shuffled_answers,
    used_and_leaking_columns,
)
from siming_tasks.benchmark.metrics.reasons import Reason
from siming_tasks.benchmark.metrics.score_matrix import ScoreMatrix
from siming_tasks.benchmark.metrics.thresholds import COMPARABLE, LEVEL, MARGIN, NOISE, POWER
from siming_tasks.common.choices import LabelMapping
from siming_tasks.common.display import Card, Shown
from siming_tasks.common.errors import DataError
from siming_tasks.common.printed_value import counted, fixed, p_sentence
from siming_tasks.study.analysis.claims import NO_MODEL, all_above_0, claim_of, is_constant, least_sure, why_unranked
from siming_tasks.study.analysis.pairs import Raters
from siming_tasks.study.analysis.physicians import BesidePhysicians, beside_physicians, pairs_of, physician_rows
from siming_tasks.study.analysis.tables import TableText
from siming_tasks.study.words import reason, say

DIFFERENCES = "differences"
NO_VIDEO, OVER_NO_VIDEO = "no-video baselines", "lead over the no-video baselines"
_METRICS = {key: CATALOGUE[key].label for key in CATALOGUE}
TABLES: Mapping[str, TableText] = {
    ANSWERED: TableText(
        "Scores on answered steps", "Each judge against {reference}, over the steps that it answered.", _METRICS
    ),
    RANKED: TableText(
        "Agreement", "Each judge against {reference}, a missing answer counting as full points or correct.", _METRICS
    ),
    DIFFERENCES: TableText(
        "Differences",
        "The first judge minus the second, both against {reference}, paired over the videos; Holm's "
        "correction covers only the headline metric.",
        _METRICS,
    ),
    NO_VIDEO: TableText(
        "No-video baselines", "Judges that see no video, against {reference}, on the same questions.", _METRICS
    ),
    OVER_NO_VIDEO: TableText(
        "Lead over the no-video baselines",
        "Each judge minus the no-video baseline whose test in the headline metric decides, both against {reference}, "
        "paired over the videos; baselines are taken as fixed, although they are trained.",
        _METRICS,
    ),
}
Held = Mapping[tuple[str, str], Jackknifed]
"""By judge and metric, its ranked value."""


@dataclass(frozen=True)
class Pair:
    """Two judges in the headline metric: ``a`` minus ``b``, missing answers imputed.

    Attributes:
        estimate: the difference with its interval, p and Holm's p.
        leader: the one with the larger value; empty where both are equal.
        why: reason of ``as good``, ``not tested``, or of ``open`` whatever p is. ``same``: they gave equal answers.
    """

    a: str
    b: str
    estimate: Estimate
    leader: str = ""
    why: str = ""
    same: bool = False

    @property
    def state(self) -> str:
        """``better`` (the leader is), ``as good``, ``open`` or ``not tested``, by Holm's p as it is now."""
        if self.same or self.estimate.p is None:
            return "as good" if self.same else "not tested"
        return "open" if self.why or claim_of(self.estimate).kind == "open" else "better"

    @property
    def better(self) -> str:
        """The judge that agrees better beyond chance; empty where that is not shown."""
        return self.leader if self.state == "better" else ""


@dataclass(frozen=True)
class Rank:
    """Rank of a judge, and the ranks that the tests leave open; 1 is the best."""

    rank: int
    low: int
    high: int


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Judges over the same videos in one setting.

    Attributes:
        setting: its name.
        runs: names of the judges, in the order given.
        answer: the kind of answer.
        rows: of every table (``answered``, ``ranked``, ``differences``, ``no-video baselines``, ``lead over the
            best no-video baseline``, and those of :mod:`siming_tasks.study.analysis.physicians` with ``RUN: `` before a
            row).
        pairs: differences in the headline metric.
        ranks: by run; ``unranked``: why a run has no rank.
        rivals: by run, the no-video baseline whose test decides; ``beats``: whether it is better than every one of
            them beyond chance (None: not tested). ``baselines``: how many there are; ``leaks``: columns that are not
            baselines because they leak the labels, with the area under their ROC curve.
        physicians: by run, its comparison with the physicians; empty without two. ``unseen``: no-video baselines
            that the same test calls as good or better: it then says nothing.
        detectable: difference in the headline metric that would be found with power .8; None: unknown.
        tests: number of tests that Holm's correction is over.
        facts: of the data and the runs, for files.
    """

    setting: str
    runs: tuple[str, ...]
    answer: str
    rows: Rows
    pairs: tuple[Pair, ...]
    ranks: Mapping[str, Rank]
    unranked: Mapping[str, str]
    rivals: Mapping[str, str]
    beats: Mapping[str, bool | None]
    baselines: int = 0
    leaks: Mapping[str, float] = field(default_factory=dict)
    physicians: Mapping[str, BesidePhysicians] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()
    detectable: float | None = None
    tests: int = 0
    videos: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def headline(self) -> str:
        """Key of the metric by which judges are ranked."""
        return headline(self.answer)  # type: ignore[arg-type]

    @property
    def order(self) -> list[str]:
        """The runs, best first; those without a rank last."""
        return sorted(self.runs, key=lambda run: self.ranks[run].rank if run in self.ranks else len(self.runs) + 1)

    @property
    def judged(self) -> list[str]:
        """The runs that sentences are about, best first: those with a rank; without one, the models, or else all."""
        models = [run for run in self.order if self.unranked.get(run) not in NO_MODEL.values()]
        return [run for run in self.order if run in self.ranks] or models or self.order

    @property
    def is_one_run(self) -> bool:
        """True if several runs have a rank and all gave the same answers."""
        return bool(self.pairs) and all(pair.state == "as good" for pair in self.pairs)

    @property
    def detectable_sentence(self) -> str:
        """The difference that would be detected; empty where it is unknown."""
        return say("detectable", value=fixed(self.detectable), exams=self.exams) if self.detectable else ""

    def value(self, run: str, metric: str = "") -> Estimate:
        """The value by which a run is ranked, in the headline metric or another; none of a run without any answer."""
        return shown_value(self.rows.one(RANKED, run, metric or self.headline), self.rows.one(ANSWERED, run, COVERAGE))

    def __str__(self) -> str:
        return f"{self.setting}: {self.sentence()}"

    @property
    def card(self) -> Card:
        """The answer, and every value by which runs are ranked."""
        metrics = select(self.answer, compared=True)  # type: ignore[arg-type]
        rows = [(run, *(str(self.value(run, key)) for key in metrics)) for run in self.order]
        head = ("run", *(CATALOGUE[key].label for key in metrics))
        return Card(f"Comparison in {self.setting}", self.sentence(), head, rows,
                    "Missing answers count as full points or “correct”; 95 % intervals in brackets.")  # fmt: skip

    @property
    def exams(self) -> str:
        """The number of its exams, with the noun of sentences."""
        return counted(self.videos, "SYNTHETIC exam" if self.facts.get("synthetic") else "exam")

    def sentence(self) -> str:
        """The answer in a sentence, and one for each run with copies; plain text with names of runs: escape it."""
        copies: list[list[str]] = []
        for pair in self.pairs if not self.is_one_run else ():
            if pair.state == "as good":
                group = next((each for each in copies if {pair.a, pair.b} & {*each}), None)
                if group is None:
                    copies.append(group := [])
                group += [run for run in (pair.a, pair.b) if run not in group]
        named = (f"{', '.join(group[:-1])} and {group[-1]}" for group in copies)
        return " ".join([self._ranking(), *(say("same answers", named=each, over=self.exams) for each in named)])

    def _ranking(self) -> str:
        about = {"metric": CATALOGUE[self.headline].label, "over": self.exams}
        order = [run for run in self.order if run in self.ranks]
        if len(self.runs) == 1:
            judge, value = self.runs[0], self.value(self.runs[0])
            if value.value is None:
                return say("alone undefined", judge=judge, why=clause(reason(value)), **about)
            return say("alone", judge=judge, value=value, **about)
        if len(order) < 2:
            why = "; ".join(f"{run}: {clause(said)}" for run, said in self.unranked.items())
            return say("no pair", why=f" ({why})" if why else "", **about)
        named = [f"{run} ({self.value(run)})" for run in order]
        if self.is_one_run:
            return say("same answers", named=f"{', '.join(named[:-1])} and {named[-1]}", over=self.exams)
        if len(order) == 2:
            (pair,) = (pair for pair in self.pairs if {pair.a, pair.b} == {*order})
            return pair_sentence(pair, *named, **about)
        if not (self.value(order[0]).value or 0.0) > NOISE:
            return say("none", first=named[0], **about)
        if self.ranks[order[0]].high == 1:
            return say("best", first=named[0], others=len(order) - 1, **about)
        beaten = {pair.b if pair.better == pair.a else pair.a for pair in self.pairs if pair.better == order[0]}
        top = [name for run, name in zip(order, named, strict=True)
               if run not in beaten and (self.value(run).value or 0.0) > NOISE]  # fmt: skip
        shown = ", ".join(top[:4]) + (", ..." if len(top) > 4 else "")
        return say("may be best", top=len(top), judges=len(order), named=shown, **about)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        pairs = [{"a": p.a, "b": p.b, "state": p.state, "leader": p.leader, "why": p.why, **p.estimate.to_json()}
                 for p in self.pairs]  # fmt: skip
        physicians = {run: {"claim": b.claim.kind, "margin": b.margin, "copy_of": b.copy_of,
                            "p_margin": b.claim.p_margin} for run, b in self.physicians.items()}  # fmt: skip
        ranks = {run: vars(rank) for run, rank in self.ranks.items()}
        return {
            "setting": self.setting, "runs": list(self.runs), "sentence": self.sentence(), "headline": self.headline,
            "rows": self.rows.to_json(), "pairs": pairs, "ranks": ranks,
            "unranked": dict(self.unranked), "rivals": dict(self.rivals), "beats": dict(self.beats),
            "baselines": self.baselines, "leaks": dict(self.leaks),
            "physicians": physicians, "unseen": list(self.unseen), "detectable": self.detectable, "tests": self.tests,
            "videos": self.videos, **self.facts,
        }  # fmt: skip


def shown_value(value: Estimate, answered: Estimate) -> Estimate:
    """A value as it is shown: none of a run that answered nothing, whose value is all of missing answers."""
    return Estimate(None, unit=value.unit, why=Reason.NOTHING_ANSWERED) if answered.value == 0 else value


def pair_sentence(pair: Pair, first: str, second: str, *, metric: str, over: str) -> str:
    """The sentence on a test of two judges, the leader first."""
    found = pair.estimate
    size, about = fixed(abs(found.value or 0.0)), {"first": first, "second": second, "metric": metric, "over": over}
    if pair.state == "better":
        p = f", {p_sentence(found.p_holm or 0.0)}"
        p = f"{p} and alike in every exam" if found.low is None else p
        return say("pair better", size=size, p=p, **about)
    if pair.state == "not tested":
        return say("pair not tested", why=clause(pair.why), **about)
    if pair.state == "as good":
        return say("same answers", named=f"{first} and {second}", over=over)
    return say("pair open", size=size, why=f" ({pair.why})" if pair.why else "", **about)


def clause(sentence: str) -> str:
    """A sentence as the end of another one."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def compare_judges(
    judges: Mapping[str, ScoreMatrix],
    *,
    setting: str = "",
    points: Raters | None = None,
    against: str | None = None,
    margin: float = MARGIN,
    mapping: LabelMapping = "absolute",
    roles: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare judges that answered the same questions; what is left out are their clusters, by default the videos.

    Args:
        judges: one or more by name, in one order of videos and steps
            (:func:`siming_tasks.benchmark.metrics.alignment.align`).
        setting: its name, for files and tables.
        points: of each physician; None, or no step with those of two: no comparison with physicians.
        against: compare every other judge with this one instead of all pairs.
        margin: difference from the physicians that counts as none.
        mapping: how points become labels.
        roles: of judges that are not models (:data:`siming_tasks.study.analysis.claims.NO_MODEL`): these have values
            and intervals, and neither rank nor test, here and so everywhere.

    Raises:
        DataError: an unknown ``against``, or one that is not ranked.
    """
    if against is not None and against not in judges:
        raise DataError(f"There is no run {against!r} to compare with. The runs are {', '.join(judges)}.")
    first = next(iter(judges.values()))
    metrics, key = select(first.answer, compared=True), headline(first.answer)
    imputed = {name: matrix.imputed() for name, matrix in judges.items()}
    held = {(name, metric): jackknife(statistic(metric, mapping), matrix)
            for name, matrix in imputed.items() for metric in metrics}  # fmt: skip
    unranked = _unranked(judges, held, mapping, roles or {})
    if against in unranked:
        why = clause(unranked[against])
        raise DataError(
            f"Run {against!r} has no rank ({why}), so nothing can be tested against it. Name a ranked run, "
            "or compare all pairs."
        )
    rows = list(_values(judges, held, mapping))
    pairs = []
    for a, b in combinations(judges, 2) if against is None else ((name, against) for name in judges if name != against):
        share = min(judges[a].answered_share, judges[b].answered_share)
        leads = {metric: _lead(held[a, metric], held[b, metric], metric, share) for metric in metrics}
        rows += [lead.at(DIFFERENCES, f"{a} minus {b}", metric) for metric, lead in leads.items()]
        if not {a, b} & {*unranked}:
            pairs.append(_pair(a, b, leads[key], judges, mapping))
    baselines = no_video_baselines(next(iter(imputed.values())))
    unseen_rows, rivals, beats, tried = _over_no_video(judges, held, baselines, mapping)
    beside, unseen = dict[str, BesidePhysicians](), list[str]()
    if points and pairs_of(first, points):
        how: dict[str, Any] = {"margin": margin, "mapping": mapping}
        beside, theirs = ({name: beside_physicians(matrix, points, **how) for name, matrix in of.items()}
                          for of in (judges, baselines))  # fmt: skip
        unseen = [name for name, each in theirs.items() if each.claim.kind in ("as good", "better")]
        rows += physician_rows(first, points, mapping=mapping)
        rows += [row.at(row=f"{name}: {row.row}") for name, each in beside.items() for row in each.rows]
    made = Comparison(
        setting, tuple(judges), first.answer, Rows((*rows, *unseen_rows)), tuple(pairs), {}, unranked, rivals,
        beats, tried, used_and_leaking_columns(first)[1], beside, tuple(unseen), videos=len(first.video_ids),
    )  # fmt: skip
    return correct({setting: made})[setting]


def _values(judges: Mapping[str, ScoreMatrix], held: Held, mapping: LabelMapping) -> Iterator[Estimate]:
    """Rows of every metric of every judge: over what it answered, and as it is ranked."""
    for name, matrix in judges.items():
        for key in (*select(matrix.answer, compared=True), COVERAGE):
            found = jackknife(statistic(key, mapping), matrix).estimate()
            yield flagged(found, key, matrix.answered_share).at(ANSWERED, name, key)
            if key != COVERAGE:
                yield flagged(held[name, key].estimate(), key, matrix.answered_share).at(RANKED, name, key)


def _unranked(
    judges: Mapping[str, ScoreMatrix], held: Held, mapping: LabelMapping, roles: Mapping[str, str]
) -> dict[str, str]:
    """By judge that cannot be ranked, why."""
    why = {}
    for name, matrix in judges.items():
        value = held[name, headline(matrix.answer)]
        undefined = reason(value.estimate()) if np.isnan(value.value) else ""
        how = (roles.get(name, "model"), matrix.answered_share, is_constant(matrix, mapping))
        why[name] = why_unranked(*how) or undefined
    return {name: said for name, said in why.items() if said}


def _pair(a: str, b: str, found: Estimate, judges: Mapping[str, ScoreMatrix], mapping: LabelMapping) -> Pair:
    """Two judges, not yet corrected; a lead that rests on answers left out is not one."""
    value = found.value or 0.0
    leader = "" if abs(value) <= NOISE else a if value > 0 else b
    if np.array_equal(judges[a].imputed().predicted, judges[b].imputed().predicted, equal_nan=True):
        return Pair(a, b, found, why="Their answers are the same.", same=True)
    if found.p is None:
        return Pair(a, b, found, leader, reason(found))
    both = judges[a].answered & judges[b].answered
    if not both[judges[a].asked].all():
        shared = [replace(judges[name], asked=judges[name].asked & both) for name in (a, b)]
        first, second = (jackknife(statistic(headline(m.answer), mapping), m).value for m in shared)
        if not (first - second) * value > 0:
            return Pair(a, b, found, leader, "on the steps that both answered there is no such lead")
    return Pair(a, b, found, leader)


def _lead(a: Jackknifed, b: Jackknifed, key: str, share: float) -> Estimate:
    """One judge minus another in a metric; not tested if one of them answered too small a share."""
    return flagged((a - b).estimate(tested=share >= COMPARABLE), key, share)


def _over_no_video(
    judges: Mapping[str, ScoreMatrix], held: Held, baselines: Mapping[str, ScoreMatrix], mapping: LabelMapping
) -> tuple[list[Estimate], dict[str, str], dict[str, bool | None], int]:
    """Rows of the no-video baselines and of the leads that decide; by run, whose, and if it beats all; their number."""
    answer = next(iter(judges.values())).answer
    key, metrics = headline(answer), select(answer, compared=True)
    unseen = {(name, metric): jackknife(statistic(metric, mapping), matrix)
              for name, matrix in baselines.items() for metric in metrics}  # fmt: skip
    rows = []
    for (name, metric), value in unseen.items():
        found = value.estimate()
        if metric in ("plcc", "srcc") and name.startswith("step-prior"):
            found = Estimate(None, why=Reason.SAME_TOTAL_BY_DESIGN)
        elif name not in CONSTANT and found.value is not None:
            found = replace(found, stderr=None, low=None, high=None, why=Reason.LEARNT)
        rows.append(found.at(NO_VIDEO, name, metric))
    rivals: dict[str, str] = {}
    tried = 0
    beats: dict[str, bool | None] = {}
    for run, matrix in judges.items():
        others = {name: value for (name, metric), value in unseen.items() if metric == key}
        own = shuffled_answers(matrix.imputed(), key, mapping)
        if own is not None:
            others[SHUFFLED] = own
            rows.append(own.estimate().at(NO_VIDEO, f"{SHUFFLED} of {run}", key))
        others = {name: value for name, value in others.items() if not np.isnan(value.value)}
        leads = {name: _lead(held[run, key], value, key, matrix.answered_share) for name, value in others.items()}
        if np.isnan(held[run, key].value) or not leads:
            continue
        rivals[run], tried = least_sure(leads), max(tried, len(leads))
        beats[run] = all_above_0(leads.values()) if matrix.answered_share >= COMPARABLE else None
        rows.append(leads[rivals[run]].at(OVER_NO_VIDEO, run, key))
    return rows, rivals, beats, tried


def correct(comparisons: Mapping[str, Comparison]) -> dict[str, Comparison]:
    """Comparisons with Holm's correction over all pairs of ranked runs in all these settings, and their ranks."""
    tested = [(setting, place) for setting, made in comparisons.items() for place, pair in enumerate(made.pairs)
              if pair.estimate.p is not None]  # fmt: skip
    adjusted = holm([comparisons[setting].pairs[place].estimate.p or 0.0 for setting, place in tested])
    corrected = dict(zip(tested, adjusted, strict=True))
    out = {}
    for setting, made in comparisons.items():
        pairs = tuple(replace(pair, estimate=replace(pair.estimate, p_holm=corrected.get((setting, place))))
                      for place, pair in enumerate(made.pairs))  # fmt: skip
        known = {(f"{pair.a} minus {pair.b}", made.headline): pair.estimate.p_holm for pair in pairs}
        rows = Rows(replace(row, p_holm=known.get((row.row, row.metric))) if row.table == DIFFERENCES else row
                    for row in made.rows)  # fmt: skip
        detectable = _detectable(pairs, len(tested))
        out[setting] = replace(made, rows=rows, pairs=pairs, ranks=_ranks(made, pairs), tests=len(tested),
                               detectable=detectable)  # fmt: skip
    return out


def _ranks(made: Comparison, pairs: Sequence[Pair]) -> dict[str, Rank]:
    """Ranks by value; a run may have any rank that no pair rules out. Equal values share the better rank."""
    values = {run: made.value(run).value or 0.0 for run in made.runs if run not in made.unranked}
    won = [(pair.better, pair.b if pair.better == pair.a else pair.a) for pair in pairs if pair.better]
    return {
        run: Rank(
            1 + sum(other > value + NOISE for other in values.values()),
            1 + sum(worse == run for _, worse in won),
            len(values) - sum(better == run for better, _ in won),
        )
        for run, value in values.items()
    }


def _detectable(pairs: Sequence[Pair], tests: int) -> float | None:
    """Difference that the corrected test finds with power .8, from the median standard error of the pairs."""
    known = [pair.estimate for pair in pairs if pair.estimate.p is not None and pair.estimate.stderr]
    if not known:
        return None
    degrees = float(np.median([found.degrees for found in known]))
    reach = quantile_of_t(1 - (1 - LEVEL) / 2 / max(1, tests), degrees) + quantile_of_t(POWER, degrees)
    effect = reach * float(np.median([found.stderr or 0.0 for found in known]))
    return effect if effect <= 2 else None
