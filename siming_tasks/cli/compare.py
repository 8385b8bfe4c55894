"""``siming compare``: do runs differ, did the video matter, how far is a physician."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from siming_tasks.cli.dataset import add_data, open_chosen
from siming_tasks.cli.flags import SCORED, add_options, options_from
from siming_tasks.cli.markdown import show
from siming_tasks.cli.study.raters import no_ceiling, origin, title
from siming_tasks.common.errors import DataError
from siming_tasks.results.uncollected import uncollected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from siming_tasks.analysis.compare_runs import RunComparison
    from siming_tasks.data import Dataset
    from siming_tasks.options import Options
    from siming_tasks.report.table import Section
    from siming_tasks.results.run import Run

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser(
        "compare", help="compare runs over the same videos: paired intervals, no-video baselines, ablations"
    )
    command.add_argument("runs", nargs="+", metavar="RUN", help="prediction file, sample log or folder; or NAME=PATH")
    command.add_argument("--setting", action="append", metavar="NAME", help="only this setting; may be repeated")
    command.add_argument("--against", metavar="NAME", help="compare all runs with this one instead of all pairs")
    command.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="WHAT",
        help="accept runs that differ in WHAT: dataset, prompt, media, frames, size, density, encoding, sampler, "
        "videos, steps",
    )
    command.add_argument(
        "--partial", action="store_true", help="count only requests that have a line (limited runs that do not say so)"
    )
    command.add_argument(
        "--repeated", action="store_true", help="the runs are repeats of one judge: how much asking again changes"
    )
    command.add_argument("--max-t", action="store_true", help="also print step-down max-T p-values")
    command.add_argument("--two-way", action="store_true", help="also print intervals over videos and steps")
    add_data(command, labels=True)
    add_options(command, *SCORED)
    command.add_argument("--json", action="store_true", help="print one JSON object instead of Markdown")
    command.set_defaults(run=compare)


@uncollected()
def compare(arguments: argparse.Namespace) -> None:
    """Print a comparison, the video's contribution and the human ratio for every setting."""
    from siming_tasks.analysis.compare_runs import common_settings
    from siming_tasks.analysis.compare_runs import compare as compare_runs
    from siming_tasks.analysis.controls.ablation_effects import analyse_ablations
    from siming_tasks.common.sanitize import literal
    from siming_tasks.report.tables.controls import ablation_section
    from siming_tasks.results.comparable import check_allowed
    from siming_tasks.results.discovery import find_runs
    from siming_tasks.results.run import read_run
    from siming_tasks.tasks import NON_ABLATION_TASKS

    options = options_from(arguments)
    check_allowed(arguments.allow)
    sources = find_runs(arguments.runs)
    dataset = open_chosen(arguments, options, sources, reference=True)
    runs = [read_run(source, dataset, partial=arguments.partial, allow=arguments.allow) for source in sources]
    if arguments.repeated:
        _repeated(runs, options, arguments, dataset)
        return
    wanted = arguments.setting or NON_ABLATION_TASKS
    ablated = {(run, name): each for run in runs for name in NON_ABLATION_TASKS if name in wanted
              if (each := analyse_ablations(run, name, options, arguments.allow))}  # fmt: skip
    how = {"allow": arguments.allow, "against": arguments.against, "steps_too": arguments.two_way}
    found: dict[str, RunComparison] = {}
    refused: dict[str, str] = {}
    alone = len(runs) == 1 and ablated  # one run's ablations beside its own plain tasks
    for setting in () if alone else common_settings(runs, arguments.setting):
        try:
            found[setting] = compare_runs(runs, setting, options, **how)
        except DataError as error:
            refused[setting] = str(error)
    if not found and not alone:
        raise DataError("\n".join(f"{setting}: {why}" for setting, why in refused.items())) if len(refused) > 1 else (
            DataError(next(iter(refused.values()))))  # fmt: skip
    if arguments.json:
        parts = {setting: part.to_json() for setting, part in found.items()}
        parts = {
            setting: part if part["human_ratio"] else {**part, "human_ratio_reason": no_ceiling(dataset)}
            for setting, part in parts.items()
        }
        told: dict[str, dict[str, Any]] = {}
        for (run, setting), each in ablated.items():
            told.setdefault(run.name, {})[setting] = [one.to_json() for one in each]
        whole = {"settings": parts, "not_compared": refused, **({"ablations": told} if told else {})}
        print(json.dumps(origin(dataset) | whole, allow_nan=False))
        return
    for setting, part in found.items():
        show(f"## {setting} on {title(dataset)}", _section(part, dataset, joint=arguments.max_t))
    for setting, why in refused.items():
        show(f"## {setting} on {title(dataset)}", f"Not compared: {why}")
    for (run, setting), each in ablated.items():
        section = ablation_section(each, reads_labels=run.source.reference)
        show(f"## Ablations of {literal(run.name)}: {setting} on {title(dataset)}", section)


def _repeated(runs: Sequence[Run], options: Options, arguments: argparse.Namespace, dataset: Dataset) -> None:
    """Print what asking the same judge again changes, for every setting that all runs have."""
    from siming_tasks.analysis.compare_runs import common_settings
    from siming_tasks.analysis.comparison.repeatability import repeats
    from siming_tasks.metrics.estimate import plain
    from siming_tasks.report.tables.comparison import repeats_section
    from siming_tasks.results.comparable import TaskRun, comparison_entries

    found = {}
    for setting in common_settings(runs, arguments.setting):
        entered = comparison_entries([TaskRun.of(run, setting, options.rater) for run in runs], arguments.allow)
        how = {"allow": arguments.allow, "mapping": options.mapping, "positive": options.positive}
        found[setting] = repeats(entered, **how)
    if arguments.json:
        settings = {name: {metric: plain(asdict(one)) for metric, one in part.items()} for name, part in found.items()}
        print(json.dumps(origin(dataset) | {"repeated": settings}, allow_nan=False))
        return
    for setting, part in found.items():
        show(f"## {setting} on {title(dataset)}, {len(runs)} repeats", repeats_section(part))


def _section(found: RunComparison, dataset: Dataset, *, joint: bool) -> Section:
    from siming_tasks.report.tables import comparison, controls, raters

    best_first = comparison.ranked_runs(found.comparison)
    section = comparison.comparison_section(found.comparison, joint=joint)
    if found.two_way:
        section += comparison.two_way_section({run: found.two_way[run] for run in best_first if run in found.two_way})
    section += controls.contribution_section(found.contribution, best_first)
    if found.human_ratio:
        rows = {run: found.human_ratio[run] for run in best_first if run in found.human_ratio}
        return [*section, *raters.human_ratio_section(rows, found.physicians)]
    return [*section, no_ceiling(dataset)]
