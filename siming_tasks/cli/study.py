"""``siming study raters`` and ``power``: how well physicians agree, and how many videos a difference needs."""

from __future__ import annotations

from pathlib import Path

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import answer, origin, title
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import literal
from siming_tasks.options import Options


@cli.command("study raters exams", "siming study power")
@cli.data_folder()
@cli.option_flags("split", "mapping")
@cli.LABELS
@click.option("--raters", "pair", nargs=2, metavar="A B", help="these two raters (default: every pair of physicians)")
@cli.AS_JSON
def raters(dir: str | None, options: Options, labels: Path | None, pair: tuple[str, str] | None, as_json: bool) -> None:
    """Measure how well the physicians agree, with intervals; for an event log, show the rating progress."""
    from siming_tasks.tools.station.event_log import is_event_log

    if dir and is_event_log(Path(dir)):
        from siming_tasks.tools.station.progress import progress_section, read_progress

        if labels or pair:
            raise OptionsError("An event log has no use for --labels and --raters; build the data set first.")
        progress = read_progress(Path(dir))
        return answer(as_json, progress, progress_section(progress))
    from siming_tasks.study.analysis.raters import pair_notes, rater_rows
    from siming_tasks.study.report.row_tables import row_section

    dataset = cli.open_dataset(options, dir=dir, labels=labels)
    rows = rater_rows(dataset, options, pair)
    stated = dataset.raters_in_words if dataset.rater_facts else {}
    about = "; ".join(f"{literal(name)}: {words}" for name, words in stated.items())
    notes = pair_notes(rows)
    found = origin(dataset) | {"raters_stated": dataset.raters_in_words, "notes": notes, "rows": rows.to_json()}
    above = [*([about] if about else []), *map(literal, notes)]
    answer(as_json, found, f"## Raters of {title(dataset)}", *above, row_section(rows))


@cli.command(
    "study power --videos 100 --effect 0.05", "siming data template sheet.xlsx --rubric rubric.yaml --videos videos"
)
@cli.option_flags("data", "split", *cli.SCORING_OPTIONS)
@cli.LABELS
@click.option("--videos", type=click.IntRange(5), default=200, help="videos of the planned data set")
@click.option("--pilot", nargs=2, metavar="A B", help="two pilot runs whose difference is planned for")
@click.option("--metric", type=click.Choice(["qwk", "mcc"]), default="qwk", help="without --pilot: the metric")
@click.option("--prevalence", type=cli.PROPORTION, default=0.186, help="without --pilot: share of wrong steps")
@click.option("--agreement", type=cli.PROPORTION, default=0.5, help="without --pilot: agreement of the better judge")
@click.option("--effect", type=cli.PROPORTION, help="true difference: also print how often it would be found")
@click.option("--comparisons", type=click.IntRange(1), default=1, help="tests that Holm's correction covers")
@cli.AS_JSON
def power(
    options: Options,
    labels: Path | None,
    videos: int,
    pilot: tuple[str, str] | None,
    metric: str,
    prevalence: float,
    agreement: float,
    effect: float | None,
    comparisons: int,
    as_json: bool,
) -> None:
    """Plan a data set: the smallest difference that N videos can detect.

    Prints the standard error, the smallest difference detected with 80 % power, and the power for --effect, from two
    runs of a pilot or from stated rates (SYNTHETIC).
    """
    from siming_tasks.study.analysis.power import power as plan
    from siming_tasks.study.analysis.power import stated_rates
    from siming_tasks.study.report.row_tables import row_section

    if pilot:
        from siming_tasks.study.analysis.compare_runs import compare
        from siming_tasks.study.results.discovery import find_runs

        sources = find_runs(pilot)
        compared = compare(
            *pilot, data=cli.open_dataset(options, sources, labels=labels, reference=True), options=options
        )
        if not compared.pairs:
            raise DataError("The pilot's runs cannot be compared: " + "; ".join(compared.unranked.values()))
        error, made = compared.pairs[0].estimate, f"From the difference of {' and '.join(compared.runs)}"
    else:
        error = stated_rates(metric, prevalence, agreement, effect or 0.0)
        made = f"SYNTHETIC: two simulated judges, {prevalence:.1%} of the steps wrong, agreement {agreement:g}"
    rows = plan(error, videos, effect, comparisons=comparisons)
    printed = f"{made}, {counted(comparisons, 'test')}."
    found = {"synthetic": not pilot, "made": made, "rows": rows.to_json()}
    answer(as_json, found, printed, row_section(rows, reference=options.rater))
