"""Use of the state of the procedure: history steps, steps after a failed requirement, and the first divergence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from siming_tasks.analysis.label_agreement import LabelMatrices
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.kappa import confusion, qwk
from siming_tasks.metrics.ratio_estimates import Stat, difference, estimate_stats, kappa_stat, ratio
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray
from siming_tasks.rubrics import Rubric

SCOPES = ("local", "mixed", "history")
SPLITS = 2_000
NONE_FAILED = "No step follows a failed requirement."
NONE_PASSED = "No step has requirements that all passed."


@dataclass(frozen=True)
class HistoryContrast:
    """Kappa by scope of the rubric step, and local minus history against what any split of the steps gives.

    Attributes:
        steps: number of steps of each scope.
        kappa: of judge and reference, by scope.
        contrast: kappa(local) - kappa(history); above 0 is what failing to track state predicts.
        null: 2.5 % and 97.5 % points of the contrast when steps are assigned to the scopes at random; None without it.
        rank: share of random assignments with a contrast at least as large (a one-sided p-value); None without it.
        human_kappa: kappa of the two physicians by scope, if given; ``human``: their own contrast.
        excess: ``contrast - human``: what is left after the steps' own difficulty.
    """

    steps: dict[str, int]
    kappa: dict[str, Estimate]
    contrast: Estimate
    null: tuple[float, float] | None
    rank: float | None
    human_kappa: dict[str, Estimate] | None
    human: Estimate | None
    excess: Estimate | None
    caveat: str


def history_contrast(
    labels: LabelMatrices, rubric: Rubric, resamples: int, rng: np.random.Generator
) -> HistoryContrast:
    """Contrast of local and history steps of a judge and, if given, of the physicians."""
    scope = np.array([rubric.by_id[name].scope for name in labels.scores.step_ids])
    at = {name: scope == name for name in SCOPES}
    pairs = {"judge": (labels.reference, labels.predicted)} | ({"human": labels.raters} if labels.raters else {})
    stats: dict[tuple[str, str], Stat] = {}
    for who, (first, other) in pairs.items():
        for name, mask in at.items():
            where = np.broadcast_to(mask, first.shape)
            stats[who, name] = kappa_stat(first, other, where, f"The rubric has no {name} step here.")
        stats[who, "contrast"] = difference(stats[who, "local"], stats[who, "history"])
    if labels.raters:
        stats["judge", "excess"] = difference(stats["judge", "contrast"], stats["human", "contrast"])
    estimates = estimate_stats(stats, labels.scores.cluster_numbers, resamples, rng)
    contrast = estimates["judge", "contrast"]

    null, rank = None, None
    if contrast.value is not None and not contrast.undefined:
        columns = [(labels.reference[:, [s]], labels.predicted[:, [s]]) for s in range(len(scope))]
        per_step = np.stack([confusion(*sides).sum(axis=0) for sides in columns])
        shuffled = rng.permuted(np.broadcast_to(scope, (SPLITS, len(scope))), axis=1)
        local, history = (qwk((shuffled == name) @ per_step) for name in ("local", "history"))
        drawn = (local - history)[~np.isnan(local - history)]
        if len(drawn):
            low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
            null, rank = (low, high), (1 + int((drawn >= contrast.value - 1e-12).sum())) / (1 + len(drawn))
    spread = f" Random assignments of the same sizes alone give {null[0]:+.2f} to {null[1]:+.2f}." if null else ""
    return HistoryContrast(
        steps={name: int(mask.sum()) for name, mask in at.items()},
        kappa={name: estimates["judge", name] for name in SCOPES},
        contrast=contrast,
        null=null,
        rank=rank,
        human_kappa={name: estimates["human", name] for name in SCOPES} if labels.raters else None,
        human=estimates.get(("human", "contrast")),
        excess=estimates.get(("judge", "excess")),
        caveat="Scopes are the rubric author's, and steps differ in difficulty and in how often they fail."
        f"{spread} Read the contrast by its rank among random assignments and beside the physicians' own.",
    )


@dataclass(frozen=True)
class RequiredStepState:
    """Steps with requirements, apart by whether a required step truly failed (lowest label) or none did.

    Attributes:
        requirements: edges of the rubric's graph among the steps at hand.
        kappa_failed: kappa of judge and reference where a required step truly failed; ``kappa_passed``: where none did.
        human_failed: kappa of the two physicians where a required step failed by the reference, if given;
            ``human_passed``: where none did.
        propagation_reference: error propagation in the reference: share of steps less than fully correct after a failed
            requirement, minus the share of the same steps after none.
        propagation_judge: the same difference in the judge's answers, by the *true* state of the requirements.
        propagation_own_state: the same, by what the judge itself said of the requirements: its own consistency.
        expected: what ``propagation_judge`` would be for a judge whose hits and false alarms do not depend on the
            state: ``propagation_reference`` times (sensitivity + specificity - 1) on these steps. Who sees little
            carries little.
        shortfall: ``expected - propagation_judge``; above 0, failures are carried forward less than the judge's own hit
            rate explains.
    """

    requirements: int
    kappa_failed: Estimate
    kappa_passed: Estimate
    human_failed: Estimate | None
    human_passed: Estimate | None
    propagation_reference: Estimate
    propagation_judge: Estimate
    propagation_own_state: Estimate
    expected: Estimate
    shortfall: Estimate
    caveat: str = field(
        default="A required step seldom fails, so what follows a failure rests on few videos. The graph is the rubric "
        "author's; where it caps or voids the later step by rule, a judge that noticed the first failure and knows the "
        "rule gets the second for nothing. Each step is compared with itself, weighted by how often its requirements "
        "failed; weak examinees still fail more steps of every kind, in the reference and in the answers of any judge "
        "that sees them.",
        init=False,
    )


def required_state(
    labels: LabelMatrices, rubric: Rubric, resamples: int, rng: np.random.Generator
) -> RequiredStepState:
    """Judge, reference and physicians by the state of required steps."""
    column = {name: s for s, name in enumerate(labels.scores.step_ids)}
    needs = [[column[r.id] for r in rubric.by_id[name].requires if r.id in column] for name in column]

    def after(failed: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Steps after a failed requirement, and steps whose requirements are all known and none failed."""
        after_failed, after_passed = np.zeros_like(failed), np.zeros_like(failed)
        for s, required in enumerate(needs):
            if required:
                bad = failed[:, required].any(axis=1)
                after_failed[:, s], after_passed[:, s] = bad, ~bad & labels.known[:, required].all(axis=1)
        return after_failed & labels.known, after_passed & labels.known

    failed, passed = after(labels.reference == 0)
    wrong, called = labels.known & labels.scores.reference_wrong, labels.known & labels.scores.predicted_wrong
    stats = {
        "kappa_failed": kappa_stat(labels.reference, labels.predicted, failed, NONE_FAILED),
        "kappa_passed": kappa_stat(labels.reference, labels.predicted, passed, NONE_PASSED),
        "propagation_reference": _propagation(wrong, failed, passed),
        "propagation_judge": _propagation(called, failed, passed),
        "propagation_own_state": _propagation(called, *after(labels.predicted == 0)),
    }
    stats["expected"] = _expected_propagation(stats["propagation_reference"], wrong, called, failed | passed)
    stats["shortfall"] = difference(stats["expected"], stats["propagation_judge"])
    if labels.raters:
        stats["human_failed"] = kappa_stat(*labels.raters, failed, NONE_FAILED)
        stats["human_passed"] = kappa_stat(*labels.raters, passed, NONE_PASSED)
    estimates = estimate_stats(stats, labels.scores.cluster_numbers, resamples, rng)
    humans: dict[str, Any] = {"human_failed": None, "human_passed": None}
    return RequiredStepState(requirements=sum(map(len, needs)), **humans | estimates)


def _propagation(marked: BoolArray, after_failed: BoolArray, after_passed: BoolArray) -> Stat:
    """Share marked after a failure minus the share after none, step by step, weighted by the steps after a failure.

    Steps that never occur in one of the two states say nothing and are left out.
    """
    cells = (marked & after_failed, after_failed, marked & after_passed, after_passed)
    counts = np.concatenate(cells, axis=1).astype(np.float64)

    def value(sums: FloatArray) -> FloatArray:
        hit_f, n_f, hit_p, n_p = np.split(sums, 4, axis=1)
        usable = (n_f > 0) & (n_p > 0)
        gap = np.where(usable, hit_f - n_f * hit_p / np.maximum(n_p, 1), 0).sum(axis=1)
        return _ratio(gap, np.where(usable, n_f, 0).sum(axis=1))

    items = int(after_failed[:, after_failed.any(axis=0) & after_passed.any(axis=0)].sum())
    return Stat(counts, value, items, NONE_FAILED if after_passed.any() else NONE_PASSED)


def _expected_propagation(carried: Stat, wrong: BoolArray, called: BoolArray, among: BoolArray) -> Stat:
    """``carried`` x J, J = sensitivity + specificity - 1: P(called | state) = false alarms + J x P(wrong | state)."""
    cells = (wrong & called & among, wrong & among, ~wrong & called & among, ~wrong & among)
    counts = np.stack([cell.sum(axis=1) for cell in cells], axis=1).astype(np.float64)
    cut = carried.counts.shape[1]

    def value(sums: FloatArray) -> FloatArray:
        hit, n_wrong, alarm, n_right = sums[:, cut:].T
        with np.errstate(invalid="ignore", divide="ignore"):
            expected: FloatArray = carried.formula(sums[:, :cut]) * (hit / n_wrong - alarm / n_right)
        return expected

    return Stat(np.concatenate([carried.counts, counts], axis=1), value, carried.items, carried.needs)


@dataclass(frozen=True)
class SequentialCredit:
    """Steps judged right before the first one judged wrong, in rubric order.

    Attributes:
        credit: mean share of a video's steps that come before the first divergence.
        constant: the same for the better of always-correct and always-wrong.
        gain: ``credit - constant``, the number to read.
        flawless: share of videos without any divergence.
        median: median position (1 = the first step) of the first divergence among videos that have one; None if none.
    """

    credit: Estimate
    constant: Estimate
    gain: Estimate
    flawless: Estimate
    median: float | None
    caveat: str = field(
        default="A step is judged right when judge and reference agree on whether it is fully correct; unanswered "
        "steps are passed over. Credit by itself flatters constants: where most steps are correct, saying so of every "
        "step can earn more than a weak judge does. Only the difference from the best constant means anything.",
        init=False,
    )


def sequential_credit(labels: LabelMatrices, resamples: int, rng: np.random.Generator) -> SequentialCredit:
    """Strict sequential credit of a judge."""
    both, wrong = labels.known, labels.scores.reference_wrong
    called, asked = labels.scores.predicted_wrong, labels.known.sum(axis=1)
    known = (asked > 0).astype(np.float64)
    before, share = [], []
    for says in (called, np.zeros_like(called), np.ones_like(called)):
        open_until = np.cumsum(both & (wrong != says), axis=1) == 0
        before.append((open_until & both).sum(axis=1).astype(np.float64))
        share.append(before[-1] / np.maximum(asked, 1))
    counts = np.stack([*share, known], axis=1) * known[:, None]
    items, needs = int(known.sum()), "No step was answered."

    def stat(of_judge: int, of_constant: int) -> Stat:
        def value(sums: FloatArray) -> FloatArray:
            judge, correct, all_wrong, n = sums.T
            return _ratio(of_judge * judge + of_constant * np.maximum(correct, all_wrong), n)

        return Stat(counts, value, items, needs)

    flawless = (share[0] == 1) & (asked > 0)
    stats = {"credit": stat(1, 0), "constant": stat(0, 1), "gain": stat(1, -1)}
    stats["flawless"] = ratio(flawless, known, needs)
    first = (before[0] + 1)[(asked > 0) & ~flawless]
    median = float(np.median(first)) if len(first) else None
    return SequentialCredit(**estimate_stats(stats, labels.scores.cluster_numbers, resamples, rng), median=median)


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    ratio: FloatArray = np.divide(above, below, out=np.full(len(below), np.nan), where=below > 0)
    return ratio
