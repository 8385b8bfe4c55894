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
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write
from siming_tasks.common.output_folder import check_place, output_folder
from siming_tasks.common.sanitize import alike, one_line, shown_name
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.study.report.figure import forest_plot
from siming_tasks.study.report.pages.site import Site
from siming_tasks.study.report.standings import Entrant, Standing, corrected, stand
from siming_tasks.study.results.comparable import TaskRun
from siming_tasks.study.results.discovery import find_runs
from siming_tasks.study.results.run import Run, read_run
from siming_tasks.tools.board.admission import Entry, admit, refusal
from siming_tasks.tools.board.disclosure import DAYS, MOST, NOBODY, chosen, coarse, public_setting


def build_board(
    folder: Path,
    dataset: Dataset,
    out: Path,
    options: Options,
    *,
    reruns: Path | None = None,
    match: float = 1.0,
    most: int = MOST,
    progress: bool = True,
) -> tuple[list[Entry], list[str]]:
    """Score every ``*.zip`` of a folder and write ``index.html`` and ``board.json``.

    What they say of the labels is all in :mod:`siming_tasks.tools.board.disclosure`.

    Args:
        folder: of submissions: a folder a sender; the archives that lie in none are one sender's.
        dataset: with labels.
        out: folder to write to; a board that is there is replaced.
        options: label mapping and rater.
        reruns: folder of the host's own runs, ``<sender>/<archive name without .zip>``, each a folder.
        match: share of equal answers from which a re-run verifies a row.
        most: submissions of one sender within 30 days, by the dates of the archives' files; later ones are refused.
        progress: show a bar on stderr.

    Returns:
        The submissions in the order in which they came, and one line for each archive that was refused.

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
    for came, sender, path in tqdm(archives, unit="submission", disable=not progress):
        try:
            entry = replace(admit(path, dataset, options), sender=sender, came=came)
            _check_number(entry, entries, most)
            entries.append(_verified(entry, dataset, reruns, match))
        except DataError as error:
            refused.append(refusal(path, error))
    entries = _told_apart(entries)
    settings, figures = _settings(entries, dataset, options)
    board = {
        "format": "siming-board-1",
        "version": __version__,
        "synthetic": dataset.synthetic,
        "dataset": {**dataset.facts, "videos": len(dataset.videos), "steps": len(dataset.rubric.steps),
                    "people": dataset.people, "machines": dataset.machine_raters, "withheld": False},
        "rubric": {"id": dataset.rubric.rubric_id, "version": dataset.rubric.version},
        "options": {name: getattr(options, name) for name in ("rater", "mapping")},
        "match": match,
        "most": most,
        "submissions": [_entry_json(entry) for entry in entries],
        "settings": settings,
        "refused": list(refused),
    }  # fmt: skip
    with output_folder(out, *_BOARD) as part:
        with atomic_write(part / "board.json") as stream:
            json.dump(board, stream, indent=1, allow_nan=False)
        _write_page(part, board, figures)
    return entries, refused


def archives_in(folder: Path) -> list[tuple[float, str, Path]]:
    """Time, sender and path of every archive in a folder, as they came (DataError: no such folder, or none in it).

    A sender's archives lie in folders with its name, or one like it; those that lie in none belong to one sender
    without a name.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder. Give the one with the archives of `siming board submit`.")
    found = [("", path) for path in folder.iterdir() if _is_archive(path)]
    senders: dict[str, str] = {}
    for inbox in sorted(folder.iterdir()):
        if inbox.is_dir() and not _is_archive(inbox):
            sender = senders.setdefault(alike(inbox.name), shown_name(inbox.name))
            found += [(sender, path) for path in inbox.iterdir() if _is_archive(path)]
    if found:
        return sorted((path.lstat().st_mtime, sender, path) for sender, path in found)
    raise DataError(f"{folder}: holds no *.zip. Put the archives of `siming board submit` there.")


def _is_archive(path: Path) -> bool:
    return path.name.lower().endswith(".zip")


def _check_number(entry: Entry, before: Sequence[Entry], most: int) -> None:
    """Refuse a submission that is one too many of its sender (DataError)."""
    theirs = [other.came for other in before if other.sender == entry.sender]
    recent = [came for came in theirs if entry.came - came < DAYS * 86400]
    if len(recent) >= most:
        who = f"{entry.sender} has" if entry.sender else "archives outside a sender's folder have"
        what = f"{who} {len(recent)} submissions within {DAYS} days before it, and this board takes {most}"
        raise DataError(f"{entry.received.path}: {what}. Give each sender a folder in the inbox, or raise --most.")


def _is_board(folder: Path) -> bool:
    """True for a folder that holds a board and nothing else."""
    names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    return "board.json" in names and names <= {"board.json", "index.html", "static"}


_BOARD = ("a board alone", _is_board)
"""What may be replaced by a new board."""


def _entry_json(entry: Entry) -> dict[str, Any]:
    about = entry.received.submission
    date = about.run.get("date")
    day = re.match(r"(\d{4})(\d\d)(\d\d)_\d{6}", date) if isinstance(date, str) else None  # as lmms-eval writes it
    return {
        "archive": one_line(entry.received.path.name),
        "model": about.model.model_dump(),
        "run": about.run,
        "date": "-".join(day.groups()) if day else None,
        "sender": entry.sender,
        **{key: getattr(entry, key) for key in ("name", "findings", "agreement", "verified")},
    }


def _verified(entry: Entry, dataset: Dataset, reruns: Path | None, match: float) -> Entry:
    """A submission, compared with the host's own run of the model, which makes it *verified*."""
    try:
        place = reruns / (entry.received.path.parent.name if entry.sender else "") if reruns else None
        path = _rerun_path(entry.received.path, place) if place and place.is_dir() else None
        if path is None:
            return entry
        sent, again = (_answers_by_request(run) for run in (entry.run, read_run(find_runs([str(path)])[0], dataset)))
    except (DataError, OSError) as error:
        why = one_line(str(error).replace(f"{place}{os.sep}", ""), 300)  # places of the host's are not published
        note = f"The host’s own run cannot be used: {why}"
        return replace(entry, findings=(*entry.findings, note))
    asked = sent.keys() | again.keys()
    share = sum(again.get(key) == sent.get(key) for key in asked) / len(asked) if asked else 0.0
    entry = replace(entry, agreement=share, verified=share >= match)
    note = f"The host’s own run gave the same answer to {share:.1%} of the steps: not verified."
    return entry if entry.verified else replace(entry, findings=(*entry.findings, note))


def _rerun_path(archive: Path, reruns: Path) -> Path | None:
    """The folder of one run in ``reruns`` with the archive's exact name; None if there is none.

    Raises:
        DataError: the name could mean more than one run, or none of its own.
    """
    name = archive.name[: -len(".zip")]
    if not name.strip(". "):
        raise DataError(f"the archive's name {archive.name!r} names no run; give it another.")
    if name not in os.listdir(reruns):  # by exact name, whatever the file system takes for equal
        return None
    path, top = (reruns / name).resolve(), reruns.resolve()
    if path == top or path in top.parents:
        raise DataError(f"{name} leads to the folder of all re-runs.")
    if not path.is_dir() or (n := len(find_runs([str(path)]))) > 1:
        raise DataError(f"{name} holds {n} runs; keep one." if path.is_dir() else f"{name} is no folder of a run.")
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
            elif alike(other.name) == alike(entry.name):
                notes.append(f"The same model name as {archive}.")
            if other.name == entry.name:
                name = f"{entry.name} ({one_line(entry.received.path.name)})"
        told.append(replace(entry, name=name, findings=(*entry.findings, *notes)))
    return told


def _settings(
    entries: Sequence[Entry], dataset: Dataset, options: Options
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Published content of each setting that any submission has, and its figure by setting."""
    held: dict[str, Standing] = {}
    apart: dict[str, dict[str, str]] = {}
    for setting in TASKS:
        candidates = [
            (entry.sender, Entrant(replace(TaskRun.of(entry.run, setting, options.rater), name=entry.name),
                                   str(place), "model", entry.settings[setting]))
            for place, entry in enumerate(entries) if setting in entry.run.records
        ]  # fmt: skip
        shown, apart[setting] = chosen(candidates, options)
        standing = stand(shown, dataset, setting, options)
        if standing or candidates:
            held[setting] = standing or Standing(setting, None, {}, {}, NOBODY, dataset.synthetic, dataset.people)
    public = {setting: coarse(standing) for setting, standing in corrected(held).items()}
    figures = {setting: forest_plot(standing) for setting, standing in public.items()}
    return [public_setting(standing, apart[setting]) for setting, standing in public.items()], figures


def _write_page(out: Path, board: Mapping[str, Any], figures: Mapping[str, Any]) -> None:
    """Write ``index.html`` and the files that it needs."""
    shared = {name: board[name] for name in ("version", "synthetic", "dataset", "rubric", "options")}
    site = Site(out, {"title": "SiMing-Bench board", "pages": [], **shared})
    site.static()
    same = "gave the same answer to every step" if board["match"] == 1 else (
        f"gave the same answer to at least {100 * board['match']:g} % of the steps")  # fmt: skip
    site.page("index.html", "board.html", settings=board["settings"], submissions=board["submissions"],
              drawn={setting: figure.page() for setting, figure in figures.items() if figure}, same=same,
              about={row["name"]: row for row in board["submissions"]}, refused=board["refused"])  # fmt: skip
