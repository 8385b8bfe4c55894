"""Readers against an instrument, and what a second reader adds: misses caught against re-reads asked for.

A *reader* is a physician or a model; the *instrument* (or whoever else is the reference) says which steps were wrong
(less than full points). Positive is a wrong step throughout: sensitivity is the share of the wrong steps that a reader
takes points off, specificity the share of the right ones that get full points. A *miss* is a wrong step with full
points.

A model as second reader speaks where it disagrees with the physician. By the rule *either* a step is wrong if one of
the two says so: every step that the physician passed and the model does not is a re-read asked for, and may be a miss
caught. By *both* it is wrong if the two agree on it: false alarms of the physician are cleared, and misses added. By
*third* the two stand where they agree, and another physician decides where they do not.

Intervals are those of the cluster bootstrap of all other numbers (performances, students or sites, whatever the data
state). McNemar's test is the exact one, of single steps: where a cluster has several steps, its p-value is too small,
and the interval of the difference is what counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import CONSENSUS, PERSON
from siming_tasks.data import Dataset
from siming_tasks.metrics.estimate import Estimate, plain
from siming_tasks.metrics.evaluate import RESAMPLES
from siming_tasks.metrics.ratio_estimates import Stat, difference, estimate_stats, ratio
from siming_tasks.metrics.resample import Clusters
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray
from siming_tasks.metrics.thresholds import THIN
from siming_tasks.options import Options
from siming_tasks.results.evaluate_records import build_reference_matrix
from siming_tasks.results.run import Run
from siming_tasks.tasks import UNALTERED_TASKS, benchmark_task

Kind = Literal["human", "model"]
NO_WRONG, NO_RIGHT = "The reference calls no step wrong.", "The reference calls no step right."


@dataclass(frozen=True, eq=False)
class Reading:
    """Verdicts of one reader: steps called wrong, and steps judged at all, ``bool[V, S]`` each."""

    name: str
    kind: Kind
    wrong: BoolArray
    given: BoolArray


@dataclass(frozen=True)
class McNemar:
    """McNemar's exact test of two paired shares: the discordant pairs of either kind and the two-sided p-value.

    ``p`` is that of the binomial with chance 1/2 (McNemar 1947), 1 without a discordant pair.
    """

    first_only: int
    second_only: int
    p: float


@dataclass(frozen=True)
class Accuracy:
    """One reader, or one rule for two, against the instrument.

    Attributes:
        name: of the reader, or of the rule.
        judged: steps with points of both the reader and the instrument; what a reader left out is in no count.
        tp, fn, fp, tn: steps, positive is wrong: found, missed, false alarm, rightly passed.
        sensitivity: tp / (tp + fn); ``specificity``: tn / (tn + fp).
        lr_positive: sensitivity / (1 - specificity), by which "wrong" raises the odds that a step is wrong; no value
            without a false alarm. ``lr_negative``: (1 - sensitivity) / specificity, that of "right".
        against: McNemar's test of reader and instrument: false alarms against misses. A small p says that the reader
            calls more (or fewer) steps wrong than the instrument does.
    """

    name: str
    judged: int
    tp: int
    fn: int
    fp: int
    tn: int
    sensitivity: Estimate
    specificity: Estimate
    lr_positive: Estimate
    lr_negative: Estimate
    against: McNemar


@dataclass(frozen=True)
class SecondReader:
    """A physician with a model as second reader, on the steps that both judged.

    Attributes:
        human, model: their names; ``steps``: steps that both judged.
        first: the physician alone; ``second``: the model alone, on the same steps.
        misses: wrong steps that the physician passed; ``caught``: share of them that the model does not pass
            (``caught_count`` of them).
        rereads: share of all steps that the physician passed and the model did not (``reread_count`` of them): the
            work that *either* asks for.
        worth: share of these re-reads that are misses.
        disagreements: share of all steps on which the two differ: the work that *third* asks for.
        rules: accuracy by ``either``, ``both`` and, for every other physician, ``third: NAME``.
        sensitivity_gain: model minus physician, with McNemar's test on the wrong steps (``on_wrong``);
            ``specificity_gain`` with that on the right ones (``on_right``).
    """

    human: str
    model: str
    steps: int
    first: Accuracy
    second: Accuracy
    misses: int
    caught_count: int
    caught: Estimate
    reread_count: int
    rereads: Estimate
    worth: Estimate
    disagreements: Estimate
    rules: Mapping[str, Accuracy]
    sensitivity_gain: Estimate
    on_wrong: McNemar
    specificity_gain: Estimate
    on_right: McNemar


@dataclass(frozen=True)
class ReaderStudy:
    """Everything about readers against one instrument.

    Attributes:
        reference: name of the instrument.
        steps: steps that it judged; ``wrong``: those that it calls wrong; ``videos``, ``clusters``: that they are of.
        readers: every reader against the instrument, on what each has judged.
        pairs: every physician with every model.
        per_step: by step, every reader.
        notes: what a reader of the numbers must know: steps left out, a reference that is no instrument, and runs that
            do not say what data they were made on.
    """

    reference: str
    steps: int
    wrong: int
    videos: int
    clusters: int
    readers: Mapping[str, Accuracy]
    pairs: Sequence[SecondReader]
    per_step: Mapping[str, Mapping[str, Accuracy]]
    notes: Sequence[str] = ()

    @property
    def sentence(self) -> str:
        """The finding in one sentence: misses of all physicians, and what each model would have caught of them.

        Every model is held against all that the physicians judged: a step that it left out is a miss not caught.
        """
        found = f"{self.wrong:,} of {self.steps:,} steps are wrong by {self.reference}"
        if not self.pairs:
            missed = ", ".join(f"{row.name} missed {row.fn:,} of {row.tp + row.fn:,}" for row in self.readers.values())
            return f"{found}; {missed or 'nobody else judged them'}."
        humans = [self.readers[name] for name in dict.fromkeys(pair.human for pair in self.pairs)]
        misses, wrong = sum(row.fn for row in humans), sum(row.tp + row.fn for row in humans)
        parts = []
        for model in dict.fromkeys(pair.model for pair in self.pairs):
            own = [pair for pair in self.pairs if pair.model == model]  # all of them: the best pair would flatter
            caught, asked = sum(p.caught_count for p in own), sum(p.reread_count for p in own)
            judged = self.readers[model].judged
            left_out = f" ({model} judged {judged:,} of {self.steps:,} steps)" if judged < self.steps else ""
            parts.append(f"{model} as second reader would have caught {caught:,} of these for {asked:,} re-reads of "
                         f"{sum(row.judged for row in humans):,} readings{left_out}")  # fmt: skip
        names = " and ".join(row.name for row in humans)
        return f"{found}; {names} missed {misses:,} of {wrong:,}, and {'; '.join(parts)}."

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {"sentence": self.sentence} | {name: plain(value) for name, value in vars(self).items()}


def mcnemar(first: BoolArray, second: BoolArray) -> McNemar:
    """McNemar's exact test of two marks of the same items, ``bool[...]`` each."""
    from scipy.stats import binomtest  # not at import time: slow

    a, b = int((first & ~second).sum()), int((second & ~first).sum())
    return McNemar(a, b, float(binomtest(a, a + b).pvalue) if a + b else 1.0)


def read_steps(
    reference: str,
    wrong: BoolArray,
    known: BoolArray,
    readings: Sequence[Reading],
    clusters: Clusters,
    step_ids: Sequence[str] = (),
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> ReaderStudy:
    """Every reader, every step and every pair of physician and model against an instrument.

    Args:
        reference: name of the instrument.
        wrong: steps that it calls wrong, ``bool[V, S]``.
        known: steps that it judged, ``bool[V, S]``.
        readings: of physicians and models, over the same videos and steps.
        clusters: number of each video's cluster, ``intp[V]``.
        step_ids: names of the steps, for a table of each; none for no such table.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        DataError: the instrument judged nothing, or two readers have one name.
    """
    if not known.any():
        raise DataError(f"{reference} has judged no step that counts.")
    names = [each.name for each in readings]
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(f"two readers are called {twice[0]!r}. Give one another name: --run NAME=PATH.")
    how: dict[str, Any] = {"clusters": clusters, "resamples": resamples, "seed": seed}
    rows = [(each, known & each.given) for each in readings]
    accuracies = _accuracies({each.name: (each.wrong, wrong, both) for each, both in rows if both.any()}, **how)
    per_step = {}
    for s, name in enumerate(step_ids):
        column = np.s_[:, s : s + 1]
        asked = {each.name: (each.wrong[column], wrong[column], both[column]) for each, both in rows}
        if own := {reader: marks for reader, marks in asked.items() if marks[2].any()}:
            per_step[name] = _accuracies(own, **how)
    humans, models = ([each for each in readings if each.kind == kind] for kind in ("human", "model"))
    pairs = [_second_reader(human, model, [other for other in humans if other is not human], wrong, known, how)
             for human, model in product(humans, models) if (known & human.given & model.given).any()]  # fmt: skip
    seen, steps = known.any(axis=1), int(known.sum())
    judged = {each.name: int(both.sum()) for each, both in rows}
    notes = [f"{name} judged {count:,} of the {steps:,} steps that {reference} judged; its shares are of these alone."
             for name, count in judged.items() if count < steps]  # fmt: skip
    return ReaderStudy(reference, steps, int((known & wrong).sum()), int(seen.sum()), len(np.unique(clusters[seen])),
                       accuracies, pairs, per_step, notes)  # fmt: skip


def reader_study(
    dataset: Dataset, reference: str, runs: Sequence[Run] = (), options: Options | None = None
) -> ReaderStudy:
    """The readers of a data set against one of its raters: its physicians, and the models of runs over it.

    Args:
        dataset: with points of the reference and of readers.
        reference: name of a rater, or ``instrument`` for the only one of that kind.
        runs: of models; every setting of a run without an input ablation is a reader of its own.
        options: unit of resampling, resamples and seed.

    Raises:
        DataError: there is no such rater.
    """
    options = options or Options()
    reference = _named_rater(dataset, reference)
    setting = benchmark_task("full", "score").name
    truth = build_reference_matrix(dataset, setting, reference, options.cluster)
    readings: list[Reading] = []
    notes = _not_independent(dataset, reference)
    for name in dataset.raters:
        kind = dataset.rater_facts[name].kind if name in dataset.rater_facts else PERSON
        if name != reference and (name in dataset.physicians or kind in ("model", "rule")):
            own = build_reference_matrix(dataset, setting, name, options.cluster)
            readings.append(Reading(name, "human" if kind == PERSON else "model", own.reference_wrong, own.counted))
    row = {video: at for at, video in enumerate(truth.video_ids)}
    for run in runs:
        settings = [name for name in run.settings if name in UNALTERED_TASKS]
        if any(record.conditions.dataset is None for name in settings for record in run.records[name]):
            notes.append(f"{run.name} does not say which data set it was made on; only the names of its videos fit.")
        for name in settings:
            matrix = run.score_matrix(name, reference, options.cluster)
            at = [row[video] for video in matrix.video_ids]
            wrong, given = np.zeros_like(truth.asked), np.zeros_like(truth.asked)
            wrong[at], given[at] = matrix.predicted_wrong, matrix.answered
            readings.append(Reading(run.name if len(settings) == 1 else f"{run.name}, {name}", "model", wrong, given))
    how: dict[str, Any] = {"resamples": options.resamples, "seed": options.seed}
    study = read_steps(
        reference, truth.reference_wrong, truth.counted, readings, truth.cluster_numbers, truth.step_ids, **how
    )
    return replace(study, notes=[*notes, *study.notes])


def _not_independent(dataset: Dataset, reference: str) -> list[str]:
    """A note if the reference is no instrument."""
    kind = dataset.rater_facts[reference].kind if reference in dataset.rater_facts else PERSON
    if reference == CONSENSUS:
        readers = ", ".join(dataset.physicians) or "the raters"
        return [f"{reference} is made of judgements and not measured: {readers} may have made it, and who did agrees "
                "with it by design. It is not independent of the readers."]  # fmt: skip
    if kind != "instrument":
        return [f"{reference} is a {kind} and no instrument: an error that {reference} overlooks counts as a false "
                "alarm of who sees it, and the reading may not be independent of the others."]  # fmt: skip
    return []


def _named_rater(dataset: Dataset, reference: str) -> str:
    """The rater of that name, or the only one of that kind."""
    of_kind = [name for name, facts in dataset.rater_facts.items() if facts.kind == reference]
    if reference in dataset.raters or len(of_kind) != 1:
        of_kind = [reference]
    if of_kind[0] not in dataset.raters:
        raise DataError(f"{dataset.name} has no rater {reference!r}; it has {', '.join(dataset.raters) or 'none'}.")
    return of_kind[0]


_Marks = tuple[BoolArray, BoolArray, BoolArray]
"""Steps that a reader calls wrong, that are wrong, and that count, ``bool[V, S]`` each."""


def _accuracies(readers: Mapping[str, _Marks], clusters: Clusters, resamples: int, seed: int) -> dict[str, Accuracy]:
    """Accuracy of every reader, by one shared bootstrap."""
    stats: dict[tuple[str, str], Stat] = {}
    for name, (said, wrong, among) in readers.items():
        stats[name, "sensitivity"], stats[name, "specificity"] = _shares(said, wrong, among)
        stats |= {(name, kind): stat for kind, stat in _likelihood_ratios(said, wrong, among).items()}
    estimates = estimate_stats(stats, clusters, resamples, seed) if stats else {}
    rows = {}
    for name, (said, wrong, among) in readers.items():
        tp, fn = int((said & wrong & among).sum()), int((~said & wrong & among).sum())
        fp, tn = int((said & ~wrong & among).sum()), int((~said & ~wrong & among).sum())
        own = {kind: estimates[name, kind] for kind in ("sensitivity", "specificity", "lr_positive", "lr_negative")}
        thin = {"sensitivity": tp + fn < THIN, "specificity": fp + tn < THIN}
        thin |= dict.fromkeys(("lr_positive", "lr_negative"), any(thin.values()))
        own = {kind: each.of_thin_step() if thin[kind] else each for kind, each in own.items()}
        for kind, why in (
            ("lr_positive", "No false alarm: no ratio."),
            ("lr_negative", "Nothing passed rightly: no ratio."),
        ):
            if own[kind].undefined:  # an infinite ratio, or 0/0; a zero in a table would say the opposite
                own[kind] = Estimate(None, reason=why)
        test = mcnemar(said & among, wrong & among)
        rows[name] = Accuracy(name, int(among.sum()), tp, fn, fp, tn, **own, against=test)
    return rows


def _shares(said: BoolArray, wrong: BoolArray, among: BoolArray) -> tuple[Stat, Stat]:
    """Sensitivity and specificity."""
    right = among & ~wrong
    return ratio(said & wrong & among, wrong & among, NO_WRONG), ratio(~said & right, right, NO_RIGHT)


def _likelihood_ratios(said: BoolArray, wrong: BoolArray, among: BoolArray) -> dict[str, Stat]:
    """Both likelihood ratios, of the sums of TP, FN, FP and TN."""
    cells = [said & wrong, ~said & wrong, said & ~wrong, ~said & ~wrong]
    counts = np.stack([(cell & among).sum(axis=1, dtype=np.float64) for cell in cells], axis=1)
    items = int(among.sum())

    def ratio_of(hit: int, alarm: int) -> Stat:
        def formula(sums: FloatArray) -> FloatArray:
            above = sums[:, hit] * (sums[:, 2] + sums[:, 3])
            below = sums[:, alarm] * (sums[:, 0] + sums[:, 1])
            quotient: FloatArray = np.divide(above, below, out=np.full(len(sums), np.nan), where=below > 0)
            return quotient

        return Stat(counts, formula, items)

    return {"lr_positive": ratio_of(0, 2), "lr_negative": ratio_of(1, 3)}


def _second_reader(
    human: Reading, model: Reading, others: Sequence[Reading], wrong: BoolArray, known: BoolArray, how: dict[str, Any]
) -> SecondReader:
    """One physician with one model on what both judged."""
    both = known & human.given & model.given
    said, second = human.wrong, model.wrong
    rules: dict[str, _Marks] = {
        "either": (said | second, wrong, both),
        "both": (said & second, wrong, both),
    }
    for other in others:
        decided = both & (other.given | (said == second))
        rules[f"third: {other.name}"] = (np.where(said == second, said, other.wrong), wrong, decided)
    marks = {"first": (said, wrong, both), "second": (second, wrong, both), **rules}
    accuracies = _accuracies({name: each for name, each in marks.items() if each[2].any()}, **how)
    passed = both & ~said
    missed, asked = passed & wrong, passed & second
    (human_found, human_passed), (model_found, model_passed) = (_shares(each, wrong, both) for each in (said, second))
    estimates = estimate_stats(
        {
            "caught": ratio(missed & second, missed, f"{human.name} missed nothing."),
            "rereads": ratio(asked, both),
            "worth": ratio(asked & wrong, asked, f"{model.name} asks for no re-read."),
            "disagreements": ratio(both & (said != second), both),
            "sensitivity_gain": difference(model_found, human_found),
            "specificity_gain": difference(model_passed, human_passed),
        },
        **how,
    )
    if missed.sum() < THIN:
        estimates["caught"] = estimates["caught"].of_thin_step()
    right = both & ~wrong
    return SecondReader(
        human.name,
        model.name,
        int(both.sum()),
        replace(accuracies.pop("first"), name=human.name),
        replace(accuracies.pop("second"), name=model.name),
        int(missed.sum()),
        int((missed & second).sum()),
        reread_count=int(asked.sum()),
        rules=accuracies,
        on_wrong=mcnemar((second & both & wrong), (said & both & wrong)),
        on_right=mcnemar((~second & right), (~said & right)),
        **estimates,
    )
