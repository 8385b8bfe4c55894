"""Front page: the verdict and the leaderboards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from siming_tasks.common.schema import ANSWERS, SCOPES
from siming_tasks.metrics.catalogue import CATALOGUE, headline
from siming_tasks.report.charts import ORDER
from siming_tasks.report.forest_plot import build_forest_plot, draw_forest_plot
from siming_tasks.report.pages.site import Page, ReportContents
from siming_tasks.report.tables.ranking import shown_estimate
from siming_tasks.report.verdict import describe_corrections, describe_scale, verdict_lamps, verdict_sentences
from siming_tasks.tasks import TASKS, benchmark_task


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write ``index.html``."""
    report = contents.report
    boards = [_board(board) for board in report["standings"].values() if board]
    contents.site.page(
        "index.html",
        "leaderboard.html",
        runs=report["runs"],
        boards=boards,
        first=next((board for board in boards if board["verdict"]["runs"]), boards[0]),
        slugs={run["name"]: run["slug"] for run in report["runs"]},
        shown={row["role"] for board in boards for row in board["rows"]},
        glance=_overview_rows(boards),
        gains=_gains(report["runs"]),
        gain_metrics=[headline(answer) for answer in ANSWERS],
    )


def _board(board: Mapping[str, Any]) -> dict[str, Any]:
    """One leaderboard with its chart, its sentences and, for each row, what the table prints beside the estimates."""
    metric, task, verdict, comparison = board["metric"], TASKS[board["setting"]], board["verdict"], board["comparison"]
    rows = []
    for row in board["rows"]:
        flags, requests = row["metrics"][metric]["flags"], row.get("requests")
        rows.append({
            "standing": None,
            **row,
            "no_video": verdict["no_video"].get(row["name"]),
            "best": row["name"] in verdict["top"] and verdict["tested"],
            "gap": verdict["humans"].get(row["name"]),
            "rivals": len(comparison["ranks"].get(metric, ())) - 1 if comparison else 0,
            "partial": bool(requests) and requests["answered"] < requests["expected"],
            "constant": "constant-prediction" in flags and row["role"] == "model",
        })  # fmt: skip
    chart = None
    if figure := build_forest_plot(board):
        alt = (
            f"{figure.title}: {figure.axis} of {len(figure.rows)} judges with intervals, sorted; numbers in the table."
        )
        chart = draw_forest_plot(figure, alt)
    reasons = dict.fromkeys(row["metrics"][metric]["reason"] for row in rows)
    return {
        **board,
        "title": task.title,
        "question": task.description,
        "metric_name": CATALOGUE[metric].title,
        "rows": rows,
        "chart": chart,
        "words": verdict_sentences(board),
        "lamps": verdict_lamps(board),
        "corrections": describe_corrections(board),
        "scale": describe_scale(metric),
        "empty": " ".join(filter(None, reasons)) or "No run answered anything.",
        "humans": bool(verdict["humans"]),
        "pairs": [item for item in comparison["differences"] if item["metric"] == metric] if comparison else [],
        "detectable": comparison["detectable"].get(metric) if comparison else None,
    }


def _overview_rows(boards: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The headline metric of every judge in every setting; rows in the order of the first table that has them."""
    lines_by_judge: dict[tuple[str, str], dict[str, Any]] = {}
    for index, board in enumerate(boards):
        for row in board["rows"]:
            line = {key: row[key] for key in ("name", "slug", "role")} | {"cells": [None] * len(boards)}
            line = lines_by_judge.setdefault((row["role"], row["name"]), line)
            first = row["name"] in board["verdict"]["top"] and board["verdict"]["tested"]
            line["cells"][index] = {**shown_estimate(row, board["metric"]), "unranked": row["unranked"], "first": first}
    for line in lines_by_judge.values():
        line["unranked"] = all(cell["unranked"] for cell in line["cells"] if cell)
    return sorted(lines_by_judge.values(), key=lambda line: (ORDER[line["role"]], line["unranked"]))


def _gains(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the table that compares full video and clip, for runs that did both."""
    rows = []
    for run in runs:
        cells: list[Any] = []
        for answer in ANSWERS:
            parts = [run["settings"].get(benchmark_task(scope, answer).name) for scope in SCOPES]
            cells += [part and shown_estimate(part["numbers"], headline(answer)) for part in parts]
            cells.append(run["gains"].get(answer))
        if any(cells[2::3]):
            rows.append({"name": run["name"], "cells": cells})
    return rows


PAGE = Page(_write, "Leaderboard", "index.html")
