"""Rubric, score sheet and videos in, a complete dataset folder out: all of it or nothing."""

from __future__ import annotations

import csv
import json
import logging
import os
import shutil
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from siming_tasks import __version__
from siming_tasks.data.card import card
from siming_tasks.data.consensus import Decision, decide
from siming_tasks.data.croissant import croissant
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.digest import content_digest
from siming_tasks.data.labels import VIDEO_FIELDS, LabelRow, read_labels, read_mapping
from siming_tasks.data.normalise import CRF, normalise
from siming_tasks.data.sources import Source, find_sources, new_ids, span_problems
from siming_tasks.errors import DataError, MediaError, Problem
from siming_tasks.files import atomic_write, read_yaml, sha256_file, sha256_json
from siming_tasks.rubrics import Rubric, load_rubric

__all__ = ["BuildOptions", "Built", "build_dataset"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BuildOptions:
    """How a dataset is built.

    Attributes:
        name: of the dataset (default: the folder's name).
        version: of the dataset.
        license: SPDX name, e.g. ``cc-by-nc-4.0``.
        languages: spoken or shown, e.g. ``("zh",)``.
        consensus: ``agree``, ``mean`` or a rater's name (see :func:`siming_tasks.data.consensus.decide`).
        keep_audio: keep the first audio stream.
        keep_ids: keep the sheet's names as video ids instead of ``v001``...
        synthetic: the videos or labels are simulated.
    """

    name: str = ""
    version: str = "1"
    license: str = ""
    languages: tuple[str, ...] = ()
    consensus: str = "agree"
    keep_audio: bool = False
    keep_ids: bool = False
    synthetic: bool = False


@dataclass(frozen=True)
class Built:
    """The new dataset, the table of original names beside it, and what should be looked at."""

    dataset: Dataset
    names_file: Path
    warnings: tuple[Problem, ...]


@dataclass(frozen=True)
class _Plan:
    """Everything that is decided before a video is touched."""

    rubric: Rubric
    rubric_file: Path
    rows: tuple[LabelRow, ...]
    decision: Decision
    sources: Mapping[str, Source]
    ids: Mapping[str, str]
    students: Mapping[str, str]
    options: BuildOptions

    def key(self) -> str:
        """What stands for the inputs, so that a finished or half-finished build of the same is recognised."""
        files = [[self.ids[name], *_stamp(source.path)] for name, source in self.sources.items()]
        rows = [[row.video, row.step_id, row.start, row.end, row.applicable, dict(row.about)] for row in self.rows]
        scores = [[*place, values] for place, values in self.decision.scores.items()]
        return sha256_json([self.rubric.model_dump(mode="json"), files, rows, scores, asdict(self.options)])


def build_dataset(
    out: str | Path,
    *,
    rubric: str | Path,
    labels: str | Path,
    videos: str | Path,
    spans: str | Path | None = None,
    mapping: str | Path | None = None,
    encoding: str | None = None,
    options: BuildOptions | None = None,
    jobs: int = 2,
    progress: bool = False,
) -> Built:
    """Build a dataset folder. ``out`` appears when everything is done; until then finished videos wait beside it.

    Args:
        out: the new folder. If it exists and was built from the same inputs, nothing is done.
        rubric: ``rubric.yaml``.
        labels: score sheet, long or wide (see :func:`siming_tasks.data.labels.read_labels`).
        videos: folder of the video files that the sheet names.
        spans: a second sheet with ``video_id, step_id, start, end``, for wide score sheets.
        mapping: mapping file (see :class:`siming_tasks.data.labels.SheetMapping`).
        encoding: of CSV files, if neither UTF-8 nor GB 18030.
        options: the rest.
        jobs: videos worked on at once.
        progress: show a bar on stderr.

    Raises:
        DataError: all findings about the inputs in ``.problems``; rows to adjudicate are also written to
            ``<out>.adjudicate.csv``.
        RubricError: the rubric is wrong.
    """
    out = Path(out)
    options = options or BuildOptions()
    options = replace(options, name=options.name or out.name)
    sheet = _read(Path(labels), Path(rubric), spans, mapping, encoding)
    plan, warnings = _plan(out, Path(rubric), *sheet, Path(videos), options)
    with _alone(out):
        part = out.with_name(f".{out.name}.part")
        if _already(out, plan.key()):
            return Built(open_dataset(out), _names_file(out), tuple(warnings))
        media = _normalise_all(plan, part, jobs, progress)
        rows, cut = _rows(plan, media)
        _write(plan, part, rows, {f"media/{plan.ids[name]}.mp4": done["sha256"] for name, done in media.items()})
        open_dataset(part)
        _write_names(_names_file(out), plan)
        if out.exists():
            out.rmdir()
        os.replace(part, out)
        _open_file(out).unlink(missing_ok=True)
    return Built(open_dataset(out), _names_file(out), (*warnings, *cut))


def _read(
    labels: Path, rubric_file: Path, spans: str | Path | None, mapping: str | Path | None, encoding: str | None
) -> tuple[Rubric, list[LabelRow], list[Problem]]:
    rubric = load_rubric(rubric_file)
    words = read_mapping(Path(mapping)) if mapping else None
    rows, problems = read_labels(labels, rubric, words, encoding)
    if spans is not None:
        more, found = read_labels(Path(spans), rubric, words, encoding)
        problems += found
        given = {(row.video, row.step_id): row for row in more}
        known = {(row.video, row.step_id) for row in rows}
        rows = [
            replace(row, start=at.start, end=at.end) if (at := given.get((row.video, row.step_id))) else row
            for row in rows
        ]
        for place, row in given.items():
            if place not in known:
                fix = "Correct the id or add the points."
                problems.append(
                    row.problem("span-unlabelled", "the score sheet has no such row.", fix, severity="warning")
                )
    return rubric, rows, problems


def _plan(
    out: Path,
    rubric_file: Path,
    rubric: Rubric,
    rows: list[LabelRow],
    problems: list[Problem],
    folder: Path,
    options: BuildOptions,
) -> tuple[_Plan, list[Problem]]:
    sources, found = find_sources(folder, rows)
    decision = decide(rows, options.consensus)
    problems = [*problems, *found, *span_problems(rows, {name: source.duration for name, source in sources.items()})]
    problems += _about_videos(rows)
    if decision.open:
        sheet = _open_file(out)
        _write_open(sheet, decision.open)
        what = f"{len(decision.open)} of {len(decision.scores)} rows have no reference points; listed in {sheet}."
        fix = "Fill in the consensus, or choose a rule with --consensus."
        problems.append(Problem("consensus-open", what, fix, rows[0].file))
    problems += decision.problems
    if errors := [problem for problem in problems if problem.severity == "error"]:
        raise DataError.of(errors, shown=20)
    names = list(dict.fromkeys(row.video for row in rows))
    ids = new_ids(names, options.keep_ids)
    students = new_ids(dict.fromkeys(row.about["student"] for row in rows if "student" in row.about), prefix="s")
    return _Plan(rubric, rubric_file, tuple(rows), decision, sources, ids, students, options), problems


def _about_videos(rows: Sequence[LabelRow]) -> Iterator[Problem]:
    """Facts about a video (site, student, split) must be the same in all its rows."""
    first: dict[tuple[str, str], tuple[str, int]] = {}
    for row in rows:
        for name, value in row.about.items():
            known, line = first.setdefault((row.video, name), (value, row.lines[0]))
            if known != value:
                what = f"{name} is {value!r} here and {known!r} on line {line}."
                yield row.problem("video-differs", what, "Write the same in all rows of a video.", name)


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
    """Whether ``out`` is this build, finished.

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


def _stamp(path: Path) -> list[Any]:
    status = path.stat()
    return [str(path.resolve()), status.st_size, status.st_mtime_ns]


def _normalise_all(plan: _Plan, part: Path, jobs: int, progress: bool) -> dict[str, dict[str, Any]]:
    """Every video as ``media/<id>.mp4`` in ``part``; finished ones of an earlier attempt are taken up."""
    from tqdm import tqdm

    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise MediaError("stopped")

    threads = max(1, (os.cpu_count() or 1) // max(1, jobs))
    _tidy(part, set(plan.ids.values()))
    done: dict[str, dict[str, Any]] = {}
    problems: list[Problem] = []
    with (
        ThreadPoolExecutor(max(1, jobs)) as pool,
        tqdm(total=len(plan.sources), unit="video", desc="Videos", disable=not progress) as bar,
    ):
        work = {
            pool.submit(_one, source.path, part, plan.ids[name], plan.options.keep_audio, threads, check): name
            for name, source in plan.sources.items()
        }
        try:
            for future in as_completed(work):
                try:
                    done[work[future]] = future.result()
                except MediaError as error:
                    problems.append(Problem("media-unreadable", str(error), "Export that video again.", work[future]))
                bar.update()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    if problems:
        raise DataError.of(problems, shown=20)
    return {name: done[name] for name in plan.sources}


def _one(source: Path, part: Path, video_id: str, keep_audio: bool, threads: int, check: Any) -> dict[str, Any]:
    note, target = part / "done" / f"{video_id}.json", part / "media" / f"{video_id}.mp4"
    key = sha256_json([*_stamp(source), keep_audio, CRF, __version__])
    if note.is_file() and target.is_file():
        known: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
        if known["key"] == key and known["sha256"] == sha256_file(target):
            return known
    result = normalise(source, target, keep_audio=keep_audio, threads=threads, check=check)
    entry = {"key": key, "sha256": sha256_file(target), **asdict(result), "duration": result.duration}
    with atomic_write(note) as stream:
        json.dump(entry, stream)
    return entry


def _tidy(part: Path, ids: set[str]) -> None:
    """Remove what a killed build left behind, except finished videos."""
    for folder, suffix in ((part / "media", ".mp4"), (part / "done", ".json")):
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            if path.suffix != suffix or path.stem not in ids:
                path.unlink()


def _rows(plan: _Plan, media: Mapping[str, Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[Problem]]:
    """The objects of ``videos.jsonl``, and a warning for every span that had to be cut back."""
    problems = span_problems(plan.rows, {name: done["duration"] for name, done in media.items()})
    if problems:
        raise DataError.of(problems, shown=20)
    order = {step.id: index for index, step in enumerate(plan.rubric.steps)}
    canary = _canary(plan)
    videos: list[dict[str, Any]] = []
    for name, video_id in plan.ids.items():
        mine = sorted((row for row in plan.rows if row.video == name), key=lambda row: order[row.step_id])
        duration = round(media[name]["duration"], 6)
        about = {key: value for row in mine for key, value in row.about.items()}
        if "student" in about:
            about["student"] = plan.students[about["student"]]
        steps = [_step(row, plan.decision, duration, problems) for row in mine]
        head = {"video_id": video_id, "media": f"media/{video_id}.mp4", "duration": duration}
        videos.append(
            {**head, **{key: about[key] for key in VIDEO_FIELDS if key in about}, "steps": steps, "canary": canary}
        )
    return videos, problems


def _step(row: LabelRow, decision: Decision, duration: float, cut: list[Problem]) -> dict[str, Any]:
    if not row.applicable:
        return {"step_id": row.step_id, "applicable": False}
    end = row.end
    if end is not None and end > duration:
        what = f"end {end:g} s cut back to the video's {duration:g} s."
        cut.append(row.problem("span-cut", what, "Nothing to do.", "end", severity="warning"))
        end = duration
    scores = decision.scores[row.video, row.step_id].items()
    points = {rater: int(value) if value is not None and value == int(value) else value for rater, value in scores}
    return {"step_id": row.step_id, "start": row.start, "end": end, "score": points}


def _canary(plan: _Plan) -> str:
    """A string that exists nowhere else: if a model can complete it, these files were in its training data."""
    return f"SIMING-BENCH-CANARY-{uuid.uuid5(uuid.NAMESPACE_OID, plan.key())}"


def _write(plan: _Plan, part: Path, rows: list[dict[str, Any]], media: Mapping[str, str]) -> None:
    """The small files of the folder."""
    import datetime

    shutil.rmtree(part / "done")
    for path in (part / "media").iterdir():
        if f"media/{path.name}" not in media:
            path.unlink()
    shutil.copyfile(plan.rubric_file, part / "rubric.yaml")
    with atomic_write(part / "videos.jsonl") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    options = plan.options
    audio = "audio kept" if options.keep_audio else "audio removed"
    info = {
        "name": options.name,
        "version": options.version,
        "license": options.license or None,
        "synthetic": options.synthetic,
        "languages": list(options.languages),
        "label_sources": {
            "raters": sorted({rater for row in plan.rows for rater in row.scores}),
            "rule": options.consensus,
            "consensus": dict(plan.decision.origins),
        },
        "processing": f"Videos as H.264 .mp4 with a constant rate and even sides, container metadata and {audio}; "
        "file names and student names replaced by ids.",
        "created": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "build": {"tool": f"siming-tasks {__version__}", "inputs": plan.key()},
        "canary": _canary(plan),
        "digest": content_digest(plan.rubric, rows, media),
        "media_sha256": dict(sorted(media.items())),
    }
    with atomic_write(part / "dataset.yaml") as stream:
        yaml.safe_dump(info, stream, sort_keys=False, allow_unicode=True)
    with atomic_write(part / "README.md") as stream:
        stream.write(card(info, plan.rubric, rows))
    files = {name: sha256_file(part / name) for name in ("videos.jsonl", "rubric.yaml", "dataset.yaml")}
    with atomic_write(part / "croissant.json") as stream:
        json.dump(croissant(info, {**files, **media}), stream, indent=1, ensure_ascii=False)


def _names_file(out: Path) -> Path:
    return out.with_name(f"{out.name}.names.csv")


def _open_file(out: Path) -> Path:
    return out.with_name(f"{out.name}.adjudicate.csv")


def _write_names(path: Path, plan: _Plan) -> None:
    """Original names to ids. Private: it lies outside the folder, readable by its owner only."""
    with atomic_write(path) as stream:
        writer = csv.writer(stream)
        writer.writerow(["kind", "id", "name", "file"])
        writer.writerows(["video", plan.ids[name], name, str(source.path)] for name, source in plan.sources.items())
        writer.writerows(["student", number, name, ""] for name, number in plan.students.items())
    path.chmod(0o600)


def _write_open(path: Path, rows: Sequence[LabelRow]) -> None:
    """The rows to adjudicate, in the long form, with an empty consensus."""
    raters = sorted({rater for row in rows for rater in row.scores})
    with atomic_write(path) as stream:
        writer = csv.writer(stream)
        writer.writerow(["line", "video_id", "step_id", *raters, "consensus"])
        for row in rows:
            points = [f"{row.scores[rater]:g}" if rater in row.scores else "" for rater in raters]
            writer.writerow([row.lines[0], row.video, row.step_id, *points, ""])
