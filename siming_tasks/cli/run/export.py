"""``siming export``: a run in the formats of others."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from siming_tasks.cli.dataset import add_data, open_chosen
from siming_tasks.cli.findings import show
from siming_tasks.cli.flags import SCORED, add_options, options_from
from siming_tasks.cli.terminal import say

__all__ = ["add"]

FORMATS = ("every-eval-ever", "inspect", "jsonl", "parquet", "latex")


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser("export", help="a run for Every Eval Ever, Inspect, Parquet, JSON Lines or LaTeX")
    command.add_argument("runs", nargs="+", metavar="RUN", help="output folder, log or prediction file; latex: several")
    command.add_argument("out", type=Path, metavar="OUT", help="the file; for every-eval-ever and inspect a folder")
    command.add_argument("--format", choices=FORMATS, required=True, help="in which form")
    add_data(command, labels=True)
    command.add_argument("--with-labels", action="store_true", help="write the consensus of every step, too")
    add_options(command, *SCORED)
    command.set_defaults(run=_export)


def _export(arguments: argparse.Namespace) -> int:
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.results.discovery import find_runs
    from siming_tasks.tools.exchange.every_eval_ever import write_every_eval_ever
    from siming_tasks.tools.exchange.inspect_out import write_inspect
    from siming_tasks.tools.exchange.latex import write_latex
    from siming_tasks.tools.exchange.rows import write_jsonl, write_parquet
    from siming_tasks.tools.exchange.taken import take

    options, form, out = options_from(arguments), arguments.format, arguments.out
    sources = find_runs(arguments.runs)
    if len(sources) > 1 and form != "latex":
        raise OptionsError(f"--format {form} takes one run, and {len(sources)} were found. Export them one by one.")
    dataset = open_chosen(arguments, options, sources, reference=form in ("every-eval-ever", "latex"))
    how: dict[str, Any] = {"labels": arguments.with_labels, "kept": bool(arguments.labels)}
    runs = [take(source, dataset, options, **how) for source in sources]
    for taken in runs:
        show(taken.run.problems)
    files = [out]
    if form == "latex":
        write_latex(runs, out)
    elif form == "jsonl":
        write_jsonl(runs[0], out)
    elif form == "parquet":
        write_parquet(runs[0], out)
    else:
        files = write_every_eval_ever(runs[0], out) if form == "every-eval-ever" else write_inspect(runs[0], out)
    label = "SYNTHETIC " if dataset.synthetic else ""
    words = "with labels" if arguments.with_labels else "without labels"
    for file in files:
        say(f"{file}: {label}{dataset.name}, {words}.")
    if form == "every-eval-ever" and not arguments.with_labels:
        say("No lines per request: that schema wants the reference in each (--with-labels).")
    return 0
