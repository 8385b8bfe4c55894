"""Reading one run for a report: its numbers, the tables about it, its replies and its input, once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.metrics import Rows, ScoreMatrix
from siming_tasks.benchmark.record import Record
from siming_tasks.benchmark.tasks import ABLATION_TASKS, TASKS
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import sha256_json
from siming_tasks.common.printed_value import counted
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.study.analysis.diagnosis import diagnose_matrix
from siming_tasks.study.report.exports import write_answers
from siming_tasks.study.report.viewer_files import ReplyFiles
from siming_tasks.study.results.comparable import TaskRun
from siming_tasks.study.results.discovery import RunSource
from siming_tasks.study.results.run import Run, read_run
from siming_tasks.study.results.unread_replies import UnreadNote, UnreadReplies, UnreadReply, unread_note
from siming_tasks.study.words import say

Spans = Sequence[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class RunAnalysis:
    """One run, read and analysed.

    Attributes:
        source: the run.
        settings: by setting, what :meth:`siming_tasks.study.results.run.Run.evaluate` returns; not of ablations.
        tables: by setting, the tables about this judge (:func:`siming_tasks.study.analysis.diagnosis.diagnose_matrix`).
        task_runs: by setting, what comparisons need: all questions that were asked, and under which conditions.
        reasons: by setting, by video and step why there is no answer.
        warnings: what a reader must know before comparing this run.
        replies: number of raw replies found.
        prompts: by setting, a fingerprint of all prompts of the run; None if it does not state them.
        unread: replies that were not read whole; only if replies were kept.
        claimed: by setting, by video and step the seconds that its answers rest on, where its answer format has them.
    """

    source: RunSource
    settings: Mapping[str, Mapping[str, Any]]
    tables: Mapping[str, Rows]
    task_runs: Mapping[str, TaskRun]
    reasons: Mapping[str, Mapping[tuple[str, str], str]]
    warnings: tuple[str, ...]
    replies: int
    prompts: Mapping[str, str | None]
    unread: Sequence[UnreadReply]
    claimed: Mapping[str, Mapping[tuple[str, str], Spans]]

    @property
    def matrices(self) -> dict[str, ScoreMatrix]:
        """By setting, all questions that were asked."""
        return {name: task_run.panel for name, task_run in self.task_runs.items()}


def analyze_run(
    source: RunSource,
    dataset: Dataset,
    options: Options,
    out: Path | None = None,
    *,
    partial: bool = False,
    allow: Collection[str] = (),
) -> RunAnalysis:
    """Read, score and diagnose one run.

    Args:
        source: the run.
        dataset: what it was asked about.
        options: label mapping, rater.
        out: folder of the report, for the viewer's files of raw replies and the run's answers; None writes none.
        partial: count only the requests that have a record as asked.
        allow: differences between runs to accept (:data:`siming_tasks.options.DIFFERENCES`).

    Raises:
        DataError: the run cannot be read, is empty, or was made with other data.
    """
    unread = UnreadReplies(dataset)
    with ReplyFiles(source.slug, out / "data" / source.slug) if out else nullcontext() as files:

        def keep_reply(record: Record, reply: str | None) -> None:
            if files:
                files.put(record, reply)
                unread.put(record, reply)

        run = read_run(source, dataset, partial=partial, allow=allow, seen=keep_reply if files else None)
        if files:
            for name, records in run.records.items():
                files.put_rest(records if name not in ABLATION_TASKS else ())
    names = [name for name in run.settings if name not in ABLATION_TASKS]
    if not names:
        raise DataError(
            f"{source.path}: contains only ablations, which say nothing without the plain tasks of the same run. Run "
            "both with one --output_path."
            if run.settings
            else f"{source.path}: answers no question of {dataset.name}. Is it the right dataset (--data)?"
        )
    task_runs = {name: TaskRun.of(run, name, options.rater) for name in names}
    settings = {name: run.evaluate(name, options) for name in names}
    if out:
        write_answers(out, run, task_runs, options.rater)
    return RunAnalysis(
        source,
        settings,
        tables={name: diagnose_matrix(task_runs[name].panel, run, name, options) for name in names},
        task_runs=task_runs,
        reasons={name: _reasons(run.records[name]) for name in names},
        warnings=tuple(_warnings(run, settings, unread_note(unread, run.records))),
        replies=files.count if files else 0,
        prompts={name: _prompt_fingerprint(run.records[name]) for name in names},
        unread=unread.all(),
        claimed={name: _claimed(run, name) for name in names},
    )


def _reasons(records: Sequence[Record]) -> dict[tuple[str, str], str]:
    found = {(record.video_id, step): why for record in records for step, why in record.missing.items()}
    abstained = ((record.video_id, step) for record in records for step in record.parsed.abstained)
    return found | dict.fromkeys(abstained, "not visible")


def _claimed(run: Run, setting: str) -> Mapping[tuple[str, str], Spans]:
    """The seconds of the video that answers rest on, by video and step; of formats that ask for them."""
    task, records = TASKS[setting], run.records[setting]
    fields = [record.to_json() for record in records] if task.answer_format.metrics else []
    return dict(task.answer_format.video_spans(fields, run.dataset.by_id, task.scope))


def _prompt_fingerprint(records: Sequence[Record]) -> str | None:
    """Twelve hex digits over the prompts by request; None unless every record states its own."""
    prompts = {record.id: record.conditions.prompt for record in records}
    return sha256_json(prompts)[:12] if all(prompts.values()) else None


def _warnings(run: Run, settings: Mapping[str, Mapping[str, Any]], unread: UnreadNote) -> list[str]:
    """Sentences on a run that a reader must know; that many of its replies were unread stands first."""
    warnings = run.partial_notes(settings)
    for name, numbers in settings.items():
        have, asked = len(run.records[name]), numbers["requests"]["asked"]
        failed = numbers["statuses"].get("request_failed", 0)
        if have < asked:
            warnings.append(say("short", setting=name, have=have, asked=counted(asked, "question")))
        if failed:
            warnings.append(say("failed", setting=name, failed=counted(failed, "request")))
    note = " ".join(filter(None, [unread.sentence, *unread.remedies()]))
    return list(filter(None, [note, *warnings] if unread.is_many else [*warnings, note]))
