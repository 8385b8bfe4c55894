"""``siming compare``: do runs differ, did the video matter, how far is a physician."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.study import no_ceiling, origin, title
from siming_tasks.cli.terminal import print_json, show_markdown
from siming_tasks.common.schema import DIFFERENCES
from siming_tasks.options import Choice, Options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from siming_tasks.analysis.compare_runs import RunComparison
    from siming_tasks.data import Dataset
    from siming_tasks.report.table import Section, Table
    from siming_tasks.results.run import Run


@cli.command()
def compare(
    chosen: cli.DatasetChoice = cli.dataset_flags(labels=True),
    run_paths: tuple[str, ...] = cli.word("RUN...", "prediction file, sample log or folder; or NAME=PATH", cli.RUNS),
    only_settings: tuple[str, ...] = cli.several(
        "NAME", "only this setting; may be repeated", cli.SETTING, flag="--setting"
    ),
    against: str | None = cli.option("NAME", "compare all runs with this one instead of all pairs"),
    allow: tuple[str, ...] = cli.several(
        "WHAT", f"accept runs that differ in WHAT: {', '.join(DIFFERENCES)}", Choice(DIFFERENCES)
    ),
    partial: bool = cli.switch("count only requests that have a line (limited runs that do not say so)"),
    repeated: bool = cli.switch("the runs are repeats of one judge; print how much they differ"),
    options: Options = cli.option_flags(*cli.SCORING_OPTIONS),
    as_json: bool = cli.switch("print one JSON object instead of Markdown", "--json"),
) -> None:
    """Print a comparison, the video's contribution and the human ratio for every setting."""
    from siming_tasks.analysis.compare_runs import common_settings, compare_settings
    from siming_tasks.analysis.input_controls import analyse_ablations
    from siming_tasks.analysis.sound_contribution import analyse_sound
    from siming_tasks.common.sanitize import literal
    from siming_tasks.report.tables.comparison import ablation_section, sound_section
    from siming_tasks.results.discovery import find_runs
    from siming_tasks.results.run import read_run
    from siming_tasks.tasks import BENCHMARK_TASKS, UNALTERED_TASKS

    sources = find_runs(run_paths)
    dataset = chosen.open(sources, reference=True)
    runs = [read_run(source, dataset, partial=partial, allow=allow) for source in sources]
    if repeated:
        _print_repeats(runs, common_settings(runs, only_settings or None), options, allow, dataset, as_json)
        return
    wanted = only_settings or UNALTERED_TASKS
    ablated = {(run, name): each for run in runs for name in UNALTERED_TASKS if name in wanted
              if (each := analyse_ablations(run, name, options, allow))}  # fmt: skip
    heard = {(run, name): added for run in runs for name in BENCHMARK_TASKS if name in wanted
             if (added := analyse_sound(run, name, options, allow))}  # fmt: skip
    how: dict[str, Any] = {"allow": allow, "against": against}
    alone = len(runs) == 1 and (ablated or heard)  # one run's controls beside its own plain tasks
    shared = [] if alone else common_settings(runs, only_settings or None)
    study = compare_settings(runs, shared, options, **how)
    if as_json:
        parts = {setting: part.to_json() for setting, part in study.settings.items()}
        for part in parts.values():
            part |= {} if part["human_ratio"] else {"human_ratio_reason": no_ceiling(dataset)}
        whole = {"settings": parts, "not_compared": dict(study.refused)}
        controls: dict[str, Mapping[tuple[Run, str], Sequence[Any]]] = {"ablations": ablated, "sound": heard}
        for key, found in controls.items():
            effects: dict[str, dict[str, Any]] = {}
            for (run, setting), results in found.items():
                effects.setdefault(run.name, {})[setting] = [result.to_json() for result in results]
            whole |= {key: effects} if effects else {}
        print_json(origin(dataset) | whole)
        return
    printed: Section = [f"**{literal(comparison.sentence)}**" for comparison in study.settings.values()]
    if not alone:
        unseen = [name for name in common_settings(runs) if name not in study.settings] if only_settings else []
        if unseen:
            printed.append(f"**Left out of the correction: {', '.join(unseen)}, which these runs answered too.**")
    tables = _ranking_tables(runs, study.settings, options, allow)
    for setting, comparison in study.settings.items():
        printed += [f"## {setting} on {title(dataset)}", tables[setting]]
        printed += _section(comparison, dataset)
    for setting, why in study.refused.items():
        printed += [f"## {setting} on {title(dataset)}", f"Not compared: {why}"]
    for (run, setting), each in ablated.items():
        printed.append(f"## Ablations of {literal(run.name)}: {setting} on {title(dataset)}")
        printed += ablation_section(each, reads_labels=run.source.reference)
    for (run, setting), modalities in heard.items():
        printed.append(f"## Sound for {literal(run.name)}: {setting} on {title(dataset)}")
        printed += sound_section(modalities)
    show_markdown(printed)


def _ranking_tables(
    runs: Sequence[Run], settings: Mapping[str, RunComparison], options: Options, allow: Sequence[str]
) -> dict[str, Table]:
    """The leaderboard that a report has, of the runs that are compared, whatever judges they are."""
    from siming_tasks.metrics.estimate import plain
    from siming_tasks.report.leaderboard import Entrant, correct_leaderboards, rank_entrants
    from siming_tasks.report.tables.ranking import ranking_table

    dataset, held = runs[0].dataset, {}
    for setting, compared in settings.items():
        entrants = []
        for run in runs:
            known = plain(compared.contribution.get(run.name))
            entrants.append(replace(Entrant.of(run, setting, options, known), role="model", kind=None))
        held[setting] = rank_entrants(entrants, dataset, setting, options, allow, compared.comparison)
    boards = correct_leaderboards(held)
    return {name: ranking_table(board, synthetic=dataset.synthetic) for name, board in boards.items() if board}


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
    how: dict[str, Any] = {"allow": allow, "mapping": options.mapping, "positive": options.positive}
    for setting in settings:
        entered = comparison_entries([TaskRun.of(run, setting, options.rater, options.cluster) for run in runs], allow)
        variances[setting] = repeatability(entered, **how)
    if as_json:
        parts = {
            name: {metric: plain(asdict(estimate)) for metric, estimate in part.items()}
            for name, part in variances.items()
        }
        print_json(origin(dataset) | {"repeated": parts})
        return
    for setting, part in variances.items():
        show_markdown(f"## {setting} on {title(dataset)}, {len(runs)} repeats", repeats_section(part))


def _section(run_comparison: RunComparison, dataset: Dataset) -> Section:
    """The comparison of one setting: the runs, the video's contribution and the human ratio."""
    from siming_tasks.common.sanitize import literal
    from siming_tasks.report.tables import comparison, raters

    best_first = comparison.ranked_runs(run_comparison.comparison)
    section = comparison.comparison_section(run_comparison.comparison)
    if run_comparison.estimand:
        section.insert(1, literal(run_comparison.estimand.sentence))
    section += comparison.contribution_section(run_comparison.contribution, best_first)
    if run_comparison.human_ratio:
        rows = {run: run_comparison.human_ratio[run] for run in best_first if run in run_comparison.human_ratio}
        return [*section, *raters.human_ratio_section(rows, run_comparison.physicians)]
    return [*section, no_ceiling(dataset)]
