"""``siming score``: metrics of predictions, without a model."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.dataset import add_data, open_chosen
from siming_tasks.cli.findings import show
from siming_tasks.cli.flags import SCORED, add_options, options_from
from siming_tasks.cli.list_failed import list_failed
from siming_tasks.cli.markdown import show as show_markdown
from siming_tasks.options import Decimal
from siming_tasks.results.uncollected import uncollected

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    score = commands.add_parser("score", help="score predictions or sample logs without a model")
    add_data(score, word=True, labels=True)
    score.add_argument("predictions", type=Path, metavar="PREDICTIONS", help="prediction file, sample log, or folder")
    add_options(score, *SCORED, "prices")
    score.add_argument("--partial", action="store_true", help="count only requests that have a line (run with --limit)")
    score.add_argument(
        "--allow", action="append", default=[], metavar="WHAT", help="dataset: accept other labels or media"
    )
    score.add_argument("--observable", action="store_true", help="leave out steps that were not shown well enough")
    score.add_argument(
        "--fps",
        action=Checked,
        kind=Decimal(above=0),
        help="with --observable: frames a second, if the logs do not say",
    )
    score.add_argument("--audio", action="store_true", help="with --observable: the model heard the sound track")
    score.add_argument("--validate-only", action="store_true", help="check the predictions; no labels needed")
    score.add_argument("--list-failed", action="store_true", help="requests that failed, and how to ask them again")
    score.add_argument("--json", action="store_true", help="print one JSON object")
    score.set_defaults(run=_score)


@uncollected()
def _score(arguments: argparse.Namespace) -> int:
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.metrics.estimate import FLAGS
    from siming_tasks.report.formatting import usage_line
    from siming_tasks.report.table import Table
    from siming_tasks.report.tables.forms import form_lines
    from siming_tasks.results.discovery import run_at
    from siming_tasks.results.run import load_run, read_run
    from siming_tasks.results.scores import score_run, validation

    options = options_from(arguments)
    if not arguments.dir and (arguments.predictions / "dataset.yaml").is_file():
        raise OptionsError(f"{arguments.predictions} is a data set. Give the predictions after it.")
    source = run_at(arguments.predictions)
    dataset = open_chosen(
        arguments, options, [source], reference=not (arguments.validate_only or arguments.list_failed)
    )
    if arguments.list_failed:
        return list_failed(arguments, source, dataset)
    if arguments.validate_only:
        found = load_run(source, dataset, allow=arguments.allow)
        summary = validation(found)
        if arguments.json:
            print(json.dumps(summary, indent=1, allow_nan=False))
        else:
            show(found.problems)
            for name, counts in summary["settings"].items():
                statuses = ", ".join(f"{status} {count}" for status, count in counts["statuses"].items())
                print(
                    f"{name}: {counts['requests']} of {counts['expected']} requests, {counts['steps_answered']} of "
                    f"{counts['steps_in_lines']} steps answered ({statuses})"
                )
            print("usable" if summary["ok"] else "not usable as it is")
        return 0 if summary["ok"] else 1
    run = read_run(source, dataset, partial=arguments.partial, allow=arguments.allow)
    scores = score_run(run, options, observable=arguments.observable, fps=arguments.fps, has_audio=arguments.audio)
    if arguments.json:
        print(json.dumps(scores.to_json(), indent=1, allow_nan=False))
        return 0
    show(scores.problems)
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
        below += form_lines(name, result)
        if result["usage"]:
            videos = len({record["video_id"] for record in run.records[name]})
            below.append(f"{name} took {usage_line(result['usage'], videos)}")
        if arguments.observable:
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
