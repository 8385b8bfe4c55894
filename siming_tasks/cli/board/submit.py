"""``siming board submit``: a run's predictions as an archive for a leaderboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from siming_tasks.cli.parameters import SCORING_OPTIONS, DatasetChoice, command, dataset_flags, option_flags
from siming_tasks.cli.terminal import say, show_problems
from siming_tasks.options import Options

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.results.discovery import RunSource
    from siming_tasks.tools.board.submission import ModelCard

__all__ = ["submit"]

SHOWN = 10


@command(
    "Writes predictions, settings, digests and a model card into one archive and reads it back as the receiver will. "
    "With --check, RUN is an archive."
)
@dataset_flags(labels=True)
@click.argument("run_path", metavar="RUN", help="lmms-eval output folder, prediction file, or (--check) archive")
@click.option("--out", type=Path, metavar="FILE", help="the archive (default: <model>.zip)")
@click.option("--check", is_flag=True, help="validate an archive instead of writing one")
@click.option("--name", help="the model's name (default: the run's)")
@click.option("--organization", default="", help="model card: organization")
@click.option("--url", default="", help="model card: url")
@click.option("--parameters", default="", help="model card: parameters")
@click.option("--license", default="", help="model card: license")
@click.option("--description", default="", help="model card: description")
@click.option("--saw-test-data", type=click.Choice(("no", "yes", "unknown")), default="unknown")
@option_flags(*SCORING_OPTIONS)
def submit(
    chosen: DatasetChoice,
    options: Options,
    run_path: str,
    out: Path | None,
    check: bool,
    name: str | None,
    **card: str,
) -> int:
    """Write or check an archive; 1 if it is not fit to be sent."""
    from siming_tasks.common.errors import DataError
    from siming_tasks.results.discovery import find_runs
    from siming_tasks.tools.board.admission import admit, refusal

    sources = [] if check else find_runs([run_path])
    dataset = chosen.open(sources)
    archive = Path(run_path) if check else _pack(sources, dataset, options, run_path, name, out, card)
    try:
        taken = admit(archive, dataset, options)
    except DataError as error:
        say(f"refused: {refusal(archive, error)}\n{archive}: not fit to be sent.", error=True)
        return 1
    show_problems(taken.run.problems, most=SHOWN)
    about = taken.received.submission
    answers = sum(map(len, taken.run.records.values()))
    say(f"{archive}: ready. {about.model.name}, {answers:,} predictions on {about.dataset.name}.")
    return 0


def _pack(
    sources: Sequence[RunSource],
    dataset: Dataset,
    options: Options,
    run_path: str,
    name: str | None,
    out: Path | None,
    card: dict[str, str],
) -> Path:
    """Write the archive of the one run in ``sources`` and return its path."""
    from siming_tasks.common.errors import DataError
    from siming_tasks.results.record import has_supervised_judge
    from siming_tasks.results.run import read_run
    from siming_tasks.tasks import ABLATION_TASKS, TASKS
    from siming_tasks.tools.board.admission import SUPERVISED_REFUSAL
    from siming_tasks.tools.board.submission import pack

    if len(sources) != 1:
        raise DataError(f"{run_path} holds {len(sources)} runs. Give the folder of one.")
    run = read_run(sources[0], dataset)
    if sources[0].role == "supervised" or has_supervised_judge(run.records):
        raise DataError(f"{run_path}: {SUPERVISED_REFUSAL}")
    ablations = [TASKS[name].task_name for name in run.settings if name in ABLATION_TASKS]
    if ablations:
        if len(ablations) == len(run.settings):
            raise DataError(
                f"{run_path} holds ablations only ({', '.join(ablations)}), which are no part of the "
                "benchmark. Run the benchmark's tasks (--tasks siming)."
            )
        say(f"Left out: {', '.join(ablations)}. Ablations are no part of the benchmark.")
        run = replace(run, records={name: kept for name, kept in run.records.items() if name not in ABLATION_TASKS})
    results = {setting: run.evaluate(setting, options) for setting in run.settings}
    model = _model_card(name or sources[0].name, card)
    return pack(sources[0], run.records, dataset, model, results, out or Path(f"{sources[0].slug}.zip"))


def _model_card(name: str, fields: dict[str, str]) -> ModelCard:
    from pydantic import ValidationError

    from siming_tasks.common.errors import OptionsError
    from siming_tasks.tools.board.submission import ModelCard

    try:
        return ModelCard.model_validate({"name": name, **fields})
    except ValidationError as error:
        first = error.errors()[0]
        raise OptionsError(f"--{str(first['loc'][0]).replace('_', '-')}: {first['msg']}.") from None
