"""Analysis of one run for a report: estimates, diagnoses, what came back and what was shown, computed once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from siming_tasks.analysis.comparison import compare_scores
from siming_tasks.analysis.input_controls import analyse_ablations, score_minimal_pairs
from siming_tasks.analysis.run_analyses import DETAIL_RESAMPLES, diagnose_scores, run_video_contribution
from siming_tasks.analysis.sound_contribution import analyse_sound
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import sha256_json
from siming_tasks.common.schema import ANSWERS, SCOPES
from siming_tasks.data import Dataset
from siming_tasks.metrics import Estimate, ScoreMatrix
from siming_tasks.metrics.alignment import ComparisonEntry
from siming_tasks.metrics.catalogue import headline
from siming_tasks.metrics.correlation import totals
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.options import Options
from siming_tasks.report.error_quotes import ErrorQuote, ErrorQuoteSampler
from siming_tasks.report.video_totals import video_totals
from siming_tasks.report.viewer_files import ReplyFiles, raw_reply
from siming_tasks.results.comparable import TaskRun
from siming_tasks.results.discovery import RunSource
from siming_tasks.results.evaluate_records import claimed_spans, evaluate_matrix
from siming_tasks.results.record import Record
from siming_tasks.results.run import Run, partial_notes, read_run
from siming_tasks.results.unread_replies import UnreadNote, UnreadReplies, UnreadReply, unread_note
from siming_tasks.results.usage import Prices, load_prices, usage_summary
from siming_tasks.tasks import ABLATION_TASKS, benchmark_task


@dataclass(frozen=True, eq=False)
class RunAnalysis:
    """One run, analyzed. Plain JSON in ``settings``; arrays only in ``matrices``.

    Attributes:
        source: the run.
        settings: by setting: ``numbers`` (:func:`~siming_tasks.results.evaluate_records.evaluate_records`),
            ``contribution`` and ``diagnostics`` (None without labels), ``misses`` (label confusion of each step),
            ``totals`` of the videos, ``pairs`` (results on the minimal pairs; None without), ``usage`` of each video.
        task_runs: by setting, what comparisons need: all questions that were asked, and under which conditions.
        gains: clip minus full video, paired, by kind of answer; absent unless the run did both.
        warnings: what a reader must know before comparing this run.
        replies: number of raw replies found.
        prompts: by setting, a fingerprint of all prompts of the run; None if it does not state them.
        error_quotes: by setting, quotes about steps that it judges wrong; only if replies were kept.
        unread: replies that answer less than they were asked; only if replies were kept.
        unread_note: how many these are, and what a user can do about them.
        ablations: by setting, what survives each ablation
            (:meth:`siming_tasks.analysis.input_controls.AblationResult.to_json`); ablations are in no other field.
        sound: by setting of the benchmark, what sound or a transcript adds
            (:meth:`siming_tasks.analysis.sound_contribution.SoundContribution.to_json`).
        claimed: by setting, by video and step the parts that its answers rest on where the answer format asks for
            them, in seconds of the video; what to draw under a step's own span.
    """

    source: RunSource
    settings: Mapping[str, Mapping[str, Any]]
    task_runs: Mapping[str, TaskRun]
    gains: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    replies: int = 0
    prompts: Mapping[str, str | None] = field(default_factory=dict)
    error_quotes: Mapping[str, Sequence[ErrorQuote]] = field(default_factory=dict)
    unread: Sequence[UnreadReply] = ()
    unread_note: UnreadNote = field(default_factory=lambda: UnreadNote({}))
    ablations: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    sound: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    claimed: Mapping[str, Mapping[tuple[str, str], Sequence[tuple[float, float]]]] = field(default_factory=dict)

    @property
    def matrices(self) -> dict[str, ScoreMatrix]:
        """By setting, all questions that were asked."""
        return {name: task_run.panel for name, task_run in self.task_runs.items()}


def analyze_run(
    source: RunSource,
    dataset: Dataset,
    options: Options,
    pairs: Sequence[Mapping[str, Any]] = (),
    replies: Path | None = None,
    *,
    partial: bool = False,
    allow: Collection[str] = (),
) -> RunAnalysis:
    """Read, score and diagnose one run.

    Args:
        source: the run.
        dataset: what it was asked about.
        options: label mapping, positive class, rater, resamples, seed.
        pairs: counterfactual minimal pairs of the data set.
        replies: folder for the viewer's files of raw replies, a folder of its own for each run; None writes none.
        partial: count only the requests that have a record as asked.
        allow: differences between runs to accept (:data:`siming_tasks.results.comparable.DIFFERENCES`).

    Raises:
        DataError: the run cannot be read, holds nothing, or was made with other data.
    """
    quotes, unread = ErrorQuoteSampler(dataset, options.rater), UnreadReplies(dataset)
    with ReplyFiles(source.slug, replies / source.slug) if replies else nullcontext() as files:

        def keep_reply(record: Record, line: Mapping[str, Any]) -> None:
            if files:
                files.put(record, line)
                quotes.put(record, reply := raw_reply(line))
                unread.put(record, reply)

        run = read_run(source, dataset, partial=partial, allow=allow, seen=keep_reply if files else None)
        if files:
            for name, records in run.records.items():
                files.put_rest(records if name not in ABLATION_TASKS else ())
    prices = load_prices(options.prices) if options.prices else None
    ablations = {name: items for name in run.settings if (items := analyse_ablations(run, name, options, allow))}
    sound = {name: added for name in run.settings if (added := analyse_sound(run, name, options, allow))}
    task_runs = {
        name: TaskRun.of(run, name, options.rater, options.cluster)
        for name in run.settings
        if name not in ABLATION_TASKS
    }
    settings: dict[str, dict[str, Any]] = {}
    for name, task_run in task_runs.items():
        matrix = task_run.panel
        evaluation = evaluate_matrix(matrix, options)
        settings[name] = {
            "numbers": run.evaluate(name, options, evaluation=evaluation),
            **_diagnose(matrix, name, run, options, evaluation.metrics),
            "totals": _reference_and_totals(matrix),
            "pairs": minimal_pair_results(matrix, pairs),
            "usage": _usage_by_video(run.records[name], prices),
        }
    if not settings and run.settings:
        why = f"{source.path}: holds ablations only, which say nothing without the plain tasks of the same run. "
        raise DataError(why + "Run both with one --output_path.")
    if not settings:
        raise DataError(f"{source.path}: answers no question of {dataset.name}. Is it the right dataset (--data)?")
    note = unread_note(run, unread.all())
    return RunAnalysis(
        source,
        settings,
        task_runs,
        gains=_clip_gains({name: task_run.panel for name, task_run in task_runs.items()}, options),
        warnings=_warnings(run, settings),
        replies=files.count if files else 0,
        prompts={name: _prompt_fingerprint(run.records[name]) for name in settings},
        error_quotes=quotes.by_setting(),
        unread=unread.all(),
        unread_note=note,
        ablations={name: [item.to_json() for item in items] for name, items in ablations.items()},
        sound={name: [item.to_json() for item in items] for name, items in sound.items()},
        claimed={name: claimed_spans(run.records[name], dataset, name) for name in settings},
    )


def minimal_pair_results(matrix: ScoreMatrix, pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Results of one run on the minimal pairs whose videos it was asked about; None if there are none."""
    row = {video: index for index, video in enumerate(matrix.video_ids)}
    column = {step: index for index, step in enumerate(matrix.step_ids)}
    asked = [pair for pair in pairs if pair["video_a"] in row and pair["video_b"] in row]
    if not asked:
        return None
    first, second = (matrix.predicted[[row[pair[side]] for pair in asked]] for side in ("video_a", "video_b"))
    unchanged = np.zeros(first.shape, dtype=np.bool_)
    for index, pair in enumerate(asked):
        unchanged[index, [column[step] for step in pair["unchanged_steps"]]] = True
    changed = np.array([column[pair["step_id"]] for pair in asked], dtype=np.int64)
    direction = np.array([pair["direction"] for pair in asked], dtype=np.float64)
    kinds = [pair["kind"] for pair in asked]
    clusters = [matrix.clusters[row[pair["video_a"]]] for pair in asked]
    score = score_minimal_pairs(first, second, changed, direction, unchanged, kinds, matrix.answer, clusters)
    results: dict[str, Any] = plain(score.to_json())
    return results


def _diagnose(
    matrix: ScoreMatrix, setting: str, run: Run, options: Options, metrics: Mapping[str, Estimate]
) -> dict[str, Any]:
    """``contribution`` and ``diagnostics`` (None without labels) and ``misses``: each step's label confusion.

    Rows of a confusion are the reference's labels: four for points, correct and wrong for verdicts.
    """
    if not (matrix.counted & matrix.answered).any():
        return {"contribution": None, "diagnostics": None, "misses": {}}
    misses = {}
    for step in matrix.step_ids:
        tally = Tally.of(matrix.subset([step]), options.mapping)
        counts, k = (tally.labels, 4) if matrix.answer == "score" else (tally.verdicts, 2)
        misses[step] = counts.sum(axis=0).reshape(k, k).astype(int).tolist()
    return {
        "contribution": run_video_contribution(matrix, options, metrics).to_json(),
        "diagnostics": diagnose_scores(
            matrix, setting, run.dataset, options, records=run.records.get(setting, ())
        ).to_json(),
        "misses": misses,
    }


def _reference_and_totals(matrix: ScoreMatrix) -> list[tuple[str, float, float, str]]:
    """Video, reference total, predicted total, and what an incomplete one rests on; none for verdicts."""
    if matrix.answer != "score":
        return []
    rows = zip(matrix.video_ids, totals(matrix)[0].tolist(), video_totals(matrix), strict=True)
    return [(video, x, y.value, y.rests_on) for video, x, y in rows if y.value is not None]


def _clip_gains(matrices: Mapping[str, ScoreMatrix], options: Options) -> dict[str, Any]:
    """The change of the headline metric from the full video to the step's own clip, by kind of answer."""
    resamples = min(DETAIL_RESAMPLES, options.resamples)
    gains: dict[str, Any] = {}
    for answer in ANSWERS:
        full, clip = (matrices.get(benchmark_task(scope, answer).name) for scope in SCOPES)
        if full is None or clip is None or not (full.counted.any() and clip.counted.any()):
            continue
        with suppress(DataError):  # too few shared videos, or nothing answered: there is no difference to state
            entries = [ComparisonEntry("clip", clip), ComparisonEntry("full", full)]
            comparison = compare_scores(entries, allow=("videos", "steps"), mapping=options.mapping,
                                        positive=options.positive, resamples=resamples, seed=options.seed)  # fmt: skip
            item = next((item for item in comparison.differences if item.metric == headline(answer)), None)
            if item:
                gains[answer] = {"value": item.value, "low": item.low, "high": item.high, "p": item.p}
    return gains


def _prompt_fingerprint(records: Sequence[Record]) -> str | None:
    """Twelve hex digits over the prompts by request; None unless every record states its own."""
    prompts = {record.id: record.conditions.prompt for record in records}
    return sha256_json(prompts)[:12] if all(prompts.values()) else None


def _warnings(run: Run, settings: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    warnings = partial_notes({name: part["numbers"] for name, part in settings.items()})
    for name, part in settings.items():
        have, asked = len(run.records[name]), part["numbers"]["requests"]["asked"]
        failed = part["numbers"]["statuses"].get("request_failed", 0)
        if have < asked:
            warnings.append(
                f"{name}: the run has replies to {have:,} of {asked:,} questions; the others count as missing."
            )
        if failed:
            warnings.append(f"{name}: {failed:,} requests failed before any model answered (counted as missing).")
    return tuple(warnings)


def _usage_by_video(records: Iterable[Record], prices: Prices | None) -> dict[str, dict[str, Any]]:
    by_video: dict[str, list[Mapping[str, Any] | None]] = {}
    for record in records:
        by_video.setdefault(record.video_id, []).append(record.conditions.usage)
    summaries = {video_id: usage_summary(usages, prices) for video_id, usages in by_video.items()}
    return {video_id: summary for video_id, summary in summaries.items() if summary}
