"""``siming report``: pages, Markdown and JSON from finished runs."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommands."""
    command = commands.add_parser(
        "report",
        help="make a folder of pages from finished runs",
        description="Reads lmms-eval output folders (made with --log_samples) or prediction files and writes a folder "
        "that opens from disk: index.html, report.md, report.json.",
    )
    command.add_argument(
        "runs", nargs="+", metavar="RUN", help="PATH or NAME=PATH; a folder with several models is split"
    )
    _data(command)
    command.add_argument("--out", type=Path, default=Path("siming_report"), metavar="DIR", help="default: %(default)s")
    command.add_argument("--media", choices=("link", "copy", "none"), default="link",
                         help="videos: link to the dataset (default), copy into the report, or leave out")  # fmt: skip
    command.add_argument("--mapping", choices=("absolute", "proportional"), help="points to labels, for kappa")
    command.add_argument("--positive", choices=("error", "correct"), help="class of precision, recall and F1")
    command.add_argument("--rater", metavar="NAME", help="the reference (default: consensus)")
    command.add_argument("--resamples", type=int, metavar="N", help="bootstrap resamples (default 10,000)")
    command.add_argument("--seed", type=int, metavar="S", help="of the resamples")
    command.add_argument("--jobs", type=int, default=2, metavar="J", help="worker processes (default 2)")
    command.set_defaults(run=report)


def _data(command: argparse.ArgumentParser) -> None:
    command.add_argument("--data", metavar="DIR", help="dataset folder or org/name; default: SIMING_DATA, else the "
                         "folder that the run's results name")  # fmt: skip
    command.add_argument(
        "--labels", type=Path, metavar="FILE", help="label file of a dataset whose labels are withheld"
    )


def report(arguments: argparse.Namespace) -> int:
    """Write the report and say where it is."""
    from siming_tasks.errors import SettingsError
    from siming_tasks.report.build import write_report
    from siming_tasks.report.sources import find_sources
    from siming_tasks.settings import Settings

    names = ("mapping", "positive", "rater", "resamples", "seed")
    chosen = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    if arguments.jobs < 1 or chosen.get("resamples", 1) < 1 or chosen.get("seed", 0) < 0:
        raise SettingsError("--jobs and --resamples must be at least 1, --seed at least 0.")
    options = replace(Settings.from_env(), **chosen)
    sources = find_sources(arguments.runs)
    dataset = _dataset(arguments, options, sources)
    out = write_report(sources, dataset, arguments.out, options, media=arguments.media, jobs=arguments.jobs)
    what = "SYNTHETIC data" if dataset.synthetic else dataset.name
    print(f"{out / 'index.html'}: {len(sources)} run{'s' if len(sources) != 1 else ''} on {what}.")
    return 0


def _dataset(arguments: argparse.Namespace, options: Any, sources: Any) -> Any:
    """The dataset that the command line, the environment or the runs themselves name."""
    from siming_tasks.data import open_dataset, resolve_dataset
    from siming_tasks.data.withheld import with_labels
    from siming_tasks.report.sources import dataset_folder

    given = arguments.data or options.data
    if given:
        root = resolve_dataset(replace(options, data=given))
    else:
        root = dataset_folder(sources) or resolve_dataset(options)
        print(f"Dataset: {root}", file=sys.stderr)
    dataset = open_dataset(root)
    return with_labels(dataset, arguments.labels) if arguments.labels else dataset
