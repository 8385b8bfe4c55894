"""``siming report``: pages, Markdown and JSON from finished runs."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommands."""
    command = commands.add_parser(
        "report",
        help="make a folder of pages from finished runs",
        description="Reads lmms-eval output folders (made with --log_samples) or prediction files and writes a folder "
        "that opens from disk: index.html, report.md, report.json.",
    )
    command.add_argument(
        "runs", nargs="+", metavar="RUN", help="PATH or NAME=PATH; a folder with several models is split"
    )
    _data(command)
    command.add_argument("--out", type=Path, default=Path("siming_report"), metavar="DIR", help="default: %(default)s")
    command.add_argument("--media", choices=("link", "copy", "none"), default="link",
                         help="videos: link to the dataset (default), copy into the report, or leave out")  # fmt: skip
    command.add_argument("--partial", action="store_true", help="count only requests that have a line")
    command.add_argument("--allow", action="append", default=[], metavar="WHAT", help="rank runs that differ in WHAT "
                         "(as compare --allow); may be repeated")  # fmt: skip
    command.add_argument("--mapping", choices=("absolute", "proportional"), help="points to labels, for kappa")
    command.add_argument("--positive", choices=("error", "correct"), help="class of precision, recall and F1")
    command.add_argument("--rater", metavar="NAME", help="the reference (default: consensus)")
    command.add_argument("--resamples", type=int, metavar="N", help="bootstrap resamples (default 10,000)")
    command.add_argument("--seed", type=int, metavar="S", help="of the resamples")
    command.add_argument("--jobs", type=int, metavar="J", help="worker processes (default: one for each core)")
    command.set_defaults(run=report)
    _add_submit(commands)
    _add_board(commands)


def _add_submit(commands: Any) -> None:
    command = commands.add_parser(
        "submit",
        help="pack a run's predictions for a leaderboard, or check such an archive",
        description="Writes predictions, settings, digests and a model card into one archive and reads it back as the "
        "receiver will. With --check, RUN is an archive.",
    )
    command.add_argument(
        "run_path", metavar="RUN", help="lmms-eval output folder, prediction file, or (--check) archive"
    )
    _data(command)
    command.add_argument("--out", type=Path, metavar="FILE", help="the archive (default: <model>.zip)")
    command.add_argument("--check", action="store_true", help="validate an archive instead of writing one")
    command.add_argument("--name", help="the model's name (default: the run's)")
    for field in ("organization", "url", "parameters", "license", "description"):
        command.add_argument(f"--{field}", default="", help=f"model card: {field}")
    command.add_argument("--saw-test-data", choices=("no", "yes", "unknown"), default="unknown")
    command.set_defaults(run=submit)


def _add_board(commands: Any) -> None:
    command = commands.add_parser(
        "board",
        help="build a static leaderboard from submitted archives",
        description="Scores every *.zip of a folder. A row is verified if the host's own run in --reruns gave the same "
        "answers. Exit code 1 if an archive was refused.",
    )
    command.add_argument("folder", type=Path, metavar="DIR", help="folder of archives")
    _data(command)
    command.add_argument("--out", type=Path, default=Path("siming_board"), metavar="DIR", help="default: %(default)s")
    command.add_argument("--reruns", type=Path, metavar="DIR", help="the host's own runs, one folder per archive name")
    command.add_argument("--match", type=float, default=1.0, metavar="SHARE", help="equal answers that verify (1.0)")
    command.add_argument("--resamples", type=int, metavar="N", help="bootstrap resamples (default 10,000)")
    command.set_defaults(run=board)


def _data(command: argparse.ArgumentParser) -> None:
    command.add_argument("--data", metavar="DIR", help="dataset folder or org/name; default: SIMING_DATA, else the "
                         "folder that the run's results name")  # fmt: skip
    command.add_argument(
        "--labels", type=Path, metavar="FILE", help="label file of a dataset whose labels are withheld"
    )


def report(arguments: argparse.Namespace) -> int:
    """Write the report and say where it is."""
    from siming_tasks.errors import OptionsError
    from siming_tasks.options import Options
    from siming_tasks.report.build import write_report
    from siming_tasks.report.pool import cores
    from siming_tasks.runs.comparable import check_allowed
    from siming_tasks.runs.find import find_runs

    names = ("mapping", "positive", "rater", "resamples", "seed")
    chosen = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    jobs = cores() if arguments.jobs is None else arguments.jobs
    if jobs < 1 or chosen.get("resamples", 1) < 1 or chosen.get("seed", 0) < 0:
        raise OptionsError("--jobs and --resamples must be at least 1, --seed at least 0.")
    options = replace(Options.from_env(), **chosen)
    check_allowed(arguments.allow)
    sources = find_runs(arguments.runs)
    dataset = _dataset(arguments, options, sources)
    out = write_report(
        sources,
        dataset,
        arguments.out,
        options,
        media=arguments.media,
        jobs=jobs,
        partial=arguments.partial,
        allow=arguments.allow,
    )
    what = "SYNTHETIC data" if dataset.synthetic else dataset.name
    print(f"{out / 'index.html'}: {len(sources)} run{'s' if len(sources) != 1 else ''} on {what}.")
    return 0


def _dataset(arguments: argparse.Namespace, options: Any, sources: Any) -> Any:
    """The dataset that the command line, the environment or the runs themselves name."""
    from siming_tasks.data import open_dataset, resolve_dataset
    from siming_tasks.data.withheld import with_labels
    from siming_tasks.runs.find import dataset_folder

    given = arguments.data or options.data
    if given:
        root = resolve_dataset(replace(options, data=given))
    else:
        root = dataset_folder(sources) or resolve_dataset(options)
        print(f"Dataset: {root}", file=sys.stderr)
    dataset = open_dataset(root)
    return with_labels(dataset, arguments.labels) if arguments.labels else dataset


def submit(arguments: argparse.Namespace) -> int:
    """Write or check an archive; 1 if it is not fit to be sent."""
    from siming_tasks.options import Options
    from siming_tasks.report.board.submission import ModelCard, pack, predictions_of, read_submission
    from siming_tasks.runs.find import find_runs

    options = Options.from_env()
    if arguments.check:
        received = read_submission(Path(arguments.run_path))
        dataset = _dataset(arguments, options, [])
    else:
        from pydantic import ValidationError

        from siming_tasks.errors import DataError
        from siming_tasks.runs.run import read_run

        sources = find_runs([arguments.run_path])
        if len(sources) != 1:
            raise DataError(f"{arguments.run_path} holds {len(sources)} runs. Give the folder of one.")
        dataset = _dataset(arguments, options, sources)
        run = read_run(sources[0], dataset)
        fields = ("organization", "url", "parameters", "license", "description", "saw_test_data")
        try:
            card = ModelCard(name=arguments.name or sources[0].name, **{key: getattr(arguments, key) for key in fields})
        except ValidationError as error:
            first = error.errors()[0]
            raise DataError(f"--{first['loc'][0]}: {first['msg']}.") from None
        found = {name: run.evaluate(name, options) for name in run.settings}
        out = arguments.out or Path(f"{sources[0].slug}.zip")
        received = read_submission(pack(sources[0], run.records, dataset, card, found, out))
    problems = predictions_of(received, dataset).problems
    for problem in problems[:10]:
        print(f"{problem.severity}: {problem}", file=sys.stderr)
    if len(problems) > 10:
        print(f"... and {len(problems) - 10} more.", file=sys.stderr)
    errors = sum(problem.severity == "error" for problem in problems)
    about = received.submission
    answers = received.predictions.count(b"\n")
    what = "not fit to be sent" if errors else "ready"
    print(f"{received.path}: {what}. {about.model.name}, {answers:,} predictions on {about.dataset.name}.")
    return 1 if errors else 0


def board(arguments: argparse.Namespace) -> int:
    """Build the board; 1 if an archive was refused."""
    from siming_tasks.errors import OptionsError
    from siming_tasks.options import Options
    from siming_tasks.report.board.build import build_board

    if not 0 < arguments.match <= 1 or (arguments.resamples or 1) < 1:
        raise OptionsError("--match must be above 0 and at most 1, --resamples at least 1.")
    options = Options.from_env()
    options = replace(options, resamples=arguments.resamples or options.resamples)
    dataset = _dataset(arguments, options, [])
    entries, refused = build_board(
        arguments.folder, dataset, arguments.out, options, reruns=arguments.reruns, match=arguments.match
    )
    for line in refused:
        print(f"refused: {line}", file=sys.stderr)
    verified = sum(entry.verified for entry in entries)
    print(f"{arguments.out / 'index.html'}: {verified} verified, {len(entries) - verified} community rows.")
    return 1 if refused else 0
