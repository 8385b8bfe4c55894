"""``siming run requests`` and ``import``: the questions of a run out as a batch job, its replies in."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import marked_name, say
from siming_tasks.options import Options


@cli.command(
    "Writes a batch job of OpenAI's API (or vllm run-batch), and beside it what each request asks. Whoever answers by "
    "other means writes a line {custom_id, reply} for each."
)
def requests(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True),
    out: Path = cli.word("OUT", "the new file (.jsonl)", cli.NEW_FILE),
    model: str = cli.option("MODEL", "name of the model that is asked", required=True),
    setting: tuple[str, ...] = cli.several("NAME", "full_score, ...; may be repeated (default: the four)", cli.SETTING),
    missing: tuple[Path, ...] = cli.several("RUN", "only what has no answer in this run; may be repeated", Path),
    files: bool = cli.switch("frames as files beside OUT instead of data URLs"),
    limit: int | None = cli.option("N", "only the first N requests of each setting", click.IntRange(1)),
    batch_mb: int = cli.option("N", "most megabytes of a file (default 190)", click.IntRange(1), 190),
    options: Options = cli.option_flags(*cli.MEDIA_OPTIONS, "media", "prompt", "ask", "schema", "cache", "cache_gb"),
) -> None:
    """Write the job and say how its results are imported."""
    from tqdm import tqdm

    from siming_tasks.results.run import read_run
    from siming_tasks.tasks import BENCHMARK_TASKS
    from siming_tasks.tools.exchange.batch_job import answered_requests, asked_file, refuse_unlike, write_job
    from siming_tasks.tools.exchange.requests import Asked

    names = tuple(dict.fromkeys(setting or BENCHMARK_TASKS))
    options = replace(options, data=str(chosen.folder()))
    asked = Asked.by(options, names, limit)
    if missing:
        answered = answered_requests(read_run(missing, asked.dataset))
        refuse_unlike(asked, model, answered)
        asked = Asked.by(options, names, limit, answered)
    if not asked.documents:
        say("Every request has an answer: nothing was written.")
        return
    with ExitStack() as bars:  # closed before an error is told, which is the last line then

        def watched(docs: Any) -> Any:
            return bars.enter_context(tqdm(docs, unit="request", smoothing=0.1))

        parts = write_job(asked, model, out, files=files, most_bytes=batch_mb * 1_000_000, watched=watched)
    say(f"{', '.join(map(str, parts))}: {len(asked.documents):,} requests about {marked_name(asked.dataset)}.")
    say(f"Then: siming run import RESULTS... REPLIES.jsonl --requests {shlex.quote(str(asked_file(out)))}")


@cli.command()
def import_(
    files: tuple[Path, ...] = cli.word("FILE...", "result files of one batch job, and its files of errors", Path),
    out: Path = cli.word("OUT", "the new file (.jsonl) for `siming score`", cli.NEW_FILE),
    requests: Path = cli.option("FILE", "what was asked: the file beside the job", Path, required=True),
) -> int:
    """Write the replies and count them; 1 if a request has no answer, or one of another model."""
    from siming_tasks.tools.exchange.batch_results import import_results

    found = import_results(files, requests, out)
    for name, count in found.asked.items():
        say(f"{name}: {found.answered.get(name, 0):,} of {count:,} requests answered")
    if found.failed:
        first = [f"{request} ({why[:100]})" for request, why in list(found.failed.items())[:4]]
        say(f"{len(found.failed):,} failed: {', '.join(first)}{', ...' * (len(found.failed) > 4)}")
    for name, ids in found.lacking.items():
        say(f"{name}: {len(ids):,} requests without a result: {', '.join(ids[:4])}{', ...' * (len(ids) > 4)}")
    for name, count in found.served.items():
        say(f"{count:,} replies are of the model {name}, which is not the one that was asked.")
    say(f"Replies are in {out}. Score them: siming score DIR {shlex.quote(str(out))}")
    if found.failed or found.lacking:
        say(f"`siming run requests --missing {shlex.quote(str(out))}` with the options of this job asks the others.")
    return 1 if found.failed or found.lacking or found.served else 0
