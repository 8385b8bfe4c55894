"""Front page: the verdict, the leaderboards, and the paper's tables beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from siming_tasks.common.schema import ANSWERS, SCOPES
from siming_tasks.metrics.catalogue import CATALOGUE, headline
from siming_tasks.metrics.thresholds import FEWEST, TRUSTED
from siming_tasks.report.charts.forest_plot import forest_plot_svg
from siming_tasks.report.pages.site import Page, ReportContents
from siming_tasks.report.published_tables.model import COLUMNS
from siming_tasks.report.published_tables.read import paper_tables
from siming_tasks.report.roles import ORDER
from siming_tasks.report.verdict import describe_corrections, describe_scale, verdict_sentences
from siming_tasks.tasks import TASKS, benchmark_task

__all__ = ["PAGE"]


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write ``index.html``."""
    site, report = contents.site, contents.report
    boards = [_board(board) for board in report["standings"].values() if board]
    first = next((board for board in boards if board["verdict"]["runs"]), boards[0])
    site.page(
        "index.html",
        "leaderboard.html",
        runs=report["runs"],
        boards=boards,
        first=first,
        slugs={run["name"]: run["slug"] for run in report["runs"]},
        shown={row["role"] for board in boards for row in board["rows"]},
        glance=_overview_rows(boards),
        gains=_gains(report["runs"]),
        gain_metrics=[headline(answer) for answer in ANSWERS],
        paper=_published_tables(),
        few=_few_videos_flag(report["dataset"]["videos"]),
    )


def _overview_rows(boards: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The headline metric of every judge in every setting; rows in the order of the first table that has them."""
    lines_by_judge: dict[str, dict[str, Any]] = {}
    for index, board in enumerate(boards):
        for row in board["rows"]:
            line = lines_by_judge.setdefault(
                f"{row['role']} {row['name']}",
                {key: row[key] for key in ("name", "slug", "role")} | {"cells": [None] * len(boards)},
            )
            line["cells"][index] = {
                **row["imputed"][board["metric"]],
                "unranked": row["unranked"],
                "first": row["name"] in board["verdict"]["top"] and board["verdict"]["tested"],
            }
    lines = sorted(lines_by_judge.values(), key=lambda line: ORDER[line["role"]])
    for line in lines:
        known = [cell for cell in line["cells"] if cell]
        line["unranked"] = all(cell["unranked"] for cell in known)
    return sorted(lines, key=lambda line: (ORDER[line["role"]], line["unranked"]))


def _board(board: Mapping[str, Any]) -> dict[str, Any]:
    name, metric = board["setting"], board["metric"]
    rows = [_row(row, board) for row in board["rows"]]
    title, question = TASKS[name].title, TASKS[name].description
    comparison: Any = board["comparison"]
    printed = CATALOGUE[metric].title
    return {
        "setting": name,
        "title": title,
        "question": question,
        "metric": metric,
        "metric_name": printed,
        "metrics": board["metrics"],
        "rows": rows,
        "chart": forest_plot_svg(board),
        "verdict": board["verdict"],
        "words": verdict_sentences(board),
        "corrections": describe_corrections(board),
        "scale": describe_scale(metric),
        "empty": _empty_chart_reason(board),
        "humans": bool(board["verdict"]["humans"]),
        "folded": board["folded"],
        "models": board["models"],
        "not_compared": board["not_compared"],
        "pairs": [item for item in comparison["differences"] if item["metric"] == metric] if comparison else [],
        "detectable": comparison["detectable"].get(metric) if comparison else None,
    }


def _few_videos_flag(videos: int) -> str | None:
    """The flag of a report on few videos; None for many."""
    return "no-interval" if videos < FEWEST else "few-videos" if videos < TRUSTED else None


def _empty_chart_reason(board: Mapping[str, Any]) -> str:
    """The reason why there is nothing to draw."""
    reasons = dict.fromkeys(row["metrics"][board["metric"]]["reason"] for row in board["rows"])
    return " ".join(reason for reason in reasons if reason) or "No run answered anything."


def _row(row: Mapping[str, Any], board: Mapping[str, Any]) -> dict[str, Any]:
    coverage = row["metrics"]["coverage"]["value"]
    requests: Any = row.get("requests")
    return {
        "standing": None,
        **row,
        "no_video": board["verdict"]["no_video"].get(row["name"]),
        "gap": board["verdict"]["humans"].get(row["name"]),
        "rivals": len(board["comparison"]["runs"]) - 1 if board["comparison"] else 0,
        "not_comparable": coverage is not None and "not-comparable" in row["metrics"][board["metric"]]["flags"],
        "partial": bool(requests) and requests["answered"] < requests["expected"],
        "constant": "constant-prediction" in row["metrics"][board["metric"]]["flags"] and row["role"] == "model",
    }


def _gains(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the table that compares full video and clip, for runs that did both."""
    rows = []
    for run in runs:
        cells: list[Any] = []
        for answer in ANSWERS:
            names = [benchmark_task(scope, answer).name for scope in SCOPES]
            shown = [run["settings"].get(name) for name in names]
            pair = [part and part["numbers"]["metrics"][headline(answer)] for part in shown]
            gain = run["gains"].get(answer)
            cells += [*pair, gain]
        if any(cells[2::3]):
            rows.append({"name": run["name"], "cells": cells})
    return rows


def _published_tables() -> dict[str, Any]:
    document = paper_tables()
    tables = []
    for table in document.tables:
        if table.name in ("Table 4", "Table 5"):
            names = list(dict.fromkeys(name for row in table.rows for name in row.values))
            tables.append(
                {
                    "name": f"{table.name} ({'full videos' if table.name == 'Table 4' else 'step clips'})",
                    "note": table.note,
                    "columns": [COLUMNS[name] for name in names],
                    "rows": [
                        {"name": row.name, "cells": [row.values[name].text for name in names]} for row in table.rows
                    ],
                }
            )
    return {"reference": document.reference, "tables": tables}


PAGE = Page(_write, "Leaderboard", "index.html")
