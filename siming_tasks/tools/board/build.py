"""A static leaderboard from a folder of submissions: verified rows, community rows, and what is odd about each."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from siming_tasks import __version__
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write
from siming_tasks.common.redact import redact
from siming_tasks.common.sanitize import one_line
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.report.leaderboard import baseline_rows
from siming_tasks.results.comparable import TaskRun, groups
from siming_tasks.results.evaluate_records import build_reference_matrix
from siming_tasks.tasks import TASKS
from siming_tasks.tools.board.admission import AdmittedSubmission, admit, refusal
from siming_tasks.tools.board.board_page import board_page
from siming_tasks.tools.board.rerun import rerun_agreement
from siming_tasks.tools.board.row_order import board_ranks, sort_keys

__all__ = ["FORMAT", "Entry", "build_board", "day_of"]

FORMAT = "siming-board-1"


@dataclass(frozen=True)
class Entry(AdmittedSubmission):
    """One row: what was admitted, and whether a re-run agrees.

    ``agreement`` is the share of the asked steps on which the host's own run gave the same answer (a missing answer
    equals a missing answer); None without a usable re-run. ``rank`` is that of the first setting of the board, None
    for a row that cannot be compared with the others. ``others`` are the settings with other conditions than most rows.
    """

    agreement: float | None
    verified: bool
    rank: int | None = None
    others: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        about = self.received.submission
        return {
            "archive": redact(one_line(self.received.path.name)),
            "model": about.model.model_dump(),
            "run": about.run,
            "settings": dict(self.settings),
            "findings": list(self.findings),
            "agreement": self.agreement,
            "verified": self.verified,
            "rank": self.rank,
            "date": day_of(about.run.get("date")),
        }


def build_board(
    folder: Path,
    dataset: Dataset,
    out: Path,
    options: Options,
    *,
    reruns: Path | None = None,
    match: float = 1.0,
    progress: bool = True,
) -> tuple[list[Entry], list[str]]:
    """Score every ``*.zip`` of a folder and write ``index.html`` and ``board.json``.

    Args:
        folder: of submissions.
        dataset: with labels.
        out: folder to write to.
        options: label mapping, positive class, rater, resamples, seed.
        reruns: folder of the host's own runs, ``<archive name without .zip>`` (a folder or ``.jsonl`` file) each.
        match: share of equal answers from which a re-run verifies a row.
        progress: show a bar on stderr.

    Returns:
        The rows, and one line for each archive that was refused.

    Raises:
        DataError: no archive, no labels, or ``out`` is in use.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder. Give the one with the archives of `siming board submit`.")
    archives = sorted(path for path in folder.iterdir() if path.name.lower().endswith(".zip"))
    if not archives:
        raise DataError(f"{folder}: holds no *.zip. Put the archives of `siming board submit` there.")
    if reruns is not None and not reruns.is_dir():
        raise DataError(f"{reruns}: no such folder. Give the one with your own runs, or leave --reruns out.")
    if dataset.withheld:
        raise DataError(f"{dataset.root}: the labels are withheld. Give the label file with --labels.")
    if out.exists() and any(out.iterdir()) and not (out / "board.json").is_file():
        raise DataError(f"{out}: exists and is not a board. Name another folder, or delete it.")
    entries: list[Entry] = []
    refused: list[str] = []
    for path in tqdm(archives, unit="submission", disable=not progress):
        try:
            entries.append(_entry(admit(path, dataset, options), dataset, reruns, match))
        except DataError as error:
            refused.append(refusal(path, error))
    entries = _sorted_entries(_note_conditions(_note_duplicates(entries), options), options)
    board = _report(dataset, options, entries, refused, match)
    with atomic_write(out / "board.json") as stream:
        json.dump(board, stream, indent=1, allow_nan=False)
    board_page(out, board)
    return entries, refused


def _entry(admitted: AdmittedSubmission, dataset: Dataset, reruns: Path | None, match: float) -> Entry:
    share, fault = rerun_agreement(admitted.received.path, admitted.run.records, dataset, reruns)
    verified = share is not None and share >= match
    notes = [fault] if fault else []
    if share is not None and not verified:
        notes.append(f"The host’s own run gave the same answer to {share:.1%} of the steps: not verified.")
    findings = (*admitted.findings, *notes)
    return Entry(admitted.received, admitted.run, admitted.settings, findings, agreement=share, verified=verified)


def _note_duplicates(entries: Sequence[Entry]) -> list[Entry]:
    """A note on rows that share predictions or a name."""
    noted = []
    for entry in entries:
        mine = entry.received.submission
        notes = []
        for other in entries:
            theirs = other.received.submission
            if other is not entry and theirs.predictions_sha256 == mine.predictions_sha256:
                notes.append(f"The same predictions as {one_line(other.received.path.name)}.")
            elif other is not entry and theirs.model.name.casefold() == mine.model.name.casefold():
                notes.append(f"The same model name as {one_line(other.received.path.name)}.")
        noted.append(replace(entry, findings=(*entry.findings, *notes)))
    return noted


def _note_conditions(entries: Sequence[Entry], options: Options) -> list[Entry]:
    """A note on rows that were made under other conditions than most: they are no ranking of models."""
    notes: dict[int, list[str]] = {}
    others: dict[int, list[str]] = {}
    for setting in TASKS:
        mine = [(place, entry) for place, entry in enumerate(entries) if setting in entry.run.records]
        named = [
            replace(TaskRun.of(entry.run, setting, options.rater), name=entry.received.path.name) for _, entry in mine
        ]
        _, apart = groups(named) if named else ([], {})
        for (place, _), entrant in zip(mine, named, strict=True):
            if entrant.name in apart:
                others.setdefault(place, []).append(setting)
                notes.setdefault(place, []).append(f"{setting}: not comparable with most rows. {apart[entrant.name]}")
    return [
        replace(entry, findings=(*entry.findings, *notes.get(k, ())), others=tuple(others.get(k, ())))
        for k, entry in enumerate(entries)
    ]


def _sorted_entries(entries: Sequence[Entry], options: Options) -> list[Entry]:
    """Verified rows first, then those with a rank, then by the imputed value of the first headline."""
    if not entries:
        return []
    places = sort_keys(entries, options)
    setting = next(name for name in TASKS if any(name in entry.settings for entry in entries))
    apart = [k for k, entry in enumerate(entries) if setting in entry.others]
    ranked = board_ranks(entries, places, setting, apart)
    keys = [
        (not entry.verified, rank is None, *place, entry.received.path.name)
        for entry, place, rank in zip(entries, places, ranked, strict=True)
    ]
    ranked_entries = [replace(entry, rank=rank) for entry, rank in zip(entries, ranked, strict=True)]
    return [entry for _, entry in sorted(zip(keys, ranked_entries, strict=True), key=lambda pair: pair[0])]


def day_of(date: Any) -> str | None:
    """The day of a run as lmms-eval writes it (``20260102_030405``); None for anything else."""
    date_match = re.match(r"(\d{4})(\d\d)(\d\d)_\d{6}", date) if isinstance(date, str) else None
    return "-".join(date_match.groups()) if date_match else None


def _baseline_rows_by_setting(dataset: Dataset, options: Options, entries: Sequence[Entry]) -> dict[str, Any]:
    """By setting, the rows of the physicians and the no-video baselines."""
    wanted = [name for name in TASKS if any(name in entry.settings for entry in entries)]
    return {
        name: baseline_rows(dataset, name, options, build_reference_matrix(dataset, name, options.rater))
        for name in wanted
    }


def _report(
    dataset: Dataset, options: Options, entries: Sequence[Entry], refused: Sequence[str], match: float
) -> dict[str, Any]:
    """Everything the page says, as plain JSON."""
    return {
        "format": FORMAT,
        "version": __version__,
        "synthetic": dataset.synthetic,
        "dataset": {"name": dataset.name, "version": dataset.version, "digest": dataset.digest,
                    "videos": len(dataset.videos), "steps": len(dataset.rubric.steps)},
        "rubric": {"id": dataset.rubric.rubric_id, "version": dataset.rubric.version},
        "options": {name: getattr(options, name) for name in ("rater", "mapping", "positive", "resamples", "seed")},
        "match": match,
        "rows": [entry.to_json() for entry in entries],
        "beside": _baseline_rows_by_setting(dataset, options, entries),
        "refused": list(refused),
    }  # fmt: skip
