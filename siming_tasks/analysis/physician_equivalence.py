"""Equivalence of a judge and a physician: does it agree with the physicians as they do with each other?

Two one-sided tests (Schuirmann 1987) of the difference in agreement beyond chance
(:func:`siming_tasks.analysis.human_ceiling.human_difference`) against a margin. A test of equivalence shows nothing
where a judge that cannot be equivalent would pass as well (assay sensitivity, ICH E10): every no-video baseline takes
the same test, and a claim is made only where none of them meets the margin.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from siming_tasks.analysis.human_ceiling import agreement_tallies, human_difference, mean_differences
from siming_tasks.analysis.paired_tests import Paired
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.catalogue import CATALOGUE, headline
from siming_tasks.metrics.classification import Positive
from siming_tasks.metrics.kappa import LabelMapping
from siming_tasks.metrics.score_matrix import ScoreMatrix
from siming_tasks.metrics.thresholds import ALPHA

MARGIN = 0.05
"""Difference in kappa or MCC that counts as none where two physicians cannot show how much physicians differ."""


@dataclass(frozen=True)
class EquivalenceTest:
    """Two one-sided t tests of a difference against ``-margin`` and ``margin``.

    Attributes:
        value: agreement of the judge with the physicians minus theirs with each other.
        stderr: its jackknife standard error over clusters of videos; None where there is none.
        low: lower end of the 90 % interval (both tests hold at the level of 5 % where it lies inside the margin);
            ``high``: upper end. None where nothing could be tested.
        p_inferior: p of "the judge agrees less, by the margin or more"; ``p_different``: the larger of both tests' p.
        not_inferior: the first is rejected; ``equivalent``: both are.
    """

    value: float | None
    stderr: float | None
    low: float | None
    high: float | None
    p_inferior: float | None
    p_different: float | None
    not_inferior: bool
    equivalent: bool


@dataclass(frozen=True)
class PhysicianEquivalence:
    """Result of :func:`physician_equivalence`.

    Attributes:
        metric: key of the headline metric.
        unit: what a cluster is; ``clusters``: how many there are.
        physicians: mean of the metric over the pairs of physicians, None where that of a pair is undefined; ``pairs``:
            how many pairs.
        margin: difference that counts as none; ``margin_from``: where it comes from, in words.
        difference: of the judge, with its 95 % interval and the p of "no difference", missing answers imputed.
        judge: test of the judge against the margin; ``no_video``: of each no-video baseline.
    """

    metric: str
    unit: str
    clusters: int
    physicians: float | None
    pairs: int
    margin: float
    margin_from: str
    difference: Paired
    judge: EquivalenceTest
    no_video: Mapping[str, EquivalenceTest]

    @property
    def passed_unseen(self) -> tuple[str, ...]:
        """The no-video baselines that are not inferior either: with any, the test says nothing of the judge."""
        return tuple(name for name, test in self.no_video.items() if test.not_inferior)

    @property
    def sentence(self) -> str:
        """The claim that the tests allow, in one sentence."""
        title, margin = CATALOGUE[self.metric].title, f"{self.margin:.3f}"
        if self.judge.p_inferior is None:
            return "Whether the judge agrees with the physicians as they do with each other cannot be tested here."
        if self.passed_unseen:
            names = ", ".join(name.replace("-", " ") for name in self.passed_unseen)
            return f"The test cannot tell here: without any video, {names} meets the same margin of {margin} {title}."
        if self.judge.equivalent:
            return (
                f"The judge agrees with these physicians as they agree with each other, within {margin} {title} (two "
                "one-sided tests); no no-video baseline does."
            )
        if self.judge.not_inferior:
            return (
                f"The judge agrees with these physicians no less than they do with each other, less a margin of "
                f"{margin} {title}; no no-video baseline does."
            )
        return (
            f"It is not shown that the judge agrees with these physicians as they do with each other: a deficit of "
            f"{margin} {title} or more is not ruled out."
        )


def equivalence_test(difference: Paired, margin: float) -> EquivalenceTest:
    """Two one-sided tests of a difference, t with one degree of freedom less than clusters; none where it has no p.

    Example:
        >>> found = equivalence_test(Paired(0.01, 0.01, -0.01, 0.03, 0.33, 41), 0.05)
        >>> found.equivalent, round(found.p_different, 5)
        (True, 0.00013)
    """
    value, stderr = (None if math.isnan(x) else float(x) for x in (difference.value, difference.stderr))
    if value is None or stderr is None or math.isnan(difference.p):
        return EquivalenceTest(value, stderr, None, None, None, None, False, False)
    from scipy.special import stdtr, stdtrit  # not at import time: slow

    freedom = difference.clusters - 1

    def upper_tail(lead: float) -> float:  # p of "the lead is 0 or less"
        return float(stdtr(freedom, -lead / stderr)) if stderr else float(lead <= 0)

    below, above = upper_tail(value + margin), upper_tail(margin - value)
    reach = float(stdtrit(freedom, 1 - ALPHA)) * stderr
    both = max(below, above)
    return EquivalenceTest(value, stderr, value - reach, value + reach, below, both, below <= ALPHA, both <= ALPHA)


def physician_equivalence(
    run: ScoreMatrix,
    raters: Sequence[ScoreMatrix],
    no_video: Mapping[str, ScoreMatrix],
    *,
    margin: float | None = None,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
) -> PhysicianEquivalence:
    """Test in the headline metric whether a run agrees with the physicians as they do with each other.

    Args:
        run: the run; missing answers are imputed.
        raters: each physician's points as the reference of the run's videos and steps, at least two.
        no_video: by name, answers of the no-video baselines to the same questions; one without any is no rival.
        margin: stated beforehand. By default half the range of agreement over the pairs of three physicians or more (a
            judge may differ as much as one pair of physicians does from the middle of all), else :data:`MARGIN`.
        mapping: how points become labels.
        positive: the positive class.

    Raises:
        DataError: the margin is not above 0; or as :func:`siming_tasks.analysis.human_ceiling.human_ratio`.
    """
    if margin is not None and not margin > 0:
        raise DataError(f"the margin is {margin:g}; give a difference in agreement, above 0.")
    metric = headline(run.answer)
    judged, humans = agreement_tallies(run.imputed(), raters, mapping, positive)
    found = mean_differences(judged, humans)[metric]
    pairs = [tally.observed[metric] for tally in humans]
    stated = "stated beforehand"
    if margin is None and len(pairs) > 1 and np.ptp(pairs) > 0:
        margin, stated = float(np.ptp(pairs)) / 2, f"half the range of the {len(pairs)} pairs of physicians"
    elif margin is None:
        margin, stated = MARGIN, "by convention: two physicians cannot show how much physicians differ"
    tests = {
        name: equivalence_test(human_difference(matrix, *raters, mapping=mapping, positive=positive)[metric], margin)
        for name, matrix in no_video.items()
        if matrix.answered.any()
    }
    return PhysicianEquivalence(
        metric=metric,
        unit=run.unit,
        clusters=found.clusters,
        physicians=None if np.isnan(pairs).any() else float(np.mean(pairs)),
        pairs=len(pairs),
        margin=margin,
        margin_from=stated,
        difference=found,
        judge=equivalence_test(found, margin),
        no_video=tests,
    )
