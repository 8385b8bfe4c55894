"""``siming study raters``, ``diagnose``, ``card``, ``power``: physicians, runs, plans."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import print_json, show_markdown
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.sanitize import literal
from siming_tasks.options import Decimal, Options, Whole

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.report.table import Section


_RATED = cli.Input("data set", "event log", as_path=False)
_PROPORTION = Decimal(above=0, below=1)


class _LiftedMetrics(click.ParamType[str]):
    """A metric that can be planned for; the list is looked up only when a metric is named: arrays load slowly."""

    name = "NAME"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, if it is one."""
        from siming_tasks.metrics.catalogue import select

        if value not in (names := tuple(select(lifted=True))):
            self.fail(f"{value!r} is not one of {', '.join(names)}.", param, ctx)
        return value


@cli.command()
def raters(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True, labels=True, word_kind=_RATED),
    raters: tuple[str, str] | None = cli.option("A B", "these two raters (default: every pair of physicians)", nargs=2),
    options: Options = cli.option_flags("mapping", "resamples", "seed"),
    as_json: bool = cli.switch("print one JSON object instead of Markdown", "--json"),
) -> None:
    """Print the inter-rater table of every pair, or how far the rating in an event log is."""
    from siming_tasks.tools.station.event_log import is_event_log

    if chosen.word and is_event_log(Path(chosen.word)):
        from siming_tasks.tools.station.progress import progress_section, read_progress

        if chosen.labels or chosen.data:
            raise OptionsError("An event log takes neither --data nor --labels; build the data set first.")
        progress = read_progress(Path(chosen.word), options, raters)
        if as_json:
            print_json(progress.to_json())
        else:
            show_markdown(progress_section(progress))
        return
    from siming_tasks.analysis.rater_agreement import inter_rater_tables
    from siming_tasks.analysis.rater_totals import rater_totals
    from siming_tasks.report.tables.raters import rater_pairs_section, rater_section, rater_totals_section

    dataset = chosen.open()
    tables = inter_rater_tables(dataset, options, raters)
    if not tables:
        raise DataError(no_ceiling(dataset))
    totals = rater_totals(dataset, options, names=raters)
    if as_json:
        parts = tables[0].to_json() if len(tables) == 1 else {"pairs": [table.to_json() for table in tables]}
        about_raters = {"raters_stated": dataset.raters_in_words}
        print_json(origin(dataset) | about_raters | parts | {"totals": totals.to_json()})
    else:
        section = rater_section(tables[0]) if len(tables) == 1 else rater_pairs_section(tables)
        stated = dataset.raters_in_words if dataset.rater_facts else {}
        about = "; ".join(f"{literal(name)}: {words}" for name, words in stated.items())
        show_markdown(
            f"## Raters of {title(dataset)}", *([about] if about else []), section, rater_totals_section(totals)
        )


@cli.command()
def diagnose(
    chosen: cli.DatasetChoice = cli.dataset_flags(labels=True),
    path: Path = cli.word("RUN", "a prediction file, a sample log, or a folder of them", cli.RUN),
    setting: str | None = cli.option("NAME", "one setting (default: every setting of the run)", cli.SETTING),
    partial: bool = cli.switch("the run asked only for the requests it holds (as with --limit)"),
    pass_mark: float = cli.option("SHARE", "share of points that passes (default 0.8)", Decimal(above=0, most=1), 0.8),
    margin: float | None = cli.option("X", "margin of equivalence, stated beforehand", Decimal(above=0, below=1)),
    again: Path | None = cli.option("RUN", "a second run of the same model: its agreement with itself", Path),
    options: Options = cli.option_flags(*cli.SCORING_OPTIONS),
    as_json: bool = cli.switch("print JSON instead of Markdown", "--json"),
) -> None:
    """Print one report for each setting of the run."""
    from siming_tasks.analysis.input_controls import analyse_ablations
    from siming_tasks.analysis.run_analyses import diagnose as diagnose_run
    from siming_tasks.report.tables.comparison import ablation_section
    from siming_tasks.report.tables.diagnosis import diagnosis_section
    from siming_tasks.results.discovery import run_at
    from siming_tasks.results.run import read_run

    source = run_at(path)
    dataset = chosen.open([source], reference=True)
    run = read_run(source, dataset, partial=partial)
    ablated = {name: each for name in run.settings if (each := analyse_ablations(run, name, options))}
    # an ablation of a setting that was asked too stands in that one's report
    besides = {ablation.setting for each in ablated.values() for ablation in each}
    wanted = [setting] if setting else [name for name in run.settings if name not in besides]
    if not wanted or any(name not in run.settings for name in wanted):
        has = ", ".join(run.settings) or "no setting"
        raise DataError(f"{path}: nothing to diagnose for {setting or 'any setting'}. It holds {has}.")
    second = read_run(run_at(again), dataset, partial=partial) if again else None
    if second and (missing := [name for name in wanted if name not in second.settings]):
        raise DataError(f"{again}: has no answers to {missing[0]}, which {path} has. Give --setting, or another run.")
    reports = {
        name: diagnose_run(run, name, options, pass_mark=pass_mark, margin=margin, again=second) for name in wanted
    }
    if as_json:
        diagnoses = {name: report.to_json() for name, report in reports.items()}
        for name in ablated.keys() & diagnoses:
            diagnoses[name]["ablations"] = [ablation.to_json() for ablation in ablated[name]]
        print_json({"dataset": dataset.name, "synthetic": dataset.synthetic, "settings": diagnoses})
        return
    heading = f"{dataset.name}, synthetic data" if dataset.synthetic else dataset.name
    section: Section = []
    for name, report in reports.items():
        section += diagnosis_section(report, f"{name} on {heading}")
        if name in ablated:
            section += ["## Ablations", *ablation_section(ablated[name], reads_labels=source.reference)]
    show_markdown(section)


@cli.command("Markdown for a model's README: the values of the report's tables, how they were made, and their limits.")
def card(
    chosen: cli.DatasetChoice = cli.dataset_flags(labels=True),
    path: Path = cli.word("RUN", "a prediction file, a sample log, or a folder of them", cli.RUN),
    partial: bool = cli.switch("the run asked only for the requests it holds (as with --limit)"),
    options: Options = cli.option_flags(*cli.SCORING_OPTIONS),
) -> None:
    """Print the text."""
    from siming_tasks.report.model_card import model_card
    from siming_tasks.results.discovery import run_at

    source = run_at(path)
    show_markdown(model_card(source, chosen.open([source], reference=True), options, partial=partial))


@cli.command("Simulates raters and judges (synthetic; siming_tasks.analysis.power) to plan a data set.")
def power(
    videos: int = cli.option("N", "size of the data set (default 200)", Whole(10), 200),
    models: int = cli.option("N", "models compared pairwise under Holm (default 12)", Whole(2), 12),
    steps: int = cli.option("N", "rubric steps per video (default 33)", Whole(), 33),
    prevalence: float = cli.option("X", "share of steps not fully correct (default 0.186)", _PROPORTION, 0.186),
    agreement: float = cli.option("X", "kappa of two raters (default 0.732)", _PROPORTION, 0.732),
    alpha: float = cli.option("X", "level of the two-sided test (default 0.05)", _PROPORTION, 0.05),
    wanted_power: float = cli.option("X", "wanted power (default 0.8)", _PROPORTION, 0.8, flag="--power"),
    replicates: int = cli.option("N", "data sets to draw (default 2000)", Whole(100), 2000),
    effect: float | None = cli.option("X", "find the videos needed for this effect instead", Decimal(above=0)),
    metric_names: tuple[str, ...] = cli.several(
        "", "a metric with a no-video baseline; may be repeated (default: all)", _LiftedMetrics(), flag="--metric"
    ),
    options: Options = cli.option_flags("seed"),
    as_json: bool = cli.switch("print JSON instead of a table", "--json"),
) -> None:
    """Print the table; progress goes to standard error."""
    import numpy as np
    from tqdm import tqdm

    from siming_tasks.analysis.power import QUESTIONS, PowerSettings, StudyDesign, plan, smallest_effects
    from siming_tasks.metrics.catalogue import select

    design = StudyDesign(steps=steps, prevalence=prevalence, agreement=agreement)
    test = PowerSettings(alpha, wanted_power, models * (models - 1) // 2)
    metrics = tuple(dict.fromkeys(metric_names or select(lifted=True)))
    rng = np.random.default_rng(options.seed)
    total = replicates * (1 if effect is None else len(metrics) * (1 + len(QUESTIONS)))
    with tqdm(total=total, unit="data set", file=sys.stderr, disable=None, leave=False) as bar:
        how: dict[str, Any] = {"rng": rng, "test": test, "replicates": replicates}
        how |= {"progress": bar.update}
        sizes: list[Any]
        if effect is None:
            sizes = list(smallest_effects(design, videos, metrics=metrics, **how))
        else:
            sizes = [item for metric in metrics for item in plan(design, metric, effect, **how)]
    if as_json:
        settings: dict[str, Any] = {"steps": steps, "prevalence": prevalence, "agreement": agreement}
        settings |= {"alpha": alpha, "power": wanted_power, "comparisons": test.comparisons}
        settings |= {"replicates": replicates, "seed": options.seed, "results": [item.to_json() for item in sizes]}
        print_json({"synthetic": True, **settings}, indent=2)
        return
    made = (
        f"Simulated: {steps} steps, {prevalence:.1%} not fully correct, raters' kappa {agreement:g}; "
        f"power {wanted_power:g} at level {alpha:g}."
    )
    _print_table(made, videos, effect, test.comparisons, sizes)


def _print_table(made: str, videos: int, effect: float | None, comparisons: int, sizes: list[Any]) -> None:
    """Print a row for each metric: the smallest effect, or the videos that the effect needs."""
    from siming_tasks.metrics.catalogue import CATALOGUE
    from siming_tasks.report.table import Table

    head = ["metric", "against a no-video baseline", "two models", f"two models, Holm over {comparisons}"]
    names = {item.metric: CATALOGUE[item.metric].gain_label for item in sizes}
    if effect is None:
        rows = [
            [names[item.metric]]
            + ["out of reach" if reach is None else f"{reach:.3f}" for reach in (item.zero, item.two, item.holm)]
            for item in sizes
        ]
        show_markdown(made, f"Smallest effect that {videos} videos show:", Table.of(head, rows))
        return

    def cell(item: Any) -> str:
        if item.videos is None:
            return "out of reach"
        return f"{item.videos:,}" + (f" ({item.power:.2f})" if item.power is not None else "")

    rows = [[label, *(cell(item) for item in sizes if item.metric == key)] for key, label in names.items()]
    what = f"Videos that show an effect of {effect:g} (in brackets: power in data sets of that size):"
    reasons = dict.fromkeys(f"{names[item.metric]}: {item.reason}" for item in sizes if item.reason)
    show_markdown(made, what, Table.of(head, rows), *reasons)


def no_ceiling(dataset: Dataset) -> str:
    """The reason why there is no human row: who gave points, the consensus among them unless it is withheld."""
    from siming_tasks.common.schema import CONSENSUS
    from siming_tasks.report.tables.raters import NO_CEILING

    names = sorted([*dataset.physicians, *([] if dataset.withheld else [CONSENSUS])])
    return NO_CEILING.format(found=", ".join(names) or "none")


def origin(dataset: Dataset) -> dict[str, Any]:
    """The data set of a JSON output."""
    facts = dict(dataset.facts)
    return {"dataset": facts.pop("name"), **facts, "synthetic": dataset.synthetic}


def title(dataset: Dataset) -> str:
    """The data set of a printed output, for its heading."""
    part = f", split {literal(dataset.part)}" if dataset.part else ""
    return f"{literal(dataset.name)} {literal(dataset.version)}{part}{', SYNTHETIC data' if dataset.synthetic else ''}"
