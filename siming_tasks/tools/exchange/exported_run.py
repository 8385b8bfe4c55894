"""A run as exports take it: records, replies, numbers, and the labels only where they may leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.redact import redact
from siming_tasks.common.schema import CONSENSUS, verdict_word
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.report.viewer_files import raw_reply
from siming_tasks.results.discovery import RunSource
from siming_tasks.results.record import Record
from siming_tasks.results.run import Run, read_run, score_run
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import step_spans, steps_of
from siming_tasks.tasks.prompt import build_prompt
from siming_tasks.tasks.prompting import PromptOptions, steps_in_part

__all__ = ["ExportedRun", "read_exported_run"]

PARTED = "\n\n---\n\n"
"""Between the prompts, and the replies, of an exam that was asked about in parts."""


@dataclass(frozen=True)
class ExportedRun:
    """One run.

    Attributes:
        run: what was read.
        options: how it is scored.
        replies: by the id of the request, where the run's files hold them.
        labels: whether the consensus of each step may be written.
    """

    run: Run
    options: Options
    replies: Mapping[str, str]
    labels: bool = False
    _prompts: dict[Any, str] = field(default_factory=dict)

    @property
    def dataset(self) -> Dataset:
        """The data set that the run was asked about."""
        return self.run.dataset

    @cached_property
    def results(self) -> Mapping[str, Mapping[str, Any]]:
        """By setting, everything that is known of it (:func:`siming_tasks.results.evaluate_records.evaluate_records`).

        Raises:
            DataError: the labels are withheld.
        """
        return score_run(self.run, self.options).settings

    @property
    def about(self) -> dict[str, Any]:
        """Facts about the run that stand in every line of an export."""
        return {
            "run": self.run.name,
            "judge": self.run.source.role,
            "synthetic": self.dataset.synthetic,
            "dataset": self.dataset.name,
            "dataset_version": self.dataset.version,
            "dataset_digest": self.dataset.digest,
        }

    def records(self) -> Iterator[Record]:
        """All records, setting by setting."""
        for name in self.run.settings:
            yield from self.run.records[name]

    def prompt(self, record: Record) -> str:
        """The text that was asked; frames are not in it. That of an exam asked about in parts is all of them."""
        setting, video, rubric = (
            TASKS[record.setting],
            self.dataset.video(record.video_id),
            self.dataset.rubric,
        )
        every = steps_of(setting, video, record.step_id)
        style = PromptOptions.from_label(record.conditions.asking).style
        texts = []
        for part in record.conditions.parts or ("",):
            names = steps_in_part(part, every, rubric.skill_of)
            spans = step_spans(setting, video, names)
            if (key := (setting.name, names, spans, style)) not in self._prompts:
                steps = [rubric.by_id[name] for name in names]
                self._prompts[key] = build_prompt(setting, steps, spans, rubric, style)
            texts.append(self._prompts[key])
        return PARTED.join(texts)

    def answers(self, record: Record) -> dict[str, float | str]:
        """A record's answers: points, or the two words."""
        return {step: answer_in_words(record.setting, value) for step, value in record.answers.items()}

    def reference(self, record: Record) -> dict[str, float | str]:
        """The consensus on the steps that a record is about, as answers are written; empty unless labels may leave."""
        if not self.labels:
            return {}
        setting, video = TASKS[record.setting], self.dataset.video(record.video_id)
        best = self.dataset.rubric.by_id
        points = {name: video.step(name).scores.get(CONSENSUS) for name in steps_of(setting, video, record.step_id)}
        if setting.answer == "score":
            return {name: value for name, value in points.items() if value is not None}
        wrong = {name: float(value < best[name].max_score) for name, value in points.items() if value is not None}
        return {name: answer_in_words(setting.name, value) for name, value in wrong.items()}


def answer_in_words(setting: str, value: float) -> float | str:
    """An answer as people write it."""
    return value if TASKS[setting].answer == "score" else verdict_word(value)


def read_exported_run(
    source: RunSource, dataset: Dataset, options: Options, *, labels: bool = False, kept: bool = False
) -> ExportedRun:
    """Read a run for an export.

    Args:
        source: where it is.
        dataset: what it was asked about.
        options: how it is scored.
        labels: whether the consensus may be written.
        kept: whether the labels were joined from a file that is kept apart: then they never leave.

    Raises:
        DataError: unusable files, or labels are wanted that are withheld.
    """
    if labels and (kept or dataset.withheld or dataset.meta.get("labels") == "withheld"):
        raise DataError(f"{dataset.root}: the labels are withheld and do not leave. Leave --with-labels out.")
    replies_by_setting: dict[str, dict[str, str]] = {}

    def seen(record: Record, line: Mapping[str, Any]) -> None:
        mine = replies_by_setting.setdefault(record.id, {})
        mine.pop(part := record.conditions.part, None)
        if (reply := raw_reply(line)) is not None:
            failed = record.status == "request_failed"  # the host's error text, which may hold a secret
            mine[part] = str(redact(reply)) if failed else reply

    run = read_run(source, dataset, seen=seen)
    replies = {
        name: PARTED.join(texts[part] for part in sorted(texts)) for name, texts in replies_by_setting.items() if texts
    }
    return ExportedRun(run, options, replies, labels)
