"""Counterfactual pairs of a data set: ``pairs.jsonl``, two videos that differ in one act, line by line."""

from __future__ import annotations

from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.data.dataset import Dataset
from siming_tasks.data.jsonl import read_jsonl

_KEYS = frozenset(("pair_id", "kind", "video_a", "video_b", "step_id", "direction", "unchanged_steps"))


def read_pairs(dataset: Dataset) -> list[dict[str, Any]]:
    """The lines of the dataset's ``pairs.jsonl`` whose videos are both there; empty without the file.

    Raises:
        DataError: a line is no pair of this dataset; names the line.
    """
    path = dataset.root / "pairs.jsonl"
    if not path.is_file():
        return []
    pairs: list[dict[str, Any]] = []
    problems: list[Problem] = []
    for line, row in read_jsonl(path):
        if isinstance(row, Problem):
            problems.append(row)
        elif not (
            row.keys() >= _KEYS
            and {row["video_a"], row["video_b"]} <= (dataset.whole or dataset).by_id.keys()
            and {row["step_id"], *row["unchanged_steps"]} <= dataset.rubric.by_id.keys()
            and row["step_id"] not in row["unchanged_steps"]
            and row["direction"] in (1, -1)
        ):
            fix = "Make the folder again, or remove pairs.jsonl."
            problems.append(Problem("pair-invalid", "not a pair of this data set.", fix, path.name, line))
        elif {row["video_a"], row["video_b"]} <= dataset.by_id.keys():
            pairs.append(row)
    if problems:
        raise DataError.of(problems)
    return pairs


def minimal_pairs_of(dataset: Dataset) -> frozenset[frozenset[str]]:
    """The two videos of every pair (DataError as :func:`read_pairs`)."""
    return frozenset(frozenset((pair["video_a"], pair["video_b"])) for pair in read_pairs(dataset))
