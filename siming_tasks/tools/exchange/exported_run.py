"""A run as exports take it (records, replies, numbers, labels only where they may leave), and its own tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.files import atomic_path, atomic_write
from siming_tasks.common.redact import redact
from siming_tasks.common.schema import CONSENSUS, verdict_word
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.parsing import Parsed
from siming_tasks.report.forest_plot import build_forest_plot
from siming_tasks.report.leaderboard import leaderboards_of
from siming_tasks.report.paper_figure import FigureStyle, write_forest_plot
from siming_tasks.report.table import tex_file
from siming_tasks.report.tables.ranking import ranking_table
from siming_tasks.report.viewer_files import raw_reply
from siming_tasks.results.discovery import RunSource
from siming_tasks.results.record import Record
from siming_tasks.results.run import Run, read_run, score_run
from siming_tasks.results.usage import public_usage
from siming_tasks.tasks import RECORD_FIELDS, TASKS
from siming_tasks.tasks.expected_requests import expected_requests, record_id, step_spans, steps_of
from siming_tasks.tasks.prompt import build_prompt
from siming_tasks.tasks.prompting import PromptOptions, steps_in_part

PARTED = "\n\n---\n\n"
"""Between the prompts, and the replies, of an exam that was asked about in parts."""


@dataclass(frozen=True)
class ExportedRun:
    """One run, and how it is scored.

    ``replies`` are by the id of the request, where the run's files hold them; ``labels``: the consensus of each step
    may be written.
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

    def title(self, setting: str) -> str:
        """Name of a setting that says where the data are simulated."""
        return f"siming_{setting}" + (f" [SYNTHETIC {self.dataset.name}]" if self.dataset.synthetic else "")

    def records(self) -> Iterator[Record]:
        """All records, setting by setting."""
        for name in self.run.settings:
            yield from self.run.records[name]

    def prompt(self, record: Record) -> str:
        """The text that was asked; frames are not in it. That of an exam asked about in parts is all of them."""
        setting, video, rubric = TASKS[record.setting], self.dataset.video(record.video_id), self.dataset.rubric
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

    def usage(self, record: Record) -> dict[str, Any]:
        """A record's usage without what tells of an account; empty where nothing is known. No export writes another."""
        return public_usage(record.conditions.usage or {})

    def answers(self, record: Record) -> dict[str, float | str]:
        """A record's answers: points, or the two words."""
        points = TASKS[record.setting].answer == "score"
        return {step: value if points else verdict_word(value) for step, value in record.answers.items()}

    def reference(self, record: Record) -> dict[str, float | str]:
        """The consensus on the steps that a record is about, as answers are written; empty unless labels may leave."""
        if not self.labels:
            return {}
        setting, video = TASKS[record.setting], self.dataset.video(record.video_id)
        consensus = {name: video.step(name).scores.get(CONSENSUS) for name in steps_of(setting, video, record.step_id)}
        known = {name: value for name, value in consensus.items() if value is not None}
        if setting.answer == "score":
            return {**known}
        best = self.dataset.rubric.by_id
        return {name: verdict_word(float(value < best[name].max_score)) for name, value in known.items()}


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
    parts: dict[str, dict[str, str]] = {}

    def seen(record: Record, line: Mapping[str, Any]) -> None:
        replies = parts.setdefault(record.id, {})
        replies.pop(part := record.conditions.part, None)
        if (reply := raw_reply(line)) is not None:
            failed = record.status == "request_failed"  # the host's error text, which may hold a secret
            replies[part] = str(redact(reply)) if failed else reply

    run = read_run(source, dataset, seen=seen)
    replies = {name: PARTED.join(texts[part] for part in sorted(texts)) for name, texts in parts.items() if texts}
    return ExportedRun(run, options, replies, labels)


def write_jsonl(exported: ExportedRun, out: Path) -> None:
    """One object per request: what was asked and shown, how the reply was read, the reply itself."""
    kept = ("id", "setting", "video_id", "step_id", "status", "missing", *RECORD_FIELDS, "prompt", "media")
    with atomic_write(out) as stream:
        for record in exported.records():
            content = record.to_json()
            line = {
                **exported.about,
                **{key: content[key] for key in kept if content.get(key) is not None},
                **({"usage": usage} if (usage := exported.usage(record)) else {}),
                "answers": exported.answers(record),
                "reply": exported.replies.get(record.id),
                **({"reference": exported.reference(record)} if exported.labels else {}),
            }
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")


def write_parquet(exported: ExportedRun, out: Path) -> None:
    """A table with one row per asked step; its metadata say what it is of, too."""
    import pyarrow
    import pyarrow.parquet

    words, numbers, truths = pyarrow.string(), pyarrow.float64(), pyarrow.bool_()
    types = {"synthetic": truths, "abstained": truths, "n_frames": pyarrow.int64()}
    types |= {"prompt_tokens": pyarrow.int64(), "completion_tokens": pyarrow.int64()}
    types |= dict.fromkeys(("max_score", "points", "fps", "reference_points"), numbers)
    rows = list(_step_rows(exported))
    schema = pyarrow.schema(
        [(name, types.get(name, words)) for name in rows[0]],
        metadata={key: str(value) for key, value in exported.about.items()},
    )
    with atomic_path(out) as part:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), part)


def _step_rows(exported: ExportedRun) -> Iterator[dict[str, Any]]:
    """One row per asked step; a request without a line has status ``no_line``."""
    rubric = exported.dataset.rubric
    for name in exported.run.settings:
        setting, asked = TASKS[name], exported.run.asked(name)
        points = setting.answer == "score"
        records = {record.id: record for record in exported.run.records[name]}
        for video_id, step_id in expected_requests(setting, exported.dataset.videos):
            if (request := record_id(name, video_id, step_id)) not in asked:
                continue
            record = records.get(request) or Record(name, video_id, step_id, Parsed("no_line"))
            answers, reference = exported.answers(record), exported.reference(record)
            media, usage = record.media, exported.usage(record)
            for step in steps_of(setting, exported.dataset.video(video_id), step_id):
                answer, best = answers.get(step), reference.get(step)
                yield {
                    **exported.about,
                    "id": record.id,
                    "setting": name,
                    "video_id": video_id,
                    "step_id": step,
                    "skill": rubric.skill_of[step],
                    "max_score": rubric.by_id[step].max_score,
                    "status": record.status,
                    "missing": record.missing.get(step),
                    "abstained": step in record.parsed.abstained,
                    "points": answer if points else None,
                    "verdict": None if points else answer,
                    "media_mode": media.get("mode"),
                    **{key: media.get(key) for key in ("n_frames", "fps")},
                    **{key: usage.get(key) for key in ("prompt_tokens", "completion_tokens")},
                    **({"reference_points": best if points else None} if exported.labels else {}),
                    **({"reference_verdict": None if points else best} if exported.labels else {}),
                }


def write_figure(
    runs: Sequence[ExportedRun], out: Path, setting: str | None = None, style: FigureStyle | None = None
) -> Sequence[Path]:
    """The forest plot of one setting, as a report has it (.pdf, .svg or .png).

    Raises:
        DataError: the runs have several settings and none is named, not the named one, or no value.
        OptionsError: the file's ending is another.
    """
    if out.suffix.lower() not in (".pdf", ".svg", ".png"):
        raise OptionsError(f"{out}: a figure is a .pdf, .svg or .png file.")
    settings = dict.fromkeys(name for exported in runs for name in exported.run.settings)
    wanted = [name for name in settings if setting in (None, name)]
    if len(wanted) != 1:
        raise DataError(f"A figure is of one setting: give --setting with one of {', '.join(settings)}.")
    boards = leaderboards_of([exported.run for exported in runs], wanted, runs[0].options)
    figure = build_forest_plot(boards[wanted[0]])
    if figure is None:
        raise DataError(f"{wanted[0]}: no run has a value, so there is nothing to draw.")
    return write_forest_plot(figure, [out], synthetic=runs[0].dataset.synthetic, style=style or FigureStyle())


def write_latex(runs: Sequence[ExportedRun], out: Path) -> None:
    """Tables for a paper, a float for each setting: those of a report, so that both print one value for one run."""
    settings = dict.fromkeys(name for exported in runs for name in exported.run.settings)
    synthetic = runs[0].dataset.synthetic
    boards = leaderboards_of([exported.run for exported in runs], settings, runs[0].options)
    tables = [ranking_table(board, synthetic=synthetic, intervals=False) for board in boards.values()]
    digests = [f"{exported.run.name}: dataset {exported.dataset.digest}" for exported in runs]
    with atomic_write(out) as stream:
        stream.write(tex_file(tables, digests))
