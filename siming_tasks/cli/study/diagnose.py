"""``siming study diagnose``: why a run agrees with the physicians as much as it does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from siming_tasks.cli.parameters import SCORING_OPTIONS, Checked, DatasetChoice, command, dataset_flags, option_flags
from siming_tasks.cli.terminal import show_markdown
from siming_tasks.options import Decimal, Options

if TYPE_CHECKING:
    from siming_tasks.report.table import Section

__all__ = ["diagnose"]


@command()
@dataset_flags(labels=True)
@click.argument("path", type=Path, metavar="RUN", help="a prediction file, a sample log, or a folder of them")
@click.option("--setting", help="one setting (default: every setting of the run)")
@click.option("--partial", is_flag=True, help="the run asked only for the requests it holds (as with --limit)")
@click.option(
    "--pass-mark",
    type=Checked(Decimal(above=0, most=1, metavar="SHARE")),
    default=0.8,
    metavar="SHARE",
    help="share of points that passes (default 0.8)",
)
@option_flags(*SCORING_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="print JSON instead of Markdown")
def diagnose(
    chosen: DatasetChoice,
    options: Options,
    path: Path,
    setting: str | None,
    partial: bool,
    pass_mark: float,
    as_json: bool,
) -> None:
    """Print one report for each setting of the run."""
    from siming_tasks.analysis.input_controls import analyse_ablations
    from siming_tasks.analysis.run_analyses import diagnose as diagnose_run
    from siming_tasks.common.errors import DataError
    from siming_tasks.report.tables.controls import ablation_section
    from siming_tasks.report.tables.diagnosis import diagnosis_section
    from siming_tasks.results.discovery import run_at
    from siming_tasks.results.run import read_run

    source = run_at(path)
    dataset = chosen.open([source], reference=True)
    run = read_run(source, dataset, partial=partial)
    ablated = {name: each for name in run.settings if (each := analyse_ablations(run, name, options))}
    # an ablation of a setting that was asked too stands in that one's report
    besides = {ablation.setting for each in ablated.values() for ablation in each}
    wanted = [setting] if setting else [name for name in run.settings if name not in besides]
    if not wanted or any(name not in run.settings for name in wanted):
        has = ", ".join(run.settings) or "no setting"
        raise DataError(f"{path}: nothing to diagnose for {setting or 'any setting'}. It holds {has}.")
    reports = {name: diagnose_run(run, name, options, pass_mark=pass_mark) for name in wanted}
    if as_json:
        diagnoses = {
            name: report.to_json()
            | ({"ablations": [ablation.to_json() for ablation in ablated[name]]} if name in ablated else {})
            for name, report in reports.items()
        }
        print(
            json.dumps(
                {"dataset": dataset.name, "synthetic": dataset.synthetic, "settings": diagnoses}, allow_nan=False
            )
        )
        return
    origin = f"{dataset.name}, synthetic data" if dataset.synthetic else dataset.name
    section: Section = []
    for name, report in reports.items():
        section += diagnosis_section(report, f"{name} on {origin}")
        if name in ablated:
            section += ["## Ablations", *ablation_section(ablated[name], reads_labels=source.reference)]
    show_markdown(section)
