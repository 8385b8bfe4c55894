"""``siming diagnose``: why a run agrees with the physicians as much as it does."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from siming_tasks.metrics.diagnosis.diagnose import Diagnostics
    from siming_tasks.runs.run import Run

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommands."""
    command = commands.add_parser("diagnose", help="steps, severity, history, exam decisions of a run")
    command.add_argument("path", metavar="RUN", type=Path, help="a prediction file, a sample log, or a folder of them")
    command.add_argument("--data", metavar="DIR", type=Path, required=True, help="the dataset folder")
    command.add_argument("--setting", help="one setting (default: every setting of the run)")
    command.add_argument(
        "--partial", action="store_true", help="the run asked only for the requests it holds (as with --limit)"
    )
    command.add_argument("--mapping", choices=("absolute", "proportional"), default="absolute", help="points to labels")
    command.add_argument(
        "--pass-mark", type=float, default=0.8, help="share of points that passes (default %(default)s)"
    )
    command.add_argument("--resamples", type=int, default=2000, help="bootstrap resamples (default %(default)s)")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    command.set_defaults(run=diagnose)


def diagnose(arguments: argparse.Namespace) -> None:
    """Print one report for each setting of the run."""
    from siming_tasks.data import open_dataset
    from siming_tasks.errors import DataError
    from siming_tasks.present.diagnosis import to_markdown
    from siming_tasks.runs.run import read_run

    dataset = open_dataset(arguments.data)
    run = read_run(arguments.path, dataset, partial=arguments.partial)
    records = run.settings
    wanted = [arguments.setting] if arguments.setting else list(records)
    if not wanted or any(name not in records for name in wanted):
        has = ", ".join(records) or "no setting"
        raise DataError(
            f"{arguments.path}: nothing to diagnose for {arguments.setting or 'any setting'}. It holds {has}."
        )
    reports = {name: _one(arguments, run, name) for name in wanted}
    if arguments.json:
        found = {name: report.to_json() for name, report in reports.items()}
        print(json.dumps({"dataset": dataset.name, "synthetic": dataset.synthetic, "settings": found}, allow_nan=False))
        return
    origin = f"{dataset.name}, synthetic data" if dataset.synthetic else dataset.name
    print("\n\n".join(to_markdown(report, f"{name} on {origin}") for name, report in reports.items()))


def _one(arguments: argparse.Namespace, run: Run, setting: str) -> Diagnostics:
    import numpy as np

    from siming_tasks.metrics.diagnosis.diagnose import diagnose as diagnoses
    from siming_tasks.runs.physicians import physician_points

    panel = run.panel(setting)
    return diagnoses(
        panel,
        run.dataset.rubric,
        *list(physician_points(run.dataset, panel).values())[:2],
        rng=np.random.default_rng(arguments.seed),
        mapping=arguments.mapping,
        pass_mark=arguments.pass_mark,
        resamples=arguments.resamples,
    )
