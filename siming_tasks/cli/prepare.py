"""``siming prepare``: decode a dataset before a run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from siming_tasks.cli.dataset import open_chosen

if TYPE_CHECKING:
    from siming_tasks.media.jobs import Job
    from siming_tasks.options import Options

__all__ = ["add", "media_options", "media_settings"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser("prepare", help="decode all frames or cut all clips of a dataset before a run")
    media_options(command)
    command.add_argument(
        "--mode",
        choices=("frames", "video", "proxy"),
        default="frames",
        help="images (default); one .mp4 per clip; or one of just the frames shown, per clip and video",
    )
    command.add_argument("--jobs", type=int, default=1, metavar="J", help="worker processes (default 1)")
    command.add_argument("--cache", metavar="DIR", help="cache folder (default: SIMING_CACHE or the user's)")
    command.add_argument("--cache-gb", type=float, metavar="G", help="limit of the store in gigabytes (default 20)")
    command.add_argument("--dry-run", action="store_true", help="print the estimate and stop")
    command.set_defaults(run=prepare)


def media_options(command: Any) -> None:
    """The options that say which frames of which data."""
    command.add_argument("--data", metavar="DIR", help="dataset folder or hub id (default: SIMING_DATA or the demo)")
    command.add_argument("--frames", type=int, metavar="N", help="frames per full video (default 64)")
    command.add_argument("--clip-frames", type=int, metavar="M", help="frames per step clip (default 16)")
    command.add_argument("--frame-size", type=int, metavar="P", help="longest side of an image in pixels (default 896)")
    command.add_argument("--matched", action="store_true", help="sample clips at the full-video rate (a control)")


def media_settings(arguments: argparse.Namespace) -> Options:
    """The environment's settings with the options given on the command line."""
    from dataclasses import replace

    from siming_tasks.errors import OptionsError
    from siming_tasks.options import Options

    names = ("data", "frames", "clip_frames", "frame_size", "cache", "cache_gb")
    given = {name: getattr(arguments, name, None) for name in names}
    chosen = {name: value for name, value in given.items() if value is not None}
    for name, value in chosen.items():
        if not isinstance(value, str) and value <= 0:
            raise OptionsError(f"--{name.replace('_', '-')} {value:g} must be above 0.")
    settings = replace(Options.from_env(), **chosen)
    return replace(settings, clip_density="matched") if arguments.matched else settings


def prepare(arguments: argparse.Namespace) -> int:
    """Print the estimate, do the work under a progress bar, list what could not be decoded."""
    from tqdm import tqdm

    from siming_tasks.errors import OptionsError
    from siming_tasks.media.jobs import Outcome, estimate
    from siming_tasks.media.jobs import prepare as run

    if arguments.jobs < 1:
        raise OptionsError("--jobs must be at least 1.")
    settings = media_settings(arguments)
    jobs = _jobs(settings, arguments)
    if arguments.mode == "frames":
        ahead = estimate(jobs, settings.cache_dir, arguments.jobs)
        print(f"{len(jobs)} videos, {ahead.videos} to decode: {ahead.frames:,} frames,", end=" ")
        print(f"about {ahead.bytes / 1e9:.2f} GB and {ahead.seconds / 60:.1f} min, into {settings.cache_dir}")
        if ahead.bytes > settings.cache_gb * 1e9:
            raise OptionsError(
                f"that is more than the limit of {settings.cache_gb:g} GB, and frames would be removed before they are"
                " used. Raise --cache-gb (SIMING_CACHE_GB) or lower --frames and --clip-frames."
            )
    if arguments.dry_run:
        return 0
    errors: list[str] = []
    with tqdm(total=len(jobs), unit="video", smoothing=0.1) as bar:

        def done(outcome: Outcome) -> None:
            errors.extend(outcome.errors)
            bar.set_postfix_str(outcome.path.name)
            bar.update()

        run(jobs, settings.cache_dir, workers=arguments.jobs, cache_gb=settings.cache_gb, done=done)
    for error in errors:
        print(error)
    print(f"{len(jobs)} videos prepared" + (f", {len(errors)} problems (above)." if errors else ", no problems."))
    return 1 if errors else 0


def _jobs(settings: Options, arguments: argparse.Namespace) -> list[Job]:
    from siming_tasks.media.jobs import Job, requests_of

    dataset = open_chosen(settings)
    return [
        Job(
            dataset.media_path(video),
            requests_of(
                video,
                frames=settings.frames,
                clip_frames=settings.clip_frames,
                matched=settings.clip_density == "matched",
            ),
            dataset.media_digest(video),
            arguments.mode,
            settings.frame_size,
        )
        for video in dataset.videos
    ]
