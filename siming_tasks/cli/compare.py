"""``siming compare``: differences between runs, and from no-video baselines and physicians."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siming_tasks.benchmark.tasks import setting_named
from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import answer, origin, say, title
from siming_tasks.common.printed_value import counted
from siming_tasks.options import Options

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.study.analysis.comparison import Comparison
    from siming_tasks.study.analysis.verdicts import Answers
    from siming_tasks.study.report.table import Section


@cli.command("compare runs/qwen runs/gpt --data exams", "siming report runs/qwen runs/gpt --data exams --out report")
@click.argument(
    "run_paths", nargs=-1, required=True, metavar="RUN...", help="folder, sample log or prediction file; or NAME=PATH"
)
@cli.option_flags("data", "split", *cli.SCORING_OPTIONS)
@cli.LABELS
@click.option(
    "--setting",
    multiple=True,
    type=setting_named,
    metavar="NAME",
    help="only this setting, such as full_score; may be repeated",
)
@click.option("--against", help="compare all runs with this one instead of all pairs")
@cli.ALLOW
@cli.PARTIAL
@click.option("--repeated", is_flag=True, help="the runs repeat one judge: print how much they differ")
@click.option(
    "--margin", type=cli.PROPORTION, default=0.05, help="largest difference from the physicians that counts as equal"
)
@cli.AS_JSON
def compare(
    run_paths: tuple[str, ...],
    options: Options,
    labels: Path | None,
    setting: tuple[str, ...],
    against: str | None,
    allow: tuple[str, ...],
    partial: bool,
    repeated: bool,
    margin: float,
    as_json: bool,
) -> None:
    """Compare runs over the same videos, with paired intervals, with no-video baselines and with physicians.

    Every setting that all runs have is compared. A single run is compared with its own controls.
    """
    from siming_tasks.benchmark.tasks import UNALTERED_TASKS
    from siming_tasks.common.sanitize import literal
    from siming_tasks.study.analysis.compare_runs import common_settings, compare_settings
    from siming_tasks.study.analysis.inputs import run_inputs
    from siming_tasks.study.analysis.verdicts import four_answers
    from siming_tasks.study.report.row_tables import row_section
    from siming_tasks.study.results.comparable import check_repeats
    from siming_tasks.study.results.discovery import find_runs
    from siming_tasks.study.results.run import read_run

    sources = find_runs(run_paths)
    for source in sources if any(source.name.endswith(" (2)") for source in sources) else ():
        say(f"{source.name} is {source.path}. NAME=PATH gives it another name.", error=True)
    dataset = cli.open_dataset(options, sources, labels=labels, reference=True)
    runs = [read_run(source, dataset, partial=partial, allow=allow) for source in sources]
    if repeated:
        check_repeats(runs)
        _print_repeats(runs, common_settings(runs, setting or None), options, dataset, as_json)
        return
    wanted = setting or UNALTERED_TASKS
    inputs = {(run.name, name): rows for run in runs for name in wanted if name in run.records
              if (rows := run_inputs(run, name, options, allow))}  # fmt: skip
    alone = len(runs) == 1 and inputs  # one run's controls beside its own plain tasks
    shared = [] if alone else common_settings(runs, setting or None)
    study = compare_settings(runs, shared, options, allow=allow, against=against, margin=margin)
    answers = {name: four_answers(part) for name, part in study.settings.items()}
    parts = {name: part.to_json() | {"answers": [each.to_json() for each in answers[name]]}
             for name, part in study.settings.items()}  # fmt: skip
    few = [f"{run.name}: {note}" for run in runs
           for note in run.partial_notes(name for name in wanted if name in run.records)]  # fmt: skip
    found = origin(dataset) | {"settings": parts, "not_compared": dict(study.refused), "warnings": few}
    if inputs:
        found["inputs"] = [
            {"run": run, "setting": name, "rows": rows.to_json()} for (run, name), rows in inputs.items()
        ]
    printed: Section = [f"**{literal(part.sentence())}**" for part in study.settings.values()]
    for name, part in study.settings.items():
        printed += [f"## {name} on {title(dataset)}", *_section(part, options.rater)]
    printed += [f"{name}: not compared. {why}" for name, why in study.refused.items()]
    printed += [literal(note) for note in few]
    for (run, name), rows in inputs.items():
        heading = f"## Inputs of {literal(run)}: {name} on {title(dataset)}"
        printed += [heading, *row_section(rows, reference=options.rater)]
    printed += [_answers_table(part, answers[name]) for name, part in study.settings.items()]
    answer(as_json, found, printed)


def _answers_table(part: Comparison, answers: Sequence[Answers]) -> Any:
    """The four answers about every judge, as a table."""
    from siming_tasks.benchmark.metrics.catalogue import CATALOGUE
    from siming_tasks.study.report.row_tables import number
    from siming_tasks.study.report.table import Name, Table

    lines = []
    for each in answers:
        sees = f"{each.sees_video}, over {each.rival}" if each.rival else each.sees_video
        cite = ", ".join(each.cite) or ("nothing (SYNTHETIC)" if part.facts.get("synthetic") else "nothing")
        beside = [each.physicians or None, number(each.beside, signed=True), each.single_range or None]
        lines.append([Name(each.run), each.leads, Name(sees), number(each.lead, signed=True),
                      *(beside if part.physicians else ()), cite])  # fmt: skip
    metric = CATALOGUE[part.headline].label
    of_physicians = ["compared with physicians", "difference", f"{metric} with single physicians"]
    heads = ["run", "leader or tie", "saw the video", "by", *(of_physicians if part.physicians else ()),
             "may be cited for"]  # fmt: skip
    return Table(heads, lines, left=(0, 1, 2, 4, len(heads) - 1), caption=f"Four answers in {part.setting}.")


def _section(part: Comparison, reference: str) -> Section:
    """Ranks, all tables, and each judge compared with the physicians and the no-video baselines."""
    from siming_tasks.benchmark.metrics.catalogue import CATALOGUE
    from siming_tasks.common.sanitize import literal
    from siming_tasks.study.analysis.physicians import physician_sentence
    from siming_tasks.study.analysis.verdicts import no_video_sentence
    from siming_tasks.study.report.row_tables import number, row_section
    from siming_tasks.study.report.table import Name, Table
    from siming_tasks.study.words import say

    lines = []
    for run in part.order:
        rank = part.ranks.get(run)
        between = "-" if rank is None else f"{rank.rank} ({rank.low} to {rank.high})"
        lines.append([Name(run), between, number(part.value(run))])
    notes: list[str] = [Name(f"{run}: {why}") for run, why in part.unranked.items()]
    if part.facts.get("allowed"):
        notes.append(say("allowed", what=", ".join(part.facts["allowed"])))
    notes += filter(None, [part.detectable_sentence])
    section: Section = [Table(["run", "rank", CATALOGUE[part.headline].label], lines, notes=notes)]
    section += [literal(no_video_sentence(part, [run])) for run in part.judged]
    section += [literal(physician_sentence(part.physicians[run], run, part.answer, part.unseen))
                for run in part.judged if run in part.physicians]  # fmt: skip
    return section + row_section(part.rows, reference=reference)


def _print_repeats(runs: Any, settings: Any, options: Options, dataset: Dataset, as_json: bool) -> None:
    """Print how much repeated requests to one judge differ, for every setting that all runs have."""
    from siming_tasks.study.analysis.repeats import repeats
    from siming_tasks.study.report.row_tables import row_section

    found = {name: repeats([run.score_matrix(name, options.rater) for run in runs], mapping=options.mapping)
             for name in settings}  # fmt: skip
    printed: Section = []
    for name, rows in found.items():
        heading = f"## {name} on {title(dataset)}, {counted(len(runs), 'repeat')}"
        printed += [heading, *row_section(rows, reference=options.rater)]
    answer(as_json, origin(dataset) | {"repeated": {name: rows.to_json() for name, rows in found.items()}}, printed)
