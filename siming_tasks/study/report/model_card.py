"""Text for a model's card: a run's tables as its report has them, how it was made, and its limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from siming_tasks import __version__
from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import literal
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.study.report.exports import setting_section
from siming_tasks.study.report.run_analysis import RunAnalysis, analyze_run
from siming_tasks.study.report.standings import Entrant, Standing, corrected, stand
from siming_tasks.study.report.table import Name, Section, Table
from siming_tasks.study.results.discovery import RunSource
from siming_tasks.study.words import say

NOT_CLINICAL = (
    "This is agreement with raters on one set of exams. It does not show that the model may pass or fail a person, "
    "teach without a physician, or be used on patients."
)
TRAINING = "It is not known here whether the model was trained on these recordings or their labels."


def model_card(source: RunSource, dataset: Dataset, options: Options, *, partial: bool = False) -> Section:
    """Build the card of one run, with headings of the second level, to be put into a model's README.

    Args:
        source: the run.
        dataset: what it was asked about, with its labels.
        options: how it is scored.
        partial: count only the requests that have a record as asked.

    Raises:
        DataError: the run cannot be read, or was made with other data.
    """
    analysis = analyze_run(source, dataset, options, partial=partial)
    held: Mapping[str, Standing] = corrected({
        name: stand([Entrant(task_run, source.slug, source.role, analysis.settings[name])], dataset, name, options)
        for name, task_run in analysis.task_runs.items()
    })  # fmt: skip
    section: Section = [f"## SiMing-Bench: agreement with {dataset.people} on {literal(dataset.name)}"]
    section += [f"> **SYNTHETIC DATA.** {say('synthetic')}"] if dataset.synthetic else []
    for standing in held.values():
        section += setting_section(standing, "###")
    limits = "\n".join(f"- {line}" for line in _limits(analysis, dataset))
    return [*section, "### How it was made", _facts(analysis, dataset, options), "### Limits", limits]


def _facts(analysis: RunAnalysis, dataset: Dataset, options: Options) -> Table:
    """Everything that one needs to know to make the run again, as far as its files state it."""
    public, rubric = analysis.source.facts, dataset.rubric
    rows: list[tuple[str, Any]] = [
        ("run", analysis.source.name),
        *((name.replace("_", " "), public[name]) for name in ("model", "model_args", "lmms_eval_version", "date")
          if public.get(name)),
        ("data set", f"{dataset.title}, digest {dataset.digest[:12]}, {counted(len(dataset.videos), 'exam')}"),
        ("rubric", f"{rubric.rubric_id} {rubric.version}, {counted(len(rubric.steps), 'step')}"),
        ("reference", options.rater),
    ]  # fmt: skip
    for setting, numbers in analysis.settings.items():
        conditions = analysis.task_runs[setting].facts
        rows.append((f"{setting}: prompt", f"{numbers['prompt']['version']}, {numbers['prompt']['template']}"))
        if shown := [f"{conditions[name]} {unit}".strip() for name, unit in (("media", ""), ("frames", "a request"))
                     if conditions.get(name)]:  # fmt: skip
            rows.append((f"{setting}: shown", ", ".join(shown)))
        statuses = ", ".join(f"{status} {count:,}" for status, count in numbers["statuses"].items() if count)
        rows.append((f"{setting}: replies", statuses))
    rows.append(("scored by", f"siming-tasks {__version__}"))
    return Table(["", "as its files state it"], [(about, Name(fact)) for about, fact in rows], left=(0, 1))


def _limits(analysis: RunAnalysis, dataset: Dataset) -> Iterator[str]:
    """Sentences on whose exams, raters and answers the numbers are about, and what they do not show."""
    yield from dict.fromkeys(literal(numbers["estimand"]["sentence"]) for numbers in analysis.settings.values())
    yield from (literal(warning) for warning in analysis.warnings)
    if dataset.rubric.status:
        yield f"Rubric: {literal(dataset.rubric.status)}"
    yield NOT_CLINICAL
    yield TRAINING
