"""Rows beside the models: the physicians, the no-video baselines, and the runs of judges that have such a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from siming_tasks.analysis.controls.video_contribution import no_video_estimates, no_video_matrices
from siming_tasks.analysis.inter_rater.rater_agreement import RaterPair, rater_pairs
from siming_tasks.data import Dataset
from siming_tasks.metrics import Estimate, ScoreMatrix
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.evaluate import estimates
from siming_tasks.metrics.no_video_baselines import JUDGES
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.options import Options
from siming_tasks.report.study.study import Study
from siming_tasks.tasks import TASKS

__all__ = ["beside", "fold"]

_BLIND = {"all_correct": "always correct", "all_failed": "always failed", "step_prior": "step prior"}
"""Reference judges that are no-video baselines already, by kind."""

_ROUNDED = "A run of this judge gives points that a reply may give, so it differs a little."
_INFLATED = "judged against a consensus that it helped to make: inflated; the physicians’ own row is not"


def beside(dataset: Dataset, setting: str, options: Options, base: ScoreMatrix) -> list[dict[str, Any]]:
    """The rows of the physicians and the no-video baselines, by the same code as the models' rows; none without labels.

    Args:
        dataset: with labels.
        setting: name.
        options: label mapping, positive class, resamples and seed.
        base: everything that a complete run is asked, with its reference.
    """
    if not base.counted.any():
        return []
    how: dict[str, Any] = {"resamples": options.resamples, "seed": options.seed}
    pairs = rater_pairs(dataset, setting)
    rows = []
    for pair in pairs:
        tally = Tally.of(pair.panel.sorted(), options.mapping, options.positive)
        found = estimates({"row": tally}, **how)["row"]
        rows.append(_row(_name(pair, pairs), "human", found, _physicians(pair, setting)))
    how |= {"mapping": options.mapping, "positive": options.positive}
    for name, found in no_video_estimates(no_video_matrices(base), **how).items():
        what = JUDGES[name].what
        rows.append(_row(name.replace("-", " "), "no_video", found, f"{what[0].upper()}{what[1:]}."))
    return rows


def fold(
    rows: Sequence[dict[str, Any]], studies: Sequence[Study], physicians: Sequence[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One row for each judge: runs of physicians and no-video baselines leave the table, and are named with their row.

    Args:
        rows: of all runs, the physicians and the no-video baselines.
        studies: of the runs.
        physicians: their names.

    Returns:
        The rows that stay, and those that left it with ``row``, the name of the one that stands for them (None: no row
        does, for want of a second physician), and ``why``.
    """
    kinds = {study.source.name: study.source.kind for study in studies}
    there = {row["name"] for row in rows if row["slug"] is None}
    human = next((row["name"] for row in rows if row["role"] == "human"), None)
    stay, left = [], []
    for row in rows:
        kind = kinds.get(row["name"]) if row["slug"] else None
        if kind in physicians:
            left.append({**row, "row": human, "why": _INFLATED})
        elif kind in _BLIND and _BLIND[kind] in there:
            left.append({**row, "row": _BLIND[kind], "why": _ROUNDED if kind == "step_prior" else "The same answers."})
        else:
            stay.append(row)
    return stay, left


def _name(pair: RaterPair, pairs: Sequence[RaterPair]) -> str:
    return "second physician" if len(pairs) == 1 else f"{pair.second} against {pair.first}"


def _physicians(pair: RaterPair, setting: str) -> str:
    saw = " (both saw the whole video)." if TASKS[setting].scope == "clip" else "."
    return f"{pair.second} judged against {pair.first}{saw}"


def _row(name: str, role: str, found: Mapping[str, Estimate], note: str) -> dict[str, Any]:
    imputed = {key: item for key, item in plain(found).items() if CATALOGUE[key].compared}  # nothing is missing here
    return {"name": name, "slug": None, "role": role, "metrics": plain(found), "imputed": imputed, "lift": None,
            "note": note}  # fmt: skip
