"""The no-video baselines' own rows: one computation, for tables of runs and for what the video contributed to each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from siming_tasks.metrics.agreement.classification import Positive
from siming_tasks.metrics.agreement.labels import LabelMapping
from siming_tasks.metrics.catalogue import select
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.evaluate import RESAMPLES, estimates
from siming_tasks.metrics.no_video_baselines import JUDGES
from siming_tasks.metrics.score_matrix import ScoreMatrix
from siming_tasks.metrics.sufficient_stats import Tally

__all__ = ["PRIOR", "no_video_matrices", "no_video_rows", "without_totals"]

PRIOR = "step-prior"

_NO_TOTALS = "The step prior gives every video the same total; what differs is only that the video itself was left out."


def no_video_matrices(panel: ScoreMatrix, *, where_answered: bool = False) -> dict[str, ScoreMatrix]:
    """The answers of each no-video baseline to the same questions; ``where_answered``: only where the judge has one."""
    found = {name: judge(panel) for name, (judge, _) in JUDGES.items()}
    if not where_answered:
        return found
    return {name: one.predicting(np.where(panel.answered, one.predicted, np.nan)) for name, one in found.items()}


def no_video_rows(
    panels: Mapping[str, ScoreMatrix],
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, dict[str, Estimate]]:
    """Every metric of the no-video baselines, from one set of resamples; 1 or 0 resamples give no intervals."""
    tallies = {name: Tally.of(panel.sorted(), mapping, positive) for name, panel in panels.items()}
    found = estimates(tallies, resamples=resamples, seed=seed)
    return {name: without_totals(row) if name == PRIOR else row for name, row in found.items()}


def without_totals(row: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """The step prior's row with the correlations of its totals undefined, as they are by what it is."""
    return {
        name: Estimate(0.0, n_videos=item.n_videos, n_items=item.n_items, undefined=True, reason=_NO_TOTALS,
                       coverage=item.coverage)
        if name in select(family="totals") and item.value is not None
        else item
        for name, item in row.items()
    }  # fmt: skip
