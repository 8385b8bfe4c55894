"""A static leaderboard from a folder of submissions: verified rows, community rows, and what is odd about each."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from siming_tasks import __version__
from siming_tasks.analysis.run_analyses import DETAIL_RESAMPLES
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write
from siming_tasks.common.output_folder import check_place, output_folder
from siming_tasks.common.printed_value import resampled
from siming_tasks.common.redact import redact
from siming_tasks.common.sanitize import one_line
from siming_tasks.data import Dataset
from siming_tasks.metrics.catalogue import headline
from siming_tasks.metrics.thresholds import COMPARABLE, TRUSTED
from siming_tasks.options import Options
from siming_tasks.report.forest_plot import ForestRow, build_forest_plot, draw_forest_plot
from siming_tasks.report.leaderboard import Entrant, correct_leaderboards, rank_entrants
from siming_tasks.report.pages.site import Site
from siming_tasks.results.comparable import TaskRun
from siming_tasks.results.discovery import find_runs
from siming_tasks.results.run import Run, read_run
from siming_tasks.tasks import BENCHMARK_TASKS, TASKS
from siming_tasks.tools.board.admission import AdmittedSubmission, admit, refusal

_RANK_ENDS = {"": "rank", "_low": "low", "_high": "high"}


@dataclass(frozen=True)
class Entry(AdmittedSubmission):
    """One row: what was admitted, and whether a re-run agrees.

    ``agreement`` is the share of the asked steps on which the host's own run gave the same answer (a missing answer
    equals a missing answer); None without a usable re-run. ``rank`` is that of the first setting of the board with its
    95 % interval (a report's own), None for a row that has none.
    """

    agreement: float | None
    verified: bool
    rank: Mapping[str, Any] | None = None

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
            **{f"rank{end}": self.rank and self.rank[key] for end, key in _RANK_ENDS.items()},
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
        out: folder to write to; a board that is there is replaced.
        options: label mapping, positive class, rater, resamples, seed.
        reruns: folder of the host's own runs, ``<archive name without .zip>`` (a folder or ``.jsonl`` file) each.
        match: share of equal answers from which a re-run verifies a row.
        progress: show a bar on stderr.

    Returns:
        The rows, and one line for each archive that was refused.

    Raises:
        DataError: no archive, no labels, or ``out`` holds something else.
    """
    archives = archives_in(folder)
    if reruns is not None and not reruns.is_dir():
        raise DataError(f"{reruns}: no such folder. Give the one with your own runs, or leave --reruns out.")
    if dataset.withheld:
        raise DataError(f"{dataset.root}: the labels are withheld. Give the label file with --labels.")
    check_place(out, *_BOARD)
    entries: list[Entry] = []
    refused: list[str] = []
    for path in tqdm(archives, unit="submission", disable=not progress):
        try:
            entries.append(_entry(admit(path, dataset, options), dataset, reruns, match))
        except DataError as error:
            refused.append(refusal(path, error))
    boards = _leaderboards(entries, dataset, options)
    entries = _ranked_entries(_note_duplicates(entries), boards)
    board = _to_json(dataset, options, entries, boards, refused, match)
    with output_folder(out, *_BOARD) as part:
        with atomic_write(part / "board.json") as stream:
            json.dump(board, stream, indent=1, allow_nan=False)
        _write_page(part, board, [_chart(board, entries) for board in boards.values()])
    return entries, refused


def archives_in(folder: Path) -> list[Path]:
    """The archives in a folder of submissions, by name (DataError: there is no such folder, or none in it)."""
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder. Give the one with the archives of `siming board submit`.")
    if archives := sorted(path for path in folder.iterdir() if path.name.lower().endswith(".zip")):
        return archives
    raise DataError(f"{folder}: holds no *.zip. Put the archives of `siming board submit` there.")


def _is_board(folder: Path) -> bool:
    """True for a folder that holds a board and nothing else."""
    names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    return "board.json" in names and names <= {"board.json", "index.html", "static"}


_BOARD = ("a board alone", _is_board)
"""What may be replaced by a new board."""


def _to_json(
    dataset: Dataset,
    options: Options,
    entries: Sequence[Entry],
    boards: Mapping[str, Mapping[str, Any]],
    refused: Sequence[str],
    match: float,
) -> dict[str, Any]:
    """Everything that the page says, as plain JSON."""
    return {
        "format": "siming-board-1",
        "version": __version__,
        "synthetic": dataset.synthetic,
        "dataset": {"name": dataset.name, "version": dataset.version, "digest": dataset.digest,
                    "videos": len(dataset.videos), "steps": len(dataset.rubric.steps)},
        "rubric": {"id": dataset.rubric.rubric_id, "version": dataset.rubric.version},
        "options": {name: getattr(options, name) for name in ("rater", "mapping", "positive", "resamples", "seed")},
        "match": match,
        "rows": [entry.to_json() for entry in entries],
        "beside": {
            name: [
                {key: row[key] for key in ("name", "role", "metrics", "imputed", "note")}
                for row in board["rows"]
                if row["slug"] is None
            ]
            for name, board in boards.items()
        },
        "refused": list(refused),
    }  # fmt: skip


def day_of(date: Any) -> str | None:
    """The day of a run as lmms-eval writes it (``20260102_030405``); None for anything else."""
    date_match = re.match(r"(\d{4})(\d\d)(\d\d)_\d{6}", date) if isinstance(date, str) else None
    return "-".join(date_match.groups()) if date_match else None


def _entry(admitted: AdmittedSubmission, dataset: Dataset, reruns: Path | None, match: float) -> Entry:
    """The row of an archive, compared with the host's own run of the model, which makes it *verified*."""
    share, findings = None, list(admitted.findings)
    try:
        path = _rerun_path(admitted.received.path, reruns) if reruns else None
        if path:
            sent = _answers_by_request(admitted.run)
            again = _answers_by_request(read_run(find_runs([str(path)])[0], dataset))
            asked = sent.keys() | again.keys()
            share = sum(again.get(key) == sent.get(key) for key in asked) / len(asked) if asked else None
    except (DataError, OSError) as error:
        findings.append(f"The host’s own run cannot be used: {one_line(error, 300)}")
    verified = share is not None and share >= match
    if share is not None and not verified:
        findings.append(f"The host’s own run gave the same answer to {share:.1%} of the steps: not verified.")
    return Entry(admitted.received, admitted.run, admitted.settings, tuple(findings), share, verified)


def _rerun_path(archive: Path, reruns: Path) -> Path | None:
    """The one folder or ``.jsonl`` file in ``reruns`` with the archive's exact name; None if there is none.

    Raises:
        DataError: the name could mean more than one run, or none of its own.
    """
    name = archive.name[: -len(".zip")]
    if not name.strip(". "):
        raise DataError(f"the archive's name {archive.name!r} names no run; give it another.")
    with os.scandir(reruns) as entries:  # looked up by exact name, whatever the file system takes for equal
        rerun_paths = [Path(entry.path) for entry in entries if entry.name in (name, f"{name}.jsonl")]
    if not rerun_paths:
        return None
    if len(rerun_paths) > 1:
        raise DataError(f"both {name}/ and {name}.jsonl are there; keep one.")
    path, top = rerun_paths[0], reruns.resolve()
    if path.resolve() == top or path.resolve() in top.parents:
        raise DataError(f"{path.name} leads to the folder of all re-runs.")
    if path.is_dir() == (path.name != name):
        raise DataError(f"{path.name}: a re-run is a folder, or a file named {name}.jsonl.")
    if path.is_dir() and (n := len(find_runs([str(path)]))) > 1:
        raise DataError(f"{path.name} holds {n} runs; keep one.")
    return path


def _answers_by_request(run: Run) -> dict[tuple[str, str], Any]:
    records = [record for records in run.records.values() for record in records]
    return {(record.id, step): float(value) for record in records for step, value in record.answers.items()}


def _note_duplicates(entries: Sequence[Entry]) -> list[Entry]:
    """A note on rows that share predictions or a name."""
    noted = []
    for entry in entries:
        mine = entry.received.submission
        notes = []
        for other in (other for other in entries if other is not entry):
            theirs, archive = other.received.submission, one_line(other.received.path.name)
            if theirs.predictions_sha256 == mine.predictions_sha256:
                notes.append(f"The same predictions as {archive}.")
            elif theirs.model.name.casefold() == mine.model.name.casefold():
                notes.append(f"The same model name as {archive}.")
        noted.append(replace(entry, findings=(*entry.findings, *notes)))
    return noted


def _leaderboards(entries: Sequence[Entry], dataset: Dataset, options: Options) -> dict[str, dict[str, Any]]:
    """The leaderboards of a report, by setting, with the archives as runs: one ranking for every reader."""
    held = {}
    for setting in TASKS:
        entrants = []
        for entry in entries:
            if setting in entry.run.records:
                task_run = TaskRun.of(entry.run, setting, options.rater, options.cluster)
                name, numbers = entry.received.path.name, entry.settings[setting]
                entrants.append(Entrant(name, name, "model", None, replace(task_run, name=name), numbers))
        if standings := rank_entrants(entrants, dataset, setting, options):
            held[setting] = standings
    boards = correct_leaderboards(held)
    return {name: board for name, board in boards.items() if board}


def _ranked_entries(entries: Sequence[Entry], boards: Mapping[str, Mapping[str, Any]]) -> list[Entry]:
    """Verified rows first, each part as the leaderboard of the first setting has it; what is apart is a finding."""
    rows = {name: {row["name"]: row for row in board["rows"] if row["slug"]} for name, board in boards.items()}
    first = next(iter(rows.values()), {})
    places = {name: place for place, name in enumerate(first)}
    ranked = []
    for entry in entries:
        archive = entry.received.path.name
        notes = tuple(
            f"{setting}: not comparable with most rows. {row['apart']}"
            for setting, of_setting in rows.items()
            if (row := of_setting.get(archive)) and row["apart"]
        )
        rank = first.get(archive, {}).get("standing")
        ranked.append(replace(entry, rank=rank, findings=(*entry.findings, *notes)))
    return sorted(ranked, key=lambda entry: (
        not entry.verified, places.get(entry.received.path.name, len(places)), entry.received.path.name,
    ))  # fmt: skip


def _write_page(out: Path, board: Mapping[str, Any], charts: Sequence[Mapping[str, Any] | None]) -> None:
    """Write ``index.html`` and the files that it needs, from what stands in ``board.json``."""
    shared = {name: board[name] for name in ("version", "synthetic", "dataset", "rubric", "options")}
    pages = [{"name": "Board", "href": "index.html"}]
    site = Site(out, {"title": "SiMing-Bench board", "pages": pages, "detail_resamples": DETAIL_RESAMPLES, **shared})
    site.static()
    rows = []
    for row in board["rows"]:  # with the settings in which it answered too little to be compared
        coverages = {
            name: evaluation["metrics"][headline(TASKS[name].answer)]["coverage"] or 0
            for name, evaluation in row["settings"].items()
        }
        rows.append({**row, "weak": [name for name, coverage in coverages.items() if coverage < COMPARABLE]})
    baselines: dict[str, dict[str, Any]] = {}  # one row for each, with its estimate in each setting
    for setting, rows_of_setting in board["beside"].items():
        for row in rows_of_setting:
            known = {key: row[key] for key in ("name", "role", "note")}
            baselines.setdefault(row["name"], {**known, "settings": {}})["settings"][setting] = row["metrics"]
    # the benchmark's settings, and those controls that any row has
    columns = [name for name in TASKS if name in BENCHMARK_TASKS or any(name in row["settings"] for row in rows)]
    same = "gave the same answer to every step" if board["match"] == 1 else (
        f"gave the same answer to at least {100 * board['match']:g} % of the steps")  # fmt: skip
    site.page(
        "index.html",
        "board.html",
        sections=[
            ("Verified", f"The host ran these models again and the run {same}.",
             [row for row in rows if row["verified"]]),
            ("Community", "Predictions as they were sent, scored here; not run again, or with other answers.",
             [row for row in rows if not row["verified"]]),
        ],
        columns=[(TASKS[name].title, name, headline(TASKS[name].answer)) for name in columns],
        beside=list(baselines.values()),
        charts=list(filter(None, charts)),
        refused=board["refused"],
        resampled=resampled(part["options"] for row in rows for part in row["settings"].values()) or "videos",
        few=board["dataset"]["videos"] < TRUSTED,
    )  # fmt: skip


def _chart(board: Mapping[str, Any], entries: Sequence[Entry]) -> dict[str, Any] | None:
    """Chart of one leaderboard under the models' own names; a row without a re-run is a square."""
    figure = build_forest_plot(board)
    if figure is None:
        return None
    known = {entry.received.path.name: entry for entry in entries}

    def named(row: ForestRow) -> ForestRow:
        entry = known.get(row.mark.label)
        if entry is None or row.mark.role != "model":
            return row
        label, role = entry.received.submission.model.name, "model" if entry.verified else "clip"
        return replace(row, mark=replace(row.mark, label=label, role=role))

    panels = [replace(panel, rows=list(map(named, panel.rows))) for panel in figure.panels]
    alt = f"{figure.title}: {figure.axis} of {len(figure.rows)} rows; the numbers are in the tables above."
    return {"title": figure.title, "svg": draw_forest_plot(replace(figure, panels=panels), alt)}
