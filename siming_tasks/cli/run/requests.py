"""``siming requests``: the exact requests of a run, for whoever answers them without lmms-eval."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.dataset import add_data, folder_of
from siming_tasks.cli.flags import add_options, options_from
from siming_tasks.cli.terminal import say
from siming_tasks.options import Whole

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser(
        "requests",
        help="write the exact requests of a run, to be answered without lmms-eval",
        description="Writes one JSON object per request. Answer each with a line {id, reply} of a JSONL file and give "
        "that to `siming score`.",
    )
    add_data(command, word=True)
    command.add_argument("out", type=Path, metavar="OUT", help="the file (.jsonl)")
    command.add_argument(
        "--setting", action="append", metavar="NAME", help="full_score, ...; may be repeated (default: the four)"
    )
    command.add_argument(
        "--messages", choices=("openai", "qwen", "plain"), default="openai", help="how they are worded (default openai)"
    )
    command.add_argument("--files", action="store_true", help="frames as files beside OUT instead of data URLs")
    command.add_argument("--limit", action=Checked, kind=Whole(), help="only the first N requests of each setting")
    add_options(command, "demo_videos", "frames", "clip_frames", "frame_size", "clip_density", "sampler", "media")
    add_options(command, "prompt", "ask", "image_format", "cache", "cache_gb")
    command.set_defaults(run=_requests)


def _requests(arguments: argparse.Namespace) -> int:
    from tqdm import tqdm

    from siming_tasks.common.errors import OptionsError
    from siming_tasks.tasks import BENCHMARK_TASKS, TASKS
    from siming_tasks.tools.exchange.requests import media_folder, write_requests

    names = tuple(dict.fromkeys(arguments.setting or BENCHMARK_TASKS))
    if unknown := [name for name in names if name not in TASKS]:
        raise OptionsError(f"--setting {unknown[0]!r} is not one of {', '.join(TASKS)}.")
    options = options_from(arguments)
    options = replace(options, data=str(folder_of(arguments, options)))
    written = write_requests(
        options,
        names,
        arguments.out,
        form=arguments.messages,
        files=arguments.files,
        limit=arguments.limit,
        watched=lambda docs: tqdm(docs, unit="request", smoothing=0.1),
    )
    label = "SYNTHETIC " if written.dataset.synthetic else ""
    beside = f", media in {media_folder(written.path)}" if arguments.files else ""
    say(f"{written.path}: {written.requests:,} requests about {label}{written.dataset.name}{beside}.")
    say('Answer them as lines {"id": ..., "reply": ...}; then: siming score ' + f"{options.data} REPLIES.jsonl")
    return 0
