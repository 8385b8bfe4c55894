"""``siming score``: metrics of predictions, without a model."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import print_json, say, show_markdown, show_problems
from siming_tasks.options import Options

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.metrics import Rows
    from siming_tasks.results.discovery import RunSource
    from siming_tasks.results.run import Run, Scores


@cli.command()
def score(
    chosen: cli.DatasetChoice = cli.dataset_flags(labels=True),
    predictions: tuple[Path, ...] = cli.word(
        "PREDICTIONS...",
        "prediction files, sample logs or folders that are one run; before them, the data set",
        cli.RUN_ON_DATA,
    ),
    options: Options = cli.option_flags(*cli.SCORING_OPTIONS, "prices"),
    partial: bool = cli.switch("count only requests that have a line (run with --limit)"),
    allow: tuple[str, ...] = cli.several(
        "WHAT", "with the word `dataset`: accept predictions for other labels or media"
    ),
    observable: bool = cli.switch("leave out steps that were not shown well enough"),
    fps: float | None = cli.option("X", "with --observable: frames a second, if the logs do not say", cli.ABOVE_ZERO),
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

    chosen, parts = chosen.from_words("siming score", predictions)
    source = run_at(parts)
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
    if as_json:
        print_json(scores.to_json(), indent=1)
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
    return 0


def _print_scores(scores: Scores, run: Run, observable: bool) -> None:
    """Print the values by which runs are ranked and those of what was answered, and what is to be known of them."""
    from siming_tasks.metrics import Rows as Kept
    from siming_tasks.metrics.evaluate import ALL, ANSWERED, RANKED
    from siming_tasks.report.formatting import usage_line
    from siming_tasks.report.row_tables import row_section
    from siming_tasks.results.run import partial_notes

    for name, result in scores.settings.items():
        rows, options = scores.rows(name), result["options"]
        shown = Kept(row for row in rows if row.row == ALL or row.table not in (ANSWERED, RANKED))
        show_markdown(f"## {name}", row_section(shown, reference=options["rater"], only=_shown(shown)))
        below = [result["estimand"]["sentence"]]
        if result["usage"]:
            n_videos = len({record.video_id for record in run.records[name]})
            below.append(f"{name} took {usage_line(result['usage'], n_videos)}")
        if observable:
            left_out = f"{result['unobservable']:,} answers on steps that lack the evidence they need"
            below.append(f"{name} left out: {left_out}")
        print("\n" + "\n".join(below) + "\n")
    print("\n".join(partial_notes(scores.settings)))


def _shown(rows: Rows) -> list[str]:
    """The tables that are printed: other readings are in the JSON alone, and one of two that are the same."""
    from siming_tasks.metrics.evaluate import ANSWERED, RANKED, READINGS

    complete = all(row.value == 1 for row in rows.of(ANSWERED, metric="coverage"))
    return [name for name in rows.names("table") if name not in (READINGS, RANKED if complete else "")]


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
