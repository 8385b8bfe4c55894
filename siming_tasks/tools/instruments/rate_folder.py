"""A data set with an instrument among its raters: the points, errors and measured values of every step that it covers.

The consensus and the points of the physicians stay as they are: an instrument is a rater of its own, of the kind
``instrument`` in ``dataset.yaml``, and never one of the human raters.
"""

from __future__ import annotations

import csv
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siming_tasks import __version__
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import read_yaml
from siming_tasks.common.output_folder import check_place, output_folder
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.folder_files import write_folder
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.data.withholding import checked_digest
from siming_tasks.tools.instruments.exports import Compressions, read_exports
from siming_tasks.tools.instruments.measures import NO_COMPRESSION, MeasuredFact, judge, measure, measured_facts

NAME = re.compile(r"\w[\w.-]{0,63}")
"""Name of a rater: a key of every row of the data set and a word of commands, and never a path."""
WRITTEN = ("videos.jsonl", "dataset.yaml", "README.md", "croissant.json", "rubric.yaml", "media")
NOT_COVERED = "the export does not cover the step's span"


@dataclass(frozen=True)
class InstrumentRating:
    """Summary of what an instrument judged.

    Attributes:
        dataset: the new data set.
        judged: by step, videos with points of the instrument; ``wrong``: of these, with fewer than full points.
        unjudged: steps without points, by reason.
        warnings: what should be looked at.
    """

    dataset: Dataset
    judged: Counter[str]
    wrong: Counter[str]
    unjudged: Counter[str]
    warnings: tuple[Problem, ...]


def rate_with_instrument(
    dataset: Dataset, exports: Path, out: Path, *, rater: str = "manikin", names: Path | None = None
) -> InstrumentRating:
    """Write a copy of a data set in which an instrument is one more rater.

    Args:
        dataset: with spans and media, and a rubric with facts that an instrument can decide.
        exports: a folder of exports (:func:`siming_tasks.tools.instruments.exports.read_exports`).
        out: the new folder.
        rater: name of the instrument.
        names: the private table ``<folder>.names.csv`` of the build, so that exports may have the original names of
            the videos; None: that beside the data set, if it is there.

    Raises:
        DataError: there is such a rater already, its name is none, or the exports cannot be read or lie outside their
            videos; nothing is written then.
        RubricError: the rubric has no such facts.
    """
    check_place(out)
    if rater in dataset.raters or rater == CONSENSUS:
        raise DataError(f"{dataset.root}: has a rater {rater!r} already. Give it another name with --name.")
    if not NAME.fullmatch(rater):
        raise DataError(f"--name {rater[:40]!r}: a rater's name has letters, digits, `.`, `_` and `-` alone.")
    facts = measured_facts(dataset.rubric)
    beside = dataset.root.with_name(f"{dataset.root.name}.names.csv")
    durations = {video.video_id: video.duration for video in dataset.videos}
    known = _names(dataset, names or (beside if beside.is_file() else None))
    read, problems = read_exports(exports, known, durations)
    rows = [row for _, row in read_jsonl(dataset.root / "videos.jsonl") if not isinstance(row, Problem)]
    judged, wrong, unjudged = Counter[str](), Counter[str](), Counter[str]()
    for row in rows:
        compressions = read.get(row["video_id"])
        for step in row["steps"]:
            if step["step_id"] not in facts or not step.get("applicable", True):
                continue
            why = _judge(dataset, step, facts[step["step_id"]], compressions, rater)
            points = (step.get("score") or {}).get(rater)
            judged[step["step_id"]] += points is not None
            wrong[step["step_id"]] += points is not None and points < dataset.rubric.by_id[step["step_id"]].max_score
            unjudged[why] += points is None
            empty = why in (NOT_COVERED, NO_COMPRESSION)
            if empty and compressions and ((step.get("score") or {}).get(CONSENSUS) or 0) > 0:
                problems.append(_nothing_there(row, step, compressions, exports))
    if not judged.total():
        reasons = ", ".join(f"{count}: {why}" for why, count in unjudged.items() if count)
        raise DataError(f"{exports}: no step of {dataset.root} could be judged ({reasons}).")
    with output_folder(out) as part:
        _write(dataset, part, rows, rater)
    return InstrumentRating(open_dataset(out), judged, wrong, +unjudged, tuple(problems))


def _names(dataset: Dataset, table: Path | None) -> dict[str, str]:
    """Ids of the videos by every name that an export may have: the id, or the name before the build."""
    names = {video.video_id: video.video_id for video in dataset.videos}
    if table is None:
        return names
    with table.open(encoding="utf-8-sig", newline="") as stream:
        for row in csv.DictReader(stream):
            if row.get("kind") == "video" and row.get("id") in names:
                names[Path(row.get("name") or "").stem] = row["id"]
    return names


def _judge(
    dataset: Dataset,
    step: dict[str, Any],
    facts: Sequence[MeasuredFact],
    compressions: Compressions | None,
    rater: str,
) -> str:
    """Put an instrument's points, errors and values into a step's object; the reason if there are no points."""
    if compressions is None:
        return "no export of the video"
    if step.get("start") is None or step.get("end") is None:
        return "the step has no span"
    if not compressions.covers(step["start"], step["end"]):
        return NOT_COVERED
    measured = measure(compressions, step["start"], step["end"])
    judgement = judge(dataset.rubric.by_id[step["step_id"]], facts, measured)
    step.setdefault("measured", {})[rater] = dict(measured.values)
    if judgement.points is not None:
        whole = int(judgement.points) if judgement.points.is_integer() else judgement.points
        step["score"] = {**step.get("score", {}), rater: whole}
        step.setdefault("findings", {})[rater] = {"errors": list(judgement.errors)}
    return judgement.why


def _nothing_there(row: Mapping[str, Any], step: Mapping[str, Any], of: Compressions, exports: Path) -> Problem:
    what = (
        f"video {row['video_id']!r}, step {step['step_id']!r}: no compression from {step['start']:g} to "
        f"{step['end']:g} s, and the consensus has points; the export's lie from {of.time[0]:.1f} to "
        f"{of.time[-1]:.1f} s."
    )
    return Problem("instrument-clock", what, "Check the video's offset.", str(exports), severity="warning")


def _write(dataset: Dataset, part: Path, rows: list[dict[str, Any]], rater: str) -> None:
    """Everything of the old folder with the new rows; what this suite did not write there is copied as it is."""
    for path in _other_files(dataset.root):
        target = part / path.relative_to(dataset.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    media = {}
    for video in dataset.videos:
        if video.media not in media:
            (part / video.media).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(dataset.media_path(video), part / video.media)
            media[video.media] = checked_digest(dataset, video, part / video.media)
    info = read_yaml(dataset.root / "dataset.yaml")
    # What names the inputs of the old folder would let it be taken for the product of these.
    info = {
        name: value for name, value in info.items() if name not in ("digest", "media_sha256", "build", "simulation")
    }
    info["raters"] = {**(info.get("raters") or {}), rater: {"kind": "instrument"}}
    stated = info.get("label_sources")
    origins = stated.get("consensus") if isinstance(stated, dict) else None
    judged = sum(step.consensus is not None for video in dataset.videos for step in video.applicable)
    info["label_sources"] = {
        **(stated if isinstance(stated, dict) else {}),
        "raters": [*(name for name in dataset.raters if name != CONSENSUS), rater],
        "consensus": origins if isinstance(origins, dict) else {str(origins or "as stated"): judged},
    }
    info["instrument"] = {"tool": f"siming-tasks {__version__}", "source": dataset.digest}
    write_folder(part, dataset.root / "rubric.yaml", rows, info, media)


def _other_files(root: Path) -> Iterator[Path]:
    """Files that are no part of the format (event logs, pairs, contact sheets), hidden ones left out."""
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.is_file() and parts[0] not in WRITTEN and not any(name.startswith(".") for name in parts):
            yield path
