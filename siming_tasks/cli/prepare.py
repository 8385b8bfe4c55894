"""``siming run prepare``, ``shards``, ``missing`` and ``join``: decode before a run, divide it, put it together."""

from __future__ import annotations

import json
import shlex
from itertools import islice
from pathlib import Path

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import say
from siming_tasks.common.errors import OptionsError
from siming_tasks.options import Options, Share, Whole


@cli.command()
def prepare(
    chosen: cli.DatasetChoice = cli.dataset_flags(),
    options: Options = cli.option_flags(*cli.MEDIA_OPTIONS, "media", "cache", "cache_gb"),
    jobs: int = cli.option("J", "worker processes (default 1)", Whole(), 1),
    shard: str | None = cli.option("I/N", "only every N-th video from the I-th on", Share()),
    dry_run: bool = cli.switch("print the estimate and stop"),
) -> int:
    """Print the estimate, do the work under a progress bar, list what could not be decoded."""
    from tqdm import tqdm

    from siming_tasks.media import Job, Policy
    from siming_tasks.media.prefetch import Outcome, estimate
    from siming_tasks.media.prefetch import prepare as run

    part, parts = (int(number) for number in (shard or "1/1").split("/"))
    dataset = chosen.open(media=True)
    policy = Policy.of(options)
    tasks = [
        Job.of(policy, video, dataset.media_path(video), dataset.media_digest(video, options.cache_dir))
        for video in dataset.videos[part - 1 :: parts]  # the longest are often neighbours: let the parts share them
    ]
    if policy.mode_for().images:
        ahead = estimate(tasks, options.cache_dir, jobs)
        print(f"{len(tasks)} videos, {ahead.videos} to decode: {ahead.frames:,} frames,", end=" ")
        say(f"about {ahead.bytes / 1e9:.2f} GB and {ahead.seconds / 60:.1f} min, into {options.cache_dir}")
        if ahead.bytes * parts > options.cache_gb * 1e9:
            shards = f"for {parts} shards, " if parts > 1 else ""
            raise OptionsError(
                f"that is {shards}more than the limit of {options.cache_gb:g} GB, and frames would be removed before "
                "they are used. Raise --cache-gb (SIMING_CACHE_GB) or lower --frames and --clip-frames."
            )
    if dry_run:
        return 0
    errors: list[str] = []
    with tqdm(total=len(tasks), unit="video", smoothing=0.1) as bar:

        def done(outcome: Outcome) -> None:
            errors.extend(outcome.errors)
            bar.set_postfix_str(outcome.path.name)
            bar.update()

        run(tasks, options.cache_dir, workers=jobs, cache_gb=options.cache_gb, done=done)
    for error in errors:
        say(error)
    print(f"{len(tasks)} videos prepared" + (f", {len(errors)} problems (above)." if errors else ", no problems."))
    return 1 if errors else 0


@cli.command()
def shards(
    chosen: cli.DatasetChoice = cli.dataset_flags(),
    number: int = cli.word("N", "number of parts", Whole()),
    options: Options = cli.option_flags(*cli.MEDIA_OPTIONS, "media", "image_format", "prompt"),
    tasks: str = cli.option("T[,T]", "tasks and groups, as lmms-eval calls them", required=True),
    model: str | None = cli.option("NAME", "passed on to lmms-eval"),
    model_args: str | None = cli.option("ARGS", "passed on to lmms-eval", flag="--model_args --model-args"),
    more: str = cli.option('"ARGS"', "further arguments for lmms-eval, in quotes", default=""),
    out: Path = cli.option(
        "DIR", "folder with one folder for each shard (default: runs/shards)", Path, Path("runs/shards")
    ),
    slurm: bool = cli.switch("print an array script for sbatch"),
) -> None:
    """Print the commands of every shard and the one that joins them."""
    from siming_tasks.media import Policy
    from siming_tasks.results.discovery import RequestSlice
    from siming_tasks.results.lmms_eval_commands import SLURM, command_of, settings_named
    from siming_tasks.tasks.expected_requests import check_shards
    from siming_tasks.tasks.prompting import PromptOptions

    if options.ask != "all":
        raise OptionsError("Shards are made of whole exams: leave SIMING_ASK at all, or run the tasks undivided.")
    settings = settings_named(tasks.split(","))
    dataset = chosen.open()
    check_shards(dataset.videos, settings, number)
    changed = PromptOptions.from_options(options).changed_options()
    shown = {"siming_options": json.dumps({**Policy.of(options).facts(), **changed})}
    named = {setting.task_name: shown for setting in settings}
    facts = {"model": model, "model_args": model_args, "tasks": named}
    out, data, width = out.absolute(), str(dataset.root.absolute()), len(str(number))

    def command(share: str, folder: str) -> str:
        line = command_of(facts, list(named), RequestSlice(shard=share, split=dataset.part), data=data, output=folder)
        return " ".join([line, *([shlex.join(shlex.split(more))] if more else [])])

    folders = {f"{index}/{number}": out / f"shard-{index:0{width}d}-of-{number}" for index in range(1, number + 1)}
    join = shlex.join(["siming", "run", "join", *map(str, folders.values()), str(out / "joined")])
    if number > 4:
        join = f"siming run join {shlex.quote(str(out))}/shard-*-of-{number} {shlex.quote(str(out / 'joined'))}"
    if slurm:
        line = command("", "FOLDER").replace("--output_path FOLDER", '--output_path "$folder"')
        words = {"out": shlex.quote(str(out)), "data": shlex.quote(data), "tasks": shlex.quote(tasks)}
        words["split"] = f" --split {shlex.quote(dataset.part)}" if dataset.part else ""
        print(SLURM.format(number=number, width=width, join=join, command=line, **words), end="")
        return
    for share, folder in folders.items():
        print(f"# shard {share}\n{command(share, str(folder))}")
    print(f"# when all are done\n{join}")


@cli.command()
def missing(
    chosen: cli.DatasetChoice = cli.dataset_flags(),
    folder: Path = cli.word("DIR", "output folder of the run or of one shard; it need not exist yet", cli.RUN),
    tasks: str = cli.option("T[,T]", "tasks and groups, as lmms-eval calls them", required=True),
) -> int:
    """Print for each task how many requests (of SIMING_SHARD) have no answer to keep, and which; exit with 1 if any."""
    from siming_tasks.results.join_shards import unanswered
    from siming_tasks.results.lmms_eval_commands import settings_named
    from siming_tasks.tasks import TASKS

    dataset = chosen.open()
    names = [setting.name for setting in settings_named(tasks.split(","))]
    left = unanswered(folder, dataset, names, Options.from_env().shard)
    for name, (count, ids) in left.items():
        first = [f"{request} ({status})" if status else request for request, status in islice(ids.items(), 8)]
        shown = f"; {len(ids):,} missing: {', '.join(first)}{', ...' * (len(ids) > 8)}" if ids else ""
        say(f"{TASKS[name].task_name}: {count - len(ids):,} of {count:,} requests answered{shown}")
    return 1 if any(ids for _, ids in left.values()) else 0


@cli.command()
def join(
    chosen: cli.DatasetChoice = cli.dataset_flags(),
    shard_folders: tuple[str, ...] = cli.word("SHARD...", "folders of the shards", cli.RUNS),
    out: Path = cli.word("OUT", "the new folder of the joined run", cli.NEW_FOLDER),
    partial: bool = cli.switch("join although requests are missing, and say which"),
) -> None:
    """Write the joined run and count its requests."""
    from siming_tasks.results.discovery import find_runs
    from siming_tasks.results.join_shards import join_shards
    from siming_tasks.tasks import TASKS

    sources = find_runs(shard_folders)
    dataset = chosen.open(sources)
    joined = join_shards(sources, dataset, out, partial=partial)
    for name, count in joined.requests.items():
        missing = ""
        if rows := joined.missing.get(name):
            places = ", ".join(f"{row.offset}-{row.offset + int(row.limit or 0) - 1}" for row in rows[:8])
            more = ", ..." * (len(rows) > 8)
            missing = f"; MISSING {sum(int(row.limit or 0) for row in rows):,}: documents {places}{more}"
        print(f"{TASKS[name].task_name}: {count:,} requests{missing}")
    label = " SYNTHETIC" if dataset.synthetic else ""
    print(f"{len(sources)} shards of {dataset.name}{label} joined in {joined.folder}")
