"""``siming study raters``, ``diagnose``, ``card``, ``power``: physicians, runs, plans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import print_json, show_markdown
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.sanitize import literal
from siming_tasks.options import Options

if TYPE_CHECKING:
    from siming_tasks.data import Dataset


@cli.command()
def raters(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True, labels=True),
    raters: tuple[str, str] | None = cli.option("A B", "these two raters (default: every pair of physicians)", nargs=2),
    options: Options = cli.option_flags("mapping"),
    as_json: bool = cli.switch("print one JSON object instead of Markdown", "--json"),
) -> None:
    """Print the inter-rater table of every pair, or how far the rating in an event log is."""
    from siming_tasks.tools.station.event_log import is_event_log

    if chosen.word and is_event_log(Path(chosen.word)):
        from siming_tasks.tools.station.progress import progress_section, read_progress

        if chosen.labels or chosen.data or raters:
            raise OptionsError("An event log takes no --data, --labels or --raters; build the data set first.")
        progress = read_progress(Path(chosen.word))
        if as_json:
            print_json(progress)
        else:
            show_markdown(progress_section(progress))
        return
    from siming_tasks.analysis.raters import rater_rows
    from siming_tasks.report.row_tables import row_section

    dataset = chosen.open()
    rows = rater_rows(dataset, options, raters)
    stated = dataset.raters_in_words if dataset.rater_facts else {}
    if as_json:
        print_json(origin(dataset) | {"raters_stated": dataset.raters_in_words, "rows": rows.to_json()})
        return
    about = "; ".join(f"{literal(name)}: {words}" for name, words in stated.items())
    show_markdown(f"## Raters of {title(dataset)}", *([about] if about else []), row_section(rows))


@cli.command()
def diagnose(
    chosen: cli.DatasetChoice = cli.dataset_flags(labels=True),
    path: Path = cli.word("RUN", "a prediction file, a sample log, or a folder of them", Path),
    setting: str | None = cli.option("NAME", "one setting (default: every setting of the run)", cli.SETTING),
    partial: bool = cli.switch("the run asked only for the requests it holds (as with --limit)"),
    pass_mark: float = cli.option("SHARE", "share of points that passes (default 0.8)", cli.SHARE, 0.8),
    margin: float = cli.option(
        "X",
        "difference from the physicians that counts as none (default 0.05)",
        cli.PROPORTION,
        0.05,
    ),
    again: Path | None = cli.option("RUN", "a second run of the same model: its agreement with itself", Path),
    options: Options = cli.option_flags(*cli.SCORING_OPTIONS),
    as_json: bool = cli.switch("print JSON instead of Markdown", "--json"),
) -> None:
    """Print one report for each setting of the run."""
    from siming_tasks.analysis.diagnosis import diagnose as diagnose_run
    from siming_tasks.report.row_tables import row_section
    from siming_tasks.results.discovery import run_at
    from siming_tasks.results.run import read_run
    from siming_tasks.tasks import TASKS

    source = run_at(path)
    dataset = chosen.open([source], reference=True)
    run = read_run(source, dataset, partial=partial)
    # a control of a setting that was asked too stands in that one's report
    controls = {
        name for name in run.settings if TASKS[name].base_task in run.settings and TASKS[name].base_task != name
    }
    wanted = [setting] if setting else [name for name in run.settings if name not in controls]
    if not wanted or any(name not in run.settings for name in wanted):
        has = ", ".join(run.settings) or "no setting"
        raise DataError(f"{path}: nothing to diagnose for {setting or 'any setting'}. It holds {has}.")
    second = read_run(run_at(again), dataset, partial=partial) if again else None
    if second and (missing := [name for name in wanted if name not in second.settings]):
        raise DataError(f"{again}: has no answers to {missing[0]}, which {path} has. Give --setting, or another run.")
    how: dict[str, Any] = {"pass_mark": pass_mark, "margin": margin, "again": second}
    found = {name: diagnose_run(run, name, options, **how) for name in wanted}
    if as_json:
        print_json(origin(dataset) | {"settings": {name: {"rows": rows.to_json()} for name, rows in found.items()}})
        return
    for name, rows in found.items():
        show_markdown(f"# {name} on {title(dataset)}", row_section(rows, reference=options.rater))


@cli.command("Markdown for a model's README: the values of the report's tables, how they were made, and their limits.")
def card(
    chosen: cli.DatasetChoice = cli.dataset_flags(labels=True),
    path: Path = cli.word("RUN", "a prediction file, a sample log, or a folder of them", Path),
    partial: bool = cli.switch("the run asked only for the requests it holds (as with --limit)"),
    options: Options = cli.option_flags(*cli.SCORING_OPTIONS),
) -> None:
    """Print the text."""
    from siming_tasks.report.model_card import model_card
    from siming_tasks.results.discovery import run_at

    source = run_at(path)
    show_markdown(model_card(source, chosen.open([source], reference=True), options, partial=partial))


@cli.command(
    "What a number of videos would show, from the error of two runs of a pilot, or of stated rates (SYNTHETIC)."
)
def power(
    chosen: cli.DatasetChoice = cli.dataset_flags(labels=True),
    videos: int = cli.option("N", "size of the data set that is planned (default 200)", click.IntRange(5), 200),
    pilot: tuple[str, str] | None = cli.option("A B", "two runs of a pilot whose difference is to be shown", nargs=2),
    metric: str = cli.option("NAME", "metric without --pilot: qwk or mcc (default qwk)", ("qwk", "mcc"), "qwk"),
    prevalence: float = cli.option("X", "without --pilot: share of wrong steps (default 0.186)", cli.PROPORTION, 0.186),
    agreement: float = cli.option(
        "X", "without --pilot: the better judge's agreement (default 0.5)", cli.PROPORTION, 0.5
    ),
    effect: float | None = cli.option("X", "a difference whose power is wanted", cli.PROPORTION),
    comparisons: int = cli.option("N", "tests under Holm's correction (default 1)", click.IntRange(1), 1),
    options: Options = cli.option_flags(*cli.SCORING_OPTIONS),
    as_json: bool = cli.switch("print JSON instead of a table", "--json"),
) -> None:
    """Print standard error, smallest difference found with power .8, and the power of a stated difference."""
    from siming_tasks.analysis.power import power as plan
    from siming_tasks.analysis.power import stated_rates
    from siming_tasks.report.row_tables import row_section

    if pilot:
        from siming_tasks.analysis.compare_runs import compare
        from siming_tasks.results.discovery import find_runs

        sources = find_runs(pilot)
        compared = compare(*pilot, data=chosen.open(sources, reference=True), options=options)
        found, made = (
            compared.pairs[0].estimate if compared.pairs else None,
            f"From the difference of {' and '.join(compared.runs)}",
        )
        if found is None:
            raise DataError("The pilot's runs cannot be compared: " + "; ".join(compared.unranked.values()))
    else:
        found = stated_rates(metric, prevalence, agreement, effect or 0.0)
        made = f"SYNTHETIC: two simulated judges, {prevalence:.1%} of the steps wrong, agreement {agreement:g}"
    rows = plan(found, videos, effect, comparisons=comparisons)
    if as_json:
        print_json({"synthetic": not pilot, "made": made, "rows": rows.to_json()}, indent=2)
        return
    show_markdown(f"{made}, {comparisons} test{'s' * (comparisons != 1)}.", row_section(rows, reference=options.rater))


def origin(dataset: Dataset) -> dict[str, Any]:
    """The data set of a JSON output."""
    facts = dict(dataset.facts)
    return {"dataset": facts.pop("name"), **facts, "synthetic": dataset.synthetic}


def title(dataset: Dataset) -> str:
    """The data set of a printed output, for its heading."""
    part = f", split {literal(dataset.part)}" if dataset.part else ""
    return f"{literal(dataset.name)} {literal(dataset.version)}{part}{', SYNTHETIC data' if dataset.synthetic else ''}"
