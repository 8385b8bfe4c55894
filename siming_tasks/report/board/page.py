"""The board as a page: verified rows, community rows, what is odd about each, and what was refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from siming_tasks.metrics.catalogue import CATALOGUE, headline
from siming_tasks.metrics.thresholds import COMPARABLE, TRUSTED
from siming_tasks.report.charts.kinds import Mark, intervals
from siming_tasks.report.pages.site import Site
from siming_tasks.runs.detail import DETAIL_RESAMPLES
from siming_tasks.settings import BENCHMARK, SETTINGS

__all__ = ["board_page"]


def board_page(out: Path, board: Mapping[str, Any]) -> None:
    """Write ``index.html`` and the files that it needs.

    Args:
        out: the board's folder.
        board: what :func:`siming_tasks.report.board.build.build_board` writes to ``board.json``.
    """
    shared = {name: board[name] for name in ("version", "synthetic", "dataset", "rubric", "options")}
    pages = [{"name": "Board", "href": "index.html"}]
    site = Site(out, {"title": "SiMing-Bench board", "pages": pages, "detail_resamples": DETAIL_RESAMPLES, **shared})
    site.static()
    rows = [_row(row) for row in board["rows"]]
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
        columns=[(SETTINGS[name].title, name, headline(SETTINGS[name].answer)) for name in _columns(rows)],
        charts=[chart for name in SETTINGS if (chart := _chart(name, rows))],
        refused=board["refused"],
        few=board["dataset"]["videos"] < TRUSTED,
    )  # fmt: skip


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The benchmark's settings, and those controls that any row has."""
    return [name for name in SETTINGS if name in BENCHMARK or any(name in row["settings"] for row in rows)]


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with the settings in which it answered too little to be compared."""
    weak = [
        name
        for name, found in row["settings"].items()
        if (found["metrics"][headline(SETTINGS[name].answer)]["coverage"] or 0) < COMPARABLE
    ]
    return {**row, "weak": weak}


def _chart(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The headline of one setting for every row that has it; a row without a re-run is a square, a weak one is pale."""
    metric = headline(SETTINGS[name].answer)
    marks = [
        Mark.of(
            row["model"]["name"],
            row["settings"][name]["filled"][metric],
            role="model" if row["verified"] else "blind",
            thin=name in row["weak"],
        )
        for row in rows
        if name in row["settings"]
    ]
    if not marks:
        return None
    title, axis = SETTINGS[name].title, CATALOGUE[metric].title
    alt = f"{title}: {axis} of {len(marks)} submissions; the numbers are in the tables above."
    return {"title": title, "svg": intervals(marks, axis=axis, alt=alt)}
