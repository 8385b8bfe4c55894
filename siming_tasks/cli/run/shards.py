"""``siming shards``: a run in N parts for N machines."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.dataset import open_chosen
from siming_tasks.cli.flags import add_options, options_from
from siming_tasks.cli.run.prepare import media_options
from siming_tasks.options import Whole

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser("shards", help="commands, or a SLURM script, that make a run in N parts")
    command.add_argument("number", action=Checked, kind=Whole(), help="how many parts")
    media_options(command)
    add_options(command, "media", "image_format", "prompt")
    command.add_argument("--tasks", required=True, metavar="T[,T]", help="tasks and groups, as lmms-eval calls them")
    command.add_argument("--model", metavar="NAME", help="of lmms-eval")
    command.add_argument("--model_args", "--model-args", metavar="ARGS", help="of lmms-eval")
    command.add_argument("--more", default="", metavar='"ARGS"', help="further arguments of lmms-eval, in quotes")
    command.add_argument(
        "--out", type=Path, default=Path("runs/shards"), metavar="DIR", help="a folder in it for each (runs/shards)"
    )
    command.add_argument("--slurm", action="store_true", help="print an array script for sbatch")
    command.set_defaults(run=_shards)


def _shards(arguments: argparse.Namespace) -> None:
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.media import Policy
    from siming_tasks.results.shards import settings_named, shards, slurm_script
    from siming_tasks.tasks.prompting import Asking

    options = options_from(arguments)
    if options.ask != "all":
        raise OptionsError("Shards are made of whole exams: leave SIMING_ASK at all, or run the tasks undivided.")
    settings = settings_named(arguments.tasks.split(","))
    dataset = open_chosen(arguments, options)
    shown = {"siming_options": json.dumps({**Policy.of(options).facts(), **Asking.of(options).facts()})}
    facts = {
        "model": arguments.model,
        "model_args": arguments.model_args,
        "tasks": {setting.task_name: shown for setting in settings},
    }
    width = len(str(arguments.number))
    out = arguments.out.absolute()
    folders = [out / f"shard-{number + 1:0{width}d}-of-{arguments.number}" for number in range(arguments.number)]
    more, data = shlex.split(arguments.more), str(dataset.root.absolute())
    made = [
        [part.command(facts, data, folder, more) for part in parts]
        for parts, folder in zip(shards(dataset, settings, arguments.number), folders, strict=True)
    ]
    join = shlex.join(["siming", "join", *map(str, folders), str(out / "joined")])
    if arguments.number > 4:
        join = f"siming join {shlex.quote(str(out))}/shard-*-of-{arguments.number} {shlex.quote(str(out / 'joined'))}"
    if arguments.slurm:
        print(slurm_script(made, folders, join), end="")
        return
    for number, words in enumerate(made):
        print(f"# shard {number + 1} of {arguments.number}")
        print("\n".join(words))
    print(f"# when all are done\n{join}")
