"""Claims that a test allows about a difference. Ranks, sentences, pages and boards follow from these alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from siming_tasks.benchmark.metrics.estimate import Estimate
from siming_tasks.benchmark.metrics.jackknife import p_of_t
from siming_tasks.benchmark.metrics.labels import ordinal_labels
from siming_tasks.benchmark.metrics.reasons import Reason
from siming_tasks.benchmark.metrics.score_matrix import ScoreMatrix
from siming_tasks.benchmark.metrics.thresholds import ALPHA, COMPARABLE, NOISE
from siming_tasks.common.choices import LabelMapping
from siming_tasks.study.words import reason, say

Kind = Literal["as good", "better", "worse", "open", "not tested"]
NO_MODEL: Mapping[str, str] = {"reference": say("reference judge"), "supervised": say("supervised")}
"""Roles of judges that are never ranked or tested with models, with the reason."""


def why_unranked(role: str, answered: float, constant: bool = False) -> str:
    """Reason why a judge of this role that answered this share of the steps is never ranked; empty: it may be."""
    if role in NO_MODEL:
        return NO_MODEL[role]
    return say("partial") if answered < COMPARABLE else say("constant") if constant else ""


def is_constant(judge: ScoreMatrix, mapping: LabelMapping = "absolute") -> bool:
    """True if all answers of a judge are one label, or one verdict; it is then never ranked, whatever the reference."""
    labels = ordinal_labels(judge.predicted, judge.max_score, mapping) if judge.answer == "score" else judge.predicted
    return np.unique(labels[judge.answered]).size == 1


@dataclass(frozen=True)
class Claim:
    """The claim about one difference, first minus second.

    Attributes:
        kind: ``as good`` (within the margin, which is asked first), ``better``, ``worse``, ``open`` or ``not tested``.
        estimate: the difference that decided it.
        why: the reason of ``not tested``; empty otherwise.
        p_margin: larger p of the two one-sided tests against the margin; None without a margin or a test.
    """

    kind: Kind
    estimate: Estimate
    why: str = ""
    p_margin: float | None = None


def claim_of(found: Estimate, margin: float | None = None) -> Claim:
    """Claim that a tested difference allows, at the level .05 (after Holm's correction where there is one).

    Args:
        found: the difference.
        margin: difference that counts as none; None: no difference does.
    """
    if found.p is None or found.value is None:
        return Claim("not tested", found, reason(found))
    p_margin = None
    if margin is not None and found.stderr is not None and found.stderr > NOISE:
        sides = [(margin + sign * found.value) / found.stderr for sign in (1, -1)]
        p_margin = max(p_of_t(lead, found.degrees) for lead in sides)
        if p_margin <= ALPHA:
            return Claim("as good", found, p_margin=p_margin)
    p = found.p if found.p_holm is None else found.p_holm
    kind: Kind = "open" if p > ALPHA else "better" if found.value > 0 else "worse"
    return Claim(kind, found, p_margin=p_margin)


def least_sure(leads: Mapping[str, Estimate]) -> str:
    """Name of the lead that decides whether all are above 0.

    The smallest of those that are not above 0, else of those that cannot be tested, else of all.
    """

    def place(lead: Estimate) -> tuple[int, float]:
        return {False: 0, None: 1, True: 2}[all_above_0([lead])], float("-inf") if lead.value is None else lead.value

    return min(leads, key=lambda name: place(leads[name]))


def all_above_0(leads: Iterable[Estimate]) -> bool | None:
    """True if every lead is above 0 beyond chance; None: one could not be tested.

    A lead that never varies and is not above 0 needs no test.
    """
    claims = [claim_of(lead) for lead in leads]
    if any(claim.kind in ("open", "worse") for claim in claims):
        return False
    untested = [claim.estimate for claim in claims if claim.kind == "not tested"]
    if any(lead.why == Reason.NO_VARIATION and (lead.value or 0.0) <= NOISE for lead in untested):
        return False
    return None if untested else True
