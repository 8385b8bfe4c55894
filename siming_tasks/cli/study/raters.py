"""``siming study raters``: how far two physicians agree; and what ``siming compare`` shares with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siming_tasks.cli.parameters import Checked, DatasetChoice, command, dataset_flags, option_flags
from siming_tasks.cli.terminal import show_markdown
from siming_tasks.common.sanitize import literal
from siming_tasks.options import Decimal, Options

if TYPE_CHECKING:
    from siming_tasks.data import Dataset

__all__ = ["no_ceiling", "origin", "raters", "title"]


@command()
@dataset_flags(word=True, labels=True)
@click.option("--raters", nargs=2, metavar="A B", help="these two raters (default: every pair of physicians)")
@click.option(
    "--pass-mark",
    type=Checked(Decimal(above=0, below=1, metavar="SHARE")),
    metavar="SHARE",
    help="share of points that passes (default: 0.8)",
)
@click.option(
    "--borderline",
    type=Checked(Decimal(least=-1000000000.0)),
    metavar="X",
    help="the global rating that means borderline, for a pass mark",
)
@option_flags("mapping", "resamples", "seed")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object instead of Markdown")
def raters(
    chosen: DatasetChoice,
    options: Options,
    raters: tuple[str, str] | None,
    pass_mark: float | None,
    borderline: float | None,
    as_json: bool,
) -> int:
    """Print the inter-rater table of every pair; exit code 1 if the data set cannot have one."""
    from siming_tasks.common.errors import DataError, OptionsError
    from siming_tasks.tools.station.event_log import is_event_log

    if chosen.word and is_event_log(Path(chosen.word)):
        if chosen.labels or chosen.data or pass_mark is not None or borderline is not None:
            raise OptionsError(
                "An event log takes neither --data nor --labels, and no pass mark; build the data set first."
            )
        return _print_progress(Path(chosen.word), options, raters, as_json)
    from siming_tasks.analysis.pass_decisions import PASS_MARK
    from siming_tasks.analysis.psychometrics import psychometrics
    from siming_tasks.analysis.rater_agreement import inter_rater_tables
    from siming_tasks.report.tables.psychometrics import psychometrics_section
    from siming_tasks.report.tables.raters import rater_pairs_section, rater_section

    dataset = chosen.open()
    tables = inter_rater_tables(dataset, options, raters)
    if not tables:
        raise DataError(no_ceiling(dataset))
    pass_mark = PASS_MARK if pass_mark is None else pass_mark
    deeper = psychometrics(dataset, options, names=raters, pass_mark=pass_mark, borderline=borderline)
    if as_json:
        parts = tables[0].to_json() if len(tables) == 1 else {"pairs": [table.to_json() for table in tables]}
        print(json.dumps(origin(dataset) | parts | {"psychometrics": deeper.to_json()}, allow_nan=False))
    else:
        section = rater_section(tables[0]) if len(tables) == 1 else rater_pairs_section(tables)
        show_markdown(f"## Raters of {title(dataset)}", section, psychometrics_section(deeper))
    return 0


def _print_progress(event_log: Path, options: Options, raters: tuple[str, str] | None, as_json: bool) -> int:
    """Print how far the rating in an event log is; 0."""
    from siming_tasks.tools.station.progress import progress_section, read_progress

    rating_progress = read_progress(event_log, options, raters)
    if as_json:
        print(json.dumps(rating_progress.to_json(), allow_nan=False))
    else:
        show_markdown(progress_section(rating_progress))
    return 0


def no_ceiling(dataset: Dataset) -> str:
    """The reason why there is no human row."""
    from siming_tasks.report.tables.raters import NO_CEILING

    return NO_CEILING.format(found=", ".join(_raters_with_points(dataset)) or "none")


def _raters_with_points(dataset: Dataset) -> list[str]:
    """Raters who gave points, the consensus among them unless it is withheld."""
    from siming_tasks.common.schema import CONSENSUS

    return sorted([*dataset.physicians, *([] if dataset.withheld else [CONSENSUS])])


def origin(dataset: Dataset) -> dict[str, Any]:
    """The data set of a JSON output."""
    return {
        "dataset": dataset.name,
        "version": dataset.version,
        "digest": dataset.digest,
        "synthetic": dataset.synthetic,
    }


def title(dataset: Dataset) -> str:
    """The data set of a printed output, for its heading."""
    return f"{literal(dataset.name)} {literal(dataset.version)}{', SYNTHETIC data' if dataset.synthetic else ''}"
