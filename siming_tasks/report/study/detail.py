"""The parts of a study beyond the headline: diagnoses, what the video contributed, totals, gains, minimal_pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from siming_tasks.analysis.comparison.pairwise import compare
from siming_tasks.analysis.controls.minimal_pairs import score_minimal_pairs
from siming_tasks.analysis.run_analyses import DETAIL_RESAMPLES, diagnose_scores, run_video_contribution
from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import ANSWERS, SCOPES
from siming_tasks.data import Dataset
from siming_tasks.metrics import Estimate, ScoreMatrix
from siming_tasks.metrics.agreement.correlation import totals
from siming_tasks.metrics.alignment import ComparisonEntry
from siming_tasks.metrics.catalogue import headline
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.options import Options
from siming_tasks.tasks import benchmark_task

__all__ = ["detail", "gains", "minimal_pairs", "totals_of"]


def detail(panel: ScoreMatrix, dataset: Dataset, options: Options, known: Mapping[str, Estimate]) -> dict[str, Any]:
    """``contribution`` and ``diagnostics`` (None without labels) and ``misses``: each step's label confusion.

    ``known`` are the panel's metrics.
    """
    if not (panel.counted & panel.answered).any():
        return {"contribution": None, "diagnostics": None, "misses": {}}
    return {
        "contribution": run_video_contribution(panel, options, known).to_json(),
        "diagnostics": diagnose_scores(panel, dataset, options).to_json(),
        "misses": {step: _confusion(panel.subset([step]), options) for step in panel.step_ids},
    }


def totals_of(panel: ScoreMatrix) -> list[tuple[str, float, float]]:
    """Video, reference total and predicted total; none for verdicts."""
    if panel.answer != "score":
        return []
    pairs = zip(panel.video_ids, *(side.tolist() for side in totals(panel)), strict=True)
    return [(video, x, y) for video, x, y in pairs if x == x and y == y]


def gains(panels: Mapping[str, ScoreMatrix], options: Options) -> dict[str, Any]:
    """What the step's own clip changes in the headline metric."""
    found: dict[str, Any] = {}
    for answer in ANSWERS:
        full, clip = (panels.get(benchmark_task(scope, answer).name) for scope in SCOPES)
        if full is None or clip is None or not (full.counted.any() and clip.counted.any()):
            continue
        with suppress(DataError):  # too few shared videos, or nothing answered: there is no difference to state
            result = compare(
                [ComparisonEntry("clip", clip), ComparisonEntry("full", full)],
                allow=("videos", "steps"),
                mapping=options.mapping,
                positive=options.positive,
                resamples=min(DETAIL_RESAMPLES, options.resamples),
                seed=options.seed,
            )
            item = next((item for item in result.differences if item.metric == headline(answer)), None)
            if item:
                found[answer] = {"value": item.value, "low": item.low, "high": item.high, "p": item.p}
    return found


def minimal_pairs(panel: ScoreMatrix, pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """How one run did on the minimal_pairs whose videos it was asked about; None if there are none."""
    row = {video: index for index, video in enumerate(panel.video_ids)}
    column = {step: index for index, step in enumerate(panel.step_ids)}
    mine = [pair for pair in pairs if pair["video_a"] in row and pair["video_b"] in row]
    if not mine:
        return None
    first, second = (panel.predicted[[row[pair[side]] for pair in mine]] for side in ("video_a", "video_b"))
    unchanged = np.zeros(first.shape, dtype=np.bool_)
    for index, pair in enumerate(mine):
        unchanged[index, [column[step] for step in pair["unchanged_steps"]]] = True
    found = score_minimal_pairs(
        first,
        second,
        np.array([column[pair["step_id"]] for pair in mine], dtype=np.int64),
        np.array([pair["direction"] for pair in mine], dtype=np.float64),
        unchanged,
        [pair["kind"] for pair in mine],
        panel.answer,
    )
    results: dict[str, Any] = plain(found.to_json())
    return results


def _confusion(panel: ScoreMatrix, options: Options) -> list[list[int]]:
    """Counts of one step, rows = reference: four labels for points, correct and wrong for verdicts."""
    tally = Tally.of(panel, options.mapping)
    counts, k = (tally.labels, 4) if panel.answer == "score" else (tally.verdicts, 2)
    table: list[list[int]] = counts.sum(axis=0).reshape(k, k).astype(int).tolist()
    return table
