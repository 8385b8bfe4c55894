"""``siming board submit`` and ``siming board build``: archives of runs for a leaderboard, and the leaderboard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import say, show_problems
from siming_tasks.common.errors import DataError, OptionsError, field_message
from siming_tasks.common.input_kinds import kind_of
from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import alike
from siming_tasks.options import Options

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.study.results.discovery import RunSource

_SHOWN = 10
"""Problems of one kind that are printed."""


@cli.command("board submit runs/qwen --data exams --out qwen.zip --organization 'Our lab'", "siming docs publish")
@click.argument("run_path", metavar="RUN", help="folder or prediction file; with --check, an archive")
@cli.option_flags("data", "split", *cli.SCORING_OPTIONS)
@cli.LABELS
@click.option("--out", type=cli.NEW_FILE, help="the new archive (default: <model>.zip)")
@click.option("--check", is_flag=True, help="validate an archive instead of writing one")
@click.option("--name", help="the model's name (default: the run's)")
@click.option("--organization", default="", help="model card: organization")
@click.option("--url", default="", help="model card: url")
@click.option("--parameters", default="", help="model card: parameters")
@click.option("--license", default="", help="model card: license")
@click.option("--description", default="", help="model card: description")
@click.option(
    "--saw-test-data", type=click.Choice(["no", "yes", "unknown"]), default="unknown", help="for the model card"
)
def submit(
    run_path: str, options: Options, labels: Path | None, out: Path | None, check: bool, **card: str | None
) -> int:
    """Pack a run's predictions for a leaderboard, or check such an archive.

    Writes predictions, settings, digests and a model card into one archive and checks it as the board will.
    """
    from siming_tasks.study.results.discovery import find_runs
    from siming_tasks.tools.board.admission import admit, refusal

    if check and not Path(run_path).exists():
        raise DataError(f"{run_path}: no such file. Give the archive that `siming board submit` wrote.")
    if not check and kind_of(run_path) == "archive":
        raise OptionsError(f"{run_path} is an archive. Add --check to validate it.")
    sources = [] if check else find_runs([run_path])
    dataset = cli.open_dataset(options, sources, labels=labels)
    archive = Path(run_path) if check else _pack(sources, dataset, run_path, out, card)
    try:
        taken = admit(archive, dataset, options)
    except DataError as error:
        say(f"refused: {refusal(archive, error, archive.parent)}\n{archive}: not valid.", error=True)
        return 1
    show_problems(taken.run.problems, most=_SHOWN)
    about = taken.received.submission
    answers = sum(map(len, taken.run.records.values()))
    say(f"{archive}: ready. {about.model.name}, {counted(answers, 'prediction')} on {about.dataset.name}.")
    return 0


def _pack(
    sources: Sequence[RunSource],
    dataset: Dataset,
    run_path: str,
    out: Path | None,
    card: dict[str, str | None],
) -> Path:
    """Write the archive of the one run in ``sources`` and return its path."""
    from pydantic import ValidationError

    from siming_tasks.benchmark.tasks import ABLATION_TASKS, TASKS
    from siming_tasks.study.results.discovery import role_of
    from siming_tasks.study.results.run import read_run
    from siming_tasks.tools.board.admission import REFUSALS
    from siming_tasks.tools.board.submission import ModelCard, pack

    if len(sources) != 1:
        raise DataError(f"{run_path} contains {len(sources)} runs. Give the folder of one run.")
    run = read_run(sources[0], dataset)
    if (role := role_of(sources[0].facts, run.records)) in REFUSALS:
        raise DataError(f"{run_path}: {REFUSALS[role]}")
    ablations = [TASKS[name].task_name for name in run.settings if name in ABLATION_TASKS]
    if ablations:
        if len(ablations) == len(run.settings):
            raise DataError(
                f"{run_path} contains only ablations ({', '.join(ablations)}), which are not part of "
                "the benchmark. Run the benchmark's tasks (--tasks siming)."
            )
        say(f"Left out: {', '.join(ablations)}. Ablations are not part of the benchmark.")
        run = replace(run, records={name: kept for name, kept in run.records.items() if name not in ABLATION_TASKS})
    try:
        model = ModelCard.model_validate({**card, "name": card["name"] or sources[0].name})
    except ValidationError as error:
        first = error.errors()[0]
        raise OptionsError(f"--{str(first['loc'][0]).replace('_', '-')}: {field_message(first)}.") from None
    out = out or Path(f"{sources[0].slug}.zip")
    if out.exists():
        raise DataError(
            f"{out} already exists. A board rejects an archive that has changed under "
            "the same name: give another --out."
        )
    return pack(sources[0], run.records, dataset, model, out)


@cli.command("board build inbox --data exams --out board", "siming docs publish")
@click.argument("folder", type=Path, metavar="INBOX", help="folder with a subfolder of archives per sender")
@cli.option_flags("data", "split", *cli.SCORING_OPTIONS)
@cli.LABELS
@click.option("--out", type=cli.NEW_FOLDER, default="siming_board", help="the new folder")
@click.option("--new-ledger", is_flag=True, help="start a ledger (no results were published before)")
def build(folder: Path, options: Options, labels: Path | None, out: Path, new_ledger: bool) -> int:
    """Build a static leaderboard from submitted archives; exit code 1 if an archive was rejected.

    Scores every *.zip in INBOX, which has one subfolder per sender. INBOX.senders.txt lists the senders;
    INBOX.ledger.jsonl records the published results: each sender gets at most three per setting.
    """
    from siming_tasks.tools.board.build import archives_in, build_board
    from siming_tasks.tools.board.ledger import read_senders

    archives, senders = archives_in(folder), read_senders(folder)  # before a data set is looked for
    sent = Counter(senders.get(alike(path.parent.name), "") for path in archives if path.parent != folder)
    dataset = cli.open_dataset(options, labels=labels)
    entries, refused = build_board(folder, dataset, out, options, new_ledger=new_ledger)
    for line in refused:
        say(f"refused: {line}", error=True)
    taken = Counter(entry.sender for entry in entries)
    counts = ", ".join(f"{sender} {taken[sender]} of {number}" for sender, number in sorted(sent.items()) if sender)
    say(f"Submissions accepted: {counts or 'none'}.")
    say(f"{out / 'index.html'}: {counted(len(entries), 'submission')}.")
    return 1 if refused else 0
