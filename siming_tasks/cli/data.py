"""``siming build``, ``check``, ``withhold``, ``score``: data that people bring."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from siming_tasks.errors import Problem

__all__ = ["add"]

COMPARABLE = 0.95
"""Share of answered steps below which a row is not comparable with others."""

FEW_VIDEOS = 50
"""Below this the bootstrap's intervals are too narrow."""


def add(commands: Any) -> None:
    """Add this module's subcommands."""
    _add_build(commands)
    _add_check(commands)
    _add_withhold(commands)
    _add_score(commands)


def _add_build(commands: Any) -> None:
    build = commands.add_parser("build", help="make a dataset folder of a rubric, a score sheet and videos")
    build.add_argument("out", type=Path, metavar="OUT", help="the new folder")
    build.add_argument("--rubric", type=Path, required=True, help="rubric.yaml")
    build.add_argument("--labels", type=Path, required=True, help="score sheet: .csv, .xlsx or .jsonl")
    build.add_argument("--videos", type=Path, required=True, help="folder of the video files")
    build.add_argument("--spans", type=Path, help="sheet with video_id, step_id, start, end (for wide score sheets)")
    build.add_argument("--adjudicated", type=Path, help="the list of undecided rows, with the consensus filled in")
    build.add_argument("--mapping", type=Path, help="YAML file that says what the sheet's columns and raters are")
    build.add_argument("--encoding", help="of CSV files, if neither UTF-8 nor GB 18030")
    build.add_argument("--consensus", default="agree", metavar="RULE", help="agree (default), mean, or a rater's name")
    build.add_argument("--name", default="", help="of the dataset (default: name of the folder)")
    build.add_argument("--version", default="1", help="of the dataset")
    build.add_argument("--license", default="", help="SPDX name, e.g. cc-by-nc-4.0")
    build.add_argument("--language", action="append", default=[], metavar="CODE", help="e.g. zh; may be repeated")
    build.add_argument("--keep-audio", action="store_true", help="keep the sound (voices identify people)")
    build.add_argument("--keep-ids", action="store_true", help="keep the sheet's video names as ids")
    build.add_argument("--synthetic", action="store_true", help="the videos or labels are simulated")
    build.add_argument("--jobs", type=int, default=2, help="videos worked on at once")
    build.set_defaults(run=_build)


def _build(arguments: argparse.Namespace) -> int:
    from siming_tasks.data import BuildOptions, build_dataset

    options = BuildOptions(
        name=arguments.name,
        version=arguments.version,
        license=arguments.license,
        languages=tuple(arguments.language),
        consensus=arguments.consensus,
        keep_audio=arguments.keep_audio,
        keep_ids=arguments.keep_ids,
        synthetic=arguments.synthetic,
    )
    built = build_dataset(
        arguments.out,
        rubric=arguments.rubric,
        labels=arguments.labels,
        videos=arguments.videos,
        spans=arguments.spans,
        adjudicated=arguments.adjudicated,
        mapping=arguments.mapping,
        encoding=arguments.encoding,
        options=options,
        jobs=arguments.jobs,
        progress=True,
    )
    _show(built.warnings)
    dataset = built.dataset
    steps = sum(len(video.applicable) for video in dataset.videos)
    print(f"{dataset.root}: {len(dataset.videos)} videos, {steps} judged steps, digest {dataset.digest[:12]}")
    print(f"{built.names_file}: original names and ids. Keep it private.")
    print(f"Next: siming check {dataset.root}")
    return 0


def _add_check(commands: Any) -> None:
    check = commands.add_parser("check", help="look for everything that is wrong with a dataset folder")
    check.add_argument("root", type=Path, metavar="DIR")
    check.add_argument("--quick", action="store_true", help="open the videos without decoding them")
    check.add_argument("--jobs", type=int, help="videos worked on at once (default: all processors)")
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.set_defaults(run=_check)


def _check(arguments: argparse.Namespace) -> int:
    from siming_tasks.data import check_dataset

    report = check_dataset(
        arguments.root, quick=arguments.quick, jobs=arguments.jobs, progress=sys.stderr.isatty() and not arguments.json
    )
    if arguments.json:
        print(json.dumps(report.to_json(), ensure_ascii=False, indent=1, allow_nan=False))
        return 1 if report.errors else 0
    for title, problems in (("error", report.errors), ("warning", report.warnings)):
        for problem in problems:
            print(f"{title} [{problem.code}] {problem}")
    facts = report.summary
    if "videos" in facts:
        seen = "headers and timestamps" if facts["quick"] else f"{facts['frames']:,} pictures decoded"
        synthetic = " SYNTHETIC" if facts["synthetic"] else ""
        print(
            f"{arguments.root}:{synthetic} {facts['videos']} videos, {facts['seconds'] / 60:.1f} min, "
            f"{facts['steps']:,} judged steps, labels {'withheld' if facts['withheld'] else 'present'}; {seen}."
        )
    print(f"{len(report.errors)} errors, {len(report.warnings)} warnings. Not looked at: {'; '.join(_not_checked())}.")
    return 1 if report.errors else 0


def _not_checked() -> tuple[str, ...]:
    from siming_tasks.data.check import NOT_CHECKED

    return NOT_CHECKED


def _add_withhold(commands: Any) -> None:
    withhold = commands.add_parser("withhold", help="split a dataset into a public folder and a private label file")
    withhold.add_argument("root", type=Path, metavar="DIR")
    withhold.add_argument("out", type=Path, metavar="OUT", help="the public folder")
    withhold.add_argument("--key", type=Path, required=True, metavar="KEYFILE", help="the label file to keep")
    withhold.set_defaults(run=_withhold)


def _withhold(arguments: argparse.Namespace) -> int:
    from siming_tasks.data import withhold

    public = withhold(arguments.root, arguments.out, arguments.key)
    print(
        f"{public.root}: {len(public.videos)} videos without labels, digest {public.digest[:12]}. This part is public."
    )
    print(f"{arguments.key}: the labels. Keep it; `siming score {public.root} PREDICTIONS --labels {arguments.key}`.")
    return 0


def _add_score(commands: Any) -> None:
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
    score.add_argument("--observable", action="store_true", help="leave out steps that were not shown well enough")
    score.add_argument("--fps", type=float, help="with --observable: frames a second, where the logs do not say")
    score.add_argument("--audio", action="store_true", help="with --observable: the model heard the sound track")
    score.add_argument("--validate-only", action="store_true", help="check the predictions; no labels needed")
    score.add_argument("--json", action="store_true", help="print one JSON object")
    score.set_defaults(run=_score)


def _score(arguments: argparse.Namespace) -> int:
    from siming_tasks.data import score_predictions, validate_predictions
    from siming_tasks.settings import Settings

    if arguments.validate_only:
        found, summary = validate_predictions(arguments.root, arguments.predictions)
        if arguments.json:
            print(json.dumps(summary, ensure_ascii=False, indent=1, allow_nan=False))
        else:
            _show(found.problems)
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
        labels=arguments.labels,
        settings=replace(Settings.from_env(), **chosen),
        partial=arguments.partial,
        observable=arguments.observable,
        fps=arguments.fps,
        has_audio=arguments.audio,
    )
    if arguments.json:
        print(json.dumps(scores.to_json(), ensure_ascii=False, indent=1, allow_nan=False))
        return 0
    _show(scores.problems)
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
    if len(dataset.videos) < FEW_VIDEOS:
        print(f"Fewer than {FEW_VIDEOS} videos: the intervals are not to be trusted.")
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


def _show(problems: Iterable[Problem], most: int = 20) -> None:
    """Findings on stderr; long lists of one kind are cut."""
    seen: Counter[str] = Counter()
    for problem in problems:
        seen[problem.code] += 1
        if seen[problem.code] <= most:
            print(f"{problem.severity} [{problem.code}] {problem}", file=sys.stderr)
    for code, count in seen.items():
        if count > most:
            print(f"... and {count - most} more [{code}]", file=sys.stderr)
