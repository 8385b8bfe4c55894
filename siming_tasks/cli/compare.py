"""``siming compare``: do runs differ, did the video matter, how far is a physician."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from siming_tasks.cli.dataset import open_chosen
from siming_tasks.cli.raters import no_ceiling, origin, statistics_options, statistics_settings, title, two_raters

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.metrics import Panel
    from siming_tasks.options import Options
    from siming_tasks.runs.run import Run

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser("compare", help="compare runs over the same videos: paired intervals, blind rows")
    command.add_argument("runs", nargs="+", metavar="RUN", help="prediction file, sample log or folder; or NAME=PATH")
    command.add_argument("--setting", action="append", metavar="NAME", help="only this setting; may be repeated")
    command.add_argument("--against", metavar="NAME", help="compare all runs with this one instead of all pairs")
    command.add_argument("--rater", help="reference labels (default: consensus)")
    command.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="WHAT",
        help="accept runs that differ in WHAT: dataset, prompt, media, frames, size, density, videos or steps",
    )
    command.add_argument(
        "--partial", action="store_true", help="count only requests that have a line (limited runs that do not say so)"
    )
    command.add_argument("--max-t", action="store_true", help="also print step-down max-T p-values")
    command.add_argument("--two-way", action="store_true", help="also print intervals over videos and steps")
    command.add_argument("--positive", choices=("error", "correct"), help="positive class of precision, recall and F1")
    statistics_options(command)
    command.set_defaults(run=compare)


def compare(arguments: argparse.Namespace) -> None:
    """Print a comparison, the video's contribution and the human ratio for every setting."""
    from siming_tasks.errors import DataError
    from siming_tasks.runs.comparable import check_allowed
    from siming_tasks.runs.find import find_runs
    from siming_tasks.runs.run import read_run

    check_allowed(arguments.allow)
    settings = statistics_settings(arguments)
    dataset = open_chosen(settings)
    read = [
        read_run(source, dataset, partial=arguments.partial, allow=arguments.allow)
        for source in find_runs(arguments.runs)
    ]
    runs = {run.name: run.records for run in read}
    common = [
        setting
        for setting in dict.fromkeys(s for found in runs.values() for s in found)
        if arguments.setting is None or setting in arguments.setting
    ]
    shared = [setting for setting in common if all(found.get(setting) for found in runs.values())]
    if not shared:
        held = "; ".join(f"{name} has {', '.join(found) or 'none'}" for name, found in runs.items())
        asked = f" among {', '.join(arguments.setting)}" if arguments.setting else ""
        raise DataError(f"The runs have no setting in common{asked}: {held}. Give runs of the same setting.")
    found = {s: _one(arguments, settings, dataset, s, read) for s in shared}
    if arguments.json:
        parts = {setting: part for setting, (part, _) in found.items()}
        print(json.dumps(origin(dataset) | {"settings": parts}, ensure_ascii=False, allow_nan=False))
        return
    for setting, (_, text) in found.items():
        print(f"## {setting} on {title(dataset)}\n\n{text}")


def _one(
    arguments: argparse.Namespace, settings: Options, dataset: Dataset, setting: str, read: Sequence[Run]
) -> tuple[dict[str, Any], str]:
    """JSON and Markdown of one setting."""
    from siming_tasks.metrics.compare.align import align
    from siming_tasks.metrics.compare.paired import compare as compare_runs
    from siming_tasks.metrics.compare.twoway import two_way
    from siming_tasks.metrics.humans.ratio import human_ratio
    from siming_tasks.metrics.video.contribution import contribution
    from siming_tasks.present import comparison as compare_text
    from siming_tasks.present import contribution as contribution_text
    from siming_tasks.present import raters as ceiling_text
    from siming_tasks.runs.comparable import Entrant, contestants
    from siming_tasks.runs.panel import labels_of

    options: dict[str, Any] = {"mapping": settings.mapping, "positive": settings.positive}
    options |= {"resamples": settings.resamples, "seed": settings.seed}
    entrants = [Entrant.of(run, setting, settings.rater) for run in read]
    runs = contestants(entrants, arguments.allow)
    found = compare_runs(runs, allow=arguments.allow, against=arguments.against, **options)
    aligned = align(runs, arguments.allow)
    exchanges = min(1999, settings.resamples)
    video = {run.name: contribution(run.panel, permutations=exchanges, **options) for run in aligned}
    parts: dict[str, Any] = {"comparison": found.to_json()}
    parts["contribution"] = {name: item.to_json() for name, item in video.items()}
    text = [compare_text.markdown(found, joint=arguments.max_t), contribution_text.markdown(video)]
    if arguments.two_way:
        drawn: dict[str, Any] = {"mapping": settings.mapping, "resamples": settings.resamples, "seed": settings.seed}
        wide = {run.name: two_way(run.panel, **drawn) for run in aligned}
        parts["two_way"] = {name: {k: v.to_json() for k, v in row.items()} for name, row in wide.items()}
        text.insert(1, compare_text.two_way_markdown(wide))
    names = two_raters(dataset)
    if names is None:
        parts |= {"human_ratio": None, "human_ratio_reason": no_ceiling(dataset)}
        return parts, "\n".join([*text, no_ceiling(dataset) + "\n"])
    labels = [labels_of(dataset, setting, rater) for rater in names]
    ratios = {
        run.name: human_ratio(run.panel, *(_rows(panel, run.panel) for panel in labels), **options) for run in aligned
    }
    parts["human_ratio"] = {name: {k: v.to_json() for k, v in row.items()} for name, row in ratios.items()}
    return parts, "\n".join([*text, ceiling_text.ratio_markdown(ratios, names)])


def _rows(labels: Panel, run: Panel) -> Panel:
    """A rater's labels for the run's videos and steps."""
    row = {name: index for index, name in enumerate(labels.video_ids)}
    return labels.videos([row[name] for name in run.video_ids]).subset(run.step_ids)
