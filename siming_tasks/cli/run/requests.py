"""``siming run requests``: the exact requests of a run, for whoever answers them without lmms-eval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from siming_tasks.cli.parameters import MEDIA_OPTIONS, Checked, DatasetChoice, command, dataset_flags, option_flags
from siming_tasks.cli.terminal import say
from siming_tasks.options import Options, Whole

__all__ = ["requests"]


@command(
    "Writes one JSON object per request. Answer each with a line {id, reply} of a JSONL file and give that to "
    "`siming score`."
)
@dataset_flags(word=True)
@click.argument("out", type=Path, metavar="OUT", help="the file (.jsonl)")
@click.option("--setting", multiple=True, metavar="NAME", help="full_score, ...; may be repeated (default: the four)")
@click.option(
    "--messages",
    type=click.Choice(("openai", "qwen", "plain")),
    default="openai",
    help="form of the messages (default openai)",
)
@click.option("--files", is_flag=True, help="frames as files beside OUT instead of data URLs")
@click.option(
    "--limit",
    type=Checked(Whole()),
    metavar="N",
    help="only the first N requests of each setting",
)
@option_flags(*MEDIA_OPTIONS, "media", "prompt", "ask", "image_format", "cache", "cache_gb")
def requests(
    chosen: DatasetChoice,
    options: Options,
    out: Path,
    setting: tuple[str, ...],
    messages: str,
    files: bool,
    limit: int | None,
) -> int:
    """Write the requests and say how they are answered; 0."""
    from tqdm import tqdm

    from siming_tasks.common.errors import OptionsError
    from siming_tasks.tasks import BENCHMARK_TASKS, TASKS
    from siming_tasks.tools.exchange.request_file import media_folder, write_requests

    names = tuple(dict.fromkeys(setting or BENCHMARK_TASKS))
    if unknown := [name for name in names if name not in TASKS]:
        raise OptionsError(f"--setting {unknown[0]!r} is not one of {', '.join(TASKS)}.")
    options = replace(options, data=str(chosen.folder()))
    written = write_requests(
        options,
        names,
        out,
        form=messages,
        files=files,
        limit=limit,
        watched=lambda docs: tqdm(docs, unit="request", smoothing=0.1),
    )
    label = "SYNTHETIC " if written.dataset.synthetic else ""
    beside = f", media in {media_folder(written.path)}" if files else ""
    say(f"{written.path}: {written.requests:,} requests about {label}{written.dataset.name}{beside}.")
    say('Answer them as lines {"id": ..., "reply": ...}; then: siming score ' + f"{options.data} REPLIES.jsonl")
    return 0
