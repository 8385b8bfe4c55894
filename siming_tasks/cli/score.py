"""``siming score``: metrics of predictions, without a model."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from siming_tasks.cli.findings import show

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    score = commands.add_parser("score", help="score predictions or sample logs without a model")
    score.add_argument("root", type=Path, metavar="DIR", help="dataset folder")
    score.add_argument("predictions", type=Path, metavar="PREDICTIONS", help="prediction file, sample log, or folder")
    score.add_argument("--labels", type=Path, metavar="FILE", help="label file of a dataset with withheld labels")
    score.add_argument("--mapping", choices=("absolute", "proportional"), help="points to labels, for kappa")
    score.add_argument("--positive", choices=("error", "correct"), help="positive class of precision, recall and F1")
    score.add_argument("--rater", help="reference rater (default: consensus)")
    score.add_argument("--resamples", type=int, help="bootstrap resamples (default: 10000)")
    score.add_argument("--seed", type=int, help="of the bootstrap (default: 0)")
    score.add_argument("--partial", action="store_true", help="count only requests that have a line (run with --limit)")
    score.add_argument(
        "--allow", action="append", default=[], metavar="WHAT", help="dataset: accept other labels or media"
    )
    score.add_argument("--observable", action="store_true", help="leave out steps that were not shown well enough")
    score.add_argument("--fps", type=float, help="with --observable: frames a second, where the logs do not say")
    score.add_argument("--audio", action="store_true", help="with --observable: the model heard the sound track")
    score.add_argument("--validate-only", action="store_true", help="check the predictions; no labels needed")
    score.add_argument("--json", action="store_true", help="print one JSON object")
    score.set_defaults(run=_score)


def _score(arguments: argparse.Namespace) -> int:
    from siming_tasks.data import open_dataset
    from siming_tasks.metrics.summary import COMPARABLE, TRUSTED
    from siming_tasks.options import Options
    from siming_tasks.runs.run import load_run
    from siming_tasks.runs.scores import score_predictions, validation

    if arguments.validate_only:
        found = load_run(arguments.predictions, open_dataset(arguments.root, media=False), allow=arguments.allow)
        summary = validation(found)
        if arguments.json:
            print(json.dumps(summary, ensure_ascii=False, indent=1, allow_nan=False))
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
    names = ("mapping", "positive", "rater", "resamples", "seed")
    chosen = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    scores = score_predictions(
        arguments.root,
        arguments.predictions,
        replace(Options.from_env(), **chosen),
        labels=arguments.labels,
        partial=arguments.partial,
        allow=arguments.allow,
        observable=arguments.observable,
        fps=arguments.fps,
        has_audio=arguments.audio,
    )
    if arguments.json:
        print(json.dumps(scores.to_json(), ensure_ascii=False, indent=1, allow_nan=False))
        return 0
    show(scores.problems)
    dataset = scores.dataset
    label = " SYNTHETIC" if dataset.synthetic else ""
    print(f"{dataset.name} {dataset.version}{label}, digest {dataset.digest[:12]}")
    print(
        f"{'setting':<12} {'metric':<10} {'value':>7} {'stderr':>7} {'95 % interval':>17} {'videos':>6} {'coverage':>8}"
    )
    for name, result in scores.settings.items():
        for metric, estimate in result["metrics"].items():
            print(_line(name, metric, estimate))
        if arguments.observable:
            print(f"{name:<12} left out: {result['unobservable']:,} answers on steps that lack the evidence they need")
    if any(result["metrics"]["coverage"]["value"] < COMPARABLE for result in scores.settings.values()):
        print(f"Coverage below {COMPARABLE:.2f}: not comparable with other rows.")
    if len(dataset.videos) < TRUSTED:
        print(f"Fewer than {TRUSTED} videos: the intervals are not to be trusted.")
    return 0


def _line(setting: str, metric: str, estimate: dict[str, Any]) -> str:
    def number(key: str) -> str:
        return "-" if estimate.get(key) is None else f"{estimate[key]:.3f}"

    interval = f"[{number('low')}, {number('high')}]" if estimate.get("low") is not None else "-"
    flag = f"  undefined: {estimate['reason']}" if estimate.get("undefined") else ""
    return (
        f"{setting:<12} {metric:<10} {number('value'):>7} {number('stderr'):>7} {interval:>17} "
        f"{estimate.get('n_videos', '-'):>6} {number('coverage'):>8}{flag}"
    )
