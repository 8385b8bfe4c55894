"""``siming score``: metrics of predictions, without a model."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siming_tasks.cli.parameters import SCORING_OPTIONS, Checked, DatasetChoice, command, dataset_flags, option_flags
from siming_tasks.cli.terminal import say, show_markdown, show_problems
from siming_tasks.options import Decimal, Options

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.results.discovery import RunSource

__all__ = ["score"]


@command()
@dataset_flags(word=True, labels=True)
@click.argument("predictions", type=Path, metavar="PREDICTIONS", help="prediction file, sample log, or folder")
@option_flags(*SCORING_OPTIONS, "prices")
@click.option("--partial", is_flag=True, help="count only requests that have a line (run with --limit)")
@click.option(
    "--allow",
    multiple=True,
    metavar="WHAT",
    help="with the word `dataset`: accept predictions for other labels or media",
)
@click.option("--observable", is_flag=True, help="leave out steps that were not shown well enough")
@click.option(
    "--fps",
    type=Checked(Decimal(above=0)),
    metavar="X",
    help="with --observable: frames a second, if the logs do not say",
)
@click.option("--audio", is_flag=True, help="with --observable: the model heard the sound track")
@click.option("--validate-only", is_flag=True, help="check the predictions; no labels needed")
@click.option(
    "--list-failed", "failed_only", is_flag=True, help="list the requests that failed, and how to ask them again"
)
@click.option("--json", "as_json", is_flag=True, help="print one JSON object")
def score(
    chosen: DatasetChoice,
    options: Options,
    predictions: Path,
    partial: bool,
    allow: tuple[str, ...],
    observable: bool,
    fps: float | None,
    audio: bool,
    validate_only: bool,
    failed_only: bool,
    as_json: bool,
) -> int:
    """Print the metrics of a run; 1 if ``--validate-only`` finds that it cannot be used."""
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.metrics.estimate import FLAGS
    from siming_tasks.report.formatting import usage_line
    from siming_tasks.report.table import Table
    from siming_tasks.results.discovery import run_at
    from siming_tasks.results.run import load_run, read_run
    from siming_tasks.results.score_run import score_run, validation
    from siming_tasks.tasks import TASKS

    if not chosen.word and (predictions / "dataset.yaml").is_file():
        raise OptionsError(f"{predictions} is a data set. Give the predictions after it.")
    source = run_at(predictions)
    dataset = chosen.open([source], reference=not (validate_only or failed_only))
    if failed_only:
        return _list_failed(source, dataset, partial, allow, as_json)
    if validate_only:
        loaded_run = load_run(source, dataset, allow=allow)
        summary = validation(loaded_run)
        if as_json:
            print(json.dumps(summary, indent=1, allow_nan=False))
        else:
            show_problems(loaded_run.problems)
            for name, counts in summary["settings"].items():
                statuses = ", ".join(f"{status} {count}" for status, count in counts["statuses"].items())
                print(
                    f"{name}: {counts['requests']} of {counts['expected']} requests, {counts['steps_answered']} of "
                    f"{counts['steps_in_lines']} steps answered ({statuses})"
                )
            print("usable" if summary["ok"] else "not usable as it is")
        return 0 if summary["ok"] else 1
    run = read_run(source, dataset, partial=partial, allow=allow)
    scores = score_run(run, options, observable=observable, fps=fps, has_audio=audio)
    if as_json:
        print(json.dumps(scores.to_json(), indent=1, allow_nan=False))
        return 0
    show_problems(scores.problems)
    label = " SYNTHETIC" if dataset.synthetic else ""
    print(f"{dataset.name} {dataset.version}{label}, digest {dataset.digest[:12]}\n")
    rows = [
        [name, *_cells(metric, estimate, result["imputed"].get(metric))]
        for name, result in scores.settings.items()
        for metric, estimate in result["metrics"].items()
    ]
    show_markdown(Table.of(_HEAD, rows, left=(0, 1)))
    flagged = [estimate for result in scores.settings.values() for estimate in result["metrics"].values()]
    below = [_KEY] if any(estimate.get("undefined") for estimate in flagged) else []
    reasons = dict.fromkeys(
        f"{row[1]}: {estimate['reason']}"
        for row, estimate in zip(rows, flagged, strict=True)
        if estimate.get("undefined")
    )
    below += [f"  {reason}" for reason in reasons]
    for name, result in scores.settings.items():
        below += TASKS[name].answer_format.render_lines(name, result)
        if result["usage"]:
            videos = len({record.video_id for record in run.records[name]})
            below.append(f"{name} took {usage_line(result['usage'], videos)}")
        if observable:
            left_out = f"{result['unobservable']:,} answers on steps that lack the evidence they need"
            below.append(f"{name} left out: {left_out}")
    flags = {flag for estimate in flagged for flag in estimate["flags"]} & set(_SAID)
    print("\n".join(["", _COLUMNS, *below, *(FLAGS[flag] for flag in sorted(flags))]))
    return 0


_HEAD = ["setting", "metric", "value", "stderr", "95 % interval", "imputed", "videos", "coverage"]
_COLUMNS = "imputed: with every missing answer as full points; coverage: answered; -: none."
_KEY = "*: undefined, printed as zero:"
_SAID = ("few-videos", "no-interval", "not-comparable", "tailed")
"""Flags that stand beneath the table; the others are of single rows."""


def _cells(metric: str, estimate: dict[str, Any], imputed: dict[str, Any] | None) -> list[str]:
    def number(key: str) -> str:
        return "-" if estimate.get(key) is None else f"{estimate[key]:.3f}"

    interval = f"[{number('low')}, {number('high')}]" if estimate.get("low") is not None else "-"
    value = "-" if imputed is None or imputed["value"] is None else f"{imputed['value']:.3f}"
    star = "*" * bool(estimate.get("undefined"))
    return [
        metric, number("value") + star, number("stderr"), interval, value, str(estimate.get("n_videos", "-")),
        number("coverage"),
    ]  # fmt: skip


def _list_failed(source: RunSource, dataset: Dataset, partial: bool, allow: Sequence[str], as_json: bool) -> int:
    """Print the failed requests of a run and the commands that ask them again; 0."""
    from siming_tasks.common.redact import MASK, redact
    from siming_tasks.results.lmms_eval_commands import failed_requests, log_folder, retry_commands
    from siming_tasks.results.run import read_run

    run = read_run(source, dataset, partial=partial, allow=allow)
    failed = failed_requests(run)
    again = retry_commands(run, failed)
    empty = sum(record.status == "empty" for records in run.records.values() for record in records)
    join = shlex.join(["siming", "score", str(dataset.root), str(log_folder(run))])
    if as_json:
        listing = {"failed": [asdict(request) for request in failed], "empty": empty, "commands": again, "join": join}
        print(json.dumps(redact(listing), indent=1))
        return 0
    for request in failed:
        print(f"{request.id}  {request.task} {request.document}")
    print(
        f"{len(failed)} requests failed." + (f" {empty} empty replies are the model's own and stay." if empty else "")
    )
    if not failed:
        return 0
    print("\nThese commands ask exactly those again:\n")
    say("\n".join(again))
    print()
    if not source.facts.get("model"):
        print("What was run is not known here (no results file of lmms-eval): fill in MODEL and MODEL_ARGS.")
    elif any(MASK in command for command in again):
        print(f"Secrets are not shown: fill them in where {MASK} stands.")
    say(f"Then join the parts: {join}\nAn answer takes the place of a failed request; one that fails again stays so.")
    return 0
