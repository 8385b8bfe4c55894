"""Comparison of a submission with the host's own run of the model, which makes a row *verified*."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.sanitize import one_line
from siming_tasks.data import Dataset
from siming_tasks.results.discovery import find_runs
from siming_tasks.results.record import Record
from siming_tasks.results.run import read_run

__all__ = ["rerun_agreement"]


def rerun_agreement(
    archive: Path, records: Mapping[str, Sequence[Record]], dataset: Dataset, reruns: Path | None
) -> tuple[float | None, str | None]:
    """The share of equal answers, and what is wrong with the re-run.

    Args:
        archive: the submission; its name says which re-run is its own.
        records: its answers, by setting.
        dataset: what was answered.
        reruns: the host's own runs.

    Returns:
        Share of the asked steps on which both say the same (a missing answer equals a missing answer), None without a
        usable re-run; and a sentence if there is one that cannot be used.
    """
    if reruns is None:
        return None, None
    try:
        path = _rerun_path(archive, reruns)
        run = read_run(find_runs([str(path)])[0], dataset) if path else None
    except (DataError, OSError) as error:
        return None, f"The host’s own run cannot be used: {one_line(error, 300)}"
    if run is None:
        return None, None
    mine, theirs = _answers_by_request(run.records), _answers_by_request(records)
    asked = mine.keys() | theirs.keys()
    return (sum(mine.get(key) == theirs.get(key) for key in asked) / len(asked) if asked else None), None


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


def _answers_by_request(records: Mapping[str, Sequence[Record]]) -> dict[tuple[str, str], Any]:
    return {
        (record.id, step): float(value)
        for mine in records.values()
        for record in mine
        for step, value in record.answers.items()
    }
