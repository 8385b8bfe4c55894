"""Pages of the steps: a grid of all of them; for each its requirement, who gets it right and the typical misses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from siming_tasks.metrics.kappa import LEVELS
from siming_tasks.report.charts.page_charts import Mark, interval_chart
from siming_tasks.report.pages.site import Page, ReportContents
from siming_tasks.report.run_analysis import RunAnalysis
from siming_tasks.rubrics import Rubric, RubricStep
from siming_tasks.tasks import TASKS, UNALTERED_TASKS

__all__ = ["PAGE", "rubric_note"]

VERDICTS = ("correct", "incorrect")
MISSES, VIDEOS = 4, 8


def rubric_note(rubric: Rubric) -> str:
    """The origin of the rubric in a sentence."""
    if rubric.rubric_id == "siming-default":
        return (
            "The rubric is a reconstruction from public guidelines, reviewed by no clinician; it is not the "
            "physicians’ rubric of the paper."
        )
    return f"The rubric is {rubric.rubric_id} {rubric.version}, as the data set states it."


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write ``steps/index.html`` and one page for each step."""
    site, report, rubric = contents.site, contents.report, contents.dataset.rubric
    grids = [_grid(name, report, rubric) for name in UNALTERED_TASKS if report["standings"][name]]
    caveat = next((grid["caveat"] for grid in grids if grid["caveat"]), "")
    grids = [grid for grid in grids if grid["rows"]]
    steps = [(step.id, step.name) for step in rubric.steps]
    site.page(
        "steps/index.html", "steps.html", grids=grids, caveat=caveat, nothing=_no_grid_reason(report), steps=steps
    )
    differing = {name: _videos_most_get_wrong(name, contents.analyses) for name in UNALTERED_TASKS}
    for index, step in enumerate(rubric.steps):
        parts = [_part(name, step, report, differing[name]) for name in UNALTERED_TASKS if report["standings"][name]]
        counted = next((part for part in parts if part), None)
        site.page(
            f"steps/{step.id}.html",
            "step.html",
            step=step,
            skill=next(skill.name for skill in rubric.skills if step in skill.steps),
            before=rubric.steps[index - 1].id if index else None,
            after=rubric.steps[index + 1].id if index + 1 < len(rubric.steps) else None,
            imperfect=counted["imperfect"] if counted else "–",
            rated=counted["rated"] if counted else "–",
            parts=[part for part in parts if part],
            caveat=caveat,
            rubric_note=rubric_note(rubric),
        )


def _no_grid_reason(report: Mapping[str, Any]) -> str:
    """The reason why there is no grid."""
    if report["dataset"]["withheld"]:
        return "The labels are withheld: who gets which step right cannot be said."
    return "No step with a reference was answered: who gets which step right cannot be said."


def _sheets(name: str, report: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Runs with a step sheet in this setting; those of judges that have a row already only where there is no other."""
    folded = {row["slug"] for row in report["standings"][name]["folded"]}
    step_rows = [
        (run, run["settings"][name]["diagnostics"]["steps"])
        for run in report["runs"]
        if name in run["settings"] and run["settings"][name]["diagnostics"]
    ]
    return [(run, sheet) for run, sheet in step_rows if run["slug"] not in folded] or step_rows


def _grid(name: str, report: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    sheets = _sheets(name, report)
    rows = []
    for index, step in enumerate(rubric.steps):
        mine = [sheet["rows"][index] for _, sheet in sheets]
        if mine:
            values = [None if row["kappa"]["undefined"] else row["kappa"]["value"] for row in mine]
            cells = [{"value": x, "heat": _heat_level(x, row["thin"])} for x, row in zip(values, mine, strict=True)]
            rows.append({"id": step.id, "name": step.name, "cells": cells, **_reference_facts(mine)})
    return {
        "setting": name,
        "title": TASKS[name].title,
        "runs": [run for run, _ in sheets],
        "rows": rows,
        "human": any(row["human"] for row in rows),
        "caveat": sheets[0][1]["caveat"] if sheets else "",
    }


def _reference_facts(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Facts that do not depend on the judge: from the run that answered this step in the most videos."""
    most = max(rows, key=lambda row: row["kappa"]["n_items"])
    return {"imperfect": most["imperfect"], "thin": most["thin"], "human": most["human"]}


def _heat_level(value: float | None, thin: bool) -> int:
    return 0 if value is None or thin else int(np.clip(np.ceil(value * 5), 0, 4))


def _part(
    name: str, step: RubricStep, report: Mapping[str, Any], differing: Mapping[str, Any]
) -> dict[str, Any] | None:
    rows = []
    for run, sheet in _sheets(name, report):
        row = next(item for item in sheet["rows"] if item["step_id"] == step.id)
        rows.append({**row, "name": run["name"], "slug": run["slug"], "role": run["role"]})
    if not rows:
        return None
    known = _reference_facts(rows)
    if known["human"]:
        nothing = dict.fromkeys(("sensitivity", "specificity", "bias"))
        rows.append({"name": "second physician", "slug": None, "role": "human", "kappa": known["human"], **nothing})
    rows.sort(key=lambda row: -(row["kappa"]["value"] if row["kappa"]["value"] is not None else -9))
    marks = [Mark.of(row["name"], row["kappa"], role=row["role"], thin=known["thin"]) for row in rows]
    alt = f"{TASKS[name].title}: kappa on {step.id} of {len(rows)} judges; the numbers are in the table below."
    return {
        "setting": name,
        "title": TASKS[name].title,
        **known,
        "rated": max(row["kappa"]["n_items"] for row in rows),
        "rows": rows,
        "chart": interval_chart(marks, axis="kappa", alt=alt),
        "misses": _commonest_confusions(name, step.id, report),
        "videos": differing.get(step.id, ()),
    }


def _commonest_confusions(name: str, step_id: str, report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The commonest wrong answers over all models (reference judges only where there is no model)."""
    runs = [run for run in report["runs"] if name in run["settings"]]
    runs = [run for run in runs if run["role"] == "model"] or runs
    tables = [(run["name"], np.array(run["settings"][name]["misses"][step_id])) for run in runs
              if step_id in run["settings"][name]["misses"]]  # fmt: skip
    if not tables:
        return []
    levels = LEVELS if TASKS[name].answer == "score" else VERDICTS
    total = np.sum([table for _, table in tables], axis=0)
    confusions = [
        (int(total[i, j]), i, j) for i in range(len(total)) for j in range(len(total)) if i != j and total[i, j]
    ]
    misses = []
    for n, i, j in sorted(confusions, reverse=True)[:MISSES]:
        runs_by_count = sorted(((int(table[i, j]), run) for run, table in tables), reverse=True)
        most = ", ".join(f"{run} {times}" for times, run in runs_by_count[:3] if times)
        misses.append(
            {"reference": levels[i], "predicted": levels[j], "count": n, "of": int(total[i].sum()), "who": most}
        )
    return misses


def _videos_most_get_wrong(name: str, analyses: Sequence[RunAnalysis]) -> dict[str, list[tuple[str, str]]]:
    """By step, the videos in which most judges (models, if there are any) are wrong about "fully correct"."""
    matrices = [run.matrices[name] for run in analyses if name in run.matrices and run.source.role == "model"]
    matrices = matrices or [run.matrices[name] for run in analyses if name in run.matrices]
    wrong: dict[tuple[str, str], list[bool]] = {}
    for matrix in matrices:
        both = matrix.counted & matrix.answered
        miss = matrix.reference_wrong != matrix.predicted_wrong
        for v, s in np.argwhere(both):
            wrong.setdefault((matrix.step_ids[s], matrix.video_ids[v]), []).append(bool(miss[v, s]))
    cells_by_step: dict[str, list[tuple[str, str]]] = {}
    ranked = sorted(wrong.items(), key=lambda item: (-sum(item[1]) / len(item[1]), item[0]))
    for (step, video), misses in ranked:
        if 2 * sum(misses) >= len(misses) and len(cells_by_step.setdefault(step, [])) < VIDEOS:
            cells_by_step[step].append((video, f"{sum(misses)} of {len(misses)} judges"))
    return cells_by_step


PAGE = Page(_write, "Steps", "steps/index.html")
