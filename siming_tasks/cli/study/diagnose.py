"""``siming diagnose``: why a run agrees with the physicians as much as it does."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.dataset import add_data, open_chosen
from siming_tasks.cli.flags import SCORED, add_options, options_from
from siming_tasks.cli.markdown import show
from siming_tasks.options import Decimal

if TYPE_CHECKING:
    from siming_tasks.report.table import Section

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommands."""
    command = commands.add_parser("diagnose", help="steps, severity, history, exam decisions of a run")
    command.add_argument("path", metavar="RUN", type=Path, help="a prediction file, a sample log, or a folder of them")
    add_data(command, labels=True)
    command.add_argument("--setting", help="one setting (default: every setting of the run)")
    command.add_argument(
        "--partial", action="store_true", help="the run asked only for the requests it holds (as with --limit)"
    )
    command.add_argument(
        "--pass-mark",
        action=Checked,
        kind=Decimal(above=0, most=1, metavar="SHARE"),
        default=0.8,
        help="share of points that passes (default %(default)s)",
    )
    add_options(command, *SCORED)
    command.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    command.set_defaults(run=diagnose)


def diagnose(arguments: argparse.Namespace) -> None:
    """Print one report for each setting of the run."""
    from siming_tasks.analysis.controls.ablation_effects import analyse_ablations
    from siming_tasks.analysis.run_analyses import diagnose as diagnose_run
    from siming_tasks.common.errors import DataError
    from siming_tasks.report.tables.controls import ablation_section
    from siming_tasks.report.tables.diagnosis import diagnosis_section
    from siming_tasks.results.discovery import run_at
    from siming_tasks.results.run import read_run

    options = options_from(arguments)
    source = run_at(arguments.path)
    dataset = open_chosen(arguments, options, [source], reference=True)
    run = read_run(source, dataset, partial=arguments.partial)
    ablated = {name: each for name in run.settings if (each := analyse_ablations(run, name, options))}
    # an ablation of a setting that was asked too stands in that one's report
    besides = {one.setting for each in ablated.values() for one in each}
    wanted = [arguments.setting] if arguments.setting else [name for name in run.settings if name not in besides]
    if not wanted or any(name not in run.settings for name in wanted):
        has = ", ".join(run.settings) or "no setting"
        raise DataError(
            f"{arguments.path}: nothing to diagnose for {arguments.setting or 'any setting'}. It holds {has}."
        )
    reports = {name: diagnose_run(run, name, options, pass_mark=arguments.pass_mark) for name in wanted}
    if arguments.json:
        found = {
            name: report.to_json()
            | ({"ablations": [one.to_json() for one in ablated[name]]} if name in ablated else {})
            for name, report in reports.items()
        }
        print(json.dumps({"dataset": dataset.name, "synthetic": dataset.synthetic, "settings": found}, allow_nan=False))
        return
    origin = f"{dataset.name}, synthetic data" if dataset.synthetic else dataset.name
    section: Section = []
    for name, report in reports.items():
        section += diagnosis_section(report, f"{name} on {origin}")
        if name in ablated:
            section += ["## Ablations", *ablation_section(ablated[name], reads_labels=source.reference)]
    show(section)
