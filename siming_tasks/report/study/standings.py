"""All runs of a report side by side: one table for each setting, with human and blind rows, ranks and paired tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from siming_tasks.data import Dataset
from siming_tasks.errors import DataError
from siming_tasks.metrics import Panel
from siming_tasks.metrics.catalogue import CATALOGUE, COVERAGE, headline
from siming_tasks.metrics.compare.paired import Comparison, compare
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.evaluate import estimates
from siming_tasks.metrics.tally import Tally
from siming_tasks.metrics.video.baselines import JUDGES
from siming_tasks.options import Options
from siming_tasks.report.study.study import Study
from siming_tasks.runs.comparable import Entrant, contestants, groups
from siming_tasks.runs.panel import labels_of
from siming_tasks.runs.physicians import physician_pairs
from siming_tasks.settings import SETTINGS

__all__ = ["standings"]

INFLATED = "Judged against a consensus that it helped to make: inflated. The second physician’s row is not."


def standings(
    studies: Sequence[Study], dataset: Dataset, setting: str, options: Options, allow: Collection[str] = ()
) -> dict[str, Any] | None:
    """One setting's table as plain JSON; None if no run has it.

    Returns:
        ``metric`` (orders the rows), ``metrics`` (columns), ``rows`` (``name``, ``slug``, ``role`` = model, reference,
        human or blind, ``metrics`` of what was answered, ``filled`` with missing answers as full points or "correct",
        ``lift``, ``note``, ``standing``, ``better``, ``apart``: why it is not ranked with the others), ``comparison``
        or ``not_compared``.
    """
    mine = [study for study in studies if setting in study.panels]
    if not mine:
        return None
    answer = SETTINGS[setting].answer
    metric = headline(answer)
    rows = [_run_row(study, setting, metric, dataset.physicians) for study in mine]
    rows += _beside(dataset, setting, options)
    found: dict[str, Any] = {
        "setting": setting,
        "answer": answer,
        "metric": metric,
        "metrics": list(mine[0].settings[setting]["numbers"]["metrics"]),
    }
    together, apart = groups([study.entrants[setting] for study in mine if not study.source.reference] or
                             [study.entrants[setting] for study in mine], allow)  # fmt: skip
    for row in rows:
        row["apart"] = apart.get(row["name"])
    try:
        comparison = _compare(together[0], options, allow)
        found |= {"comparison": comparison.to_json(), "not_compared": None}
        _mark(rows, comparison, metric)
    except DataError as error:
        why = next(iter(apart.values()), str(error)) if len(together[0]) < 2 else str(error)
        found |= {"comparison": None, "not_compared": why}
    order = {"model": 0, "reference": 1, "human": 2, "blind": 3}
    rows.sort(key=lambda row: (order[row["role"]], *_place(row, metric), row["name"]))
    return {**found, "rows": rows}


def _run_row(study: Study, setting: str, metric: str, raters: Sequence[str]) -> dict[str, Any]:
    part = study.settings[setting]
    lift = (part["contribution"] or {}).get("lift", {}).get(metric)
    return {
        "name": study.source.name,
        "slug": study.source.slug,
        "role": study.source.role,
        "metrics": part["numbers"]["metrics"],
        "filled": part["numbers"]["filled"],
        "lift": lift,
        "requests": part["numbers"]["requests"],
        "note": INFLATED if study.source.kind in raters else None,
    }


def _beside(dataset: Dataset, setting: str, options: Options) -> list[dict[str, Any]]:
    """The human row and the blind rows, by the same code as the models' rows."""
    rows = []
    base = labels_of(dataset, setting, options.rater)
    if not base.counted.any():
        return []
    pairs = physician_pairs(dataset, setting)
    for pair in pairs:
        saw = " (both saw the whole video)." if SETTINGS[setting].scope == "clip" else "."
        name = "second physician" if len(pairs) == 1 else f"{pair.second} against {pair.first}"
        rows.append(_row(name, "human", pair.panel, options, f"{pair.second} judged against {pair.first}{saw}"))
    for name, (judge, what) in JUDGES.items():
        note = f"{what[0].upper()}{what[1:]}."
        rows.append(_row(name.replace("-", " "), "blind", judge(base), options, note))
    return rows


def _row(name: str, role: str, panel: Panel, options: Options, note: str) -> dict[str, Any]:
    tally = Tally.of(panel.sorted(), options.mapping, options.positive)  # as evaluate() does, without what no row shows
    found = estimates({"row": tally}, resamples=options.resamples, seed=options.seed)["row"]
    filled = {key: item for key, item in plain(found).items() if CATALOGUE[key].compared}  # nothing is missing here
    return {"name": name, "slug": None, "role": role, "metrics": plain(found), "filled": filled, "lift": None,
            "note": note}  # fmt: skip


def _compare(entrants: Sequence[Entrant], options: Options, allow: Collection[str]) -> Comparison:
    runs = contestants(entrants, allow)
    return compare(runs, allow=allow, mapping=options.mapping, positive=options.positive, resamples=options.resamples,
                   seed=options.seed)  # fmt: skip


def _mark(rows: list[dict[str, Any]], comparison: Comparison, metric: str) -> None:
    """Give each compared row its rank and the runs that it is better than after Holm's correction."""
    ranks = comparison.ranks.get(metric, {})
    for row in rows:
        if row["role"] in ("model", "reference") and row["name"] in ranks:
            row["standing"] = vars(ranks[row["name"]])
            row["better"] = [
                item.b if item.a == row["name"] else item.a
                for item in comparison.differences
                if item.metric == metric and item.better == row["name"]
            ]


def _place(row: Mapping[str, Any], metric: str) -> tuple[float, float, float]:
    """By rank, then by how much was answered, then by the filled value; what is not ranked and has no value is last."""
    value, standing = row["filled"][metric]["value"], row.get("standing")
    rank = float(standing["rank"]) if standing else float("inf")
    answered = row["metrics"][COVERAGE]["value"] or 0.0
    return rank, -answered if standing else 0.0, float("inf") if value is None else -CATALOGUE[metric].sign * value
