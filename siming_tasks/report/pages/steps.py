"""Pages of the steps: a grid of all of them; for each its requirement, who gets it right and the typical misses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from siming_tasks.metrics.kappa import LEVELS
from siming_tasks.report.charts import Mark, interval_chart
from siming_tasks.report.formatting import named_people
from siming_tasks.report.pages.site import VERDICTS, Page, ReportContents, neighbours
from siming_tasks.report.run_analysis import RunAnalysis
from siming_tasks.rubrics import Rubric, RubricStep
from siming_tasks.tasks import TASKS, UNALTERED_TASKS

MISSES, VIDEOS = 4, 8
"""Typical misses, and videos worth looking at, that a step's page lists at most."""


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
    ids = [step.id for step in rubric.steps]
    sheets = {name: _sheets(name, report) for name in UNALTERED_TASKS if report["standings"][name]}
    caveat = next((rows[0][1]["caveat"] for rows in sheets.values() if rows and rows[0][1]["caveat"]), "")
    grids = [_grid(name, rows, rubric) for name, rows in sheets.items() if rows and ids]
    withheld, why = report["dataset"]["withheld"], "who gets which step right cannot be said."
    nothing = f"{'The labels are withheld' if withheld else 'No step with a reference was answered'}: {why}"
    steps = [(step.id, step.name) for step in rubric.steps]
    site.page("steps/index.html", "steps.html", grids=grids, caveat=caveat, nothing=nothing, steps=steps)
    differing = {name: _videos_most_get_wrong(name, contents.analyses) for name in sheets}
    for index, step in enumerate(rubric.steps):
        parts = [_part(name, step, rows, report, differing[name]) for name, rows in sheets.items() if rows]
        site.page(
            f"steps/{step.id}.html",
            "step.html",
            step=step,
            skill=next(skill.name for skill in rubric.skills if step in skill.steps),
            **neighbours(ids, index),
            imperfect=parts[0]["imperfect"] if parts else "–",
            rated=parts[0]["rated"] if parts else "–",
            parts=parts,
            caveat=caveat,
            rubric_note=rubric_note(rubric),
        )


Sheet = tuple[Mapping[str, Any], Mapping[str, Any]]
"""A run and its estimates step by step, as ``report.json`` has them."""


def _sheets(name: str, report: Mapping[str, Any]) -> list[Sheet]:
    """Runs with a step sheet in this setting; those of judges that have a row already only where there is no other."""
    folded = {row["slug"] for row in report["standings"][name]["folded"]}
    runs = [(run, run["settings"].get(name)) for run in report["runs"]]
    sheets = [(run, part["diagnostics"]["steps"]) for run, part in runs if part and part["diagnostics"]]
    return [(run, sheet) for run, sheet in sheets if run["slug"] not in folded] or sheets


def _grid(name: str, sheets: Sequence[Sheet], rubric: Rubric) -> dict[str, Any]:
    rows = []
    for index, step in enumerate(rubric.steps):
        estimates = [sheet["rows"][index] for _, sheet in sheets]
        cells = []
        for row in estimates:
            value = None if row["kappa"]["undefined"] else row["kappa"]["value"]
            heat = 0 if value is None or row["thin"] else int(np.clip(np.ceil(value * 5), 0, 4))
            cells.append({"value": value, "heat": heat})
        rows.append({"id": step.id, "name": step.name, "cells": cells, **_reference_facts(estimates)})
    human = any(row["human"] for row in rows)
    return {"setting": name, "title": TASKS[name].title, "runs": [run for run, _ in sheets], "rows": rows,
            "human": human}  # fmt: skip


def _reference_facts(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Facts that do not depend on the judge: from the run that answered this step in the most videos."""
    most = max(rows, key=lambda row: row["kappa"]["n_items"])
    return {"imperfect": most["imperfect"], "thin": most["thin"], "human": most["human"]}


def _part(name: str, step: RubricStep, sheets: Sequence[Sheet], report: Mapping[str, Any],
          differing: Mapping[str, Any]) -> dict[str, Any]:  # fmt: skip
    """One setting on a step's page: every judge's kappa as chart and table, the typical misses, hard videos."""
    rows = []
    for run, sheet in sheets:
        row = next(item for item in sheet["rows"] if item["step_id"] == step.id)
        rows.append({**row, "name": run["name"], "slug": run["slug"], "role": run["role"]})
    known = _reference_facts(rows)
    if known["human"]:
        nothing = dict.fromkeys(("sensitivity", "specificity", "bias"))
        second = named_people("second physician", report["dataset"]["people"])
        rows.append({"name": second, "slug": None, "role": "human", "kappa": known["human"], **nothing})
    rows.sort(key=lambda row: -(row["kappa"]["value"] if row["kappa"]["value"] is not None else -9))
    marks = [Mark.of(row["name"], row["kappa"], role=row["role"], thin=known["thin"]) for row in rows]
    title = TASKS[name].title
    alt = f"{title}: kappa on {step.id} of {len(rows)} judges; the numbers are in the table below."
    return {
        "setting": name,
        "title": title,
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
    confusions = [(run["name"], run["settings"][name]["misses"].get(step_id)) for run in runs]
    tables = [(run, np.array(counts)) for run, counts in confusions if counts is not None]
    if not tables:
        return []
    levels = LEVELS if TASKS[name].answer == "score" else VERDICTS
    total = np.sum([table for _, table in tables], axis=0)
    wrong = [(int(total[i, j]), i, j) for i, j in np.ndindex(*total.shape) if i != j and total[i, j]]
    misses = []
    for n, i, j in sorted(wrong, reverse=True)[:MISSES]:
        runs_by_count = sorted(((int(table[i, j]), run) for run, table in tables), reverse=True)
        who = ", ".join(f"{run} {times}" for times, run in runs_by_count[:3] if times)
        of = int(total[i].sum())
        misses.append({"reference": levels[i], "predicted": levels[j], "count": n, "of": of, "who": who})
    return misses


def _videos_most_get_wrong(name: str, analyses: Sequence[RunAnalysis]) -> dict[str, list[tuple[str, str]]]:
    """By step, the videos in which most judges (models, if there are any) are wrong about "fully correct"."""
    runs = [run for run in analyses if name in run.matrices]
    wrong: dict[tuple[str, str], list[bool]] = {}
    for run in [run for run in runs if run.source.role == "model"] or runs:
        matrix = run.matrices[name]
        miss = matrix.reference_wrong != matrix.predicted_wrong
        for v, s in np.argwhere(matrix.counted & matrix.answered):
            wrong.setdefault((matrix.step_ids[s], matrix.video_ids[v]), []).append(bool(miss[v, s]))
    cells_by_step: dict[str, list[tuple[str, str]]] = {}
    ranked = sorted(wrong.items(), key=lambda item: (-sum(item[1]) / len(item[1]), item[0]))
    for (step, video), misses in ranked:
        if 2 * sum(misses) >= len(misses) and len(cells_by_step.setdefault(step, [])) < VIDEOS:
            cells_by_step[step].append((video, f"{sum(misses)} of {len(misses)} judges"))
    return cells_by_step


PAGE = Page(_write, "Steps", "steps/index.html")
