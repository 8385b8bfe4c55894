"""Runs as a table for a paper (``booktabs``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from siming_tasks.common.files import atomic_write
from siming_tasks.common.schema import Answer
from siming_tasks.metrics.catalogue import CATALOGUE, COVERAGE, select
from siming_tasks.report.table import Cell, Column, Name, Number, Table, escape_tex
from siming_tasks.tasks import TASKS
from siming_tasks.tools.exchange.exported_run import ExportedRun

__all__ = ["latex_table", "write_latex"]


def write_latex(runs: Sequence[ExportedRun], out: Path) -> None:
    """Write :func:`latex_table`."""
    with atomic_write(out) as stream:
        stream.write(latex_table(runs))


def latex_table(runs: Sequence[ExportedRun]) -> str:
    """One line per run and setting: every metric with its interval, and the coverage."""
    first = runs[0]
    label = "SYNTHETIC data: simulated exams, no finding about any model. " if first.dataset.synthetic else ""
    answers = dict.fromkeys(TASKS[name].answer for exported in runs for name in exported.results)
    tables = [_table(runs, answer).to_tex() for answer in answers]
    caption = (
        f"{label}{escape_tex(first.dataset.name)} {escape_tex(first.dataset.version)}; "
        r"95\,\% intervals by resampling of videos. Missing answers are left out; coverage is the share answered. "
        "--: undefined."
    )
    digests = "".join(f"% {escape_tex(exported.run.name)}: dataset {exported.dataset.digest}\n" for exported in runs)
    return (
        f"% Needs \\usepackage{{booktabs}}.\n{digests}\\begin{{table}}\n\\centering\n"
        + "\n\\par\\medskip\n".join(tables)
        + f"\n\\caption{{{caption}}}\n\\end{{table}}\n"
    )


def _table(runs: Sequence[ExportedRun], answer: Answer) -> Table:
    """The settings that ask for points, or those that ask for verdicts."""
    metrics = [name for name in select(answer) if name != COVERAGE]
    columns = [Column("run", "left"), Column("setting", "left")]
    columns += [Column(CATALOGUE[metric].label, "center") for metric in metrics] + [Column("coverage", "center")]
    rows: list[list[Cell]] = []
    for exported in runs:
        for setting, result in exported.results.items():
            if TASKS[setting].answer == answer:
                estimates = [result["metrics"][metric] for metric in metrics]
                cells = [
                    Number(item["value"], item["low"], item["high"], undefined=bool(item["undefined"]))
                    for item in estimates
                ]
                coverage = f"{result['metrics'][COVERAGE]['value']:.3f}"
                rows.append([Name(exported.run.name), TASKS[setting].title, *cells, coverage])
    return Table(columns, rows)
