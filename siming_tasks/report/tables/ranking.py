"""Leaderboard of a setting as one table, which every form prints: terminal, Markdown, TeX, exports; and all its values.

A cell has the value by which rows are ranked, with its marks, and behind it that of what was answered, if it differs.
Ranked rows come first, then, below a line each, what is not ranked, the physicians and the no-video baselines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from siming_tasks.common.printed_value import ranked, state_of
from siming_tasks.metrics.catalogue import CATALOGUE, COVERAGE
from siming_tasks.report.charts import ROLES
from siming_tasks.report.table import Cell, Column, Name, Number, Table, flag_notes
from siming_tasks.tasks import TASKS

SYNTHETIC = "SYNTHETIC data: simulated exams, labels and raters."
UNRANKED = "not ranked"
BOLD_NOTE = "Bold: may be the best, as the interval of the rank says."


def ranking_table(board: Mapping[str, Any], *, synthetic: bool, intervals: bool = True) -> Table:
    """The table of one leaderboard, the headline metric first.

    Args:
        board: :func:`siming_tasks.report.leaderboard.build_leaderboard`.
        synthetic: the data are simulated, as the caption says.
        intervals: of every metric; else of the headline metric alone, which fits a page.
    """
    headline, setting, verdict = board["metric"], board["setting"], board["verdict"]
    metrics = [headline, *(name for name in board["metrics"] if name not in (headline, COVERAGE))]
    columns = [Column("rank"), Column("judge", "left"), *(Column(CATALOGUE[name].label) for name in metrics)]
    best = verdict["top"] if verdict["tested"] else ()
    rows: list[list[Cell]] = []
    groups: dict[int, str] = {}
    title = ""
    for place, row in enumerate(board["rows"]):
        unranked = bool(row["unranked"] and row["slug"])
        if (group := UNRANKED if unranked else ROLES[row["role"]].group) != title:
            groups[place] = title = group
        seen, exams = row.get("seen") or (0, 0)
        some = f" (answered {seen} of {exams} exams)" if unranked and seen < exams else ""
        cells: list[Cell] = [rank_text(row), Name(f"{row['name']}{some}")]
        for name in metrics:
            bold = name == headline and row["slug"] is not None and row["name"] in best
            number = Number.of(row["metrics"][name], row["imputed"].get(name), bold=bold)
            whole = intervals or name == headline
            cells.append(number if whole else replace(number, low=None, high=None))
        rows.append([*cells, Number(row["metrics"][COVERAGE]["value"], percent=True)])
    caption = f"{TASKS[setting].title}; 95 % intervals over {board['resampled']}, of ranks too."
    shown = {row["name"]: [shown_estimate(row, name) for name in metrics] for row in board["rows"]}
    reasons = {row["name"]: row["unranked"] for row in board["rows"] if row["slug"] and row["unranked"]}
    notes = [BOLD_NOTE] * bool(best) + flag_notes(shown)
    notes += [Name(f"{name} is not ranked: {reason}") for name, reason in reasons.items()]
    caption = f"{SYNTHETIC} {caption}" if synthetic else caption
    label = f"tab:siming-{setting.replace('_', '-')}"
    return Table([*columns, Column("answered")], rows, caption, notes, groups, label).explained()


def shown_estimate(row: Mapping[str, Any], metric: str) -> Mapping[str, Any]:
    """The estimate of a row of a leaderboard that every form prints."""
    return ranked(row["metrics"][metric], row["imputed"].get(metric))


def rank_text(row: Mapping[str, Any]) -> str:
    """A rank with its 95 % interval, ``2 (1-3)``; empty for what is not ranked."""
    rank = row.get("standing")
    return f"{rank['rank']} ({rank['low']}-{rank['high']})" if rank else ""


def values_table(board: Mapping[str, Any], *, data: str) -> Table:
    """Every value of one leaderboard in full precision, as printed and as answered, with its state, and the tests."""
    ends = {"": "value", "_low": "low", "_high": "high"}
    compared = [name for name in board["metrics"] if name != COVERAGE]
    labels = [
        *("data", "setting", "judge", "kind", "rank", "rank_low", "rank_high", "not_ranked", "exams_seen", COVERAGE),
        *(f"{name}{end}" for name in compared for end in ends),
        *(f"{name}_answered{end}" for name in compared for end in ends),
        *(f"{name}_{about}" for name in compared for about in ("state", "coverage", "flags")),
        *("from_physicians", "from_physicians_low", "from_physicians_high", "from_physicians_p_holm"),
        *("beats_no_video", "beats_no_video_p_holm"),
    ]
    rows = []
    for row in board["rows"]:
        rank, verdict = row.get("standing") or {}, board["verdict"]
        physicians, no_video = verdict["humans"].get(row["name"], {}), verdict["no_video"].get(row["name"], {})
        shown = [shown_estimate(row, name) for name in compared]
        estimates = [*shown, *(row["metrics"][name] for name in compared)]
        rows.append([
            *(data, board["setting"], Name(row["name"]), row["role"], *map(rank.get, ("rank", "low", "high"))),
            *((row["unranked"] or "") if row["slug"] else "", *(row.get("seen") or [None])[:1]),
            row["metrics"][COVERAGE]["value"],
            *(None if e["undefined"] and end == "value" else e[end] for e in estimates for end in ends.values()),
            *(item for e in shown for item in (state_of(e), e["coverage"], " ".join(e["flags"]))),
            *map(physicians.get, ("value", "low", "high", "p_holm")),
            *map(no_video.get, ("beats", "p_holm")),
        ])  # fmt: skip
    return Table.of(labels, rows)
