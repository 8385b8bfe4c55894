"""``siming run prepare`` and ``missing``: decode before a run, count what it has not answered."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import print_json, say, show_problems
from siming_tasks.common.errors import OptionsError
from siming_tasks.options import Options, shard_of

MAX_COMMANDS = 8
"""Commands for missing requests that are printed."""


@cli.command()
def prepare(
    chosen: cli.DatasetChoice = cli.dataset_flags(),
    options: Options = cli.option_flags(*cli.MEDIA_OPTIONS, "media", "cache", "cache_gb"),
    jobs: int = cli.option("J", "worker processes (default 1)", click.IntRange(1), 1),
    shard: str | None = cli.option("I/N", "only every N-th video from the I-th on"),
    dry_run: bool = cli.switch("print the estimate and stop"),
) -> int:
    """Print the estimate, do the work under a progress bar, list what could not be decoded."""
    from tqdm import tqdm

    from siming_tasks.media import Job, Policy
    from siming_tasks.media.prefetch import Outcome, estimate
    from siming_tasks.media.prefetch import prepare as run

    part, parts = shard_of(shard or "")
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
def missing(
    chosen: cli.DatasetChoice = cli.dataset_flags(),
    folder: tuple[Path, ...] = cli.word(
        "DIR...", "output folders of the run or of one shard, as far as they are there", Path
    ),
    tasks: str | None = cli.option("T[,T]", "tasks and groups, as lmms-eval calls them (default: those of the run)"),
    partial: bool = cli.switch("count only requests that have a line (run with --limit)"),
    as_json: bool = cli.switch("print one JSON object", "--json"),
) -> int:
    """Count the requests (of SIMING_SHARD) without an answer to keep, with the commands that ask them; 1 if any."""
    from siming_tasks.common.public_facts import REST
    from siming_tasks.results.discovery import run_at
    from siming_tasks.results.lmms_eval_commands import missing_requests, retry_commands, settings_named
    from siming_tasks.results.run import read_run
    from siming_tasks.tasks import TASKS

    there = [path for path in folder if path.is_file() or next(path.rglob("*.jsonl"), None)]
    source = run_at(there) if there else None
    dataset, shard = chosen.open([source] if source else []), Options.from_env().shard
    run = read_run(source, dataset, partial=partial, allow=["dataset"]) if source else None
    named = [setting.name for setting in settings_named(tasks.split(","))] if tasks is not None else ()
    if not (names := named or (run.settings if run else ())):
        raise OptionsError(f"{folder[0]}: holds no run yet. Name its tasks (--tasks siming).")
    left = missing_requests(run, dataset, names, shard)
    asked = [request for _, requests in left.values() for request in requests]
    commands = retry_commands(run, asked, shard) if run else []
    if as_json:
        counts = {name: count for name, (count, _) in left.items()}
        print_json({"asked": counts, "missing": [asdict(each) for each in asked], "commands": commands})
        return 1 if asked else 0
    show_problems(run.problems if run else ())
    for name, (count, requests) in left.items():
        why = [" ".join(filter(None, (each.status, each.reason))) for each in requests[:8]]
        first = [f"{each.id} ({said})" if said else each.id for each, said in zip(requests, why, strict=False)]
        shown = f"; {len(requests):,} missing: {', '.join(first)}{', ...' * (len(requests) > 8)}" if requests else ""
        say(f"{TASKS[name].task_name}: {count - len(requests):,} of {count:,} requests answered{shown}")
    if commands:
        say("\n".join(["These commands ask exactly those:", *commands[:MAX_COMMANDS]]))
        if not (source and source.facts.get("model")):
            say("What was run is not known here (no results file of lmms-eval): fill in MODEL and MODEL_ARGS.")
        elif any(REST in command for command in commands):
            say(f"Addresses, keys and other arguments are not shown: fill them in where {REST} stands.")
    if len(commands) > MAX_COMMANDS:
        say(f"... {len(commands) - MAX_COMMANDS:,} more. The command of the run asks what has no kept reply, too.")
    if run and any((one.conditions.usage or {}).get("stored") is False for row in run.records.values() for one in row):
        say("SIMING_REPLIES=off: no reply was stored. The command of the run asks and pays everything again.")
    return 1 if asked else 0
