"""A static board from a folder of submissions: the comparison page over them, verified or not, and what is odd."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from siming_tasks import __version__
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write
from siming_tasks.common.output_folder import check_place, output_folder
from siming_tasks.common.redact import redact
from siming_tasks.common.sanitize import one_line
from siming_tasks.data import Dataset
from siming_tasks.metrics import Rows
from siming_tasks.metrics.catalogue import COVERAGE
from siming_tasks.options import Options
from siming_tasks.report.pages.comparison import setting_values
from siming_tasks.report.pages.site import Site
from siming_tasks.report.standings import Entrant, Standing, corrected, stand
from siming_tasks.results.comparable import TaskRun
from siming_tasks.results.discovery import find_runs
from siming_tasks.results.run import Run, read_run
from siming_tasks.tasks import TASKS
from siming_tasks.tools.board.admission import Entry, admit, refusal


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
    """Score every ``*.zip`` of a folder and write ``index.html`` and ``board.json``, with the headline metrics alone.

    Args:
        folder: of submissions.
        dataset: with labels.
        out: folder to write to; a board that is there is replaced.
        options: label mapping, positive class and rater.
        reruns: folder of the host's own runs, ``<archive name without .zip>`` (a folder or ``.jsonl`` file) each.
        match: share of equal answers from which a re-run verifies a row.
        progress: show a bar on stderr.

    Returns:
        The submissions, and one line for each archive that was refused.

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
            entries.append(_verified(admit(path, dataset, options), dataset, reruns, match))
        except DataError as error:
            refused.append(refusal(path, error))
    entries = _told_apart(entries)
    standings = _standings(entries, dataset, options)
    board = {
        "format": "siming-board-2",
        "version": __version__,
        "synthetic": dataset.synthetic,
        "dataset": {**dataset.facts, "videos": len(dataset.videos), "steps": len(dataset.rubric.steps),
                    "people": dataset.people, "machines": dataset.machine_raters, "withheld": False},
        "rubric": {"id": dataset.rubric.rubric_id, "version": dataset.rubric.version},
        "options": {name: getattr(options, name) for name in ("rater", "mapping", "positive")},
        "match": match,
        "submissions": [_entry_json(entry) for entry in entries],
        "comparisons": {name: standing.to_json() for name, standing in standings.items()},
        "refused": list(refused),
    }  # fmt: skip
    with output_folder(out, *_BOARD) as part:
        with atomic_write(part / "board.json") as stream:
            json.dump(board, stream, indent=1, allow_nan=False)
        _write_page(part, board, standings, dataset)
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


def _entry_json(entry: Entry) -> dict[str, Any]:
    about = entry.received.submission
    return {
        "archive": redact(one_line(entry.received.path.name)),
        "model": about.model.model_dump(),
        "run": about.run,
        "date": day_of(about.run.get("date")),
        **{key: getattr(entry, key) for key in ("name", "findings", "agreement", "verified")},
    }


def day_of(date: Any) -> str | None:
    """The day of a run as lmms-eval writes it (``20260102_030405``); None for anything else."""
    date_match = re.match(r"(\d{4})(\d\d)(\d\d)_\d{6}", date) if isinstance(date, str) else None
    return "-".join(date_match.groups()) if date_match else None


def _verified(entry: Entry, dataset: Dataset, reruns: Path | None, match: float) -> Entry:
    """A submission, compared with the host's own run of the model, which makes it *verified*."""
    try:
        path = _rerun_path(entry.received.path, reruns) if reruns else None
        if path is None:
            return entry
        sent, again = (_answers_by_request(run) for run in (entry.run, read_run(find_runs([str(path)])[0], dataset)))
    except (DataError, OSError) as error:
        note = f"The host’s own run cannot be used: {one_line(error, 300)}"
        return replace(entry, findings=(*entry.findings, note))
    asked = sent.keys() | again.keys()
    share = sum(again.get(key) == sent.get(key) for key in asked) / len(asked) if asked else 0.0
    entry = replace(entry, agreement=share, verified=share >= match)
    note = f"The host’s own run gave the same answer to {share:.1%} of the steps: not verified."
    return entry if entry.verified else replace(entry, findings=(*entry.findings, note))


def _rerun_path(archive: Path, reruns: Path) -> Path | None:
    """The one folder or ``.jsonl`` file in ``reruns`` with the archive's exact name; None if there is none.

    Raises:
        DataError: the name could mean more than one run, or none of its own.
    """
    name = archive.name[: -len(".zip")]
    if not name.strip(". "):
        raise DataError(f"the archive's name {archive.name!r} names no run; give it another.")
    # looked up by exact name, whatever the file system takes for equal
    found = [reruns / entry for entry in os.listdir(reruns) if entry in (name, f"{name}.jsonl")]
    if not found:
        return None
    path, top = found[0], reruns.resolve()
    if len(found) > 1 or path.is_dir() == (path.name != name):
        raise DataError(f"a re-run is a folder {name}/ or a file {name}.jsonl, not both.")
    if path.resolve() == top or path.resolve() in top.parents:
        raise DataError(f"{path.name} leads to the folder of all re-runs.")
    if path.is_dir() and (n := len(find_runs([str(path)]))) > 1:
        raise DataError(f"{path.name} holds {n} runs; keep one.")
    return path


def _answers_by_request(run: Run) -> dict[tuple[str, str], Any]:
    records = [record for records in run.records.values() for record in records]
    return {(record.id, step): float(value) for record in records for step, value in record.answers.items()}


def _told_apart(entries: Sequence[Entry]) -> list[Entry]:
    """The submissions with a note on those that share predictions or a name, and names of their own."""
    told = []
    for entry in entries:
        mine, notes, name = entry.received.submission, [], entry.name
        for other in (other for other in entries if other is not entry):
            theirs, archive = other.received.submission, one_line(other.received.path.name)
            if theirs.predictions_sha256 == mine.predictions_sha256:
                notes.append(f"The same predictions as {archive}.")
            elif other.name.casefold() == entry.name.casefold():
                notes.append(f"The same model name as {archive}.")
            if other.name == entry.name:
                name = f"{entry.name} ({one_line(entry.received.path.name)})"
        told.append(replace(entry, name=name, findings=(*entry.findings, *notes)))
    return told


def _standings(entries: Sequence[Entry], dataset: Dataset, options: Options) -> dict[str, Standing]:
    """The comparisons of a report, with the submissions as runs, of the headline metrics alone."""
    held = {}
    for setting in TASKS:
        entrants = [
            Entrant(replace(TaskRun.of(entry.run, setting, options.rater, options.cluster), name=entry.name),
                    str(place), "model", entry.settings[setting])
            for place, entry in enumerate(entries) if setting in entry.run.records
        ]  # fmt: skip
        held[setting] = stand(entrants, dataset, setting, options)
    return {setting: _headline_alone(standing) for setting, standing in corrected(held).items()}


def _headline_alone(standing: Standing) -> Standing:
    """A standing that knows its headline metric and the coverage: further numbers about labels stay with the host."""
    made = standing.comparison
    if made is None:
        return standing
    rows = Rows(row for row in made.rows if row.metric in (standing.headline, COVERAGE))
    return replace(standing, comparison=replace(made, rows=rows))


def _write_page(out: Path, board: Mapping[str, Any], standings: Mapping[str, Standing], dataset: Dataset) -> None:
    """Write ``index.html`` and the files that it needs."""
    shared = {name: board[name] for name in ("version", "synthetic", "dataset", "rubric", "options")}
    site = Site(out, {"title": "SiMing-Bench board", "pages": [], **shared})
    site.static()
    known = {row["name"]: row for row in board["submissions"]}
    parts = []
    for standing in standings.values():
        part = setting_values(standing, synthetic=dataset.synthetic, people=dataset.people)
        for row in (*part["rows"], *part["apart"]):
            about = known.get(row["name"])
            row["verified"] = "" if about is None else "verified" if about["verified"] else "community"
        parts.append(part)
    same = "gave the same answer to every step" if board["match"] == 1 else (
        f"gave the same answer to at least {100 * board['match']:g} % of the steps")  # fmt: skip
    site.page("index.html", "board.html", parts=parts, submissions=board["submissions"], refused=board["refused"],
              same=same, board=True)  # fmt: skip
