"""Everything a report says about one run, computed once: estimates, diagnoses, what came back, what was shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from siming_tasks.data import Dataset, read_records
from siming_tasks.errors import DataError
from siming_tasks.files import sha256_json
from siming_tasks.metrics import Panel, Run, compare
from siming_tasks.metrics.contribution import contribution
from siming_tasks.metrics.correlation import totals
from siming_tasks.metrics.diagnostics import diagnose
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.pairs import pair_metric
from siming_tasks.metrics.panel import FloatArray
from siming_tasks.metrics.tally import Tally
from siming_tasks.report.replies import write_replies
from siming_tasks.report.sources import Source
from siming_tasks.schema import CONSENSUS, SETTINGS
from siming_tasks.scoring import evaluate_records, panel_of
from siming_tasks.settings import Settings

__all__ = ["DETAIL_RESAMPLES", "HEADLINE", "Study", "human_panel", "questions", "raters_of", "study"]

HEADLINE = {"score": "qwk", "error": "mcc"}
"""The metric that orders a table: step-level agreement, which the benchmark is about."""

DETAIL_RESAMPLES = 2_000
"""Resamples of diagnoses and of what the video contributed; headline metrics use the settings' number."""


@dataclass(frozen=True, eq=False)
class Study:
    """One run, studied. Plain JSON in ``settings``; arrays only in ``panels``.

    Attributes:
        source: the run.
        settings: by setting: ``numbers`` (:func:`siming_tasks.scoring.evaluate_records`), ``contribution`` and
            ``diagnostics`` (None without labels), ``misses`` (label confusion of each step), ``totals`` of the videos,
            ``pairs`` (how it did on the data set's twins; None without).
        panels: by setting, all questions of the data set that were asked.
        gains: clip minus full video, paired, by kind of answer; absent unless the run did both.
        warnings: what a reader must know before comparing this run.
        replies: number of raw replies found.
        prompts: by setting, what stands for all prompts of the run; None if it does not state them.
    """

    source: Source
    settings: Mapping[str, Mapping[str, Any]]
    panels: Mapping[str, Panel]
    gains: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    replies: int = 0
    prompts: Mapping[str, str | None] = field(default_factory=dict)


def questions(dataset: Dataset, setting: str, rater: str = CONSENSUS) -> Panel:
    """Everything that a complete run is asked in a setting, with nothing answered."""
    return panel_of((), dataset, setting, rater, complete=True)


def raters_of(dataset: Dataset) -> tuple[str, ...]:
    """Names of the physicians (not the consensus) whose points the data set holds."""
    return tuple(name for name in dataset.raters if name != CONSENSUS)


def study(
    source: Source,
    dataset: Dataset,
    options: Settings,
    pairs: Sequence[Mapping[str, Any]] = (),
    replies: Path | None = None,
) -> Study:
    """Read, score and diagnose one run.

    Args:
        source: the run.
        dataset: what it was asked about.
        options: label mapping, positive class, rater, resamples, seed.
        pairs: counterfactual twins of the data set.
        replies: folder for the viewer's files of raw replies; None writes none.

    Raises:
        DataError: the run cannot be read, holds nothing, or was made with other data.
    """
    by_setting = read_records(source.path, dataset)
    records = {record["id"]: record for mine in by_setting.values() for record in mine}
    _check_digest(source, dataset, records.values())
    written = write_replies(source, records, replies) if replies else 0
    found: dict[str, dict[str, Any]] = {}
    panels: dict[str, Panel] = {}
    prompts: dict[str, str | None] = {}
    for name in SETTINGS:
        if mine := by_setting.get(name):
            prompts[name] = _fingerprint(mine)
            complete = not source.limited
            panels[name] = panel_of(mine, dataset, name, options.rater, complete=complete)
            numbers = evaluate_records(mine, dataset, options, name, complete=complete)
            detail = _detail(panels[name], dataset, name, options)
            found[name] = {"numbers": numbers, **detail, "totals": _totals(panels[name])}
            found[name]["pairs"] = _twins(panels[name], pairs)
    if not found:
        raise DataError(f"{source.path}: answers no question of {dataset.name}. Is it the right dataset (--data)?")
    return Study(source, found, panels, _gains(panels, options), _warnings(source, found), written, prompts)


def _check_digest(source: Source, dataset: Dataset, records: Any) -> None:
    other = sorted({str(r["dataset"]) for r in records if r.get("dataset") and r["dataset"] != dataset.digest})
    if other and dataset.digest:
        raise DataError(
            f"{source.path}: the run saw dataset {other[0][:12]}, {dataset.root} is {dataset.digest[:12]}. "
            "Give the dataset folder that it was run on with --data."
        )


def _detail(panel: Panel, dataset: Dataset, setting: str, options: Settings) -> dict[str, Any]:
    if not (panel.counted & panel.answered).any():
        return {"contribution": None, "diagnostics": None, "misses": {}}
    common: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
    parts = contribution(panel, resamples=min(DETAIL_RESAMPLES, options.resamples), permutations=999,
                         seed=options.seed, **common)  # fmt: skip
    rng = np.random.default_rng(np.random.SeedSequence(options.seed, spawn_key=(7,)))
    a, b = _physicians(panel, dataset, setting)
    found = diagnose(panel, dataset.rubric, a, b, rng=rng, resamples=min(DETAIL_RESAMPLES, options.resamples), **common)
    return {
        "contribution": parts.to_json(),
        "diagnostics": found.to_json(),
        "misses": {step: _confusion(panel.subset([step]), options) for step in panel.step_ids},
    }


def _physicians(panel: Panel, dataset: Dataset, setting: str) -> tuple[FloatArray, FloatArray] | tuple[None, None]:
    """Both physicians' points on the panel's videos, or nothing unless the data set has two."""
    names = raters_of(dataset)
    if len(names) != 2:
        return None, None
    points = []
    for name in names:
        whole = questions(dataset, setting, name)
        row = {video: index for index, video in enumerate(whole.video_ids)}
        points.append(whole.reference[[row[video] for video in panel.video_ids]])
    return points[0], points[1]


def _totals(panel: Panel) -> list[tuple[str, float, float]]:
    """Video, reference total and predicted total; none for verdicts."""
    if panel.answer != "score":
        return []
    pairs = zip(panel.video_ids, *(side.tolist() for side in totals(panel)), strict=True)
    return [(video, x, y) for video, x, y in pairs if x == x and y == y]


def _gains(panels: Mapping[str, Panel], options: Settings) -> dict[str, Any]:
    """What the step's own clip changes in the headline metric."""
    found: dict[str, Any] = {}
    for answer, metric in HEADLINE.items():
        full, clip = (panels.get(f"{scope}_{answer}") for scope in ("full", "clip"))
        if full is None or clip is None or not (full.counted.any() and clip.counted.any()):
            continue
        with suppress(DataError):  # too few shared videos, or nothing answered: there is no difference to state
            result = compare([Run("clip", clip), Run("full", full)], allow=("videos", "steps"), mapping=options.mapping,
                             positive=options.positive, resamples=min(DETAIL_RESAMPLES, options.resamples),
                             seed=options.seed)  # fmt: skip
            item = next((item for item in result.differences if item.metric == metric), None)
            if item:
                found[answer] = {"value": item.value, "low": item.low, "high": item.high, "p": item.p}
    return found


def _twins(panel: Panel, pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """How one run did on the twins whose videos it was asked about; None if there are none."""
    row = {video: index for index, video in enumerate(panel.video_ids)}
    column = {step: index for index, step in enumerate(panel.step_ids)}
    mine = [pair for pair in pairs if pair["video_a"] in row and pair["video_b"] in row]
    if not mine:
        return None
    first, second = (panel.predicted[[row[pair[side]] for pair in mine]] for side in ("video_a", "video_b"))
    unchanged = np.zeros(first.shape, dtype=np.bool_)
    for index, pair in enumerate(mine):
        unchanged[index, [column[step] for step in pair["unchanged_steps"]]] = True
    found = pair_metric(
        first,
        second,
        np.array([column[pair["step_id"]] for pair in mine], dtype=np.int64),
        np.array([pair["direction"] for pair in mine], dtype=np.float64),
        unchanged,
        [pair["kind"] for pair in mine],
        panel.answer,
    )
    results: dict[str, Any] = plain(found.to_json())
    return results


def _confusion(panel: Panel, options: Settings) -> list[list[int]]:
    """Counts of one step, rows = reference: four labels for points, correct and wrong for verdicts."""
    tally = Tally.of(panel, options.mapping)
    counts, k = (tally.labels, 4) if panel.answer == "score" else (tally.binary, 2)
    table: list[list[int]] = counts.sum(axis=0).reshape(k, k).astype(int).tolist()
    return table


def _fingerprint(records: Sequence[Mapping[str, Any]]) -> str | None:
    """Twelve hex digits over the prompts by request; None unless every record states its own."""
    prompts = {record["id"]: record.get("prompt") for record in records}
    return sha256_json(prompts)[:12] if all(prompts.values()) else None


def _warnings(source: Source, found: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    said = []
    for name, part in found.items():
        asked = part["numbers"]["requests"]
        if asked["answered"] < asked["expected"]:
            kind = "was limited to" if source.limited else "has replies to"
            said.append(f"{name}: the run {kind} {asked['answered']:,} of {asked['expected']:,} questions.")
        failed = part["numbers"]["statuses"].get("request_failed", 0)
        if failed:
            said.append(f"{name}: {failed:,} requests failed before any model answered (counted as missing).")
    return tuple(said)


def human_panel(dataset: Dataset, setting: str) -> tuple[Panel, Sequence[str]] | None:
    """Physician B judged against physician A, as if B were a model; None unless the data set has both."""
    names = raters_of(dataset)
    if len(names) != 2:
        return None
    base = questions(dataset, setting)
    a, b = (questions(dataset, setting, name).reference for name in names)
    said = b if base.answer == "score" else np.where(np.isnan(b), np.nan, b < base.max_score)
    return replace(base, reference=a).predicting(said), names
