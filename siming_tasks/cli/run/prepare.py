"""``siming prepare``: decode a dataset before a run."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.dataset import add_data, open_chosen
from siming_tasks.cli.flags import add_options, options_from
from siming_tasks.cli.terminal import say
from siming_tasks.options import OPTIONS, Share, Whole

if TYPE_CHECKING:
    from siming_tasks.media import Mode
    from siming_tasks.media.prefetch import Job
    from siming_tasks.options import Options

__all__ = ["add", "media_options"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser("prepare", help="decode all frames or cut all clips of a dataset before a run")
    media_options(command)
    add_options(command, "media")
    command.add_argument("--mode", dest="media", action=Checked, kind=OPTIONS["media"].kind, help=argparse.SUPPRESS)
    command.add_argument(
        "--jobs", action=Checked, kind=Whole(), default=1, metavar="J", help="worker processes (default 1)"
    )
    command.add_argument("--shard", action=Checked, kind=Share(), help="only every N-th video from the I-th on")
    add_options(command, "cache", "cache_gb")
    command.add_argument("--dry-run", action="store_true", help="print the estimate and stop")
    command.set_defaults(run=prepare)


def media_options(command: argparse.ArgumentParser) -> None:
    """The options that say which frames of which data."""
    add_data(command)
    add_options(command, "demo_videos", "frames", "clip_frames", "frame_size", "clip_density", "sampler")
    command.add_argument(
        "--matched", dest="clip_density", action="store_const", const="matched", help=argparse.SUPPRESS
    )


def prepare(arguments: argparse.Namespace) -> int:
    """Print the estimate, do the work under a progress bar, list what could not be decoded."""
    from tqdm import tqdm

    from siming_tasks.common.errors import OptionsError
    from siming_tasks.media.prefetch import Outcome, estimate
    from siming_tasks.media.prefetch import prepare as run

    options = options_from(arguments)
    mode: Mode = "frames" if options.media == "auto" else options.media
    jobs = _jobs(arguments, options, mode)
    if mode == "frames":
        ahead = estimate(jobs, options.cache_dir, arguments.jobs)
        print(f"{len(jobs)} videos, {ahead.videos} to decode: {ahead.frames:,} frames,", end=" ")
        say(f"about {ahead.bytes / 1e9:.2f} GB and {ahead.seconds / 60:.1f} min, into {options.cache_dir}")
        parts = _share(arguments)[1]
        if ahead.bytes * parts > options.cache_gb * 1e9:
            shards = f"for {parts} shards, " if parts > 1 else ""
            raise OptionsError(
                f"that is {shards}more than the limit of {options.cache_gb:g} GB, and frames would be removed before "
                "they are used. Raise --cache-gb (SIMING_CACHE_GB) or lower --frames and --clip-frames."
            )
    if arguments.dry_run:
        return 0
    errors: list[str] = []
    with tqdm(total=len(jobs), unit="video", smoothing=0.1) as bar:

        def done(outcome: Outcome) -> None:
            errors.extend(outcome.errors)
            bar.set_postfix_str(outcome.path.name)
            bar.update()

        run(jobs, options.cache_dir, workers=arguments.jobs, cache_gb=options.cache_gb, done=done)
    for error in errors:
        say(error)
    print(f"{len(jobs)} videos prepared" + (f", {len(errors)} problems (above)." if errors else ", no problems."))
    return 1 if errors else 0


def _jobs(arguments: argparse.Namespace, options: Options, mode: Mode) -> list[Job]:
    from siming_tasks.media import Job, Policy

    dataset = open_chosen(arguments, options, media=True)
    policy = replace(Policy.of(options), mode=mode)
    part, parts = _share(arguments)
    return [
        Job.of(policy, video, dataset.media_path(video), dataset.media_digest(video, options.cache_dir))
        for video in dataset.videos[part - 1 :: parts]  # the longest are often neighbours: let the parts share them
    ]


def _share(arguments: argparse.Namespace) -> tuple[int, int]:
    part, _, parts = (arguments.shard or "1/1").partition("/")
    return int(part), int(parts)
