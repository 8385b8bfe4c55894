"""``siming run prepare``, ``requests``, ``import`` and ``baseline``: steps around or instead of lmms-eval."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from siming_tasks.benchmark.tasks import setting_named
from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import marked_name, say
from siming_tasks.common.errors import OptionsError
from siming_tasks.common.printed_value import counted
from siming_tasks.options import Options, shard_of


@cli.command("run prepare --data exams --jobs 4", "lmms-eval --model MODEL --tasks siming --log_samples ...")
@cli.option_flags("data", "split", *cli.MEDIA_OPTIONS, "media", "cache", "cache_gb")
@click.option("--jobs", type=click.IntRange(1), default=1, help="worker processes")
@click.option("--shard", metavar="I/N", default="", help="only every N-th video, starting at the I-th")
@click.option("--dry-run", is_flag=True, help="print the estimate and stop")
def prepare(options: Options, jobs: int, shard: str, dry_run: bool) -> int:
    """Decode all frames, or cut all clips, of a data set before a run."""
    from tqdm import tqdm

    from siming_tasks.media import Job, Policy
    from siming_tasks.media.prefetch import estimate
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
        print(f"{counted(len(tasks), 'video')}, {ahead.videos} to decode: {counted(ahead.frames, 'frame')},", end=" ")
        say(f"about {ahead.bytes / 1e9:.2f} GB and {ahead.seconds / 60:.1f} min, into {options.cache_dir}")
        if ahead.bytes * parts > options.cache_gb * 1e9:
            shards = f"for {parts} shards, " if parts > 1 else ""
            raise OptionsError(
                f"that is {shards}more than the limit of {options.cache_gb:g} GB: frames would be deleted before "
                "they are used. Raise --cache-gb (SIMING_CACHE_GB) or lower --frames and --clip-frames."
            )
    if dry_run:
        return 0
    errors: list[str] = []
    with tqdm(total=len(tasks), unit="video", smoothing=0.1) as bar:
        for outcome in run(tasks, options.cache_dir, workers=jobs, cache_gb=options.cache_gb):
            errors.extend(outcome.errors)
            bar.set_postfix_str(outcome.path.name)
            bar.update()
    for error in errors:
        say(error)
    found = f"{counted(len(errors), 'problem')} (above)" if errors else "no problems"
    print(f"{counted(len(tasks), 'video')} prepared, {found}.")
    return 1 if errors else 0


@cli.command(
    "run requests job.jsonl --data exams --model gpt-4o", "siming run import RESULTS... replies.jsonl --requests ASKED"
)
@click.argument("out", metavar="OUT", type=cli.NEW_FILE, help="the new file (.jsonl)")
@cli.option_flags("data", "split", *cli.MEDIA_OPTIONS, "media", "prompt", "ask", "schema", "cache", "cache_gb")
@click.option("--model", required=True, help="name of the model")
@click.option(
    "--setting",
    multiple=True,
    type=setting_named,
    metavar="NAME",
    help="setting to write, such as full_score; may be repeated (default: the four)",
)
@click.option(
    "--missing", multiple=True, type=Path, help="only requests without an answer in this run; may be repeated"
)
@click.option("--files", is_flag=True, help="write frames as files next to OUT instead of data URLs")
@click.option("--limit", type=click.IntRange(1), help="only the first N requests of each setting")
@click.option("--batch-mb", type=click.IntRange(1), default=190, help="maximum size of one file in megabytes")
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

    Writes a batch job for OpenAI's API (or vllm run-batch), and next to it a file of the questions. To use another
    tool, write one line {custom_id, reply} per request.
    """
    from tqdm import tqdm

    from siming_tasks.benchmark.tasks import BENCHMARK_TASKS
    from siming_tasks.data.consent import consent_in_words
    from siming_tasks.study.results.run import read_run
    from siming_tasks.tools.exchange.batch_job import answered_requests, asked_file, refuse_unlike, write_job
    from siming_tasks.tools.exchange.requests import Asked

    names = tuple(dict.fromkeys(setting or BENCHMARK_TASKS))
    options = replace(options, data=str(cli.dataset_folder(options)))
    asked = Asked.by(options, names, limit)
    if not files:  # vLLM of this machine takes files
        say(consent_in_words(asked.dataset))
    if missing:
        answered = answered_requests(read_run(missing, asked.dataset))
        refuse_unlike(asked, model, answered)
        asked = Asked.by(options, names, limit, answered)
    if not asked.documents:
        say("Every request has an answer; nothing was written.")
        return
    with ExitStack() as bars:  # closed before an error is told, which is the last line then

        def watched(docs: Any) -> Any:
            return bars.enter_context(tqdm(docs, unit="request", smoothing=0.1))

        parts = write_job(asked, model, out, files=files, most_bytes=batch_mb * 1_000_000, watched=watched)
    say(f"{', '.join(map(str, parts))}: {counted(len(asked.documents), 'request')} on {marked_name(asked.dataset)}.")
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
    help="result and error files of one batch job",
)
@click.argument("out", metavar="OUT", type=cli.NEW_FILE, help="the new file (.jsonl) for `siming score`")
@click.option(
    "--requests",
    required=True,
    type=Path,
    help="the file `*_asked.jsonl` next to the batch job",
)
def import_replies(files: tuple[Path, ...], out: Path, requests: Path) -> int:
    """Turn the results of a batch job into a file that can be scored."""
    from siming_tasks.tools.exchange.batch_results import import_results

    found = import_results(files, requests, out)
    for name, count in found.asked.items():
        say(f"{name}: {found.answered.get(name, 0):,} of {counted(count, 'request')} with a reply")
    if found.failed:
        first = [f"{request} ({why[:100]})" for request, why in list(found.failed.items())[:4]]
        say(f"{len(found.failed):,} failed: {', '.join(first)}{', ...' * (len(found.failed) > 4)}")
    for name, ids in found.lacking.items():
        say(f"{name}: {counted(len(ids), 'request')} without a result: {', '.join(ids[:4])}{', ...' * (len(ids) > 4)}")
    for name, count in found.served.items():
        say(f"{counted(count, 'reply')} came from the model {name}, which was not the one requested.")
    say(f"Replies are in {out}. Score them: siming score {shlex.quote(str(out))} --data DIR")
    if found.failed or found.lacking:
        say(
            f"`siming run requests --missing {shlex.quote(str(out))}` with the options of "
            "this job writes the remaining requests."
        )
    return 1 if found.failed or found.lacking or found.served else 0


@cli.command("run baseline --data exams --backbone facebook/dinov2-base", "siming score baseline.jsonl --data exams")
@cli.option_flags("data", *cli.MEDIA_OPTIONS, "cache", "cache_gb")
@cli.LABELS
@click.option("--backbone", required=True, help="folder or Hugging Face name of the image model")
@click.option("--out", type=cli.NEW_FILE, default="baseline.jsonl", help="prediction file")
def baseline(options: Options, labels: Path | None, backbone: str, out: Path) -> int:
    """Train a baseline on a data set's own labels and predict the exams it has not seen.

    Averages a frozen image model's features over the frames of each step's clip, fits one logistic regression per
    step and writes predictions for clip_score and clip_error. Each cluster is predicted by a model trained without it.
    """
    from tqdm import tqdm

    from siming_tasks.tools.baseline.backbone import Backbone
    from siming_tasks.tools.baseline.crossfit import write_baseline

    dataset = cli.open_dataset(options, labels=labels, media=True)
    found = write_baseline(
        dataset, options, Backbone(backbone), out, lambda videos: tqdm(videos, unit="video", smoothing=0.1)
    )
    for why in found.unreadable:
        say(f"Left out of training and prediction: {why}")
    how = f"{counted(found.folds, 'fold')} over {counted(found.clusters, 'cluster')} ({found.unit})"
    say(f"{out}: {marked_name(dataset)}, supervised, cross-fitted: {how}.")
    if found.unlearned:
        say(f"{counted(found.unlearned, 'clip')} had no training label in the other folds and so got no answer.")
    say(f"Next: siming score {out} --data {dataset.root}")
    return 1 if found.unreadable else 0
