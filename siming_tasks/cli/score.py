"""``siming score``: metrics, diagnosis, model card and missing requests of one run, without running a model."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import answer, origin, print_json, say, show_markdown, show_problems, title
from siming_tasks.common.errors import OptionsError
from siming_tasks.common.printed_value import counted
from siming_tasks.options import Options

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.study.report.table import Section
    from siming_tasks.study.results.discovery import RunSource
    from siming_tasks.study.results.run import Run, Scores

_ONLY = {"pass_mark": "diagnosis", "tasks": "missing", "allow": "scores", "prices": "scores"}
"""Flags that go with one value of ``--show``."""


@cli.command("score runs/qwen --data exams", "siming report runs/qwen --data exams --out report")
@click.argument(
    "parts",
    nargs=-1,
    required=True,
    type=Path,
    metavar="RUN...",
    help="folders, sample logs or prediction files of one run",
)
@cli.option_flags("data", "split", *cli.SCORING_OPTIONS, "prices")
@cli.LABELS
@click.option(
    "--show", type=click.Choice(["scores", "diagnosis", "card", "missing"]), default="scores", help="what to print"
)
@click.option("--pass-mark", type=cli.SHARE, default=0.8, help="with --show diagnosis: share of points needed to pass")
@click.option(
    "--tasks", metavar="T[,T]", help="with --show missing: tasks and groups of lmms-eval (default: those of the run)"
)
@cli.PARTIAL
@click.option(
    "--allow", multiple=True, type=click.Choice(["dataset"]), help="accept predictions for other labels or media"
)
@cli.AS_JSON
def score(
    parts: tuple[Path, ...],
    options: Options,
    labels: Path | None,
    show: str,
    pass_mark: float,
    tasks: str | None,
    partial: bool,
    allow: tuple[str, ...],
    as_json: bool,
) -> int:
    """Score a run's predictions or sample logs without running a model, or show diagnostics.

    --show diagnosis breaks the run down by step, severity, history and exam decision; card prints Markdown for a
    model's README; missing lists the requests without an answer.
    """
    from siming_tasks.study.results.discovery import run_at

    for name, wanted in _ONLY.items():
        if show != wanted and cli.given(name):
            raise OptionsError(f"--{name.replace('_', '-')} goes with --show {wanted}.")
    if show == "missing":
        return _show_missing(parts, options, tasks, partial, as_json)
    source = run_at(parts)
    dataset = cli.open_dataset(options, [source], labels=labels, reference=True)
    if show == "card":
        from siming_tasks.study.report.model_card import model_card

        show_markdown(model_card(source, dataset, options, partial=partial))
    elif show == "diagnosis":
        _show_diagnosis(source, dataset, options, pass_mark, partial, as_json)
    else:
        _show_scores(source, dataset, options, partial, allow, as_json)
    return 0


def _show_scores(
    source: RunSource, dataset: Dataset, options: Options, partial: bool, allow: Sequence[str], as_json: bool
) -> None:
    """Print the metrics of a run with their notes."""
    from siming_tasks.study.results.run import read_run, score_run
    from siming_tasks.study.results.unread_replies import UnreadReplies, failed_sentence, unread_note

    unread = UnreadReplies(dataset)
    run = read_run(source, dataset, partial=partial, allow=allow, seen=unread.put)
    note = unread_note(unread, run.records)
    scores = score_run(run, options)
    if as_json:
        print_json(scores.to_json(), indent=1)
        return
    show_problems(scores.problems)
    if note.is_many:
        print(f"{note}\n")
    label = " SYNTHETIC" if dataset.synthetic else ""
    part = f", split {dataset.part}" if dataset.part else ""
    print(f"{dataset.name} {dataset.version}{part}{label}, digest {dataset.digest[:12]}\n")
    _print_settings(scores, run)
    if failed := failed_sentence(record for present in run.records.values() for record in present):
        print(f"\n{failed} `siming score --show missing` lists them and says how to ask them again.")
    if not note.is_many and str(note):
        print(f"\n{note}")


def _print_settings(scores: Scores, run: Run) -> None:
    """Print the ranked values and the values over the answered steps, with their notes."""
    from siming_tasks.benchmark.metrics import Rows
    from siming_tasks.benchmark.metrics.evaluate import ALL, ANSWERED, RANKED, READINGS
    from siming_tasks.study.report.formatting import usage_line
    from siming_tasks.study.report.row_tables import row_section

    for name, result in scores.settings.items():
        rows, options = scores.rows(name), result["options"]
        shown = Rows(row for row in rows if row.row == ALL or row.table not in (ANSWERED, RANKED))
        complete = all(row.value == 1 for row in shown.of(ANSWERED, metric="coverage"))
        left_out = (READINGS, RANKED if complete else "")  # in the JSON alone; the same as what was answered
        tables = [table for table in shown.names("table") if table not in left_out]
        show_markdown(f"## {name}", row_section(shown, reference=options["rater"], only=tables))
        below = [result["estimand"]["sentence"]]
        if result["usage"]:
            n_videos = len({record.video_id for record in run.records[name]})
            if used := usage_line(result["usage"], n_videos):
                below.append(f"{name}: {used}")
        print("\n" + "\n".join(below) + "\n")
    print("\n".join(scores.notes))


def _show_diagnosis(
    source: RunSource, dataset: Dataset, options: Options, pass_mark: float, partial: bool, as_json: bool
) -> None:
    """Print one report per setting of the run; a control is part of its plain setting's report if the run has both."""
    from siming_tasks.benchmark.tasks import TASKS
    from siming_tasks.study.analysis.diagnosis import diagnose
    from siming_tasks.study.report.row_tables import row_section
    from siming_tasks.study.results.run import read_run

    run = read_run(source, dataset, partial=partial)
    names = [name for name in run.settings if TASKS[name].base_task not in {*run.settings} - {name}]
    found = {name: diagnose(run, name, options, pass_mark=pass_mark) for name in names}
    printed: Section = []
    for name, rows in found.items():
        printed += [f"# {name} on {title(dataset)}", *run.partial_notes([name])]
        printed += row_section(rows, reference=options.rater)
    settings = {name: {"rows": rows.to_json()} for name, rows in found.items()}
    answer(as_json, origin(dataset) | {"settings": settings}, printed)


def _show_missing(parts: Sequence[Path], options: Options, tasks: str | None, partial: bool, as_json: bool) -> int:
    """Count the requests (of SIMING_SHARD) without a usable answer; 1 if there are any.

    The folder of a run that has not begun need not exist yet.
    """
    from siming_tasks.benchmark.tasks import TASKS
    from siming_tasks.study.results.discovery import run_at
    from siming_tasks.study.results.lmms_eval_commands import missing_requests, settings_named
    from siming_tasks.study.results.run import read_run

    there = [path for path in parts if path.is_file() or next(path.rglob("*.jsonl"), None)]
    source = run_at(there) if there else None
    dataset = cli.open_dataset(options, [source] if source else [])
    run = read_run(source, dataset, partial=partial, allow=["dataset"]) if source else None
    named = [setting.name for setting in settings_named(tasks.split(","))] if tasks is not None else ()
    if not (names := named or (run.settings if run else ())):
        raise OptionsError(f"{parts[0]}: no run there yet. Give its tasks (--tasks siming).")
    left = missing_requests(run, dataset, names, options.shard)
    asked = [request for _, requests in left.values() for request in requests]
    if as_json:
        counts = {name: count for name, (count, _) in left.items()}
        print_json({"asked": counts, "missing": [asdict(each) for each in asked]})
        return 1 if asked else 0
    show_problems(run.problems if run else ())
    for name, (count, requests) in left.items():
        first = [f"{each.id} ({f'{each.status} {each.reason}'.strip()})" if each.status else each.id
                 for each in requests[:8]]  # fmt: skip
        shown = f"; {len(requests):,} missing: {', '.join(first)}{', ...' * (len(requests) > 8)}" if requests else ""
        say(f"{TASKS[name].task_name}: {count - len(requests):,} of {counted(count, 'request')} with a reply{shown}")
    records = (record for rows in run.records.values() for record in rows) if run else ()
    if asked and run and not any("_samples_" in file.name for file in run.files):  # no command of lmms-eval made them
        missing = " ".join(f"--missing {shlex.quote(str(path))}" for path in there)
        say(f"`siming run requests {missing}`, with the options of the requests, writes those that are missing.")
    elif any((record.conditions.usage or {}).get("stored") is False for record in records):
        say(
            "SIMING_REPLIES=off: no reply was stored. Repeating the run's command sends, "
            "and pays for, every request again."
        )
    elif asked:
        say("Repeating the run's command sends only the requests without a stored reply.")
    return 1 if asked else 0
