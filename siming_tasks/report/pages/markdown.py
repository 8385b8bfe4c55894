"""The summary as Markdown: one table for each setting, and what to bear in mind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.catalogue import CATALOGUE, COVERAGE
from siming_tasks.metrics.thresholds import COMPARABLE
from siming_tasks.report.pages.verdict_text import corrections, verdict_words
from siming_tasks.report.roles import ROLES
from siming_tasks.report.tables.ablations import CAPTION
from siming_tasks.report.tables.cells import plain_value, table
from siming_tasks.tasks import TASKS

__all__ = ["markdown", "table_lines"]


def markdown(report: Mapping[str, Any]) -> str:
    """The report's tables as GitHub-flavoured Markdown."""
    data, options = report["dataset"], report["options"]
    lines = [f"# {literal(report['title'])}", ""]
    if report["synthetic"]:
        lines += [
            "> **SYNTHETIC DATA.** Simulated exams, labels and raters: no number says anything about real exams.",
            "",
        ]
    lines += [
        f"{data['videos']} videos of {literal(data['name'])} {literal(data['version'])}, digest "
        f"`{data['digest'][:12]}`; {data['steps']} steps, rubric `{report['rubric']['id']}` "
        f"{report['rubric']['version']}; reference {literal(options['rater'])}. 95 % intervals: "
        f"{options['resamples']:,} bootstrap resamples over videos, seed {options['seed']}.",
        "",
    ]
    for name, board in report["standings"].items():
        if board:
            lines += [f"## {TASKS[name].title}", "", _said(board), "", *table_lines(board), ""]
    lines += [
        "A model that does not beat the best of the no-video baselines has shown nothing about the video. 0.000\\* is "
        "undefined, printed as zero. Rows marked † are not ranked: they answered less than "
        f"{100 * COMPARABLE:g} %, or other questions. (imputed: every missing answer as full points or "
        '"correct", by which rows are ranked.)',
        "",
    ]
    ablations = [
        f"- {literal(run['name'])}, {TASKS[name].title}: {literal(found['sentence'])}"
        for run in report["runs"]
        for name, each in run["ablations"].items()
        for found in each
    ]
    if ablations:
        lines += ["## Ablations", "", CAPTION, "", *ablations, ""]
    warnings = [f"- {literal(run['name'])}: {literal(note)}" for run in report["runs"] for note in run["warnings"]]
    return "\n".join([*lines, *(["## Warnings", "", *warnings, ""] if warnings else [])])


def _said(board: Mapping[str, Any]) -> str:
    """The verdict, with the names of runs as literal text."""
    sentences = ["".join(literal(text) if name else text for text, name in each) for each in verdict_words(board)]
    return " ".join([f"**{sentences[0]}**", *sentences[1:], corrections(board)]).strip()


def table_lines(board: Mapping[str, Any]) -> list[str]:
    """One setting's table."""
    head = ["rank", "judge", *(CATALOGUE[name].title for name in board["metrics"])]
    lines = []
    for row in board["rows"]:
        weak = " †" if row["unranked"] and row["slug"] else ""
        cells = [_share(row["metrics"][name]) if name == COVERAGE else _both(row["metrics"][name], row["imputed"][name])
                 for name in board["metrics"]]  # fmt: skip
        standing = row.get("standing")
        rank = "" if not standing else f"{standing['rank']} ({standing['low']}-{standing['high']})"
        lines.append([rank, literal(row["name"]) + ROLES[row["role"]].suffix + weak, *cells])
    return table(head, lines, left=(1,))


def _share(estimate: Mapping[str, Any]) -> str:
    return "-" if estimate["value"] is None else f"{100 * estimate['value']:.1f} %"


def _both(answered: Mapping[str, Any], imputed: Mapping[str, Any]) -> str:
    """What was answered, and the imputed value where that is another one."""
    text = _estimate(answered)
    same = imputed["value"] is None or imputed["value"] == answered["value"]
    return text if same else f"{text} (imputed: {plain_value(imputed['value'])})"


def _estimate(estimate: Mapping[str, Any]) -> str:
    if estimate["value"] is None:
        return "-"
    value = plain_value(estimate["value"]) + "\\*" * estimate["undefined"]
    return value if estimate["low"] is None else f"{value} [{estimate['low']:.3f}, {estimate['high']:.3f}]"
