"""``siming raters``: how far two physicians agree; and what ``siming compare`` shares with it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.dataset import add_data, open_chosen
from siming_tasks.cli.flags import add_options, options_from
from siming_tasks.cli.markdown import show
from siming_tasks.common.sanitize import literal
from siming_tasks.options import Decimal

if TYPE_CHECKING:
    from siming_tasks.data import Dataset

__all__ = ["add", "no_ceiling", "origin", "title"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser("raters", help="how far the physicians agree, with intervals; also while they rate")
    add_data(command, word=True, labels=True)
    command.add_argument(
        "--raters", nargs=2, metavar=("A", "B"), help="these two raters (default: every pair of physicians)"
    )
    command.add_argument(
        "--pass-mark",
        action=Checked,
        kind=Decimal(above=0, below=1, metavar="SHARE"),
        help="share of points that passes (default: 0.8)",
    )
    command.add_argument(
        "--borderline",
        action=Checked,
        kind=Decimal(least=-1e9),
        help="the global rating that means borderline, for a pass mark",
    )
    add_options(command, "mapping", "resamples", "seed")
    command.add_argument("--json", action="store_true", help="print one JSON object instead of Markdown")
    command.set_defaults(run=raters)


def raters(arguments: argparse.Namespace) -> int:
    """Print the inter-rater table of every pair; exit code 1 if the data set cannot have one."""
    from siming_tasks.tools.station.event_log import is_event_log

    if arguments.dir and is_event_log(Path(arguments.dir)):
        return _so_far(arguments)
    from siming_tasks.analysis.diagnosis.pass_decisions import PASS_MARK
    from siming_tasks.analysis.inter_rater.rater_agreement import inter_rater_tables
    from siming_tasks.analysis.psychometrics.rater_psychometrics import psychometrics
    from siming_tasks.common.errors import DataError
    from siming_tasks.report.tables.psychometrics import psychometrics_section
    from siming_tasks.report.tables.raters import rater_pairs_section, rater_section

    options = options_from(arguments)
    dataset = open_chosen(arguments, options)
    found = inter_rater_tables(dataset, options, arguments.raters)
    if not found:
        raise DataError(no_ceiling(dataset))
    pass_mark = PASS_MARK if arguments.pass_mark is None else arguments.pass_mark
    deeper = psychometrics(
        dataset, options, names=arguments.raters, pass_mark=pass_mark, borderline=arguments.borderline
    )
    if arguments.json:
        parts = found[0].to_json() if len(found) == 1 else {"pairs": [table.to_json() for table in found]}
        print(json.dumps(origin(dataset) | parts | {"psychometrics": deeper.to_json()}, allow_nan=False))
    else:
        section = rater_section(found[0]) if len(found) == 1 else rater_pairs_section(found)
        show(f"## Raters of {title(dataset)}", section, psychometrics_section(deeper))
    return 0


def _so_far(arguments: argparse.Namespace) -> int:
    """Print how far the rating in an event log is."""
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.tools.station.progress import read_progress
    from siming_tasks.tools.station.progress_text import progress_section

    if arguments.labels or arguments.data or arguments.pass_mark is not None or arguments.borderline is not None:
        raise OptionsError(
            "An event log takes neither --data nor --labels, and no pass mark; build the data set first."
        )
    found = read_progress(Path(arguments.dir), options_from(arguments), arguments.raters)
    if arguments.json:
        print(json.dumps(found.to_json(), allow_nan=False))
    else:
        show(progress_section(found))
    return 0


def no_ceiling(dataset: Dataset) -> str:
    """Why there is no human row."""
    from siming_tasks.report.tables.raters import NO_CEILING

    return NO_CEILING.format(found=", ".join(_given(dataset)) or "none")


def _given(dataset: Dataset) -> list[str]:
    """Raters who gave points, the consensus among them unless it is withheld."""
    from siming_tasks.common.schema import CONSENSUS

    return sorted([*dataset.physicians, *([] if dataset.withheld else [CONSENSUS])])


def origin(dataset: Dataset) -> dict[str, Any]:
    """Which data a JSON output is about."""
    return {
        "dataset": dataset.name,
        "version": dataset.version,
        "digest": dataset.digest,
        "synthetic": dataset.synthetic,
    }


def title(dataset: Dataset) -> str:
    """Which data a printed output is about."""
    return f"{literal(dataset.name)} {literal(dataset.version)}{', SYNTHETIC data' if dataset.synthetic else ''}"
