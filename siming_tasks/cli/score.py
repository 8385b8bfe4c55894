"""``siming score``: metrics of predictions, without a model."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import print_json, say, show_markdown, show_problems
from siming_tasks.options import Decimal, Options

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.results.discovery import RunSource
    from siming_tasks.results.run import Run, Scores

_HEAD = ["setting", "metric", "value", "stderr", "95 % interval", "answered", "videos", "coverage"]
_COLUMNS = (
    "value: with every missing answer as full points or “correct”, by which runs are ranked; answered: without what it "
    "left out; coverage: share answered; ‡: not comparable; -: no data."
)
_KEY = "*: undefined, printed as zero:"
_SAID = ("few-clusters", "few-videos", "fixed-performance", "fixed-site", "fixed-student", "no-interval",
         "not-comparable", "too-few-clusters")  # fmt: skip
"""Flags that stand beneath the table; the others are of single rows."""


@cli.command()
def score(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True, labels=True),
    predictions: Path = cli.word("PREDICTIONS", "prediction file, sample log, or folder", cli.RUN),
    options: Options = cli.option_flags(*cli.SCORING_OPTIONS, "prices", "primary"),
    partial: bool = cli.switch("count only requests that have a line (run with --limit)"),
    allow: tuple[str, ...] = cli.several(
        "WHAT", "with the word `dataset`: accept predictions for other labels or media"
    ),
    observable: bool = cli.switch("leave out steps that were not shown well enough"),
    fps: float | None = cli.option("X", "with --observable: frames a second, if the logs do not say", Decimal(above=0)),
    audio: bool = cli.switch("with --observable: the model heard the sound track"),
    validate_only: bool = cli.switch("check the predictions; no labels needed"),
    failed_only: bool = cli.switch(
        "list the requests that failed and how to ask them again, and the replies that could not be read whole",
        "--list-failed",
    ),
    as_json: bool = cli.switch("print one JSON object", "--json"),
) -> int:
    """Print the metrics of a run; 1 if ``--validate-only`` finds that it cannot be used."""
    from siming_tasks.report.viewer_files import raw_reply
    from siming_tasks.results.discovery import run_at
    from siming_tasks.results.run import load_run, read_run, score_run, validation
    from siming_tasks.results.unread_replies import UnreadReplies, unread_note

    source = run_at(predictions)
    dataset = chosen.open([source], reference=not (validate_only or failed_only))
    if failed_only:
        return _list_failed(source, dataset, partial, allow, as_json)
    if validate_only:
        loaded_run = load_run(source, dataset, allow=allow)
        summary = validation(loaded_run)
        if as_json:
            print_json(summary, indent=1)
            return 0 if summary["ok"] else 1
        show_problems(loaded_run.problems)
        for name, counts in summary["settings"].items():
            statuses = ", ".join(f"{status} {count}" for status, count in counts["statuses"].items())
            print(
                f"{name}: {counts['requests']} of {counts['expected']} requests, {counts['steps_answered']} of "
                f"{counts['steps_in_lines']} steps answered ({statuses})"
            )
        print("usable" if summary["ok"] else "not usable as it is")
        return 0 if summary["ok"] else 1
    unread = UnreadReplies(dataset)
    run = read_run(source, dataset, partial=partial, allow=allow,
                   seen=lambda record, line: unread.put(record, raw_reply(line)))  # fmt: skip
    note = unread_note(run, unread.all())
    scores = score_run(run, options, observable=observable, fps=fps, has_audio=audio)
    claim = _primary(run, options)
    if as_json:
        print_json(scores.to_json() | ({"primary": claim} if claim else {}), indent=1)
    else:
        show_problems(scores.problems)
        if note.is_many:
            print(f"{note}\n")
        label = " SYNTHETIC" if dataset.synthetic else ""
        part = f", split {dataset.part}" if dataset.part else ""
        print(f"{dataset.name} {dataset.version}{part}{label}, digest {dataset.digest[:12]}\n")
        _print_scores(scores, run, observable)
        if not note.is_many and str(note):
            print(f"\n{note}")
        if claim:
            from siming_tasks.report.tables.comparison import primary_section

            print()
            show_markdown(primary_section(claim))
    return 0


def _primary(run: Run, options: Options) -> dict[str, Any] | None:
    """The pre-registered primary, tested on this run where it needs no other; None if nothing was pre-registered."""
    from siming_tasks.analysis.primary_claim import assess_primary
    from siming_tasks.data.primary import stated_primary

    if not (primary := stated_primary(run.dataset.meta, options.primary)):
        return None
    has = primary.setting in run.settings
    matrices = {run.name: run.score_matrix(primary.setting, options.rater, options.cluster)} if has else {}
    return assess_primary(primary, matrices, None, run.dataset, options).to_json()


def _print_scores(scores: Scores, run: Run, observable: bool) -> None:
    """Print the table of all metrics, and beneath it what its marks and the settings' own counts say."""
    from siming_tasks.common.printed_value import ranked, resampled
    from siming_tasks.metrics.estimate import FLAGS
    from siming_tasks.report.formatting import plain_number, usage_line
    from siming_tasks.report.table import Number, Table
    from siming_tasks.results.run import partial_notes
    from siming_tasks.tasks import TASKS

    rows, reasons, flags = [], [], set()
    for name, result in scores.settings.items():
        for metric, estimate in result["metrics"].items():
            shown = ranked(estimate, result["imputed"].get(metric))
            value = replace(Number.of(shown, interval=False), answered=None)
            ends = [plain_number(shown[end]) for end in ("low", "high")]
            interval = "-" if shown["low"] is None else f"[{', '.join(ends)}]"
            answered = Number.of(estimate, interval=False) if metric in result["imputed"] else Number(None)
            row = [value, plain_number(shown["stderr"]), interval, answered, str(estimate["n_videos"])]
            rows.append([name, metric, *row, plain_number(estimate["coverage"])])
            states = {"": shown, ", answered": estimate}
            reasons += [f"  {metric}{which}: {e['reason']}" for which, e in states.items() if e["undefined"]][:1]
            flags |= {*estimate["flags"], *shown["flags"]}
    show_markdown(Table.of(_HEAD, rows, left=(0, 1)))
    over = f"stderr and intervals over {resampled(result['options'] for result in scores.settings.values())}."
    below = partial_notes(scores.settings) + ([_KEY, *dict.fromkeys(reasons)] if reasons else [])
    below += dict.fromkeys(result["estimand"]["sentence"] for result in scores.settings.values())
    for name, result in scores.settings.items():
        below += TASKS[name].answer_format.render_lines(name, result)
        if result["usage"]:
            n_videos = len({record.video_id for record in run.records[name]})
            below.append(f"{name} took {usage_line(result['usage'], n_videos)}")
        if observable:
            left_out = f"{result['unobservable']:,} answers on steps that lack the evidence they need"
            below.append(f"{name} left out: {left_out}")
    print(
        "\n".join(
            [
                "",
                f"{_COLUMNS} {over}" if rows else _COLUMNS,
                *below,
                *(FLAGS[flag] for flag in sorted(flags & set(_SAID))),
            ]
        )
    )


def _list_failed(source: RunSource, dataset: Dataset, partial: bool, allow: Sequence[str], as_json: bool) -> int:
    """Print the unread replies and the failed requests of a run, and the commands that ask these again; 0."""
    from siming_tasks.common.redact import MASK, redact
    from siming_tasks.report.viewer_files import raw_reply
    from siming_tasks.results.lmms_eval_commands import failed_requests, log_folder, retry_commands
    from siming_tasks.results.run import read_run
    from siming_tasks.results.unread_replies import UnreadReplies, unread_note

    replies = UnreadReplies(dataset)
    run = read_run(source, dataset, partial=partial, allow=allow,
                   seen=lambda record, line: replies.put(record, raw_reply(line)))  # fmt: skip
    failed, unread = failed_requests(run), replies.all()
    again = retry_commands(run, failed)
    records = [record for present in run.records.values() for record in present]
    statuses = Counter(record.status for record in records)
    is_stored = not any((record.conditions.usage or {}).get("stored") is False for record in records)
    join = shlex.join(["siming", "score", str(dataset.root), str(log_folder(run))])
    if as_json:
        listing = {
            "failed": [asdict(request) for request in failed],
            "empty": statuses["empty"],
            "commands": again,
            "join": join,
        }
        listing["stored"] = is_stored
        print_json(redact(listing) | {"unread": [asdict(reply) for reply in unread]}, indent=1)
        return 0
    if unread:
        note = unread_note(run, ())
        print("\n".join([" ".join([note.sentence, *note.remedies()]), "", *(reply.line() for reply in unread), ""]))
    for request in failed:
        print(f"{request.id}  {request.task} {request.document}" + (f"  {request.reason}" if request.reason else ""))
    print(f"{len(failed)} requests failed.")
    if unkept := [f"{count} {status}" for status in ("empty", "truncated") if (count := statuses[status])]:
        print(f"{' and '.join(unkept)} replies are not kept: the command of the run asks them again, too.")
    if not is_stored:
        print("SIMING_REPLIES=off: no reply was stored. The same command once more asks and pays everything again.")
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
