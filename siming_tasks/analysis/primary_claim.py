"""Test of the pre-registered primary: the one claim of a study that was stated before its results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from siming_tasks.analysis.comparison import Comparison, Difference
from siming_tasks.analysis.human_ceiling import human_difference
from siming_tasks.analysis.paired_tests import Paired, holm, paired_difference
from siming_tasks.analysis.rater_agreement import rater_references
from siming_tasks.analysis.shuffle_test import shuffle_p
from siming_tasks.analysis.video_contribution import no_video_matrices
from siming_tasks.common.errors import DataError
from siming_tasks.common.sanitize import literal
from siming_tasks.data import Dataset
from siming_tasks.data.primary import Primary
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import ALPHA
from siming_tasks.options import Options


@dataclass(frozen=True)
class ClaimTest:
    """The primary's test of one run, missing answers imputed.

    Attributes:
        run: name.
        against: the other run, the no-video baseline that is the hardest to beat, or ``physicians``.
        value: ``run`` minus ``against`` in the metric; ``low`` and ``high`` are the ends of its 95 % interval. None
            where there is none.
        p: two-sided p of no difference; of a margin, twice the one-sided p, which is at most 0.05 exactly if the
            interval lies above minus the margin. None where nothing could be tested.
        p_holm: corrected over the runs that are tested.
        holds: the claim is shown.
        clusters: independent clusters of videos behind the test.
    """

    run: str
    against: str
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    holds: bool
    clusters: int


@dataclass(frozen=True)
class PrimaryResult:
    """The primary with its tests; ``reason``: why there is none."""

    primary: Primary
    tests: tuple[ClaimTest, ...] = ()
    reason: str = ""

    @property
    def sentence(self) -> str:
        """The statement in one sentence, with the digest of its words."""
        where = f"; {self.primary.registered}" if self.primary.registered else ""
        return f"Pre-registered primary (digest {self.primary.digest}{where}): {self.primary}. All else is exploratory."

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {"statement": self.primary.to_json(), "sentence": self.sentence, "tests": plain(self.tests),
                "reason": self.reason or None}  # fmt: skip


NOT_REGISTERED = (
    "Nothing was pre-registered: every result is exploratory. The headline metric is corrected over all comparisons in "
    "all settings that were compared."
)


def is_part_of(primary: Primary | None, setting: str, difference: Difference) -> bool:
    """True for a difference between two runs that the primary is about."""
    if primary is None or primary.hypothesis != "superior-to-run":
        return False
    pair = difference.a, difference.b
    return setting == primary.setting and difference.metric == primary.metric and primary.run in pair


def assess_primary(
    primary: Primary,
    matrices: Mapping[str, ScoreMatrix],
    comparison: Comparison | None,
    dataset: Dataset,
    options: Options,
) -> PrimaryResult:
    """Test the primary on the runs of its setting; what cannot be tested says why.

    Args:
        primary: the statement.
        matrices: by name, the runs in the primary's setting.
        comparison: of those runs, for a claim about two of them.
        dataset: with the physicians' labels, for a claim about them.
        options: label mapping, positive class and seed.
    """
    if not matrices:
        return PrimaryResult(primary, reason=f"No run that can be compared has the setting {primary.setting}.")
    if primary.hypothesis == "superior-to-run":
        tests = _against_run(primary, comparison.differences if comparison else ())
        if not tests:
            runs = ", ".join(map(literal, matrices))
            return PrimaryResult(
                primary, reason=f"No run was compared with {literal(primary.run or '')}; given: {runs}."
            )
    else:
        single = _against_no_video if primary.hypothesis == "superior-to-no-video" else _against_physicians
        try:
            tests = [single(primary, name, matrix, dataset, options) for name, matrix in matrices.items()]
        except DataError as error:
            return PrimaryResult(primary, reason=str(error))
    known = [index for index, test in enumerate(tests) if test.p is not None]
    adjusted = holm(np.array([tests[index].p for index in known], float)).tolist()
    for index, p in zip(known, adjusted, strict=True):
        tests[index] = replace(tests[index], p_holm=p, holds=tests[index].holds and p <= ALPHA)
    return PrimaryResult(primary, tuple(tests))


def _against_run(primary: Primary, differences: Sequence[Difference]) -> list[ClaimTest]:
    """Every other run against the named one, not yet corrected."""
    tests = []
    for item in differences:
        if not is_part_of(primary, primary.setting, item):
            continue
        turn = item.a == primary.run
        value, low, high = (-item.value, item.high, item.low) if turn else (item.value, item.low, item.high)
        low, high = (end if end is None or not turn else -end for end in (low, high))
        holds = item.p is not None and item.holds and CATALOGUE[primary.metric].sign * value > 0
        run = item.b if turn else item.a
        tests.append(ClaimTest(run, str(primary.run), value, low, high, item.p, None, holds, item.clusters))
    return tests


def _against_no_video(
    primary: Primary, name: str, matrix: ScoreMatrix, dataset: Dataset, options: Options
) -> ClaimTest:
    """A run against every no-video baseline, not yet corrected."""
    exchanged = shuffle_p(matrix, mapping=options.mapping, seed=options.seed).get(primary.metric)
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
    over, lead = hardest_baseline(matrix, primary.metric, exchanged, **how)
    return _claim(name, over, lead, lead.p, CATALOGUE[primary.metric].sign * lead.value > 0)


def _against_physicians(
    primary: Primary, name: str, matrix: ScoreMatrix, dataset: Dataset, options: Options
) -> ClaimTest:
    """A run's agreement with the physicians against theirs with each other less the margin, not yet corrected."""
    references = rater_references(dataset, primary.setting, matrix)
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
    gap = human_difference(matrix, *references, **how)[primary.metric]
    p = _p_of_margin(gap, float(primary.margin or 0), CATALOGUE[primary.metric].sign)
    return _claim(name, "physicians", gap, p, True)


def _claim(run: str, against: str, found: Paired, p: float, holds: bool) -> ClaimTest:
    value, low, high, p_value = (None if math.isnan(x) else x for x in (found.value, found.low, found.high, p))
    return ClaimTest(run, against, value, low, high, p_value, None, holds and p_value is not None, found.clusters)


def _p_of_margin(found: Paired, margin: float, sign: float) -> float:
    """Twice the one-sided p of "the deficit is ``margin`` or more"; NaN without a test."""
    if math.isnan(found.p):
        return math.nan
    lead = sign * found.value + margin
    if found.stderr == 0:
        return 0.0 if lead > 0 else 1.0
    from scipy.special import stdtr  # not at import time: slow

    return min(1.0, 2 * float(stdtr(found.clusters - 1, -lead / found.stderr)))


def hardest_baseline(matrix: ScoreMatrix, metric: str, shuffled: float | None, **how: Any) -> tuple[str, Paired]:
    """The no-video baseline that a run has the weakest case against, and the difference: the largest of the p-values.

    A run beats every baseline if it beats this one (intersection-union test: no correction is needed over baselines). A
    baseline whose metric is undefined is no rival. ``shuffled`` is the p-value of the run's own answers given to other
    videos (:func:`siming_tasks.analysis.video_contribution.shuffle_p`), which is one of the rivals. ``how`` has label
    mapping and positive class. The p is NaN where no test is defined.
    """

    def tally(panel: ScoreMatrix) -> Tally:
        return Tally.of(panel.sorted(), metrics=[metric], **how)

    own = tally(matrix.imputed())
    rivals: dict[str, Paired] = {}
    for name, panel in no_video_matrices(matrix).items():
        rival = tally(panel)
        lead = paired_difference(own, rival)[metric]
        ahead = CATALOGUE[metric].sign * lead.value > 0
        if math.isnan(rival.observed[metric]) or (ahead and lead.stderr == 0):  # a lead that never varies has no p
            continue
        rivals[name] = lead if ahead or math.isnan(lead.p) else lead._replace(p=1.0)
    if shuffled is not None:
        nan = math.nan
        rivals["shuffled-self"] = Paired(own.observed[metric], nan, nan, nan, shuffled, len(own.contributing(metric)))
    if not rivals:
        return "", Paired(*(math.nan,) * 5, 0)
    over = next((name for name, lead in rivals.items() if math.isnan(lead.p)), None)
    over = over or max(rivals, key=lambda name: rivals[name].p)
    lead = rivals[over]
    return over, lead._replace(p=math.nan) if math.isnan(own.observed[metric]) else lead
