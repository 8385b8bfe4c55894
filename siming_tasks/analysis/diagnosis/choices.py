"""Would the headline change with a choice that the paper leaves open: mapping, missing answers, positive class?"""

from __future__ import annotations

from dataclasses import dataclass, field

from siming_tasks.metrics.agreement.classification import Positive
from siming_tasks.metrics.agreement.labels import MAPPINGS, LabelMapping
from siming_tasks.metrics.catalogue import select
from siming_tasks.metrics.resample import observed
from siming_tasks.metrics.score_matrix import ScoreMatrix
from siming_tasks.metrics.sensitivity import adversarial_fill, zero_fill
from siming_tasks.metrics.sufficient_stats import Tally

__all__ = ["Choice", "Choices", "choices"]

CAVEAT = (
    "Values without intervals, to show how far a choice moves them. Imputed answers are no results: 'zero' takes a "
    "missing answer as no points (verdict: wrong), 'adversarial' as far from the reference as the scale allows."
)


@dataclass(frozen=True)
class Choice:
    """One way to decide one choice, and the metrics under it (None without data, 0.0 where undefined)."""

    choice: str
    option: str
    values: dict[str, float | None]


@dataclass(frozen=True)
class Choices:
    """All options, the headline's among them, and what to bear in mind."""

    options: tuple[Choice, ...]
    caveat: str = field(default=CAVEAT, init=False)


def choices(panel: ScoreMatrix, mapping: LabelMapping = "absolute", positive: Positive = "error") -> Choices:
    """Metrics of a panel under every option of every choice, the others held at the headline's."""
    metrics = select(panel.answer, compared=True)

    def values(
        data: ScoreMatrix, names: tuple[str, ...], m: LabelMapping = mapping, p: Positive = positive
    ) -> dict[str, float | None]:
        tally = Tally.of(data, m, p, names)
        if not tally.verdicts.any():
            return dict.fromkeys(names)
        return {k: 0.0 if v != v else v for k, v in observed(tally.compute, len(data.video_ids)).items()}

    found = []
    if panel.answer == "score":
        labelled = select("score", family="labels")
        found += [Choice("mapping", name, values(panel, labelled, m=name)) for name in MAPPINGS]
    else:
        classes: tuple[Positive, ...] = ("error", "correct")
        found += [Choice("positive class", name, values(panel, metrics, p=name)) for name in classes]
    found.append(Choice("missing answers", "left out", values(panel, metrics)))
    for name, fill in (("zero", zero_fill), ("adversarial", adversarial_fill)):
        found.append(Choice("missing answers", name, values(panel.predicting(fill(panel)), metrics)))
    return Choices(tuple(found))
