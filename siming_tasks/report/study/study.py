"""Everything a report says about one run, computed once: estimates, diagnoses, what came back, what was shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from siming_tasks.analysis.controls.ablation_effects import analyse_ablations
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import sha256_json
from siming_tasks.data import Dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.options import Options
from siming_tasks.report.study.detail import detail, gains, minimal_pairs, totals_of
from siming_tasks.report.study.error_quotes import Saying, Sayings
from siming_tasks.report.study.replies import Replies, raw_reply
from siming_tasks.results.comparable import TaskRun
from siming_tasks.results.discovery import RunSource
from siming_tasks.results.evaluate_records import evaluate_matrix
from siming_tasks.results.format_results import claimed_spans
from siming_tasks.results.record import Record
from siming_tasks.results.run import Run, read_run
from siming_tasks.results.usage import load_prices, usage_by_video
from siming_tasks.tasks import ABLATION_TASKS

__all__ = ["Study", "study"]


@dataclass(frozen=True, eq=False)
class Study:
    """One run, studied. Plain JSON in ``settings``; arrays only in ``panels``.

    Attributes:
        source: the run.
        settings: by setting: ``numbers`` (:func:`~siming_tasks.results.evaluate_records.evaluate_records`),
            ``contribution`` and ``diagnostics`` (None without labels), ``misses`` (label confusion of each step),
            ``totals`` of the videos,
            ``pairs`` (how it did on the data set's minimal_pairs; None without), ``usage`` of each video.
        entrants: by setting, what comparisons need: all questions that were asked, and under which conditions.
        gains: clip minus full video, paired, by kind of answer; absent unless the run did both.
        warnings: what a reader must know before comparing this run.
        replies: number of raw replies found.
        prompts: by setting, what stands for all prompts of the run; None if it does not state them.
        sayings: by setting, a draw of what it says of steps that it judges wrong; only if replies were kept.
        ablations: by setting, what survives each ablation
            (:meth:`siming_tasks.analysis.controls.ablation_effects.AblationResult.to_json`); ablations are in no other
            field.
        claimed: by setting, by video and step the parts that its answers rest on where the answer format asks for
            them, in seconds of the video; what to draw under a step's own span.
    """

    source: RunSource
    settings: Mapping[str, Mapping[str, Any]]
    entrants: Mapping[str, TaskRun]
    gains: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    replies: int = 0
    prompts: Mapping[str, str | None] = field(default_factory=dict)
    sayings: Mapping[str, Sequence[Saying]] = field(default_factory=dict)
    ablations: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    claimed: Mapping[str, Mapping[tuple[str, str], Sequence[tuple[float, float]]]] = field(default_factory=dict)

    @property
    def panels(self) -> dict[str, ScoreMatrix]:
        """By setting, all questions that were asked."""
        return {name: entrant.panel for name, entrant in self.entrants.items()}


def study(
    source: RunSource,
    dataset: Dataset,
    options: Options,
    pairs: Sequence[Mapping[str, Any]] = (),
    replies: Path | None = None,
    *,
    partial: bool = False,
    allow: Collection[str] = (),
) -> Study:
    """Read, score and diagnose one run.

    Args:
        source: the run.
        dataset: what it was asked about.
        options: label mapping, positive class, rater, resamples, seed.
        pairs: counterfactual minimal_pairs of the data set.
        replies: folder for the viewer's files of raw replies; None writes none.
        partial: count only the requests that have a record as asked.
        allow: differences between runs to accept (:data:`siming_tasks.results.comparable.DIFFERENCES`).

    Raises:
        DataError: the run cannot be read, holds nothing, or was made with other data.
    """
    with Replies(source.slug, replies) if replies else nullcontext() as keep:
        words = Sayings(dataset, options.rater)

        def seen(record: Record, line: Mapping[str, Any]) -> None:
            if keep:
                keep.put(record, line)
                words.put(record, raw_reply(line))

        run = read_run(source, dataset, partial=partial, allow=allow, seen=seen if keep else None)
        if keep:
            keep.put_rest(
                [record for name, mine in run.records.items() if name not in ABLATION_TASKS for record in mine]
            )
    found: dict[str, dict[str, Any]] = {}
    prices = load_prices(options.prices) if options.prices else None
    ablations = {name: each for name in run.settings if (each := analyse_ablations(run, name, options, allow))}
    entrants = {name: TaskRun.of(run, name, options.rater) for name in run.settings if name not in ABLATION_TASKS}
    for name, entrant in entrants.items():
        known = evaluate_matrix(entrant.panel, options)
        found[name] = {
            "numbers": run.evaluate(name, options, evaluation=known),
            **detail(entrant.panel, dataset, options, known.metrics),
            "totals": totals_of(entrant.panel),
            "pairs": minimal_pairs(entrant.panel, pairs),
            "usage": usage_by_video(run.records[name], prices),
        }
    if not found and run.settings:
        why = f"{source.path}: holds ablations only, which say nothing without the plain tasks of the same run. "
        raise DataError(why + "Run both with one --output_path.")
    if not found:
        raise DataError(f"{source.path}: answers no question of {dataset.name}. Is it the right dataset (--data)?")
    written = keep.found if keep else 0
    prompts = {name: _fingerprint(run.records[name]) for name in found}
    panels = {name: entrant.panel for name, entrant in entrants.items()}
    told = {name: [one.to_json() for one in each] for name, each in ablations.items()}
    claimed = {name: claimed_spans(run.records[name], dataset, name) for name in found}
    return Study(source, found, entrants, gains(panels, options), _warnings(run, found), written, prompts,
                 words.found(), told, claimed)  # fmt: skip


def _fingerprint(records: Sequence[Record]) -> str | None:
    """Twelve hex digits over the prompts by request; None unless every record states its own."""
    prompts = {record.id: record.conditions.prompt for record in records}
    return sha256_json(prompts)[:12] if all(prompts.values()) else None


def _warnings(run: Run, found: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    said = []
    for name, part in found.items():
        have, asked, expected = len(run.records[name]), len(run.asked(name)), part["numbers"]["requests"]["expected"]
        if asked < expected:
            said.append(f"{name}: the run was limited to {asked:,} of {expected:,} questions.")
        if have < asked:
            said.append(f"{name}: the run has replies to {have:,} of {asked:,} questions; the others count as missing.")
        failed = part["numbers"]["statuses"].get("request_failed", 0)
        if failed:
            said.append(f"{name}: {failed:,} requests failed before any model answered (counted as missing).")
    return tuple(said)
