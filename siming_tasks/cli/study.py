"""``siming study raters``, ``diagnose`` and ``lint-table``: physicians, one run, and published tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import print_json, show_markdown
from siming_tasks.common.sanitize import literal
from siming_tasks.options import Decimal, Options, Whole

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.report.table import Section


@cli.command()
def raters(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True, labels=True),
    raters: tuple[str, str] | None = cli.option("A B", "these two raters (default: every pair of physicians)", nargs=2),
    pass_mark: float | None = cli.option(
        "SHARE", "share of points that passes (default: 0.8)", Decimal(above=0, below=1)
    ),
    borderline: float | None = cli.option(
        "X", "the global rating that means borderline, for a pass mark", Decimal(least=-1000000000.0)
    ),
    options: Options = cli.option_flags("mapping", "resamples", "seed"),
    as_json: bool = cli.switch("print one JSON object instead of Markdown", "--json"),
) -> None:
    """Print the inter-rater table of every pair, or how far the rating in an event log is."""
    from siming_tasks.common.errors import DataError, OptionsError
    from siming_tasks.tools.station.event_log import is_event_log

    if chosen.word and is_event_log(Path(chosen.word)):
        from siming_tasks.tools.station.progress import progress_section, read_progress

        if chosen.labels or chosen.data or pass_mark is not None or borderline is not None:
            raise OptionsError(
                "An event log takes neither --data nor --labels, and no pass mark; build the data set first."
            )
        progress = read_progress(Path(chosen.word), options, raters)
        if as_json:
            print_json(progress.to_json())
        else:
            show_markdown(progress_section(progress))
        return
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
        print_json(origin(dataset) | parts | {"psychometrics": deeper.to_json()})
    else:
        section = rater_section(tables[0]) if len(tables) == 1 else rater_pairs_section(tables)
        show_markdown(f"## Raters of {title(dataset)}", section, psychometrics_section(deeper))


@cli.command()
def diagnose(
    chosen: cli.DatasetChoice = cli.dataset_flags(labels=True),
    path: Path = cli.word("RUN", "a prediction file, a sample log, or a folder of them", Path),
    setting: str | None = cli.option("", "one setting (default: every setting of the run)"),
    partial: bool = cli.switch("the run asked only for the requests it holds (as with --limit)"),
    pass_mark: float = cli.option("SHARE", "share of points that passes (default 0.8)", Decimal(above=0, most=1), 0.8),
    options: Options = cli.option_flags(*cli.SCORING_OPTIONS),
    as_json: bool = cli.switch("print JSON instead of Markdown", "--json"),
) -> None:
    """Print one report for each setting of the run."""
    from siming_tasks.analysis.input_controls import analyse_ablations
    from siming_tasks.analysis.run_analyses import diagnose as diagnose_run
    from siming_tasks.common.errors import DataError
    from siming_tasks.report.tables.controls import ablation_section
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
    reports = {name: diagnose_run(run, name, options, pass_mark=pass_mark) for name in wanted}
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


@cli.command(
    "Recomputes what printed numbers imply about each other, allowing for rounding. Exit code 1 if some cannot all be "
    "right as printed."
)
def lint_table(
    file: str = cli.word("FILE", "a .csv, .json or .yaml table, or 'paper' for the paper's tables 3-6"),
    n_videos: int | None = cli.option("N", "videos behind each PLCC and SRCC", Whole()),
    n_items: int | None = cli.option("N", "items (steps) behind each P, R, F1 and MCC", Whole()),
    as_json: bool = cli.switch("print JSON instead of Markdown", "--json"),
) -> int:
    """Print the report; 1 if numbers contradict each other."""
    from siming_tasks.report.published_tables.read import paper_tables, read_document
    from siming_tasks.tools.table_lint.lint import lint

    document = paper_tables() if file == "paper" else read_document(Path(file))
    sizes: dict[str, Any] = {key: size for key, size in (("n_videos", n_videos), ("n_items", n_items)) if size}
    document = replace(document, tables=tuple(replace(table, **sizes) for table in document.tables))
    report = lint(document)
    if as_json:
        print_json(report.to_json(), indent=2)
    else:
        show_markdown(report.to_markdown())
    return 1 if report.inconsistent else 0


def no_ceiling(dataset: Dataset) -> str:
    """The reason why there is no human row: who gave points, the consensus among them unless it is withheld."""
    from siming_tasks.common.schema import CONSENSUS
    from siming_tasks.report.tables.raters import NO_CEILING

    names = sorted([*dataset.physicians, *([] if dataset.withheld else [CONSENSUS])])
    return NO_CEILING.format(found=", ".join(names) or "none")


def origin(dataset: Dataset) -> dict[str, Any]:
    """The data set of a JSON output."""
    named = {"dataset": dataset.name, "version": dataset.version, "digest": dataset.digest}
    return named | {"synthetic": dataset.synthetic}


def title(dataset: Dataset) -> str:
    """The data set of a printed output, for its heading."""
    return f"{literal(dataset.name)} {literal(dataset.version)}{', SYNTHETIC data' if dataset.synthetic else ''}"
