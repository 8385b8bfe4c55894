"""Use of the state of the procedure: history steps, steps after a failed requirement, and the first divergence."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from siming_tasks.analysis.label_agreement import LabelMatrices
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.kappa import confusion, qwk
from siming_tasks.metrics.ratio_estimates import Labels, Stat, difference, estimate_stats, kappa_stat, ratio
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray
from siming_tasks.rubrics import Rubric

__all__ = [
    "SCOPES",
    "HistoryContrast",
    "RequiredStepState",
    "SequentialCredit",
    "history_contrast",
    "required_state",
    "requirement_state",
    "sequential_credit",
    "steps_before_divergence",
]

SCOPES = ("local", "mixed", "history")
SPLITS = 2_000


@dataclass(frozen=True)
class HistoryContrast:
    """Kappa by scope of the rubric step, and local minus history against what any split of the steps gives.

    Attributes:
        steps: number of steps of each scope.
        kappa: of judge and reference, by scope.
        contrast: kappa(local) - kappa(history); above 0 is what failing to track state predicts.
        null: 2.5 % and 97.5 % points of the contrast when steps are assigned to the scopes at random; None without it.
        rank: share of random assignments with a contrast at least as large (a one-sided p-value); None without it.
        human_kappa: kappa of the two physicians by scope, if given.
        human: the physicians' own contrast, if given.
        excess: ``contrast - human``: what is left after the steps' own difficulty.
        caveat: what to bear in mind.
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
    stats = _kappa_by_scope("judge", labels.reference, labels.predicted, at)
    if labels.raters:
        stats |= _kappa_by_scope("human", *labels.raters, at)
        stats["judge", "excess"] = difference(stats["judge", "contrast"], stats["human", "contrast"])
    estimates = estimate_stats(stats, len(labels.scores.video_ids), resamples, rng)
    contrast = estimates["judge", "contrast"]
    null, rank = _random_splits(labels, scope, contrast, rng)
    spread = f" Random assignments of the same sizes alone give {null[0]:+.2f} to {null[1]:+.2f}." if null else ""
    caveat = (
        "Scopes are the rubric author's, and steps differ in difficulty and in how often they fail."
        + spread
        + " Read the "
        "contrast by its rank among random assignments and beside the physicians' own."
    )
    return HistoryContrast(
        steps={name: int(mask.sum()) for name, mask in at.items()},
        kappa={name: estimates["judge", name] for name in SCOPES},
        contrast=contrast,
        null=null,
        rank=rank,
        human_kappa={name: estimates["human", name] for name in SCOPES} if labels.raters else None,
        human=estimates.get(("human", "contrast")),
        excess=estimates.get(("judge", "excess")),
        caveat=caveat,
    )


def _kappa_by_scope(who: str, first: Labels, other: Labels, at: dict[str, BoolArray]) -> dict[tuple[str, str], Stat]:
    stats = {
        (who, name): kappa_stat(
            first, other, np.broadcast_to(mask, first.shape), f"The rubric has no {name} step here."
        )
        for name, mask in at.items()
    }
    stats[who, "contrast"] = difference(stats[who, "local"], stats[who, "history"])
    return stats


def _random_splits(
    labels: LabelMatrices, scope: np.ndarray, contrast: Estimate, rng: np.random.Generator
) -> tuple[tuple[float, float] | None, float | None]:
    if contrast.value is None or contrast.undefined:
        return None, None
    per_step = np.stack(
        [confusion(labels.reference[:, [s]], labels.predicted[:, [s]]).sum(axis=0) for s in range(len(scope))]
    )
    shuffled = rng.permuted(np.broadcast_to(scope, (SPLITS, len(scope))), axis=1)
    local, history = (qwk((shuffled == name) @ per_step) for name in ("local", "history"))
    drawn = (local - history)[~np.isnan(local - history)]
    if not len(drawn):
        return None, None
    low, high = np.quantile(drawn, [0.025, 0.975])
    reached = int((drawn >= contrast.value - 1e-12).sum())
    return (float(low), float(high)), (1 + reached) / (1 + len(drawn))


STATE_CAVEAT = (
    "A required step seldom fails, so what follows a failure rests on few videos. The graph is the rubric author's; "
    "where it caps or voids the later step by rule, a judge that noticed the first failure and knows the rule gets the "
    "second for nothing. Each step is compared with itself, weighted by how often its requirements failed; weak "
    "examinees still fail more steps of every kind, in the reference and in the answers of any judge that sees them."
)
NONE_FAILED = "No step follows a failed requirement."
NONE_PASSED = "No step has requirements that all passed."


@dataclass(frozen=True)
class RequiredStepState:
    """Steps with requirements, apart by whether a required step truly failed (lowest label) or none did.

    Attributes:
        requirements: edges of the rubric's graph among the steps at hand.
        kappa_failed: kappa of judge and reference where a required step truly failed.
        kappa_passed: where none did.
        human_failed: kappa of the two physicians where a required step failed by the reference, if given.
        human_passed: where none did.
        propagation_reference: error propagation in the reference: share of steps less than fully correct after a failed
            requirement, minus the share of the same steps after none.
        propagation_judge: the same difference in the judge's answers, by the *true* state of the requirements.
        propagation_own_state: the same, by what the judge itself said of the requirements: its own consistency.
        expected: what ``propagation_judge`` would be for a judge whose hits and false alarms do not depend on the
            state: ``propagation_reference`` times (sensitivity + specificity - 1) on these steps. Who sees little
            carries little.
        shortfall: ``expected - propagation_judge``; above 0, failures are carried forward less than the judge's own hit
            rate explains.
        caveat: what to bear in mind.
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
    caveat: str = field(default=STATE_CAVEAT, init=False)


def required_state(
    labels: LabelMatrices, rubric: Rubric, resamples: int, rng: np.random.Generator
) -> RequiredStepState:
    """Judge, reference and physicians by the state of required steps."""
    needs = {
        name: [r.id for r in rubric.by_id[name].requires if r.id in labels.scores.step_ids]
        for name in labels.scores.step_ids
    }
    failed, passed = requirement_state(labels, labels.failed_reference, needs)
    failed_said, pass_rate_judge = requirement_state(labels, labels.failed_predicted, needs)
    wrong, called = labels.known & labels.scores.reference_wrong, labels.known & labels.scores.predicted_wrong

    stats = {
        "kappa_failed": kappa_stat(labels.reference, labels.predicted, failed, NONE_FAILED),
        "kappa_passed": kappa_stat(labels.reference, labels.predicted, passed, NONE_PASSED),
        "propagation_reference": _propagation(wrong, failed, passed),
        "propagation_judge": _propagation(called, failed, passed),
        "propagation_own_state": _propagation(called, failed_said, pass_rate_judge),
    }
    stats["expected"] = _expected_propagation(stats["propagation_reference"], wrong, called, failed | passed)
    stats["shortfall"] = difference(stats["expected"], stats["propagation_judge"])
    if labels.raters:
        stats["human_failed"] = kappa_stat(*labels.raters, failed, NONE_FAILED)
        stats["human_passed"] = kappa_stat(*labels.raters, passed, NONE_PASSED)
    estimates = estimate_stats(stats, len(labels.scores.video_ids), resamples, rng)
    names = (
        "kappa_failed",
        "kappa_passed",
        "propagation_reference",
        "propagation_judge",
        "propagation_own_state",
        "expected",
        "shortfall",
    )
    return RequiredStepState(
        requirements=sum(map(len, needs.values())),
        human_failed=estimates.get("human_failed"),
        human_passed=estimates.get("human_passed"),
        **{name: estimates[name] for name in names},
    )


def requirement_state(
    labels: LabelMatrices, failed: BoolArray, needs: dict[str, list[str]]
) -> tuple[BoolArray, BoolArray]:
    """Steps after a failed requirement, and steps whose requirements are all known and none failed, ``bool[V, S]``."""
    column = {name: s for s, name in enumerate(labels.scores.step_ids)}
    after_failed, after_passed = np.zeros_like(failed), np.zeros_like(failed)
    for name, required in needs.items():
        if required:
            at = [column[other] for other in required]
            bad = failed[:, at].any(axis=1)
            after_failed[:, column[name]] = bad
            after_passed[:, column[name]] = ~bad & labels.known[:, at].all(axis=1)
    return after_failed & labels.known, after_passed & labels.known


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
        weight = np.where(usable, n_f, 0).sum(axis=1)
        out = np.full(len(sums), np.nan)
        np.divide(gap, weight, out=out, where=weight > 0)
        return out

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


DIVERGENCE_CAVEAT = (
    "A step is judged right when judge and reference agree on whether it is fully correct; unanswered steps are passed "
    "over. Credit by itself flatters constants: where most steps are correct, saying so of every step can earn more "
    "than a weak judge does. Only the difference from the best constant means anything."
)


@dataclass(frozen=True)
class SequentialCredit:
    """Steps judged right before the first one judged wrong, in rubric order.

    Attributes:
        credit: mean share of a video's steps that come before the first divergence.
        constant: the same for the better of always-correct and always-wrong.
        gain: ``credit - constant``, the number to read.
        flawless: share of videos without any divergence.
        median: median position (1 = the first step) of the first divergence among videos that have one; None if none.
        caveat: what to bear in mind.
    """

    credit: Estimate
    constant: Estimate
    gain: Estimate
    flawless: Estimate
    median: float | None
    caveat: str = field(default=DIVERGENCE_CAVEAT, init=False)


def sequential_credit(labels: LabelMatrices, resamples: int, rng: np.random.Generator) -> SequentialCredit:
    """Strict sequential credit of a judge."""
    both = labels.known
    wrong, called = labels.scores.reference_wrong, labels.scores.predicted_wrong
    asked = both.sum(axis=1)
    known = (asked > 0).astype(np.float64)
    share = {}
    for name, says in (("judge", called), ("correct", np.zeros_like(called)), ("wrong", np.ones_like(called))):
        share[name] = steps_before_divergence(wrong == says, both) / np.maximum(asked, 1)
    counts = np.stack([share["judge"], share["correct"], share["wrong"], known], axis=1) * known[:, None]
    items, needs = int(known.sum()), "No step was answered."

    def stat(pick: str) -> Stat:
        def value(sums: FloatArray) -> FloatArray:
            judge, correct, all_wrong, n = sums.T
            constant = np.maximum(correct, all_wrong)
            top = {"credit": judge, "constant": constant, "gain": judge - constant}[pick]
            out = np.full(len(sums), np.nan)
            np.divide(top, n, out=out, where=n > 0)
            return out

        return Stat(counts, value, items, needs)

    stats = {name: stat(name) for name in ("credit", "constant", "gain")}
    flawless = (share["judge"] == 1) & (asked > 0)
    stats["flawless"] = ratio(flawless, known, needs)
    first = (steps_before_divergence(wrong == called, both) + 1)[(asked > 0) & ~flawless]
    return SequentialCredit(
        **estimate_stats(stats, len(asked), resamples, rng), median=float(np.median(first)) if len(first) else None
    )


def steps_before_divergence(right: BoolArray, both: BoolArray) -> FloatArray:
    """Counted steps before the first counted step that is not right, ``float64[V]``."""
    open_until = np.cumsum(both & ~right, axis=1) == 0
    return np.asarray((open_until & both).sum(axis=1), dtype=np.float64)
