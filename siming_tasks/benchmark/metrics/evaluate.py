"""All metrics of a matrix as rows: over the answered steps, as judges are ranked, by skill, by other definitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from siming_tasks.benchmark.metrics.catalogue import CATALOGUE, COVERAGE, select, statistic
from siming_tasks.benchmark.metrics.classification import Positive
from siming_tasks.benchmark.metrics.estimate import Estimate, Rows
from siming_tasks.benchmark.metrics.jackknife import jackknife
from siming_tasks.benchmark.metrics.labels import MAPPINGS
from siming_tasks.benchmark.metrics.reasons import Flag
from siming_tasks.benchmark.metrics.score_matrix import ScoreMatrix
from siming_tasks.benchmark.metrics.thresholds import COMPARABLE
from siming_tasks.common.choices import LabelMapping
from siming_tasks.common.input_kinds import expect

ANSWERED, RANKED, READINGS = TABLES = "answered", "ranked", "other readings"
"""Tables of the metrics; an answer format's rows are in a table of its own."""
ALL = "all steps"
"""Row of the metrics over all steps, in addition to the rows of the skills."""


def evaluate(matrix: ScoreMatrix, *, mapping: LabelMapping = "absolute") -> Rows:
    """Evaluate a matrix: every metric, with an interval over its clusters, by default its videos.

    Args:
        matrix: what to evaluate.
        mapping: how points become labels for kappa.

    Returns:
        Estimates in three tables. ``answered``: every metric of
        :data:`siming_tasks.benchmark.metrics.catalogue.CATALOGUE` over the steps that were answered; ``ranked``: the
        agreements with every missing answer as full points or "correct"; both with a row for all steps and one for each
        skill. ``other readings``: kappa under the other readings of equation 3, the metrics of verdicts with the other
        positive class and, of points, those of the verdicts that the points imply; ranked values too.

    Example:
        >>> import numpy as np
        >>> from siming_tasks import ScoreMatrix, evaluate
        >>> points = np.array([[2, 5], [1, 3], [0, 4.0]])
        >>> said = np.array([[2, 5], [2, 3], [0, np.nan]])
        >>> asked = np.ones((3, 2), dtype=bool)
        >>> matrix = ScoreMatrix(("a", "b", "c"), ("s1", "s2"), ("cpr", "cpr"), [2, 5], points, said, asked, "score")
        >>> rows = evaluate(matrix)
        >>> round(rows.one("answered", metric="qwk").value, 3), rows.one("answered", metric="plcc").n
        (0.933, 2)
    """
    matrix = expect(matrix, ScoreMatrix, "matrix", "run.score_matrix(setting) makes one of a run.").sorted()
    skills = list(dict.fromkeys(matrix.skills))
    parts = {ALL: matrix} | ({name: matrix.skill(name) for name in skills} if len(skills) > 1 else {})
    compared = select(matrix.answer, compared=True)
    rows: list[Estimate] = []
    for name, part in parts.items():
        imputed = part.imputed()
        found = [(ANSWERED, key, part) for key in (*compared, COVERAGE)] + [(RANKED, key, imputed) for key in compared]
        for table, key, source in found:
            rows.append(_estimate(source, key, part.answered_share, mapping).at(table, name, key))
    return Rows((*rows, *_readings(matrix.imputed(), mapping, matrix.answered_share)))


def _readings(matrix: ScoreMatrix, mapping: LabelMapping, answered: float) -> Iterable[Estimate]:
    is_score = matrix.answer == "score"
    for other in MAPPINGS if is_score else ():
        if other != mapping:
            yield _estimate(matrix, "qwk", answered, other).at(READINGS, f"mapping {other}", "qwk")
    classes: tuple[Positive, ...] = ("error", "correct") if is_score else ("correct",)
    for side in classes:
        for key in select("error", compared=True):
            yield _estimate(matrix, key, answered, mapping, side).at(READINGS, f"positive {side}", key)


def _estimate(
    matrix: ScoreMatrix, key: str, answered: float, mapping: LabelMapping, positive: Positive = "error"
) -> Estimate:
    return flagged(jackknife(statistic(key, mapping, positive), matrix).estimate(), key, answered)


def flagged(found: Estimate, key: str, answered: float) -> Estimate:
    """An estimate of a metric, marked where too small a share was answered to compare it.

    The coverage has no interval: it is a count of this run and no sample of anything.
    """
    if not CATALOGUE[key].compared:
        return replace(found, stderr=None, low=None, high=None, why=found.why if found.value is None else "", flags=())
    if answered < COMPARABLE and found.value is not None:
        return replace(found, flags=(*found.flags, Flag.NOT_COMPARABLE))
    return found
