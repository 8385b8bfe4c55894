"""Limits on a submission's predictions: answers to the data set's questions, a line each, and nothing else.

A few kilobytes of zip unpack to hundreds of megabytes of lines that each cost time to read. So there is room for what
the data set asks and not for more, and everything that `siming board submit` would not write is refused before it is
read.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import orjson

from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset
from siming_tasks.tasks import STANDARD_TASKS, TASKS
from siming_tasks.tasks.expected_requests import expected_requests

__all__ = ["check_lines", "size_limit"]

FULL_LINE, CLIP_LINE = 20_000, 2_000
"""Bytes for one request's line: `siming board submit` writes 3,000 for 33 steps and 64 frames, 500 for a clip."""
LONGEST_ANSWER = 40
MOST_FACTS = 40

_ANSWERS = ("score", "scores", "verdict", "verdicts")
_KEYS = {"setting", "video_id", "step_id", *_ANSWERS, "status", "missing", "prompt", "dataset", "media", "judge"}
_FIX = "Make it with `siming board submit`."


def size_limit(dataset: Dataset) -> int:
    """Bytes that the predictions may have, all lines together."""
    asked = _count_requests(dataset)
    return 1_000_000 + FULL_LINE * asked["full"] + CLIP_LINE * asked["clip"]


def check_lines(archive: Path, predictions: bytes, dataset: Dataset) -> None:
    """Refuse more lines than the data set has questions, and lines that hold more than an answer.

    What is no JSON is left to whoever reads the lines, and says so with the line's number.

    Raises:
        DataError: names the archive, the line, the limit and the way out.
    """
    asked = sum(_count_requests(dataset).values())
    lines = predictions.split(b"\n")
    if len(lines) > 2 * asked + 100:
        what = f"{len(lines):,} lines; {dataset.name} asks {asked:,} questions, one line each."
        raise DataError(f"{archive}: predictions.jsonl: {what} {_FIX}")
    for number, line in enumerate(lines, 1):
        if fault := _line_fault(line, len(dataset.rubric.steps)):
            raise DataError(f"{archive}: predictions.jsonl:{number}: {fault} {_FIX}")


def _count_requests(dataset: Dataset) -> Counter[str]:
    """Numbers of requests about full videos and about clips, over all settings that a board takes."""
    counts: Counter[str] = Counter()
    for setting in map(TASKS.__getitem__, STANDARD_TASKS):
        counts[setting.scope] += len(expected_requests(setting, dataset.videos))
    return counts


def _line_fault(line: bytes, steps: int) -> str | None:
    if len(line) > FULL_LINE:
        return f"a line of {len(line):,} bytes; at most {FULL_LINE:,} are read."
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(row, dict):
        return None
    if put := row.get("asking") or row.get("part"):
        how = str(put)[:LONGEST_ANSWER]
        return f"asked otherwise ({how}), which is no part of the benchmark; a board takes the plain questions."
    if other := sorted(row.keys() - _KEYS):
        return f"key {other[0][:64]!r}; a submission holds answers and how they were read, no raw replies."
    for name in (*_ANSWERS, "missing"):
        value = row.get(name)
        values = value.values() if isinstance(value, dict) else (value,)
        if len(values) > steps or not all(map(_is_short, values)):
            return f"`{name}` holds more than one short answer for each of {steps} steps."
    media = row.get("media")
    if isinstance(media, dict) and len(media) > MOST_FACTS:
        return f"`media` holds {len(media):,} facts; at most {MOST_FACTS} are read."
    return None


def _is_short(value: Any) -> bool:
    return value is None or isinstance(value, int | float) or (isinstance(value, str) and len(value) <= LONGEST_ANSWER)
