"""LASANA: 1,270 laparoscopic training tasks, four aspects of each rated by three people, and errors of the recording.

Funke et al., *A benchmark for video-based laparoscopic skill analysis and assessment*, 2026 (arXiv:2602.09927).
**Written by the set's own Readme; its files were not at hand**, so that no digest is pinned: what differs from the
Readme is refused. An aspect has the rating (1 to 5) less one as points, its consensus is the middle of the raters'.
The aspects of a recording that was marked as failed are not asked. An error is a step of one point, lost where it
occurred. Nothing has a span: there are no clips.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median_low

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import read_bytes
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.tools.public_sets.public_set import (
    MAX_FILE,
    PublicSet,
    Published,
    Recording,
    one_point,
    rubric_of,
    span_of,
)

RATERS = tuple(f"rater{number}" for number in range(4))
ASPECTS = {
    "depth_perception": "Depth perception: reaches its target without overshooting.",
    "efficiency": "Efficiency: no needless movements and no delay.",
    "bimanual_dexterity": "Bimanual dexterity: uses both hands, each in support of the other.",
    "tissue_handling": "Tissue handling: grips firmly and gently, without damage.",
}
"""Rated aspects; the words beside the names are ours, the Readme names them alone."""
ERRORS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "PegTransfer": (
        "Peg transfer",
        {
            "object_dropped_within_fov": "drops an object within sight, where it can be retrieved",
            "object_dropped_outside_of_fov": "drops an object out of sight, or where it cannot be retrieved",
        },
    ),
    "CircleCutting": (
        "Circle cutting",
        {
            "cutting_imprecise": "cuts beside the marked circle",
            "gauze_detached": "detaches the gauze from one or more of the clips",
        },
    ),
    "BalloonResection": (
        "Balloon resection",
        {
            "cutting_imprecise": "cuts beside the marked line",
            "cutting_incomplete": "does not cut the whole marked line",
            "balloon_opened": "opens the inner balloon: more than half of the water leaks out",
            "balloon_damaged": "damages the inner balloon: less than half of the water leaks out",
            "balloon_perforated": "perforates the inner balloon: a minor leakage",
        },
    ),
    "SutureAndKnot": (
        "Suture and knot",
        {
            "needle_dropped": "drops the needle",
            "suture_imprecise": "places the suture beside one or both of the marked dots",
            "fewer_than_three_throws": "completes fewer than three throws",
            "slit_not_closed": "ties a knot that does not close the slit",
            "knot_comes_apart": "ties a knot that loosens or comes apart",
            "drain_detached": "detaches the drain from its strip",
        },
    ),
}
"""By the task's name in the files: its title, and its errors."""
PUBLISHED = Published(
    "https://opara.zih.tu-dresden.de/handle/123456789/1907 (Annotation.zip)",
    "",
    tuple(f"{task}{part}.csv" for task in ERRORS for part in ("", "_split", *(f"_{rater}" for rater in RATERS))),
    "",
)


def read(folder: Path) -> PublicSet:
    """The set in a folder with the files of Annotation.zip."""
    skills = [
        {
            "id": task.lower(),
            "name": title,
            "steps": [
                *(_rated(_step(task, aspect), text) for aspect, text in ASPECTS.items()),
                *(one_point(_step(task, error), f"Avoids an error: {what}.") for error, what in errors.items()),
            ],
        }
        for task, (title, errors) in ERRORS.items()
    ]
    recordings = [recording for task in ERRORS for recording in _recordings(folder, task)]
    for name, times in Counter(one.video_id for one in recordings).items():
        if times > 1:
            raise DataError(f"{folder}: recording {name!r} is in the files of two tasks; the Readme calls ids unique.")
    return PublicSet(
        title="LASANA",
        rubric=rubric_of("lasana", "Laparoscopic training", "in a training box", skills, exam="{skill}"),
        recordings=tuple(recordings),
        rule="last",
        labels="person",
        license="cc-by-4.0",
        citation="Funke et al., LASANA, 2026, arXiv:2602.09927",
        videos_from=f"{PUBLISHED.repository.partition(' ')[0]} (*_left.zip; one camera)",
    )


def _step(task: str, name: str) -> str:
    return f"{task.lower()}_{name}"


def _rated(step: str, text: str) -> dict[str, object]:
    """A rubric step of a rating from 1 to 5, whose points are the rating less one."""
    criteria = {"full": "As an expert does it.", "partial": "In between.", "fail": "As a beginner does it."}
    return {"id": step, "name": step, "requirement": text, "max_score": 4, "score_increment": 1, "criteria": criteria}


def _recordings(folder: Path, task: str) -> Iterator[Recording]:
    """The recordings of one task."""
    main = _rows(folder / f"{task}.csv", (*ASPECTS, *ERRORS[task][1], "duration"))
    splits = _rows(folder / f"{task}_split.csv", ("split",))
    ratings = {rater: _rows(folder / f"{task}_{rater}.csv", ASPECTS) for rater in RATERS}
    for name, row in main.items():
        place = f"{folder / task}.csv: recording {name!r}"
        if name not in splits or splits[name]["split"] not in ("train", "val", "test"):
            raise DataError(f"{place} is in none of train, val and test of {task}_split.csv.")
        points: dict[str, dict[str, float]] = {}
        for error in ERRORS[task][1]:
            if row[error] not in ("True", "False"):
                raise DataError(f"{place}: {error} is {row[error][:40]!r}, neither True nor False.")
            points[_step(task, error)] = {CONSENSUS: float(row[error] == "False")}
        failed = not all(map(_number, (row[aspect] for aspect in ASPECTS)))
        for aspect in () if failed else ASPECTS:
            given = {
                rater: _points(table[name][aspect], f"{folder / task}_{rater}.csv: recording {name!r}: {aspect}")
                for rater, table in ratings.items()
                if name in table and _number(table[name][aspect])
            }
            if not given:
                raise DataError(f"{place}: nobody rated {aspect}, and the recording is not marked as failed.")
            points[_step(task, aspect)] = {**given, CONSENSUS: median_low(given.values())}
        skipped = frozenset(_step(task, aspect) for aspect in ASPECTS) if failed else frozenset()
        yield Recording(
            video_id=name,
            skill=task.lower(),
            duration=_seconds(row["duration"], place),
            attempts={},
            points=points,
            not_asked=skipped,
            splits={"default": splits[name]["split"]},
        )


def _rows(path: Path, columns: tuple[str, ...] | Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Rows of a file by their first column, the recording's id (DataError: a column is missing, an id stands twice)."""
    text = read_bytes(path, MAX_FILE).decode("utf-8-sig", errors="replace")
    reader = csv.DictReader(io.StringIO(text), delimiter=";", restval="")
    names = reader.fieldnames or ()
    if missing := [name for name in columns if name not in names]:
        raise DataError(f"{path}: has no column {missing[0]!r}; the Readme says so, divided by semicolons.")
    rows: dict[str, dict[str, str]] = {}
    for row in reader:
        name = row[names[0]].strip()
        if not name or name in rows:
            raise DataError(f"{path}:{reader.line_num}: recording {name!r} has no id, or is there twice.")
        rows[name] = {column: row[column].strip() for column in columns}
    return rows


def _number(text: str) -> bool:
    """True unless a cell is empty in one of the ways in which tables are written."""
    return text.lower() not in ("", "nan", "na", "none")


def _points(text: str, place: str) -> float:
    """A rating from 1 to 5, less one (DataError: it is none)."""
    try:
        rating = float(text)
    except ValueError:
        rating = 0.0
    if rating not in (1, 2, 3, 4, 5):
        raise DataError(f"{place} is {text[:40]!r}, no rating from 1 to 5.")
    return rating - 1


def _seconds(text: str, place: str) -> float:
    """Seconds of ``0:mm:ss`` (DataError: it is none)."""
    try:
        hours, minutes, seconds = map(float, text.split(":"))
        return span_of(0, hours * 3600 + minutes * 60 + seconds)[1]
    except ValueError:
        raise DataError(f"{place}: duration {text[:40]!r} is not 0:mm:ss.") from None
