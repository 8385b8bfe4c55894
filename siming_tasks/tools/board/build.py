"""A static board from a folder of submissions: the comparison page over them, and what is odd about them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tqdm import tqdm

from siming_tasks import __version__
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write
from siming_tasks.common.output_folder import check_replaced, output_folder
from siming_tasks.common.sanitize import alike, one_line
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.study.report.figure import forest_plot
from siming_tasks.study.report.pages.site import Site
from siming_tasks.study.report.standings import Entrant, Standing, corrected, stand
from siming_tasks.study.results.comparable import TaskRun
from siming_tasks.tools.board.admission import Entry, admit, refusal
from siming_tasks.tools.board.disclosure import (
    INTERVAL_DIGITS,
    NOBODY,
    Candidate,
    Told,
    chosen,
    coarse,
    public_setting,
)
from siming_tasks.tools.board.ledger import Ledger, open_ledger


def build_board(
    folder: Path,
    dataset: Dataset,
    out: Path,
    options: Options,
    *,
    new_ledger: bool = False,
    progress: bool = True,
) -> tuple[list[Entry], list[str]]:
    """Score every ``*.zip`` of a folder and write ``index.html`` and ``board.json``.

    What they say of the labels is all in :mod:`siming_tasks.tools.board.disclosure`.

    Args:
        folder: of submissions, one subfolder per sender.
        dataset: with labels.
        out: folder to write to; a board that is there is replaced.
        options: label mapping and rater.
        new_ledger: start a ledger (:mod:`siming_tasks.tools.board.ledger`); otherwise it must exist.
        progress: show a bar on stderr.

    Returns:
        The submissions in the order of the ledger, and one line for each archive that was refused.

    Raises:
        DataError: no archive, no labels, no ledger, no list of senders, ``out`` contains anything else, or every
            archive is refused and the board in ``out`` shows some.
    """
    archives = archives_in(folder)
    if dataset.withheld:
        raise DataError(f"{dataset.root}: the labels are withheld. Give the label file with --labels.")
    check_replaced(out, *_BOARD)
    with open_ledger(folder, len(archives), dataset, options, new=new_ledger) as ledger:
        entries, refused = _admitted(folder, archives, ledger, dataset, options, progress)
        if refused and not entries and (shown := _shown(out)):
            why = f"no submission is accepted; the board there shows {shown} and is left as it is."
            raise DataError("\n".join((f"{out}: {why}", *refused)))
        settings, figures, told = _settings(entries, ledger, dataset, options)
        board = {
            "format": "siming-board-1",
            "version": __version__,
            "built": datetime.now(timezone.utc).date().isoformat(),
            "synthetic": dataset.synthetic,
            "dataset": {**dataset.facts, "videos": len(dataset.videos), "steps": len(dataset.rubric.steps),
                        "people": dataset.people, "machines": dataset.machine_raters, "withheld": False},
            "rubric": {"id": dataset.rubric.rubric_id, "version": dataset.rubric.version},
            "options": {name: getattr(options, name) for name in ("rater", "mapping")},
            "submissions": [_entry_json(entry) for entry in entries],
            "settings": settings,
            "refused": list(refused),
        }  # fmt: skip
        ledger.append([(entry, told[entry.name]) for entry in entries])  # before anybody reads a number
        with output_folder(out, *_BOARD) as part:
            with atomic_write(part / "board.json") as stream:
                json.dump(board, stream, indent=1, allow_nan=False)
            _write_page(part, board, figures)
        return entries, refused


def _shown(out: Path) -> int:
    """Number of submissions on the board in a folder; 0 without one."""
    try:
        return len(json.loads((out / "board.json").read_bytes())["submissions"])
    except (OSError, ValueError, KeyError, TypeError):  # no board, or a damaged one
        return 0


def _admitted(
    folder: Path, archives: Sequence[Path], ledger: Ledger, dataset: Dataset, options: Options, progress: bool
) -> tuple[list[Entry], list[str]]:
    """The archives that the board shows, in the order of the ledger, and the reasons for which others are refused."""
    entries: dict[tuple[str, str], Entry] = {}
    refused = []
    for path in tqdm(archives, unit="submission", disable=not progress):
        try:
            sender = None if path.parent == folder else ledger.senders.get(alike(path.parent.name))
            if sender is None:
                raise DataError(f"{path}: is not in the folder of a listed sender. Put it into its sender's folder.")
            entry = replace(admit(path, dataset, options), sender=sender)
            ledger.check(entry)
            first = entries.setdefault((sender, entry.received.sha256), entry)
            if first is not entry:
                raise DataError(f"{path}: the same file as {_archive(first)}. Keep one.")
        except DataError as error:
            refused.append(refusal(path, error, folder))
    return _told_apart(sorted(entries.values(), key=ledger.order)), refused


def archives_in(folder: Path) -> list[Path]:
    """Every archive in a folder and in the folders in it, by name (DataError: no such folder, or none in it)."""
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder. Give the folder with the archives of `siming board submit`.")
    inboxes = [folder, *(path for path in sorted(folder.iterdir()) if path.is_dir() and not _is_archive(path))]
    found = [path for inbox in inboxes for path in sorted(inbox.iterdir()) if _is_archive(path)]
    if found:
        return found
    raise DataError(f"{folder}: no *.zip found. Put the archives of `siming board submit` there.")


def _is_archive(path: Path) -> bool:
    return path.name.lower().endswith(".zip")


_BOARD = ("a board", lambda folder: (folder / "board.json").is_file())
"""What may be replaced by a new board."""


def _archive(entry: Entry) -> str:
    """The archive with the sender's folder: two senders may have files of one name."""
    path = entry.received.path
    return f"{one_line(path.parent.name)}/{one_line(path.name)}"


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
        **{key: getattr(entry, key) for key in ("name", "findings")},
    }


def _told_apart(entries: Sequence[Entry]) -> list[Entry]:
    """The submissions with a note on those that share predictions or a name, and names of their own."""
    told: list[Entry] = []
    for entry in entries:
        mine, notes, name = entry.received.submission, [], entry.name
        for other in (other for other in entries if other is not entry):
            theirs, archive = other.received.submission, _archive(other)
            if theirs.predictions_sha256 == mine.predictions_sha256:
                notes.append(f"The same predictions as {archive}.")
            elif alike(other.name) == alike(entry.name):
                notes.append(f"The same model name as {archive}.")
            if other.name == entry.name:
                name = f"{entry.name} ({_archive(entry)})"
        while name in {each.name for each in told}:  # somebody chose the very name
            name += " (again)"
        told.append(replace(entry, name=name, findings=(*entry.findings, *notes)))
    return told


def _settings(
    entries: Sequence[Entry], ledger: Ledger, dataset: Dataset, options: Options
) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, dict[str, Told]]]:
    """Published content of each setting that any submission has; by setting its figure; by submission what is new."""
    held: dict[str, Standing] = {}
    apart: dict[str, dict[str, str]] = {}
    told: dict[str, dict[str, Told]] = {entry.name: {} for entry in entries}
    spent = ledger.spent()
    for setting in TASKS:
        candidates = [
            Candidate(entry.sender, Entrant(replace(TaskRun.of(entry.run, setting, options.rater), name=entry.name),
                                            str(place), "model", entry.settings[setting]), ledger.told(entry))
            for place, entry in enumerate(entries) if setting in entry.run.records
        ]  # fmt: skip
        shown, apart[setting], new = chosen(candidates, setting, spent, options)
        for name, answer in new.items():
            told[name][setting] = answer
        standing = stand(shown, dataset, setting, options)
        if standing or candidates:
            held[setting] = standing or Standing(setting, None, {}, {}, NOBODY, dataset.synthetic, dataset.people)
    public = {setting: coarse(standing) for setting, standing in corrected(held).items()}
    figures = {setting: forest_plot(standing, INTERVAL_DIGITS) for setting, standing in public.items()}
    return [public_setting(standing, apart[setting]) for setting, standing in public.items()], figures, told


def _write_page(out: Path, board: Mapping[str, Any], figures: Mapping[str, Any]) -> None:
    """Write ``index.html`` and the files that it needs."""
    shared = {name: board[name] for name in ("version", "synthetic", "dataset", "rubric", "options")}
    site = Site(out, {"title": "SiMing-Bench board", "pages": [], **shared})
    site.static()
    site.page("index.html", "board.html", built=board["built"],
              settings=board["settings"], submissions=board["submissions"],
              drawn={setting: figure.page() for setting, figure in figures.items() if figure},
              about={row["name"]: row for row in board["submissions"]}, refused=board["refused"])  # fmt: skip
