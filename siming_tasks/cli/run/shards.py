"""``siming run shards``: a run in N parts for N machines."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from siming_tasks.cli.parameters import MEDIA_OPTIONS, Checked, DatasetChoice, command, dataset_flags, option_flags
from siming_tasks.options import Options, Whole

__all__ = ["shards"]


@command()
@dataset_flags()
@click.argument("number", type=Checked(Whole()), metavar="N", help="number of parts")
@option_flags(*MEDIA_OPTIONS, "media", "image_format", "prompt")
@click.option("--tasks", required=True, metavar="T[,T]", help="tasks and groups, as lmms-eval calls them")
@click.option("--model", metavar="NAME", help="passed on to lmms-eval")
@click.option("--model_args", "--model-args", metavar="ARGS", help="passed on to lmms-eval")
@click.option("--more", default="", metavar='"ARGS"', help="further arguments for lmms-eval, in quotes")
@click.option(
    "--out",
    type=Path,
    default=Path("runs/shards"),
    metavar="DIR",
    help="folder with one folder for each shard (default: runs/shards)",
)
@click.option("--slurm", is_flag=True, help="print an array script for sbatch")
def shards(
    chosen: DatasetChoice,
    options: Options,
    number: int,
    tasks: str,
    model: str | None,
    model_args: str | None,
    more: str,
    out: Path,
    slurm: bool,
) -> None:
    """Print the commands of every shard and the one that joins them."""
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.media import Policy
    from siming_tasks.results.lmms_eval_commands import settings_named, slurm_script
    from siming_tasks.results.lmms_eval_commands import shards as divide
    from siming_tasks.tasks.prompting import PromptOptions

    if options.ask != "all":
        raise OptionsError("Shards are made of whole exams: leave SIMING_ASK at all, or run the tasks undivided.")
    settings = settings_named(tasks.split(","))
    dataset = chosen.open()
    prompting = PromptOptions.from_options(options)
    shown = {"siming_options": json.dumps({**Policy.of(options).facts(), **prompting.changed_options()})}
    facts = {
        "model": model,
        "model_args": model_args,
        "tasks": {setting.task_name: shown for setting in settings},
    }
    width = len(str(number))
    out = out.absolute()
    folders = [out / f"shard-{index + 1:0{width}d}-of-{number}" for index in range(number)]
    extra, data = shlex.split(more), str(dataset.root.absolute())
    made = [
        [part.command(facts, data, folder, extra) for part in parts]
        for parts, folder in zip(divide(dataset, settings, number), folders, strict=True)
    ]
    join = shlex.join(["siming", "run", "join", *map(str, folders), str(out / "joined")])
    if number > 4:
        join = f"siming run join {shlex.quote(str(out))}/shard-*-of-{number} {shlex.quote(str(out / 'joined'))}"
    if slurm:
        print(slurm_script(made, folders, join), end="")
        return
    for index, words in enumerate(made):
        print(f"# shard {index + 1} of {number}")
        print("\n".join(words))
    print(f"# when all are done\n{join}")
