"""``siming run export``: a run in the formats of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from siming_tasks.cli.parameters import SCORING_OPTIONS, DatasetChoice, command, dataset_flags, option_flags
from siming_tasks.cli.terminal import say, show_problems
from siming_tasks.options import Options

__all__ = ["export"]

FORMATS = ("every-eval-ever", "inspect", "jsonl", "parquet", "latex")


@command()
@dataset_flags(labels=True)
@click.argument(
    "run_paths", nargs=-1, required=True, metavar="RUN...", help="output folder, log or prediction file; latex: several"
)
@click.argument("out", type=Path, metavar="OUT", help="the file; for every-eval-ever and inspect a folder")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    required=True,
    help="format of the output",
)
@click.option("--with-labels", is_flag=True, help="also write the consensus of every step")
@option_flags(*SCORING_OPTIONS)
def export(
    chosen: DatasetChoice,
    options: Options,
    run_paths: tuple[str, ...],
    out: Path,
    form: str,
    with_labels: bool,
) -> int:
    """Write the run in the wanted format; 0."""
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.results.discovery import find_runs
    from siming_tasks.tools.exchange.every_eval_ever_export import write_every_eval_ever
    from siming_tasks.tools.exchange.exported_run import read_exported_run
    from siming_tasks.tools.exchange.inspect_export import write_inspect
    from siming_tasks.tools.exchange.latex_export import write_latex
    from siming_tasks.tools.exchange.request_and_step_tables import write_jsonl, write_parquet

    sources = find_runs(run_paths)
    if len(sources) > 1 and form != "latex":
        raise OptionsError(f"--format {form} takes one run, and {len(sources)} were found. Export them one by one.")
    dataset = chosen.open(sources, reference=form in ("every-eval-ever", "latex"))
    how: dict[str, Any] = {"labels": with_labels, "kept": bool(chosen.labels)}
    runs = [read_exported_run(source, dataset, options, **how) for source in sources]
    for taken in runs:
        show_problems(taken.run.problems)
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
    words = "with labels" if with_labels else "without labels"
    for file in files:
        say(f"{file}: {label}{dataset.name}, {words}.")
    if form == "every-eval-ever" and not with_labels:
        say("No lines per request: that schema wants the reference in each (--with-labels).")
    return 0
