"""What can be taken away: the figure of each verdict as SVG and PDF, its table as CSV, TeX and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import one_line, visible
from siming_tasks.metrics.catalogue import CATALOGUE, COVERAGE
from siming_tasks.report.charts.plot import plot
from siming_tasks.report.pages.figures import figure_of
from siming_tasks.report.pages.markdown import table_lines
from siming_tasks.report.roles import ROLES
from siming_tasks.tasks import TASKS

__all__ = ["take_away"]

_SYNTHETIC = "SYNTHETIC data: simulated exams, labels and raters."


def take_away(out: Path, report: Mapping[str, Any]) -> None:
    """Write ``figures/<setting>.svg|pdf`` and ``tables/<setting>.csv|tex|md`` for every setting that was run."""
    for name, board in report["standings"].items():
        if not board:
            continue
        if figure := figure_of(board):
            plot(figure, out / "figures", name, synthetic=report["synthetic"])
        for ending, text in {"csv": _csv(board, report), "tex": _tex(board, report), "md": _md(board, report)}.items():
            with atomic_write(out / "tables" / f"{name}.{ending}") as stream:
                stream.write(text)


def _csv(board: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """A line for each row; full precision, empty where there is no value. Names cannot be taken for formulas."""
    stream = io.StringIO()
    lines = csv.writer(stream, lineterminator="\n")
    parts = ("", "_low", "_high")
    compared = [name for name in board["metrics"] if name != COVERAGE]
    lines.writerow([
        "data", "setting", "judge", "kind", "rank", "rank_low", "rank_high", "not_ranked", COVERAGE,
        *(f"{name}{part}" for name in compared for part in parts), *(f"{name}_imputed{part}" for name in compared
        for part in parts), "from_physicians", "from_physicians_low", "from_physicians_high", "from_physicians_p_holm",
        "beats_no_video", "beats_no_video_p_holm",
    ])  # fmt: skip
    data = "synthetic" if report["synthetic"] else one_line(report["dataset"]["name"])
    for row in board["rows"]:
        standing, said = row.get("standing") or {}, board["verdict"]
        gap, no_video = said["humans"].get(row["name"], {}), said["no_video"].get(row["name"], {})
        values = [row["metrics"][COVERAGE]["value"]]
        for kind in ("metrics", "imputed"):
            values += [None if row[kind][name]["undefined"] and key == "value" else row[kind][name][key]
                       for name in compared for key in ("value", "low", "high")]  # fmt: skip
        values += [gap.get(key) for key in ("value", "low", "high", "p_holm")]
        values += [no_video.get("beats"), no_video.get("p_holm")]
        ranks = [standing.get(key, "") for key in ("rank", "low", "high")]
        why = (row["unranked"] or "") if row["slug"] else ""
        known = ["" if value is None else value for value in values]
        lines.writerow([data, board["setting"], _cell(row["name"]), row["role"], *ranks, why, *known])
    return stream.getvalue()


def _cell(name: str) -> str:
    """A spreadsheet takes what begins with these for a formula."""
    text = visible(one_line(name))
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


def _md(board: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    head = [f"## {TASKS[board['setting']].title}", ""] + ([f"**{_SYNTHETIC}**", ""] if report["synthetic"] else [])
    return "\n".join([*head, *table_lines(board), ""])


_TEX = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
})  # fmt: skip


def _tex(board: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """A table with booktabs rules; the headline with its interval, the other metrics as values."""
    metric = board["metric"]
    names = [metric, *(name for name in board["metrics"] if name != metric)]
    lines = [f"% {_SYNTHETIC}"] if report["synthetic"] else []
    lines += [r"% \usepackage{booktabs}", rf"\begin{{tabular}}{{rl{'r' * len(names)}}}", r"\toprule"]
    lines += [" & ".join(["Rank", "Judge", *(CATALOGUE[name].title.translate(_TEX) for name in names)]) + r" \\"]
    last = None
    for row in board["rows"]:
        lines += [r"\midrule"] if row["role"] != last else []
        last = row["role"]
        standing = row.get("standing")
        weak = r"\textsuperscript{\dag}" if row["unranked"] and row["slug"] else ""
        name = _tex_text(one_line(row["name"]) + ROLES[row["role"]].suffix) + weak
        cells = [_tex_value(row, key, span=key == metric) for key in names]
        lines.append(" & ".join([str(standing["rank"]) if standing else "", name, *cells]) + r" \\")
    caption = "Missing answers as full points; 95\\,\\% intervals over videos. \\dag: not ranked."
    if report["synthetic"]:
        caption = f"{_SYNTHETIC} {caption}"
    foot = rf"\multicolumn{{{len(names) + 2}}}{{p{{.9\linewidth}}}}{{\footnotesize {caption}}} \\"
    return "\n".join([*lines, r"\midrule", foot, r"\bottomrule", r"\end{tabular}", ""])


def _tex_text(text: str) -> str:
    return visible(text).translate(_TEX)


def _tex_value(row: Mapping[str, Any], name: str, *, span: bool) -> str:
    if name == COVERAGE:
        share = row["metrics"][name]["value"]
        return "--" if share is None else rf"{100 * share:.1f}\,\%"
    estimate = row["imputed"][name]
    if estimate["value"] is None or estimate["undefined"]:
        return "--"
    text = f"${estimate['value']:.3f}$"
    return text if not span or estimate["low"] is None else f"{text} $[{estimate['low']:.3f}, {estimate['high']:.3f}]$"
