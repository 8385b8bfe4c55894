"""Physicians compared with a judge: their agreement with each other, and the judge's agreement with each of them.

Agreement with a consensus is not comparable with agreement between physicians, who made it. So a judge is compared
with each physician, as physicians are with each other, on the steps that both of a pair have scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from siming_tasks.benchmark.metrics.catalogue import CATALOGUE, headline, select, share_of, statistic
from siming_tasks.benchmark.metrics.estimate import Estimate, Rows
from siming_tasks.benchmark.metrics.jackknife import jackknife, mean
from siming_tasks.benchmark.metrics.score_matrix import ScoreMatrix
from siming_tasks.benchmark.metrics.thresholds import COMPARABLE, MARGIN
from siming_tasks.common.choices import LabelMapping
from siming_tasks.common.errors import DataError
from siming_tasks.study.analysis.claims import Claim, claim_of
from siming_tasks.study.analysis.pairs import Raters, side_by_side
from siming_tasks.study.analysis.tables import TableText
from siming_tasks.study.words import say

EACH_OTHER, WITH_EACH, MINUS = "inter-physician agreement", "judge with each physician", "judge minus physicians"
MEAN = "mean of the pairs"
_METRICS = {**{key: CATALOGUE[key].label for key in select(symmetric=True)}, "differ": "differ"}
TABLES: Mapping[str, TableText] = {
    EACH_OTHER: TableText(
        "Inter-physician agreement", "Each physician against each other one, on the steps that both scored.", _METRICS
    ),
    WITH_EACH: TableText(
        "Judge with each physician",
        "The judge against each physician, a missing answer counting as full points or correct.",
        _METRICS,
    ),
    MINUS: TableText(
        "Judge minus physicians",
        "Mean agreement of the judge with the physicians minus theirs with each other, on the same steps.",
        _METRICS,
    ),
}


def pairs_of(matrix: ScoreMatrix, points: Raters) -> dict[tuple[str, str], ScoreMatrix]:
    """The second physician of each pair judged by the first; pairs that scored no step together are left out."""
    found = {(a, b): side_by_side(matrix, points[a], points[b]) for a, b in combinations(sorted(points), 2)}
    return {pair: made for pair, made in found.items() if made.asked.any()}


def physician_rows(matrix: ScoreMatrix, points: Raters, *, mapping: LabelMapping = "absolute") -> Rows:
    """Table ``inter-physician agreement``: one row per pair, and the mean over the pairs.

    ``differ`` is the share of the steps to which they gave different points.
    """
    pairs, rows = pairs_of(matrix, points), list[Estimate]()
    metrics = [key for key in select(matrix.answer, compared=True) if CATALOGUE[key].symmetric]
    for key in metrics if pairs else ():
        values = [jackknife(statistic(key, mapping), made) for made in pairs.values()]
        rows += [value.estimate().at(EACH_OTHER, f"{a} and {b}", key)
                 for (a, b), value in zip(pairs, values, strict=True)]  # fmt: skip
        rows.append(mean(values).estimate().at(EACH_OTHER, MEAN, key))
    for (a, b), made in pairs.items() if matrix.answer == "score" else ():
        differ = share_of(lambda m: m.reference != m.predicted, lambda m: m.counted, "No step was scored by both.")
        rows.append(jackknife(differ, made).estimate().at(EACH_OTHER, f"{a} and {b}", "differ"))
    return Rows(rows)


@dataclass(frozen=True)
class BesidePhysicians:
    """A judge compared with the physicians.

    Attributes:
        rows: ``judge with each physician`` (one row per physician, and the mean over the pairs) and ``judge minus
            physicians``: that mean minus the physicians' own.
        copy_of: the physician whose points the answers are, if they are one's: that one is left out; empty otherwise.
        margin: difference in the headline metric that counts as none.
        claim: what its difference in the headline metric allows to be said, by this margin.
    """

    rows: Rows
    copy_of: str
    margin: float
    claim: Claim


def beside_physicians(
    judge: ScoreMatrix, points: Raters, *, margin: float = MARGIN, mapping: LabelMapping = "absolute"
) -> BesidePhysicians:
    """Mean agreement of a judge with the physicians minus theirs with each other, missing answers imputed.

    Each pair of physicians is compared with the judge on the steps that the pair has scored. The judge is *as good* if
    both one-sided t tests of the difference in the headline metric against the margin are significant; otherwise
    *better* or *worse* if the difference is. One that answered less than 95 % of the steps is not tested.

    Raises:
        DataError: the margin is not above 0, or no two physicians scored the same steps.
    """
    if not margin > 0:
        raise DataError(f"The margin is {margin:g}; give a difference in agreement, above 0.")
    copy, tested = copied_physician(judge, points), judge.answered_share >= COMPARABLE
    judge, others = judge.imputed(), {name: own for name, own in points.items() if name != copy}
    pairs = pairs_of(judge, points)
    if not pairs:
        raise DataError("No step was scored by two physicians, so the judge cannot be compared with them.")
    rows: list[Estimate] = []
    found: dict[str, Estimate] = {}
    for key in (key for key in select(judge.answer, compared=True) if CATALOGUE[key].symmetric):
        wanted = statistic(key, mapping)
        for name, own in others.items():
            alone = replace(judge, asked=judge.asked & ~np.isnan(own), reference=own)
            rows.append(jackknife(wanted, alone).estimate().at(WITH_EACH, name, key))
        among = mean([jackknife(wanted, made) for made in pairs.values()])
        of_judge = mean([jackknife(wanted, replace(judge, asked=made.asked, reference=others[name]))
                         for pair, made in pairs.items() for name in pair if name in others])  # fmt: skip
        rows.append(of_judge.estimate().at(WITH_EACH, MEAN, key))
        found[key] = (of_judge - among).estimate(tested=tested).at(MINUS, MEAN, key)
    claim = claim_of(found[headline(judge.answer)], margin)
    claim = claim if tested else replace(claim, why=say("partial"))
    return BesidePhysicians(Rows((*rows, *found.values())), copy, margin, claim)


def copied_physician(judge: ScoreMatrix, points: Raters) -> str:
    """The physician whose points the answers are, without exception and unlike another's; empty: nobody's."""
    said = judge.answered
    alike = []
    for name, own in points.items():
        answers = own if judge.answer == "score" else np.where(np.isnan(own), np.nan, own < judge.max_score)
        both = said & ~np.isnan(answers)
        if both.any() and (judge.predicted[both] == answers[both]).all():
            alike.append(name)
    return alike[0] if len(alike) == 1 and len(points) > 1 else ""


def physician_sentence(beside: BesidePhysicians, judge: str, answer: str, unseen: Sequence[str] = ()) -> str:
    """The claim with the estimate that decided it; ``unseen``: no-video baselines with the claim as good or better."""
    metric = CATALOGUE[headline(answer)].title  # type: ignore[arg-type]
    claim = beside.claim
    if unseen and claim.kind in ("as good", "better"):
        names = ", ".join(name.replace("-", " ") for name in unseen)
        return say("cannot tell", judges=names, margin=f"{beside.margin:g} {metric}")
    said = say(f"physicians {claim.kind}", judge=judge, margin=beside.margin, metric=metric, size=str(claim.estimate),
               why=claim.why)  # fmt: skip
    return said + (f" {say('copy', physician=beside.copy_of)}" if beside.copy_of else "")
