"""Does the judge carry an early failure forward? Agreement and error rates by the true state of required steps."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from siming_tasks.analysis.diagnosis.frame import Frame
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.ratio_estimates import Stat, difference, estimate_stats, kappa_stat
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray
from siming_tasks.rubrics import Rubric

__all__ = ["RequiredState", "required_state", "state_of"]

CAVEAT = (
    "A required step seldom fails, so what follows a failure rests on few videos. The graph is the rubric author's; "
    "where it caps or voids the later step by rule, a judge that noticed the first failure and knows the rule gets the "
    "second for nothing. Each step is compared with itself, weighted by how often its requirements failed; weak "
    "examinees still fail more steps of every kind, in the reference and in the answers of any judge that sees them."
)
NONE_FAILED = "No step follows a failed requirement."
NONE_PASSED = "No step has requirements that all passed."


@dataclass(frozen=True)
class RequiredState:
    """Steps with requirements, apart by whether a required step truly failed (lowest label) or none did.

    Attributes:
        requirements: edges of the rubric's graph among the steps at hand.
        kappa_failed: kappa of judge and reference where a required step truly failed.
        kappa_passed: where none did.
        human_failed: kappa of the two physicians where a required step failed by the reference, if given.
        human_passed: where none did.
        carried_truth: error propagation in the reference: share of steps less than fully correct after a failed
            requirement, minus the share of the same steps after none.
        carried_seen: the same difference in the judge's answers, by the *true* state of the requirements.
        carried_said: the same, by what the judge itself said of the requirements: its own consistency.
        expected: what ``carried_seen`` would be for a judge whose hits and false alarms do not depend on the state:
            ``carried_truth`` times (sensitivity + specificity - 1) on these steps. Who sees little carries little.
        shortfall: ``expected - carried_seen``; above 0, failures are carried forward less than the judge's own hit rate
            explains.
        caveat: what to bear in mind.
    """

    requirements: int
    kappa_failed: Estimate
    kappa_passed: Estimate
    human_failed: Estimate | None
    human_passed: Estimate | None
    carried_truth: Estimate
    carried_seen: Estimate
    carried_said: Estimate
    expected: Estimate
    shortfall: Estimate
    caveat: str = field(default=CAVEAT, init=False)


def required_state(frame: Frame, rubric: Rubric, resamples: int, rng: np.random.Generator) -> RequiredState:
    """Judge, reference and physicians by the state of required steps."""
    needs = {
        name: [r.id for r in rubric.by_id[name].requires if r.id in frame.panel.step_ids]
        for name in frame.panel.step_ids
    }
    failed, passed = state_of(frame, frame.failed_truth, needs)
    failed_said, passed_said = state_of(frame, frame.failed_said, needs)
    wrong, called = frame.both & frame.panel.reference_wrong, frame.both & frame.panel.predicted_wrong

    stats = {
        "kappa_failed": kappa_stat(frame.truth, frame.said, failed, NONE_FAILED),
        "kappa_passed": kappa_stat(frame.truth, frame.said, passed, NONE_PASSED),
        "carried_truth": _carried(wrong, failed, passed),
        "carried_seen": _carried(called, failed, passed),
        "carried_said": _carried(called, failed_said, passed_said),
    }
    stats["expected"] = _expected(stats["carried_truth"], wrong, called, failed | passed)
    stats["shortfall"] = difference(stats["expected"], stats["carried_seen"])
    if frame.raters:
        stats["human_failed"] = kappa_stat(*frame.raters, failed, NONE_FAILED)
        stats["human_passed"] = kappa_stat(*frame.raters, passed, NONE_PASSED)
    found = estimate_stats(stats, len(frame.panel.video_ids), resamples, rng)
    names = ("kappa_failed", "kappa_passed", "carried_truth", "carried_seen", "carried_said", "expected", "shortfall")
    return RequiredState(
        requirements=sum(map(len, needs.values())),
        human_failed=found.get("human_failed"),
        human_passed=found.get("human_passed"),
        **{name: found[name] for name in names},
    )


def state_of(frame: Frame, failed: BoolArray, needs: dict[str, list[str]]) -> tuple[BoolArray, BoolArray]:
    """Steps after a failed requirement, and steps whose requirements are all known and none failed, ``bool[V, S]``."""
    column = {name: s for s, name in enumerate(frame.panel.step_ids)}
    after_failed, after_passed = np.zeros_like(failed), np.zeros_like(failed)
    for name, required in needs.items():
        if required:
            at = [column[other] for other in required]
            bad = failed[:, at].any(axis=1)
            after_failed[:, column[name]] = bad
            after_passed[:, column[name]] = ~bad & frame.both[:, at].all(axis=1)
    return after_failed & frame.both, after_passed & frame.both


def _carried(marked: BoolArray, after_failed: BoolArray, after_passed: BoolArray) -> Stat:
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


def _expected(carried: Stat, wrong: BoolArray, called: BoolArray, among: BoolArray) -> Stat:
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
