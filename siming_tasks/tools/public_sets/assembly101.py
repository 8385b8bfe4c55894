"""Assembly101, mistakes: 328 assemblies of 101 toys, with corrections of one's own mistakes.

Ding et al., *Every Mistake Counts in Assembly*, 2023 (arXiv:2307.16453); annotations CC BY-NC 4.0. A step of a toy
joins two of its parts that somebody joined rightly. An attempt is a row *attach* or *position* of them; *detach* undoes
one and is none. That a step is absent does not say that it was left out: it is not asked. Times are frames of 30 a
second.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import read_bytes
from siming_tasks.common.schema import Attempt
from siming_tasks.tools.public_sets.public_set import (
    MAX_FILE,
    PublicSet,
    Published,
    Recording,
    annotation,
    one_point,
    rubric_of,
    span_of,
)

PUBLISHED = Published(
    "assembly-101/assembly101-mistake-detection",
    "6f3a953267ffb86cdeabf6751af05a75a011a4f8",
    ("annots/*.csv",),
    "ec7d716069d9d66afdf2fd599f9703ea802151c2776914e3a7a57c69d738ce3e",
)
FRAMES_PER_SECOND = 30
LABELS = ("correct", "mistake", "correction")
KINDS = {
    "wrong_order": "Joins them in a wrong order.",
    "wrong_position": "Joins them at a wrong place.",
    "earlier_mistake": "Joins them on top of an earlier mistake.",
    "needless": "Should not have been done.",
    "other": "Makes another mistake.",
}
_REMARKS = {"position": "wrong_position", "previous": "earlier_mistake", "order": "wrong_order", "happ": "needless"}
_NAME = re.compile(r"nusar-2021_action_both_(?P<person>\w+?)-(?P<toy>\w+?)_.*")


class _Row(NamedTuple):
    start: float
    end: float
    verb: str
    parts: tuple[str, str]
    label: str
    remark: str


def read(folder: Path) -> PublicSet:
    """The set in a folder with its annotation files."""
    sequences = {path.stem: _rows(path) for path in PUBLISHED.files(folder)}
    joined: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, rows in sequences.items():
        for row in rows:
            if row.label == "correct" and row.verb != "detach" and row.parts not in joined[_match(name)["toy"]]:
                joined[_match(name)["toy"]].append(row.parts)
    ids = {
        toy: {parts: f"{toy}_{number:02d}" for number, parts in enumerate(sorted(every), start=1)}
        for toy, every in joined.items()
    }
    skills = [
        {
            "id": toy,
            "name": f"toy {toy}",
            "steps": [one_point(step, f"Attaches {a} and {b}.", KINDS) for (a, b), step in steps.items()],
        }
        for toy, steps in sorted(ids.items())
    ]
    recordings = [_recording(name, rows, ids[_match(name)["toy"]]) for name, rows in sequences.items()]
    return PublicSet(
        title="Assembly101, mistakes",
        rubric=rubric_of(
            "assembly101", "Assembly of toys", "on a table", skills, exam="Assembly of {skill}", examiner="an examiner"
        ),
        recordings=tuple(recordings),
        rule="first",
        labels="person",
        license="cc-by-nc-4.0",
        citation="Ding et al., Every Mistake Counts in Assembly, 2023, arXiv:2307.16453",
        videos_from="https://assembly-101.github.io/",
    )


def _match(name: str) -> re.Match[str]:
    found = _NAME.fullmatch(name)
    if found is None:
        raise DataError(f"{name}.csv: no name of a sequence of Assembly101. Take the published files alone.")
    return found


def _rows(path: Path) -> list[_Row]:
    """Rows of one sequence: start, end, verb, this, that, label, remark.

    Raises:
        DataError: a row is none; names its line.
    """
    rows = []
    text = read_bytes(path, MAX_FILE).decode("utf-8", errors="replace")
    for line, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        with annotation(path, f"line {line}"):
            if len(row) < 6:
                raise ValueError("not start, end, verb, this, that, label, remark")
            start, end, verb, this, that, label, *remark = (cell.strip() for cell in row)
            one, other = sorted((this, that))
            seconds = span_of(int(start) / FRAMES_PER_SECOND, int(end) / FRAMES_PER_SECOND)
            if label not in LABELS:
                raise ValueError(f"label {label!r} is none of {', '.join(LABELS)}")
        rows.append(_Row(*seconds, verb, (one, other), label, remark[0] if remark else ""))
    return rows


def _recording(name: str, rows: list[_Row], ids: dict[tuple[str, str], str]) -> Recording:
    attempts: dict[str, list[Attempt]] = defaultdict(list)
    unassigned = 0
    for row in rows:
        step = ids.get(row.parts)
        if row.verb == "detach" or step is None or row.end <= row.start:
            unassigned += 1
            continue
        kind = next((kind for word, kind in _REMARKS.items() if word in row.remark), "other")
        errors = (f"{step}.{kind}",) if row.label == "mistake" else ()
        attempts[step].append(Attempt(row.start, row.end, not errors, errors, row.remark))
    return Recording(
        video_id=name,
        skill=_match(name)["toy"],
        duration=max(row.end for row in rows),
        attempts={step: tuple(each) for step, each in attempts.items()},
        not_asked=frozenset(set(ids.values()) - attempts.keys()),
        unassigned=unassigned,
        about={"student": f"person_{_match(name)['person']}"},
    )
