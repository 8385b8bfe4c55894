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
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.input_kinds import kind_of
from siming_tasks.options import Options

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.results.discovery import RunSource

_SHOWN = 10
"""Problems of one kind that are printed."""


@cli.command(
    "Writes predictions, settings, digests and a model card into one archive and reads it back as the receiver will. "
    "With --check, RUN is an archive."
)
def submit(
    chosen: cli.DatasetChoice = cli.dataset_flags(labels=True),
    run_path: str = cli.word("RUN", "lmms-eval output folder, prediction file, or (--check) archive"),
    out: Path | None = cli.option("FILE", "the archive (default: <model>.zip)", cli.NEW_FILE),
    check: bool = cli.switch("validate an archive instead of writing one"),
    name: str | None = cli.option("", "the model's name (default: the run's)"),
    organization: str = cli.option("", "model card: organization", default=""),
    url: str = cli.option("", "model card: url", default=""),
    parameters: str = cli.option("", "model card: parameters", default=""),
    license: str = cli.option("", "model card: license", default=""),
    description: str = cli.option("", "model card: description", default=""),
    saw_test_data: str = cli.option("", "", ("no", "yes", "unknown"), "unknown"),
    options: Options = cli.option_flags(*cli.SCORING_OPTIONS),
) -> int:
    """Write or check an archive; 1 if it is not fit to be sent."""
    from siming_tasks.results.discovery import find_runs
    from siming_tasks.tools.board.admission import admit, refusal

    if check and not Path(run_path).exists():
        raise DataError(f"{run_path}: no such file. Give the archive that `siming board submit` wrote.")
    if not check and kind_of(run_path) == "archive":
        raise OptionsError(f"{run_path} is an archive. To look whether it is fit to be sent, add --check.")
    sources = [] if check else find_runs([run_path])
    dataset = chosen.open(sources)
    card = {"name": name, "organization": organization, "url": url, "parameters": parameters, "license": license}
    card |= {"description": description, "saw_test_data": saw_test_data}
    archive = Path(run_path) if check else _pack(sources, dataset, run_path, out, card)
    try:
        taken = admit(archive, dataset, options)
    except DataError as error:
        say(f"refused: {refusal(archive, error)}\n{archive}: not fit to be sent.", error=True)
        return 1
    show_problems(taken.run.problems, most=_SHOWN)
    about = taken.received.submission
    answers = sum(map(len, taken.run.records.values()))
    say(f"{archive}: ready. {about.model.name}, {answers:,} predictions on {about.dataset.name}.")
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

    from siming_tasks.results.record import has_supervised_judge
    from siming_tasks.results.run import read_run
    from siming_tasks.tasks import ABLATION_TASKS, TASKS
    from siming_tasks.tools.board.admission import SUPERVISED_REFUSAL
    from siming_tasks.tools.board.submission import ModelCard, pack

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
    try:
        model = ModelCard.model_validate({**card, "name": card["name"] or sources[0].name})
    except ValidationError as error:
        first = error.errors()[0]
        raise OptionsError(f"--{str(first['loc'][0]).replace('_', '-')}: {first['msg']}.") from None
    return pack(sources[0], run.records, dataset, model, out or Path(f"{sources[0].slug}.zip"))


@cli.command(
    "Scores every *.zip of a folder, which has a folder a sender; each sender has one number a setting. A row is "
    "verified if the organiser's own run in --reruns gave the same answers. "
    "Exit code 1 if an archive was refused."
)
def build(
    chosen: cli.DatasetChoice = cli.dataset_flags(labels=True),
    folder: Path = cli.word("INBOX", "folder of archives", Path),
    out: Path = cli.option("DIR", "the new folder (default: siming_board)", cli.NEW_FOLDER, Path("siming_board")),
    reruns: Path | None = cli.option("DIR", "the organiser's own runs, SENDER/NAME as the archives", Path),
    match: float = cli.option("SHARE", "share of equal answers that verifies a row (default 1)", cli.SHARE, 1.0),
    most: int = cli.option("N", "submissions of one sender within 30 days (default 3)", click.IntRange(1), 3),
    options: Options = cli.option_flags(*cli.SCORING_OPTIONS),
) -> int:
    """Build the board; 1 if an archive was refused."""
    from siming_tasks.tools.board.build import archives_in, build_board

    sent = Counter(sender for _, sender, _ in archives_in(folder))  # before a data set is looked for
    entries, refused = build_board(folder, chosen.open(), out, options, reruns=reruns, match=match, most=most)
    for line in refused:
        say(f"refused: {line}", error=True)
    taken = Counter(entry.sender for entry in entries)
    counts = ", ".join(
        f"{sender or 'no sender'} {taken[sender]} of {number}" for sender, number in sorted(sent.items())
    )
    say(f"Submissions taken: {counts}.")
    verified = sum(entry.verified for entry in entries)
    say(f"{out / 'index.html'}: {verified} verified, {len(entries) - verified} community rows.")
    return 1 if refused else 0
