"""The board as a page: verified rows, community rows, what is odd about each, and what was refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from siming_tasks.analysis.run_analyses import DETAIL_RESAMPLES
from siming_tasks.metrics.catalogue import CATALOGUE, headline
from siming_tasks.metrics.thresholds import COMPARABLE, TRUSTED
from siming_tasks.report.charts import Mark
from siming_tasks.report.forest_plot import ForestPlot, ForestRow, draw_forest_plot, reference_bands
from siming_tasks.report.formatting import page_estimate
from siming_tasks.report.pages.site import Site
from siming_tasks.tasks import BENCHMARK_TASKS, TASKS


def board_page(out: Path, board: Mapping[str, Any]) -> None:
    """Write ``index.html`` and the files that it needs.

    Args:
        out: the board's folder.
        board: what :func:`siming_tasks.tools.board.build.build_board` writes to ``board.json``.
    """
    shared = {name: board[name] for name in ("version", "synthetic", "dataset", "rubric", "options")}
    pages = [{"name": "Board", "href": "index.html"}]
    site = Site(out, {"title": "SiMing-Bench board", "pages": pages, "detail_resamples": DETAIL_RESAMPLES, **shared})
    site.static()
    rows = []
    for row in board["rows"]:  # with the settings in which it answered too little to be compared
        coverages = {
            name: evaluation["metrics"][headline(TASKS[name].answer)]["coverage"] or 0
            for name, evaluation in row["settings"].items()
        }
        rows.append({**row, "weak": [name for name, coverage in coverages.items() if coverage < COMPARABLE]})
    baselines: dict[str, dict[str, Any]] = {}  # one row for each, with its estimate in each setting
    for setting, rows_of_setting in board["beside"].items():
        for row in rows_of_setting:
            known = {key: row[key] for key in ("name", "role", "note")}
            baselines.setdefault(row["name"], {**known, "settings": {}})["settings"][setting] = row["metrics"]
    # the benchmark's settings, and those controls that any row has
    columns = [name for name in TASKS if name in BENCHMARK_TASKS or any(name in row["settings"] for row in rows)]
    same = "gave the same answer to every step" if board["match"] == 1 else (
        f"gave the same answer to at least {100 * board['match']:g} % of the steps")  # fmt: skip
    site.page(
        "index.html",
        "board.html",
        sections=[
            ("Verified", f"The host ran these models again and the run {same}.",
             [row for row in rows if row["verified"]]),
            ("Community", "Predictions as they were sent, scored here; not run again, or with other answers.",
             [row for row in rows if not row["verified"]]),
        ],
        columns=[(TASKS[name].title, name, headline(TASKS[name].answer)) for name in columns],
        beside=list(baselines.values()),
        charts=[chart for name in TASKS if (chart := _chart(name, rows, board["beside"].get(name, [])))],
        refused=board["refused"],
        few=board["dataset"]["videos"] < TRUSTED,
    )  # fmt: skip


def _chart(name: str, rows: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Chart of one setting: every row with a headline value, the physicians and the no-video baselines.

    A row without a re-run is a square; one that answered too little is pale.
    """
    metric = headline(TASKS[name].answer)
    marked = []
    for row in rows:
        if name in row["settings"]:
            estimate, role = row["settings"][name]["imputed"][metric], "model" if row["verified"] else "clip"
            marked.append((row["model"]["name"], estimate, role, name in row["weak"]))
    if not marked:
        return None
    marked += [(row["name"], row["imputed"][metric], row["role"], False) for row in others]
    marked = [item for item in marked if item[1]["value"] is not None]
    marked.sort(key=lambda item: (item[1]["undefined"], -CATALOGUE[metric].sign * item[1]["value"]))
    plotted = []
    for label, estimate, role, weak in marked:
        mark = Mark.of(label, estimate, role=role, thin=weak)
        plotted.append(ForestRow(mark, page_estimate(estimate), "not comparable" if weak else ""))
    title, axis = TASKS[name].title, CATALOGUE[metric].title
    alt = f"{title}: {axis} of {len(marked)} rows; the numbers are in the tables above."
    humans, no_video = reference_bands(others, metric)
    return {"title": title, "svg": draw_forest_plot(ForestPlot(title, axis, plotted, humans, no_video), alt)}
