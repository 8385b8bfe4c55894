"""``siming run prepare``: decode all frames, or cut all clips, before a run."""

from __future__ import annotations

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import say
from siming_tasks.common.errors import OptionsError
from siming_tasks.options import Options, shard_of


@cli.command("run prepare --data exams --jobs 4", "lmms-eval --model MODEL --tasks siming --log_samples ...")
@cli.option_flags("data", "split", *cli.MEDIA_OPTIONS, "media", "cache", "cache_gb")
@click.option("--jobs", type=click.IntRange(1), default=1, help="worker processes")
@click.option("--shard", metavar="I/N", default="", help="only every N-th video from the I-th on")
@click.option("--dry-run", is_flag=True, help="print the estimate and stop")
def prepare(options: Options, jobs: int, shard: str, dry_run: bool) -> int:
    """Decode all frames, or cut all clips, of a data set before a run."""
    from tqdm import tqdm

    from siming_tasks.media import Job, Policy
    from siming_tasks.media.prefetch import Outcome, estimate
    from siming_tasks.media.prefetch import prepare as run

    part, parts = shard_of(shard)
    dataset = cli.open_dataset(options, media=True)
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
