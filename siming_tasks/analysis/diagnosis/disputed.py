"""Agreed and disputed steps apart: is the judge wrong where physicians are sure, or where they differ too?"""

from __future__ import annotations

from dataclasses import dataclass, field

from siming_tasks.analysis.diagnosis.frame import Frame
from siming_tasks.metrics.proportion import Proportion, share

__all__ = ["Disputed", "disputed"]

CAVEAT = (
    "Wilson intervals treat steps as independent; steps of one video are not, so the true ones are wider. Kappa is not "
    "given on the disputed steps: they were selected by disagreement, which distorts it. A constant stands beside each "
    "accuracy because the two sets differ in how many steps are correct."
)


@dataclass(frozen=True)
class Disputed:
    """Accuracy (same label as the reference) where the physicians gave the same points, and where they did not.

    Attributes:
        agreed: accuracy on agreed steps.
        agreed_constant: that of calling each of them fully correct.
        disputed: accuracy on disputed steps, whose reference is the adjudicated label.
        disputed_constant: that of calling each of them fully correct.
        with_a: share of disputed steps with physician A's label.
        with_b: with physician B's.
        caveat: what to bear in mind.
    """

    agreed: Proportion
    agreed_constant: Proportion
    disputed: Proportion
    disputed_constant: Proportion
    with_a: Proportion
    with_b: Proportion
    caveat: str = field(default=CAVEAT, init=False)


def disputed(frame: Frame) -> Disputed | None:
    """The split, or None without two raters."""
    if frame.raters is None:
        return None
    rated = frame.rated & frame.both
    sure, unsure = rated & ~frame.disputed, rated & frame.disputed
    right, constant = frame.said == frame.truth, frame.truth == frame.best

    return Disputed(
        agreed=share(right, sure),
        agreed_constant=share(constant, sure),
        disputed=share(right, unsure),
        disputed_constant=share(constant, unsure),
        with_a=share(frame.said == frame.raters[0], unsure),
        with_b=share(frame.said == frame.raters[1], unsure),
    )
