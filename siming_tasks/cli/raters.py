"""``siming raters``: how far two physicians agree; and what ``siming compare`` shares with it."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from siming_tasks.cli.dataset import add_data, open_chosen
from siming_tasks.cli.flags import add_options, options_from

if TYPE_CHECKING:
    from siming_tasks.data import Dataset

__all__ = ["add", "no_ceiling", "origin", "title", "two_raters"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser("raters", help="how far two physicians agree, with intervals")
    add_data(command, word=True, labels=True)
    command.add_argument("--raters", nargs=2, metavar=("A", "B"), help="the two raters (default: the first two)")
    add_options(command, "mapping", "resamples", "seed")
    command.add_argument("--json", action="store_true", help="print one JSON object instead of Markdown")
    command.set_defaults(run=raters)


def raters(arguments: argparse.Namespace) -> int:
    """Print the inter-rater table; exit code 1 if the data set cannot have one."""
    from siming_tasks.errors import DataError
    from siming_tasks.metrics.humans.raters import rater_table
    from siming_tasks.present.raters import markdown
    from siming_tasks.runs.panel import labels_of
    from siming_tasks.schema import CONSENSUS
    from siming_tasks.settings import benchmark_setting

    options = options_from(arguments)
    dataset = open_chosen(arguments, options)
    names = tuple(arguments.raters) if arguments.raters else two_raters(dataset)
    if names is None:
        raise DataError(no_ceiling(dataset))
    for name in names:
        if name not in dataset.raters:
            raise DataError(f"{dataset.name} has no rater {name!r}; it has {', '.join(dataset.raters) or 'none'}.")
    everything = benchmark_setting("full", "score").name
    panels = [labels_of(dataset, everything, rater) for rater in (*names, CONSENSUS)]
    found = rater_table(
        *panels, names=(names[0], names[1]), mapping=options.mapping, resamples=options.resamples, seed=options.seed
    )
    if arguments.json:
        print(json.dumps(origin(dataset) | found.to_json(), allow_nan=False))
    else:
        print(f"## Raters of {title(dataset)}\n\n{markdown(found)}")
    return 0


def two_raters(dataset: Dataset) -> tuple[str, str] | None:
    """The first two raters that gave points, None if there are not two."""
    from siming_tasks.schema import CONSENSUS

    names = [name for name in dataset.raters if name != CONSENSUS and _has_points(dataset, name)]
    return (names[0], names[1]) if len(names) > 1 else None


def _has_points(dataset: Dataset, rater: str) -> bool:
    return any(step.scores.get(rater) is not None for video in dataset.videos for step in video.applicable)


def no_ceiling(dataset: Dataset) -> str:
    """Why there is no human row."""
    from siming_tasks.present.raters import NO_CEILING

    return NO_CEILING.format(found=", ".join(name for name in dataset.raters if _has_points(dataset, name)) or "none")


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
    return f"{dataset.name} {dataset.version}{', SYNTHETIC data' if dataset.synthetic else ''}"
