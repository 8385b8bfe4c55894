"""Rubric, score sheet and videos in, a complete dataset folder out: all of it or nothing."""

from __future__ import annotations

import datetime
import errno
import logging
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from siming_tasks import __version__
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import read_yaml
from siming_tasks.data.check.label_checks import label_problems
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.folder_files import write_folder
from siming_tasks.media.container import DISK_FULL
from siming_tasks.tools.builder.sheets.build_inputs import Inputs
from siming_tasks.tools.builder.sheets.build_plan import BuildOptions, BuildPlan, make_plan
from siming_tasks.tools.builder.sheets.consensus import Decision, origin_named
from siming_tasks.tools.builder.sheets.event_log_sheet import UseRatings
from siming_tasks.tools.builder.sheets.labels import LabelRow
from siming_tasks.tools.builder.sheets.mapping import VIDEO_FIELDS
from siming_tasks.tools.builder.sheets.private_tables import beside, write_names, write_undecided
from siming_tasks.tools.builder.sheets.transcode import transcode
from siming_tasks.tools.builder.sheets.video_sources import span_problems

__all__ = ["Built", "build_dataset"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Built:
    """The new dataset, the table of original names beside it, and what should be looked at."""

    dataset: Dataset
    names_file: Path
    warnings: tuple[Problem, ...]


def build_dataset(
    out: str | Path,
    *,
    rubric: str | Path,
    labels: str | Path | Sequence[str | Path],
    videos: str | Path,
    spans: str | Path | Sequence[str | Path] | None = None,
    spans_fps: float | None = None,
    adjudicated: str | Path | None = None,
    mapping: str | Path | None = None,
    encoding: str | None = None,
    ratings: UseRatings | None = None,
    options: BuildOptions | None = None,
    jobs: int = 2,
    progress: bool = False,
) -> Built:
    """Build a dataset folder. ``out`` appears when everything is done; until then finished videos wait beside it.

    Args:
        out: the new folder. If it exists and was built from the same inputs, nothing is done.
        rubric: ``rubric.yaml``.
        labels: score sheet, long or wide (see :func:`siming_tasks.tools.builder.sheets.labels.read_labels`), or one
        for each
            physician: ``FILE`` (whose name is the rater's) or ``NAME=FILE``; or the event log of a rating station.
        videos: folder of the video files that the sheet names.
        spans: for wide score sheets: a second sheet with ``video_id, step_id, start, end``, or the file of an
            annotation tool (ELAN, BORIS, Label Studio); several of them, or their folder.
        spans_fps: frames per second of spans that are counted in frames.
        adjudicated: the list of undecided rows that an earlier attempt wrote, with the consensus filled in.
        mapping: mapping file (see :class:`siming_tasks.tools.builder.sheets.mapping.SheetMapping`).
        encoding: of CSV files, if neither UTF-8 nor GB 18030.
        ratings: how the event log of a rating station is read
            (:mod:`siming_tasks.tools.builder.sheets.event_log_sheet`).
        options: the rest.
        jobs: videos worked on at once.
        progress: show a bar on stderr.

    Raises:
        DataError: all findings about the inputs in ``.problems``; rows to adjudicate are also written to
            ``<out>.adjudicate.csv`` (no existing file is overwritten).
        RubricError: the rubric is wrong.

    Example:
        >>> from siming_tasks import build_dataset
        >>> built = build_dataset(out, rubric=exams / "rubric.yaml", labels=sheet, videos=exams / "media")
        >>> [video.video_id for video in built.dataset.videos], built.names_file.name
        (['v001'], 'out.names.csv')
    """
    out = Path(out) if Path(out).name not in ("", "..") else Path(os.path.abspath(out))
    options = options or BuildOptions()
    options = replace(options, name=options.name or out.name)
    inputs = Inputs(
        rubric=Path(rubric),
        labels=labels,
        videos=Path(videos),
        spans=[Path(each) for each in ([spans] if isinstance(spans, str | Path) else spans or [])],
        spans_fps=spans_fps,
        adjudicated=Path(adjudicated) if adjudicated else None,
        mapping=Path(mapping) if mapping else None,
        encoding=encoding,
        ratings=ratings or UseRatings(),
    )
    with _writable(out):
        _started(out)
        plan, problems = make_plan(inputs, options)
        _refuse(out, plan, problems)
        with _alone(out):
            if not _already(out, plan.key()):
                problems += _build(out, plan, jobs, progress)
    dataset = open_dataset(out)
    return Built(dataset, beside(out, "names"), (*problems, *label_problems(dataset)))


def _refuse(out: Path, plan: BuildPlan, problems: Sequence[Problem]) -> None:
    errors = [problem for problem in problems if problem.severity == "error"]
    if plan.decision.open:
        sheet = write_undecided(out, plan.decision.open)
        what = f"{len(plan.decision.open)} of {len(plan.rows)} rows have no reference points; listed in {sheet}."
        fix = "Fill in its last column and give it as --adjudicated, or choose a rule with --consensus."
        errors.insert(0, Problem("consensus-open", what, fix, plan.rows[0].file))
    if errors:
        warnings = [problem for problem in problems if problem.severity == "warning"]
        raise DataError(str(DataError.of(errors, shown=20)), [*errors, *warnings])


@contextmanager
def _writable(out: Path) -> Iterator[None]:
    """Message of the system about ``out`` and the files beside it, in a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in DISK_FULL:
            fix = "Free some space and run the same command again; finished videos are kept."
            full = "a file is larger than may be written here" if error.errno == errno.EFBIG else "the disk is full"
            raise DataError(f"{out}: {full}. {fix}") from None
        place = f" ({error.filename})" if error.filename else ""
        if error.errno in (errno.EEXIST, errno.ENOTDIR):
            what = f"{error.filename} is no folder. Name another place, or delete that file."
            raise DataError(f"{out}: cannot be written: {what}") from None
        fix = "Name a folder in a place where you may write."
        raise DataError(f"{out}: cannot be written: {error.strerror or error}{place}. {fix}") from None


def _started(out: Path) -> None:
    """Make sure that something can be written beside ``out``, before hours of work.

    Raises:
        OSError: it cannot.
        DataError: ``out`` is the root of the file system.
    """
    if out.is_symlink() and not (out.is_dir() and any(out.iterdir())):
        raise DataError(f"{out}: is a link, whose place the new folder would take. Name the folder that it leads to.")
    if not out.name:
        raise DataError(f"{out}: exists and was not built from these inputs. Name another folder.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=out.parent):
        for part in (out.with_name(f".{out.name}.part"), out.with_name(f".{out.name}.part") / "media"):
            if part.is_symlink() or (part.exists() and not part.is_dir()):  # says when the name is too long
                raise NotADirectoryError(errno.ENOTDIR, "no folder", str(part))


def _build(out: Path, plan: BuildPlan, jobs: int, progress: bool) -> list[Problem]:
    """Make the folder under another name, then give it its own."""
    part = out.with_name(f".{out.name}.part")
    sources = {plan.ids[name]: source.path for name, source in plan.sources.items()}
    media = transcode(sources, part, keep_audio=plan.options.keep_audio, jobs=jobs, progress=progress)
    rows, cut = _rows(plan, {video_id: done["duration"] for video_id, done in media.items()})
    digests = {f"media/{video_id}.mp4": done["sha256"] for video_id, done in media.items()}
    write_folder(part, plan.rubric_file, rows, _info(plan), digests)
    shutil.rmtree(part / "done")
    open_dataset(part)
    write_names(beside(out, "names"), plan)
    if out.exists():
        out.rmdir()
    os.replace(part, out)
    return cut


def _rows(plan: BuildPlan, durations: Mapping[str, float]) -> tuple[list[dict[str, Any]], list[Problem]]:
    """The objects of ``videos.jsonl``, and a warning for every span that had to be cut back."""
    problems = span_problems(plan.rows, {name: durations[video_id] for name, video_id in plan.ids.items()})
    if problems:
        raise DataError.of(problems, shown=20)
    order = {step.id: index for index, step in enumerate(plan.rubric.steps)}
    canary = _canary(plan)
    videos: list[dict[str, Any]] = []
    for name, video_id in plan.ids.items():
        mine = sorted((row for row in plan.rows if row.video == name), key=lambda row: order[row.step_id])
        about = {key: value for row in mine for key, value in row.about.items()}
        if "student" in about:
            about["student"] = plan.students[about["student"]]
        duration = round(durations[video_id], 6)
        video: dict[str, Any] = {"video_id": video_id, "media": f"media/{video_id}.mp4", "duration": duration}
        video |= {key: about[key] for key in VIDEO_FIELDS if key in about}
        video["steps"] = [_step(row, plan.decision, plan.raters, duration, problems) for row in mine]
        videos.append({**video, "canary": canary})
    return videos, problems


def _step(
    row: LabelRow, decision: Decision, raters: Mapping[str, str], duration: float, cut: list[Problem]
) -> dict[str, Any]:
    if not row.applicable:
        return {"step_id": row.step_id, "applicable": False}
    end = row.end
    if end is not None and end > duration:
        what = f"end {end:g} s cut back to the video's {duration:g} s."
        cut.append(row.problem("span-cut", what, "Nothing to do.", "end", severity="warning"))
        end = duration
    scores = decision.scores[row.video, row.step_id].items()
    points = {
        raters.get(name, name): int(value) if value is not None and value == int(value) else value
        for name, value in scores
    }
    return {"step_id": row.step_id, "start": row.start, "end": end, "score": points}


def _canary(plan: BuildPlan) -> str:
    """A string that exists nowhere else: if a model can complete it, these files were in its training data."""
    return f"SIMING-BENCH-CANARY-{uuid.uuid5(uuid.NAMESPACE_OID, plan.key())}"


def _info(plan: BuildPlan) -> dict[str, Any]:
    """``dataset.yaml``, without the digests."""
    options = plan.options
    who = "student names" if options.keep_rater_names else "names of students and raters"
    return {
        "name": options.name,
        "version": options.version,
        "license": options.license or None,
        "synthetic": options.synthetic,
        "languages": list(options.languages),
        "label_sources": {
            "raters": sorted({plan.raters.get(rater, rater) for row in plan.rows for rater in row.scores}),
            "rule": plan.raters.get(options.consensus, options.consensus),
            "consensus": {origin_named(how, plan.raters): count for how, count in plan.decision.origins.items()},
        },
        "processing": "Videos as H.264 .mp4 with a constant rate and even sides; container metadata removed, audio "
        f"{'kept' if options.keep_audio else 'removed'}; file names and {who} replaced by ids.",
        "created": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "build": {"tool": f"siming-tasks {__version__}", "inputs": plan.key()},
        "canary": _canary(plan),
    }


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Only one build works on ``out``; another waits."""
    from filelock import FileLock, Timeout

    out.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(out.with_name(f".{out.name}.lock"))
    try:
        lock.acquire(timeout=1)
    except Timeout:
        _log.warning("Another build is working on %s; waiting for it.", out)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _already(out: Path, key: str) -> bool:
    """True if ``out`` is this build, finished.

    Raises:
        DataError: ``out`` is something else.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return False
    try:
        if read_yaml(out / "dataset.yaml")["build"]["inputs"] == key:
            return True
    except (DataError, KeyError, TypeError):
        pass
    raise DataError(f"{out}: exists and was not built from these inputs. Name another folder, or delete that one.")
