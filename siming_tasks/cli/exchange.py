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
from siming_tasks.tasks import setting_named


@cli.command(
    "run requests job.jsonl --data exams --model gpt-4o", "siming run import RESULTS... replies.jsonl --requests ASKED"
)
@click.argument("out", metavar="OUT", type=cli.NEW_FILE, help="the new file (.jsonl)")
@cli.option_flags("data", "split", *cli.MEDIA_OPTIONS, "media", "prompt", "ask", "schema", "cache", "cache_gb")
@click.option("--model", required=True, help="name of the model that is asked")
@click.option(
    "--setting",
    multiple=True,
    type=setting_named,
    metavar="NAME",
    help="full_score, ...; may be repeated (default: the four)",
)
@click.option("--missing", multiple=True, type=Path, help="only what has no answer in this run; may be repeated")
@click.option("--files", is_flag=True, help="frames as files beside OUT instead of data URLs")
@click.option("--limit", type=click.IntRange(1), help="only the first N requests of each setting")
@click.option("--batch-mb", type=click.IntRange(1), default=190, help="most megabytes of a file")
def requests(
    out: Path,
    options: Options,
    model: str,
    setting: tuple[str, ...],
    missing: tuple[Path, ...],
    files: bool,
    limit: int | None,
    batch_mb: int,
) -> None:
    """Write the exact requests of a run as a batch job, to be answered without lmms-eval.

    Writes a batch job of OpenAI's API (or vllm run-batch), and beside it what each request asks. Whoever answers by
    other means writes a line {custom_id, reply} for each.
    """
    from tqdm import tqdm

    from siming_tasks.data.consent import consent_in_words, refuse_without_consent
    from siming_tasks.results.run import read_run
    from siming_tasks.tasks import BENCHMARK_TASKS
    from siming_tasks.tools.exchange.batch_job import answered_requests, asked_file, refuse_unlike, write_job
    from siming_tasks.tools.exchange.requests import Asked

    names = tuple(dict.fromkeys(setting or BENCHMARK_TASKS))
    options = replace(options, data=str(cli.dataset_folder(options)))
    asked = Asked.by(options, names, limit)
    if not files:  # vLLM of this machine takes files
        refuse_without_consent(asked.dataset, "", "frames, sound or files (in the job)")
        say(consent_in_words(asked.dataset))
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


@cli.command(
    "run import results.jsonl replies.jsonl --requests job_asked.jsonl", "siming score replies.jsonl", "import"
)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=Path,
    metavar="FILE...",
    help="files of results and of errors of one batch job",
)
@click.argument("out", metavar="OUT", type=cli.NEW_FILE, help="the new file (.jsonl) for `siming score`")
@click.option("--requests", required=True, type=Path, help="what was asked: the file beside the job")
def import_replies(files: tuple[Path, ...], out: Path, requests: Path) -> int:
    """Turn the results of a batch job into a file that can be scored."""
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
    say(f"Replies are in {out}. Score them: siming score {shlex.quote(str(out))} --data DIR")
    if found.failed or found.lacking:
        say(f"`siming run requests --missing {shlex.quote(str(out))}` with the options of this job asks the others.")
    return 1 if found.failed or found.lacking or found.served else 0
