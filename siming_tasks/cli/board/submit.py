"""``siming submit``: a run's predictions as an archive for a leaderboard."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siming_tasks.cli.dataset import add_data, open_chosen
from siming_tasks.cli.findings import show
from siming_tasks.cli.flags import SCORED, add_options, options_from
from siming_tasks.cli.terminal import say

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.options import Options
    from siming_tasks.results.discovery import RunSource
    from siming_tasks.tools.board.submission import ModelCard

__all__ = ["add"]

CARD = ("organization", "url", "parameters", "license", "description")
SHOWN = 10


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser(
        "submit",
        help="pack a run's predictions for a leaderboard, or check such an archive",
        description="Writes predictions, settings, digests and a model card into one archive and reads it back as the "
        "receiver will. With --check, RUN is an archive.",
    )
    command.add_argument(
        "run_path", metavar="RUN", help="lmms-eval output folder, prediction file, or (--check) archive"
    )
    add_data(command, labels=True)
    command.add_argument("--out", type=Path, metavar="FILE", help="the archive (default: <model>.zip)")
    command.add_argument("--check", action="store_true", help="validate an archive instead of writing one")
    command.add_argument("--name", help="the model's name (default: the run's)")
    for field in CARD:
        command.add_argument(f"--{field}", default="", help=f"model card: {field}")
    command.add_argument("--saw-test-data", choices=("no", "yes", "unknown"), default="unknown")
    add_options(command, *SCORED)
    command.set_defaults(run=submit)


def submit(arguments: argparse.Namespace) -> int:
    """Write or check an archive; 1 if it is not fit to be sent."""
    from siming_tasks.common.errors import DataError
    from siming_tasks.results.discovery import find_runs
    from siming_tasks.tools.board.admit import admit, refusal

    options = options_from(arguments)
    sources = [] if arguments.check else find_runs([arguments.run_path])
    dataset = open_chosen(arguments, options, sources)
    archive = Path(arguments.run_path) if arguments.check else _pack(arguments, options, sources, dataset)
    try:
        taken = admit(archive, dataset, options)
    except DataError as error:
        say(f"refused: {refusal(archive, error)}\n{archive}: not fit to be sent.", error=True)
        return 1
    show(taken.run.problems, most=SHOWN)
    about = taken.received.submission
    answers = sum(map(len, taken.run.records.values()))
    say(f"{archive}: ready. {about.model.name}, {answers:,} predictions on {about.dataset.name}.")
    return 0


def _pack(arguments: argparse.Namespace, options: Options, sources: Sequence[RunSource], dataset: Dataset) -> Path:
    """The archive of the one run."""
    from siming_tasks.common.errors import DataError
    from siming_tasks.results.run import read_run
    from siming_tasks.results.supervised import is_supervised
    from siming_tasks.tasks import ABLATION_TASKS, TASKS
    from siming_tasks.tools.board.admit import LEARNT
    from siming_tasks.tools.board.submission import pack

    if len(sources) != 1:
        raise DataError(f"{arguments.run_path} holds {len(sources)} runs. Give the folder of one.")
    run = read_run(sources[0], dataset)
    if sources[0].role == "supervised" or is_supervised(run.records):
        raise DataError(f"{arguments.run_path}: {LEARNT}")
    ablations = [TASKS[name].task_name for name in run.settings if name in ABLATION_TASKS]
    if ablations:
        if len(ablations) == len(run.settings):
            raise DataError(
                f"{arguments.run_path} holds ablations only ({', '.join(ablations)}), which are no part of the "
                "benchmark. Run the benchmark's tasks (--tasks siming)."
            )
        say(f"Left out: {', '.join(ablations)}. Ablations are no part of the benchmark.")
        run = replace(run, records={name: mine for name, mine in run.records.items() if name not in ABLATION_TASKS})
    card = _card(arguments, arguments.name or sources[0].name)
    found = {name: run.evaluate(name, options) for name in run.settings}
    return pack(sources[0], run.records, dataset, card, found, arguments.out or Path(f"{sources[0].slug}.zip"))


def _card(arguments: argparse.Namespace, name: str) -> ModelCard:
    from pydantic import ValidationError

    from siming_tasks.common.errors import OptionsError
    from siming_tasks.tools.board.submission import ModelCard

    try:
        return ModelCard(name=name, **{key: getattr(arguments, key) for key in (*CARD, "saw_test_data")})
    except ValidationError as error:
        first = error.errors()[0]
        raise OptionsError(f"--{str(first['loc'][0]).replace('_', '-')}: {first['msg']}.") from None
