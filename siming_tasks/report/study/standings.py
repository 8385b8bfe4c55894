"""All runs of a report side by side: a table for each setting, with physicians, baselines, ranks and paired tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from siming_tasks.analysis.comparison.pairwise import Comparison, compare
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.catalogue import CATALOGUE, COVERAGE, headline
from siming_tasks.metrics.thresholds import COMPARABLE
from siming_tasks.options import Options
from siming_tasks.report.roles import ORDER
from siming_tasks.report.study.baseline_rows import beside, fold
from siming_tasks.report.study.study import Study
from siming_tasks.report.study.verdict import Ranked, shuffle_p_of, verdict
from siming_tasks.results.comparable import TaskRun, comparison_entries, groups
from siming_tasks.results.score_matrix import build_reference_matrix
from siming_tasks.tasks import TASKS

__all__ = ["standings"]


def standings(
    studies: Sequence[Study], dataset: Dataset, setting: str, options: Options, allow: Collection[str] = ()
) -> dict[str, Any] | None:
    """One setting's table as plain JSON; None if no run has it.

    Ranked are models (reference judges and supervised baselines only where there is no model) that answered at least
    :data:`siming_tasks.metrics.thresholds.COMPARABLE` of the same questions; of several sets of questions, the largest.

    Returns:
        ``metric`` (orders the rows), ``metrics`` (columns), ``rows`` (``name``, ``slug``, ``role``, a key of
        :data:`siming_tasks.report.roles.ROLES`; ``metrics`` of what was answered, ``imputed`` with missing answers as
        full points or "correct", ``lift``, ``note``, ``standing``, ``better``, ``unranked``: why it has no rank though
        it takes part, ``apart``: under which other conditions it was made), ``folded``: runs of judges that have a row
        already, ``videos`` that the ranking rests on, ``comparison`` or ``not_compared``, and ``verdict``
        (:func:`siming_tasks.report.study.verdict.verdict`).
    """
    mine = [study for study in studies if setting in study.panels]
    if not mine:
        return None
    answer = TASKS[setting].answer
    metric = headline(answer)
    base = build_reference_matrix(dataset, setting, options.rater)
    rows = [_run_row(study, setting, metric) for study in mine] + beside(dataset, setting, options, base)
    rows, folded = fold(rows, mine, dataset.physicians)
    found: dict[str, Any] = {
        "setting": setting,
        "answer": answer,
        "metric": metric,
        "metrics": list(mine[0].settings[setting]["numbers"]["metrics"]),
    }
    judged = {row["name"]: row for row in rows if row["slug"]}
    models = [study for study in mine if study.source.role == "model"]
    contest = models or [study for study in mine if study.source.name in judged]
    short = {study.source.name: _short(study, setting, metric, base) for study in mine}

    def weight(group: Sequence[TaskRun]) -> tuple[int, int, int]:
        fit = [entrant for entrant in group if not short[entrant.name]]
        return max((int(entrant.panel.asked.sum()) for entrant in fit), default=0), len(fit), len(group)

    together, apart = groups([study.entrants[setting] for study in contest], allow, weight) if contest else ([], {})
    entered = [entrant for entrant in (together or [[]])[0] if not short[entrant.name]]
    for row in rows:
        row |= {"apart": apart.get(row["name"]), "unranked": apart.get(row["name"]) or short.get(row["name"])}
    comparison = None
    try:
        comparison = _compare(entered, options, allow)
        found |= {"comparison": comparison.to_json(), "not_compared": None}
        _mark(rows, comparison, metric)
    except DataError as error:
        why = next(iter(apart.values()), str(error)) if len(entered) < 2 else str(error)
        found |= {"comparison": None, "not_compared": why}
    rows.sort(key=lambda row: (ORDER[row["role"]], *_place(row, metric), row["name"]))
    shuffled = {study.source.name: shuffle_p_of(study.settings[setting], metric) for study in mine}
    ranked = [Ranked(entrant.name, entrant.panel, shuffled[entrant.name]) for entrant in entered]
    said = verdict(ranked, comparison, dataset, setting, metric, options)
    videos = max((len(entrant.panel.video_ids) for entrant in entered), default=0)
    return {**found, "rows": rows, "folded": folded, "models": len(models), "videos": videos,
            "of": len(base.video_ids), "verdict": said}  # fmt: skip


def _run_row(study: Study, setting: str, metric: str) -> dict[str, Any]:
    part = study.settings[setting]
    lift = (part["contribution"] or {}).get("lift", {}).get(metric)
    return {
        "name": study.source.name,
        "slug": study.source.slug,
        "role": study.source.role,
        "metrics": part["numbers"]["metrics"],
        "imputed": part["numbers"]["imputed"],
        "lift": lift,
        "requests": part["numbers"]["requests"],
        "note": None,
    }


def _short(study: Study, setting: str, metric: str, base: ScoreMatrix) -> str | None:
    """Why a run has too little to be ranked; None if it has not."""
    panel = study.panels[setting]
    if not base.counted.any():
        return "the labels are withheld."
    estimate = study.settings[setting]["numbers"]["metrics"][metric]
    if estimate["value"] is None:
        return "it answered nothing that has a label."
    if "not-comparable" in estimate["flags"]:
        return f"it answered {100 * estimate['coverage']:.1f} % of what it was asked, less than {100 * COMPARABLE:g} %."
    if estimate["undefined"] and len(panel.video_ids) > 1:
        return f"its {CATALOGUE[metric].title} is undefined."
    return None


def _compare(entrants: Sequence[TaskRun], options: Options, allow: Collection[str]) -> Comparison:
    runs = comparison_entries(entrants, allow)
    return compare(runs, allow=allow, mapping=options.mapping, positive=options.positive, resamples=options.resamples,
                   seed=options.seed)  # fmt: skip


def _mark(rows: list[dict[str, Any]], comparison: Comparison, metric: str) -> None:
    """Give each compared row its rank and the runs that it is better than after Holm's correction."""
    ranks = comparison.ranks.get(metric, {})
    for row in rows:
        if row["slug"] and row["name"] in ranks:
            row["standing"] = vars(ranks[row["name"]])
            row["better"] = [
                item.b if item.a == row["name"] else item.a
                for item in comparison.differences
                if item.metric == metric and item.better == row["name"]
            ]


def _place(row: Mapping[str, Any], metric: str) -> tuple[bool, float, float, float]:
    """What is not ranked comes last; by rank, then by how much was answered, then by the imputed value."""
    value, standing = row["imputed"][metric]["value"], row.get("standing")
    rank = float(standing["rank"]) if standing else float("inf")
    answered = row["metrics"][COVERAGE]["value"] or 0.0
    return (
        bool(row["unranked"]),
        rank,
        -answered if standing else 0.0,
        float("inf") if value is None else -CATALOGUE[metric].sign * value,
    )
