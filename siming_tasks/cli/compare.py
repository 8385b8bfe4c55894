"""``siming compare``: do runs differ, did the video matter, how far is a physician."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from siming_tasks.cli.parameters import SCORING_OPTIONS, DatasetChoice, command, dataset_flags, option_flags
from siming_tasks.cli.study.raters import no_ceiling, origin, title
from siming_tasks.cli.terminal import show_markdown
from siming_tasks.common.errors import DataError
from siming_tasks.options import Options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from siming_tasks.analysis.compare_runs import RunComparison
    from siming_tasks.data import Dataset
    from siming_tasks.report.table import Section
    from siming_tasks.results.run import Run

__all__ = ["compare"]


@command()
@dataset_flags(labels=True)
@click.argument(
    "run_paths", nargs=-1, required=True, metavar="RUN...", help="prediction file, sample log or folder; or NAME=PATH"
)
@click.option("--setting", "only_settings", multiple=True, metavar="NAME", help="only this setting; may be repeated")
@click.option("--against", metavar="NAME", help="compare all runs with this one instead of all pairs")
@click.option(
    "--allow",
    multiple=True,
    metavar="WHAT",
    help="accept runs that differ in WHAT: dataset, prompt, media, frames, size, density, encoding, sampler, "
    "videos, steps",
)
@click.option("--partial", is_flag=True, help="count only requests that have a line (limited runs that do not say so)")
@click.option("--repeated", is_flag=True, help="the runs are repeats of one judge; print how much they differ")
@click.option("--max-t", is_flag=True, help="also print step-down max-T p-values")
@click.option("--two-way", is_flag=True, help="also print intervals over videos and steps")
@option_flags(*SCORING_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="print one JSON object instead of Markdown")
def compare(
    chosen: DatasetChoice,
    options: Options,
    run_paths: tuple[str, ...],
    only_settings: tuple[str, ...],
    against: str | None,
    allow: tuple[str, ...],
    partial: bool,
    repeated: bool,
    max_t: bool,
    two_way: bool,
    as_json: bool,
) -> None:
    """Print a comparison, the video's contribution and the human ratio for every setting."""
    from siming_tasks.analysis.compare_runs import common_settings
    from siming_tasks.analysis.compare_runs import compare as compare_runs
    from siming_tasks.analysis.input_controls import analyse_ablations
    from siming_tasks.common.sanitize import literal
    from siming_tasks.report.tables.controls import ablation_section
    from siming_tasks.results.comparable import check_allowed
    from siming_tasks.results.discovery import find_runs
    from siming_tasks.results.run import read_run
    from siming_tasks.tasks import UNALTERED_TASKS

    check_allowed(allow)
    sources = find_runs(run_paths)
    dataset = chosen.open(sources, reference=True)
    runs = [read_run(source, dataset, partial=partial, allow=allow) for source in sources]
    if repeated:
        settings = common_settings(runs, only_settings or None)
        _print_repeats(runs, settings, options, allow, dataset, as_json)
        return
    wanted = only_settings or UNALTERED_TASKS
    ablated = {(run, name): each for run in runs for name in UNALTERED_TASKS if name in wanted
              if (each := analyse_ablations(run, name, options, allow))}  # fmt: skip
    how: dict[str, Any] = {"allow": allow, "against": against, "steps_too": two_way}
    comparisons: dict[str, RunComparison] = {}
    refused: dict[str, str] = {}
    alone = len(runs) == 1 and ablated  # one run's ablations beside its own plain tasks
    for setting in () if alone else common_settings(runs, only_settings or None):
        try:
            comparisons[setting] = compare_runs(runs, setting, options, **how)
        except DataError as error:
            refused[setting] = str(error)
    if not comparisons and not alone:
        raise DataError("\n".join(f"{setting}: {why}" for setting, why in refused.items())) if len(refused) > 1 else (
            DataError(next(iter(refused.values()))))  # fmt: skip
    if as_json:
        parts = {setting: part.to_json() for setting, part in comparisons.items()}
        parts = {
            setting: part if part["human_ratio"] else {**part, "human_ratio_reason": no_ceiling(dataset)}
            for setting, part in parts.items()
        }
        ablation_effects: dict[str, dict[str, Any]] = {}
        for (run, setting), each in ablated.items():
            ablation_effects.setdefault(run.name, {})[setting] = [effect.to_json() for effect in each]
        whole = {
            "settings": parts,
            "not_compared": refused,
            **({"ablations": ablation_effects} if ablation_effects else {}),
        }
        print(json.dumps(origin(dataset) | whole, allow_nan=False))
        return
    for setting, part in comparisons.items():
        show_markdown(f"## {setting} on {title(dataset)}", _section(part, dataset, joint=max_t))
    for setting, why in refused.items():
        show_markdown(f"## {setting} on {title(dataset)}", f"Not compared: {why}")
    for (run, setting), each in ablated.items():
        section = ablation_section(each, reads_labels=run.source.reference)
        show_markdown(f"## Ablations of {literal(run.name)}: {setting} on {title(dataset)}", section)


def _print_repeats(
    runs: Sequence[Run],
    settings: Sequence[str],
    options: Options,
    allow: Sequence[str],
    dataset: Dataset,
    as_json: bool,
) -> None:
    """Print how much repeated requests to one judge differ, for every setting that all runs have."""
    from siming_tasks.analysis.variance_sources import repeatability
    from siming_tasks.metrics.estimate import plain
    from siming_tasks.report.tables.comparison import repeats_section
    from siming_tasks.results.comparable import TaskRun, comparison_entries

    variances = {}
    for setting in settings:
        entered = comparison_entries([TaskRun.of(run, setting, options.rater) for run in runs], allow)
        how: dict[str, Any] = {"allow": allow, "mapping": options.mapping, "positive": options.positive}
        variances[setting] = repeatability(entered, **how)
    if as_json:
        parts = {
            name: {metric: plain(asdict(estimate)) for metric, estimate in part.items()}
            for name, part in variances.items()
        }
        print(json.dumps(origin(dataset) | {"repeated": parts}, allow_nan=False))
        return
    for setting, part in variances.items():
        show_markdown(f"## {setting} on {title(dataset)}, {len(runs)} repeats", repeats_section(part))


def _section(run_comparison: RunComparison, dataset: Dataset, *, joint: bool) -> Section:
    """The comparison of one setting: the runs, the video's contribution and the human ratio."""
    from siming_tasks.report.tables import comparison, controls, raters

    best_first = comparison.ranked_runs(run_comparison.comparison)
    section = comparison.comparison_section(run_comparison.comparison, joint=joint)
    if run_comparison.two_way:
        section += comparison.two_way_section(
            {run: run_comparison.two_way[run] for run in best_first if run in run_comparison.two_way}
        )
    section += controls.contribution_section(run_comparison.contribution, best_first)
    if run_comparison.human_ratio:
        rows = {run: run_comparison.human_ratio[run] for run in best_first if run in run_comparison.human_ratio}
        return [*section, *raters.human_ratio_section(rows, run_comparison.physicians)]
    return [*section, no_ceiling(dataset)]
