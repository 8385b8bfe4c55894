"""``siming run requests``, ``import`` and ``export``: what other harnesses answer, have answered, and can read."""

from __future__ import annotations

import re
import shlex
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import marked_name, say, show_problems
from siming_tasks.common.errors import OptionsError
from siming_tasks.options import Options, Whole

EXPORT_FORMATS = ("every-eval-ever", "inspect", "jsonl", "parquet", "latex", "figure", "hub")


class _Inches(click.ParamType[float]):
    """A length in inches."""

    name = "WIDTH"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Inches of ``5.5``, ``5.5in``, ``14cm`` or ``140mm``."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?) ?(in|cm|mm|)", value)
        if match is None:
            self.fail(f"{value!r} is no width such as 5.5in or 14cm.", param, ctx)
        return float(match[1]) / {"cm": 2.54, "mm": 25.4}.get(match[2], 1.0)


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
        say(f"Then: siming run import RESULTS... REPLIES.jsonl --format openai-batch --requests {asked}")
        return
    say('Answer them as lines {"id": ..., "reply": ...}; then: siming score ' + f"{options.data} REPLIES.jsonl")


@cli.command()
def import_(
    files: tuple[Path, ...] = cli.word("FILE...", "results of VLMEvalKit, evalscope, a batch job; Inspect logs", Path),
    out: Path = cli.word("OUT", "the file (.jsonl) for `siming score`", cli.NEW_FILE),
    format: str = cli.option(
        "", "the harness that wrote the file", ("vlmevalkit", "inspect", "evalscope", "openai-batch"), required=True
    ),
    requests: Path | None = cli.option(
        "FILE",
        "the requests (evalscope: needed): records then say what was asked, and those without a reply are named",
        Path,
    ),
    epoch: int | None = cli.option("N", "epoch to take from a log with several", Whole()),
) -> int:
    """Write the replies and name the next command; 1 if a request has no reply."""
    from siming_tasks.tools.exchange.imported_replies import import_replies

    imported = import_replies(files, format, out, asked=requests, epoch=epoch)
    statuses = ", ".join(f"{name} {count:,}" for name, count in imported.counts.items())
    say(f"{out}: {sum(imported.counts.values()):,} replies ({statuses}). Score them: siming score DIR {out}")
    if not requests:
        say("Which frames were shown, and by which prompt, is not known: give the requests (--requests FILE).")
    for name, ids in imported.missing.items():
        say(f"{name}: {len(ids):,} requests without a reply: {', '.join(ids[:4])}{', ...' * (len(ids) > 4)}")
    return 1 if imported.missing else 0


@cli.command()
def export(
    chosen: cli.DatasetChoice = cli.dataset_flags(labels=True),
    run_paths: tuple[str, ...] = cli.word(
        "RUN...", "output folder, log or prediction file; latex, figure: several", cli.RUNS
    ),
    out: Path = cli.word("OUT", "the file; for every-eval-ever, hub and inspect a folder", cli.NEW_PATH),
    form: str = cli.option(
        "",
        "format of the output",
        EXPORT_FORMATS,
        flag="--format",
        required=True,
    ),
    with_labels: bool = cli.switch("also write the consensus of every step"),
    setting: str | None = cli.option("NAME", "figure: of this setting (where the runs have several)", cli.SETTING),
    width: float | None = cli.option("WIDTH", "figure: 5.5in, 14cm; without a unit inches (default 6.9)", _Inches()),
    font: Literal["sans", "serif"] | None = cli.option("", "figure: its font (default sans)", ("sans", "serif")),
    options: Options = cli.option_flags(*cli.SCORING_OPTIONS),
) -> None:
    """Write the run in the wanted format."""
    from siming_tasks.results.discovery import find_runs
    from siming_tasks.tools.exchange.exported_run import read_exported_run
    from siming_tasks.tools.exchange.exporters import EXPORTERS

    if form != "figure" and (setting or width or font):
        raise OptionsError(f"--setting, --width and --font belong to --format figure, not to {form}.")
    sources, exporter = find_runs(run_paths), EXPORTERS[form]
    if len(sources) > 1 and not exporter.several:
        raise OptionsError(f"--format {form} takes one run, and {len(sources)} were found. Export them one by one.")
    dataset = chosen.open(sources, reference=exporter.reference)
    how: dict[str, Any] = {"labels": with_labels, "kept": bool(chosen.labels)}
    runs = [read_exported_run(source, dataset, options, **how) for source in sources]
    for exported in runs:
        show_problems(exported.run.problems)
    styled: dict[str, Any] = {}
    if form == "figure":
        from siming_tasks.report.paper_figure import FigureStyle

        styled = {"setting": setting, "style": FigureStyle(width or FigureStyle.width, font or FigureStyle.font)}
    for file in exporter.write(runs, out, **styled):
        say(f"{file}: {marked_name(dataset)}, {'with labels' if with_labels else 'without labels'}.")
    if form == "every-eval-ever" and not with_labels:
        say("No lines per request: that schema wants the reference in each (--with-labels).")
