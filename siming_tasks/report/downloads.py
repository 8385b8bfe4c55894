"""Files of a report for further use: the summary as Markdown, each leaderboard as CSV, TeX and Markdown, its figure.

The tables are those of :mod:`siming_tasks.report.tables.ranking`, built from the same rows as the pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import literal
from siming_tasks.report.forest_plot import build_forest_plot
from siming_tasks.report.paper_figure import write_forest_plot
from siming_tasks.report.table import Section, tex_file, to_markdown
from siming_tasks.report.tables.comparison import ABLATION_CAPTION, SOUND_CAPTION
from siming_tasks.report.tables.ranking import ranking_table, values_table
from siming_tasks.report.verdict import verdict_markdown
from siming_tasks.tasks import TASKS

_KEY = "A model that does not beat the best of the no-video baselines has shown nothing about the video."


def write_downloads(out: Path, report: Mapping[str, Any]) -> None:
    """Write ``figures/<setting>.svg|pdf`` and ``tables/<setting>.csv|tex|md`` for every setting that was run."""
    for setting, board in report["standings"].items():
        if not board:
            continue
        if figure := build_forest_plot(board):
            files = [out / "figures" / f"{setting}.{kind}" for kind in ("svg", "pdf")]
            write_forest_plot(figure, files, synthetic=report["synthetic"])
        table = ranking_table(board, synthetic=report["synthetic"])
        data = "synthetic" if report["synthetic"] else report["dataset"]["name"]
        texts = {
            "csv": values_table(board, data=data).to_csv(),
            "tex": tex_file(ranking_table(board, synthetic=report["synthetic"], intervals=False)),
            "md": to_markdown([f"## {TASKS[setting].title}", table]),
        }
        for ending, text in texts.items():
            with atomic_write(out / "tables" / f"{setting}.{ending}") as stream:
                stream.write(text)


def summary_markdown(report: Mapping[str, Any]) -> str:
    """The report as GitHub-flavoured Markdown: a table for each setting, and what to bear in mind."""
    dataset, options = report["dataset"], report["options"]
    section: Section = [f"# {literal(report['title'])}"]
    if report["synthetic"]:
        section.append(
            "> **SYNTHETIC DATA.** Simulated exams, labels and raters: no number says anything about real exams."
        )
    over = (
        " and ".join(dict.fromkeys(board["resampled"] for board in report["standings"].values() if board)) or "videos"
    )
    section.append(
        f"{dataset['videos']} videos of {literal(dataset['name'])} {literal(dataset['version'])}, digest "
        f"`{dataset['digest'][:12]}`; {dataset['steps']} steps, rubric `{report['rubric']['id']}` "
        f"{report['rubric']['version']}; reference {literal(options['rater'])}. 95 % intervals: "
        f"{options['resamples']:,} bootstrap resamples over {over}, seed {options['seed']}."
        + (f" No person gave points: the labels are those of {dataset['machines']}." if dataset["machines"] else "")
    )
    for setting, board in report["standings"].items():
        if board:
            table = ranking_table(board, synthetic=report["synthetic"])
            section += [f"## {TASKS[setting].title}", verdict_markdown(board), table]
    section.append(_KEY)
    for controls, heading, caption in (("ablations", "Ablations", ABLATION_CAPTION), ("sound", "Sound", SOUND_CAPTION)):
        sentences = [
            f"- {literal(run['name'])}, {TASKS[setting].title}: {literal(item['sentence'])}"
            for run in report["runs"]
            for setting, items in run[controls].items()
            for item in items
        ]
        if sentences:
            section += [f"## {heading}", caption, "\n".join(sentences)]
    warnings = [f"- {literal(run['name'])}: {literal(note)}" for run in report["runs"] for note in run["warnings"]]
    if warnings:
        section += ["## Warnings", "\n".join(warnings)]
    return to_markdown(section)
