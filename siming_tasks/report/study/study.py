"""Everything a report says about one run, computed once: estimates, diagnoses, what came back, what was shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from siming_tasks.data import Dataset
from siming_tasks.errors import DataError
from siming_tasks.files import sha256_json
from siming_tasks.metrics import Panel
from siming_tasks.options import Options
from siming_tasks.report.study.detail import detail, gains, totals_of, twins
from siming_tasks.report.study.replies import Replies
from siming_tasks.runs.find import Source
from siming_tasks.runs.read import read_records
from siming_tasks.runs.score import evaluate_panel, evaluate_records, panel_of
from siming_tasks.settings import SETTINGS

__all__ = ["Study", "study"]


@dataclass(frozen=True, eq=False)
class Study:
    """One run, studied. Plain JSON in ``settings``; arrays only in ``panels``.

    Attributes:
        source: the run.
        settings: by setting: ``numbers`` (:func:`siming_tasks.runs.score.evaluate_records`), ``contribution`` and
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


def study(
    source: Source,
    dataset: Dataset,
    options: Options,
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
    with Replies(source.slug, replies) if replies else nullcontext() as keep:
        by_setting = read_records(source.path, dataset, keep.put if keep else None)
        records = [record for mine in by_setting.values() for record in mine]
        _check_digest(source, dataset, records)
        if keep:
            keep.put_rest(records)
    found: dict[str, dict[str, Any]] = {}
    panels: dict[str, Panel] = {}
    prompts: dict[str, str | None] = {}
    for name in SETTINGS:
        if mine := by_setting.get(name):
            prompts[name] = _fingerprint(mine)
            complete = not source.limited
            panels[name] = panel_of(mine, dataset, name, options.rater, complete=complete)
            known = evaluate_panel(panels[name], options)
            numbers = evaluate_records(mine, dataset, options, name, complete=complete, evaluation=known)
            found[name] = {
                "numbers": numbers,
                **detail(panels[name], dataset, options),
                "totals": totals_of(panels[name]),
                "pairs": twins(panels[name], pairs),
            }
    if not found:
        raise DataError(f"{source.path}: answers no question of {dataset.name}. Is it the right dataset (--data)?")
    written = keep.found if keep else 0
    return Study(source, found, panels, gains(panels, options), _warnings(source, found), written, prompts)


def _check_digest(source: Source, dataset: Dataset, records: Any) -> None:
    other = sorted({str(r["dataset"]) for r in records if r.get("dataset") and r["dataset"] != dataset.digest})
    if other and dataset.digest:
        raise DataError(
            f"{source.path}: the run saw dataset {other[0][:12]}, {dataset.root} is {dataset.digest[:12]}. "
            "Give the dataset folder that it was run on with --data."
        )


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
