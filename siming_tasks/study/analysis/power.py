"""Power: the error of a pilot scaled to another number of videos, and the difference that these would show."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from siming_tasks.benchmark.metrics.catalogue import CATALOGUE, statistic
from siming_tasks.benchmark.metrics.estimate import Estimate, Rows
from siming_tasks.benchmark.metrics.jackknife import jackknife, quantile_of_t
from siming_tasks.benchmark.metrics.score_matrix import ScoreMatrix
from siming_tasks.benchmark.metrics.thresholds import ALPHA, FEWEST, POWER
from siming_tasks.common.errors import DataError
from siming_tasks.common.printed_value import counted
from siming_tasks.study.analysis.tables import TableText

STEPS, PILOT = 33, 2_000
"""Steps of a simulated exam, and exams of the simulated pilot, whose own error is then 2 % of what it measures."""

TABLES: Mapping[str, TableText] = {
    "power": TableText(
        "Power",
        "Expected precision for N videos similar to those of the standard error (two judges on the same "
        "videos, each against {reference}); a two-sided test at the stated level.",
        {"stderr": "standard error", "smallest": "smallest difference found", "power": "power"},
    )
}


def power(pilot: Estimate, videos: int, effect: float | None = None, *, comparisons: int = 1) -> Rows:
    """Table ``power``: standard error for this number of videos, smallest difference detected with 80 % power, power.

    ``pilot`` is the very value or difference that will be tested, with its jackknife standard error, which is taken
    times sqrt(its clusters / those of the plan), at as many videos a cluster. ``effect`` is a true difference;
    ``comparisons`` are the tests of Holm's correction, whose first step tests at alpha / comparisons.

    Raises:
        DataError: the pilot has no standard error, or the planned study fewer than five clusters.
    """
    clusters = round(videos * pilot.clusters / pilot.n) if pilot.n else 0
    if not pilot.stderr or clusters < FEWEST:
        few = f"Only {counted(clusters, pilot.unit)} in {counted(videos, 'video')}"
        what = few if pilot.stderr else "The pilot has no standard error"
        raise DataError(f"{what}: nothing can be planned. A test needs {FEWEST} {pilot.unit}s and a varying pilot.")
    from scipy.special import ndtr, ndtri

    error = pilot.stderr * math.sqrt(pilot.clusters / clusters)
    reach = quantile_of_t(1 - ALPHA / comparisons / 2, clusters - 1)
    found = {"stderr": error, "smallest": (reach + float(ndtri(POWER))) * error}
    if effect is not None:
        found["power"] = float(ndtr(effect / error - reach) + ndtr(-effect / error - reach))
    base = Estimate(None, n=videos, clusters=clusters, unit=pilot.unit, why="A planned value has no interval.")
    return Rows(replace(base, value=value).at("power", counted(videos, "video"), key) for key, value in found.items())


def stated_rates(metric: str, prevalence: float, kappa: float, effect: float = 0.0) -> Estimate:
    """A pilot where there is none: the difference of two simulated judges, of agreement ``kappa`` and less ``effect``.

    A step is wrong with the chance ``prevalence``, more often in the exams of weak trainees; 2, 1 or 0 of 3 points are
    then given to 5, 3 and 2 of 10. A judge gives the true points with the chance ``kappa`` and else points drawn at
    random as often as they occur, which makes kappa (of verdicts MCC) what it is to be. Errors are independent of each
    other: where a judge errs in whole exams, only a run of it tells its error.

    Raises:
        DataError: prevalence or kappa is not between 0 and 1.
    """
    if not (0 < prevalence < 1 and 0 < kappa - effect < 1 and 0 < kappa < 1):
        raise DataError("Prevalence and both kappas must be between 0 and 1.")
    from scipy.special import ndtri

    rng, shape = np.random.default_rng(0), (PILOT, STEPS)
    cuts = ndtri(np.cumsum([0.2, 0.3, 0.5]) * prevalence)
    quality = math.sqrt(0.15) * rng.standard_normal((PILOT, 1)) + math.sqrt(0.85) * rng.standard_normal(shape)
    truth = np.searchsorted(cuts, quality).astype(np.float64)
    names, answer = tuple(f"v{number:04d}" for number in range(PILOT)), CATALOGUE[metric].answers[0]
    ids, judges = tuple(f"s{number}" for number in range(STEPS)), []
    for agreement in (kappa, kappa - effect):
        points = np.where(rng.random(shape) < agreement, truth, np.searchsorted(cuts, rng.standard_normal(shape)))
        said = points if answer == "score" else np.less(points, 3).astype(np.float64)
        judge = ScoreMatrix(names, ids, ids, np.full(STEPS, 3.0), truth, said, np.ones(shape, bool), answer)
        judges.append(jackknife(statistic(metric), judge))
    return (judges[0] - judges[1]).estimate(tested=True)
