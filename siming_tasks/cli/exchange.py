"""``siming run requests``, ``import`` and ``export``: questions out, replies of batch jobs in, numbers out."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import marked_name, say, show_problems
from siming_tasks.common.errors import OptionsError
from siming_tasks.options import Options, Whole


@cli.command(
    "Writes one JSON object per request. Answer each with a line {id, reply} of a JSONL file and give that to "
    "`siming score`."
)
def requests(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True),
    out: Path = cli.word("OUT", "the file (.jsonl)", cli.NEW_FILE),
    setting: tuple[str, ...] = cli.several("NAME", "full_score, ...; may be repeated (default: the four)", cli.SETTING),
    messages: str = cli.option("", "form of the messages (default openai)", ("openai", "qwen", "plain"), "openai"),
    files: bool = cli.switch("frames as files beside OUT instead of data URLs"),
    limit: int | None = cli.option("N", "only the first N requests of each setting", Whole()),
    batch: str | None = cli.option("MODEL", "lines of a batch job (OpenAI's API, vllm run-batch) for this model"),
    batch_mb: int = cli.option("N", "most megabytes of a file of a batch job (default 190)", Whole(), 190),
    options: Options = cli.option_flags(
        *cli.MEDIA_OPTIONS, "media", "prompt", "ask", "schema", "image_format", "cache", "cache_gb"
    ),
) -> None:
    """Write the requests and say how they are answered."""
    from tqdm import tqdm

    from siming_tasks.tasks import BENCHMARK_TASKS
    from siming_tasks.tools.exchange.batch_file import asked_file
    from siming_tasks.tools.exchange.request_file import media_folder, write_requests

    names = tuple(dict.fromkeys(setting or BENCHMARK_TASKS))
    options = replace(options, data=str(chosen.folder()))

    if batch and messages != "openai":
        raise OptionsError(f"--batch writes the messages of OpenAI's API: leave --messages {messages} out.")
    how: dict[str, Any] = {"batch": batch, "most_bytes": batch_mb * 1_000_000} if batch else {}
    with ExitStack() as bars:  # closed before an error is told, which is the last line then

        def watched(docs: Any) -> Any:
            return bars.enter_context(tqdm(docs, unit="request", smoothing=0.1))

        dataset, count, parts = write_requests(
            options, names, out, form=messages, files=files, limit=limit, watched=watched, **how
        )
    beside = f", media in {media_folder(out)}" if files else ""
    say(f"{', '.join(map(str, parts))}: {count:,} requests about {marked_name(dataset)}{beside}.")
    if batch:
        asked = shlex.quote(str(asked_file(out)))
        say(f"Then: siming run import RESULTS... REPLIES.jsonl --requests {asked}")
        return
    say('Answer them as lines {"id": ..., "reply": ...}; then: siming score ' + f"{options.data} REPLIES.jsonl")


@cli.command()
def import_(
    files: tuple[Path, ...] = cli.word("FILE...", "result files of a batch job, and its files of errors", Path),
    out: Path = cli.word("OUT", "the file (.jsonl) for `siming score`", cli.NEW_FILE),
    requests: Path | None = cli.option(
        "FILE", "what was asked: records then say so, and requests without a reply are named", Path
    ),
) -> int:
    """Write the replies and name the next command; 1 if a request has no reply."""
    from siming_tasks.tools.exchange.imported_replies import import_replies

    imported = import_replies(files, out, asked=requests)
    statuses = ", ".join(f"{name} {count:,}" for name, count in imported.counts.items())
    say(f"{out}: {sum(imported.counts.values()):,} replies ({statuses}). Score them: siming score DIR {out}")
    if not requests:
        say("Which frames were shown, and by which prompt, is not known: give the requests (--requests FILE).")
    for name, ids in imported.missing.items():
        say(f"{name}: {len(ids):,} requests without a reply: {', '.join(ids[:4])}{', ...' * (len(ids) > 4)}")
    return 1 if imported.missing else 0


@cli.command("Writes metrics with their intervals, and no label, reply or prompt.")
def export(
    chosen: cli.DatasetChoice = cli.dataset_flags(labels=True),
    path: Path = cli.word("RUN", "output folder, log or prediction file", cli.RUN),
    out: Path = cli.word("OUT", "the folder", cli.NEW_PATH),
    options: Options = cli.option_flags(*cli.SCORING_OPTIONS),
) -> None:
    """Write the run's numbers in the schema of Every Eval Ever."""
    from siming_tasks.results.discovery import run_at
    from siming_tasks.results.run import read_run
    from siming_tasks.tools.exchange.every_eval_ever import write_every_eval_ever

    source = run_at(path)
    run = read_run(source, chosen.open([source], reference=True))
    show_problems(run.problems)
    say(f"{write_every_eval_ever(run, options, out)}: {marked_name(run.dataset)}.")
