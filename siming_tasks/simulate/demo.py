"""A complete synthetic dataset folder: plan, draw, encode, label, describe, and only then put in place."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib import resources
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import yaml
from tqdm import tqdm

from siming_tasks.errors import DataError
from siming_tasks.files import atomic_write, sha256_file, sha256_json
from siming_tasks.rubrics import default_rubric, load_rubric
from siming_tasks.simulate.acts.exam import FULL, SHORT, perform
from siming_tasks.simulate.encode import encode
from siming_tasks.simulate.exam import Exam, simulate_labels
from siming_tasks.simulate.folder import CARD, event_log, video_row
from siming_tasks.simulate.render import FPS, frames

__all__ = ["GENERATOR_VERSION", "make_demo"]

GENERATOR_VERSION = "1"
"""Moves whenever the same seed no longer gives the same labels, events or (apart from the encoder) pictures."""


@dataclass(frozen=True)
class _Job:
    exam: Exam
    folder: Path
    short: bool


def make_demo(
    out: Path,
    *,
    videos: int = 24,
    seed: int = 0,
    short: bool = False,
    pairs: bool = False,
    jobs: int = 2,
    progress: bool = True,
) -> Path:
    """Make a dataset folder of simulated exams whose labels are true by construction.

    Everything is written into ``.<name>.part`` beside ``out``, which takes its name at the end. An interrupted run
    leaves only that hidden folder with finished videos; the same call takes them up again.

    Args:
        out: the new folder; it must not exist, unless it holds exactly this demo already.
        videos: number of exams (with ``pairs``: of twins).
        seed: of trainees, raters and looks; labels and event logs are the same for a seed on every machine.
        short: 20-30 s a video instead of about 170 s; for tests, not for looking at timing.
        pairs: counterfactual twins with ``pairs.jsonl`` instead of independent exams.
        jobs: worker processes.
        progress: show a bar on stderr.

    Returns:
        ``out``.

    Raises:
        DataError: ``out`` exists and is something else.
    """
    request = {"generator": GENERATOR_VERSION, "videos": videos, "seed": seed, "short": short, "pairs": pairs}
    out = Path(out)
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        if _request_of(out / "dataset.yaml") == request:
            return out
        raise DataError(f"{out} exists and is not this demo. Name another folder, or delete that one.")
    part = out.with_name(f".{out.name}.part")
    _start(part, request)
    rubric = default_rubric()
    exams = simulate_labels(videos, seed, rubric)
    rows = _render(exams, part, short, jobs, progress)
    _describe(part, rows, request)
    if out.exists():
        out.rmdir()
    part.replace(out)
    return out


def _request_of(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8")).get("simulation")
    except (OSError, AttributeError, yaml.YAMLError):
        return None


def _start(part: Path, request: dict[str, Any]) -> None:
    """A folder to work in; finished videos of the same request are kept, anything else is cleared away."""
    note = part / "request.json"
    if not note.is_file() or json.loads(note.read_text(encoding="utf-8")) != request:
        shutil.rmtree(part, ignore_errors=True)
        with atomic_write(note) as stream:
            json.dump(request, stream)


def _render(exams: Sequence[Exam], folder: Path, short: bool, jobs: int, progress: bool) -> list[dict[str, Any]]:
    todo = [_Job(exam, folder, short) for exam in exams]
    with tqdm(total=len(todo), unit="video", desc="Simulated exams", disable=not progress) as bar:
        if jobs <= 1:
            rows = []
            for job in todo:
                rows.append(_make(job))
                bar.update()
            return rows
        # "spawn": forking a process that already runs threads (torch, OpenCV, lmms-eval) can deadlock.
        with ProcessPoolExecutor(min(jobs, len(todo)), mp_context=get_context("spawn")) as pool:
            futures = [pool.submit(_make, job) for job in todo]
            try:
                for future in as_completed(futures):
                    future.result()
                    bar.update()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
            return [future.result() for future in futures]


def _make(job: _Job) -> dict[str, Any]:
    """Draw, encode and log one exam, unless an earlier run has; returns its row."""
    row_file = job.folder / "rows" / f"{job.exam.video_id}.json"
    if row_file.is_file():
        row: dict[str, Any] = json.loads(row_file.read_text(encoding="utf-8"))
        return row
    rubric = default_rubric()
    played = perform(job.exam.plan, pace=SHORT if job.short else FULL, fps=FPS, seed=job.exam.look)
    encode(job.folder / "media" / f"{job.exam.video_id}.mp4", frames(played, job.exam.look), fps=FPS)
    with atomic_write(job.folder / "events" / f"{job.exam.video_id}.json") as stream:
        json.dump(event_log(job.exam, played.events), stream, indent=1)
    row = video_row(job.exam, rubric, played)
    with atomic_write(row_file) as stream:
        json.dump(row, stream)
    return row


def _describe(folder: Path, rows: list[dict[str, Any]], request: dict[str, Any]) -> None:
    with atomic_write(folder / "videos.jsonl") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    rubric = resources.files("siming_tasks.rubrics") / "default.yaml"
    with atomic_write(folder / "rubric.yaml") as stream:
        stream.write(rubric.read_text(encoding="utf-8"))
    media = {row["media"]: sha256_file(folder / row["media"]) for row in rows}
    content = {"rubric": load_rubric(folder / "rubric.yaml").model_dump(mode="json"), "videos": rows, "media": media}
    about = {
        "name": "siming-demo",
        "version": f"{GENERATOR_VERSION}.{request['seed']}",
        "license": "CC0-1.0",
        "synthetic": True,
        "languages": ["en"],
        "label_sources": {
            "rater_a": "simulated rater",
            "rater_b": "simulated rater",
            "consensus": "true by construction",
        },
        "simulation": request,
        "digest": sha256_json(content),
        "media_sha256": media,
    }
    with atomic_write(folder / "dataset.yaml") as stream:
        stream.write("# SYNTHETIC: drawn by a program; no real exam, person or score.\n")
        yaml.safe_dump(about, stream, sort_keys=False)
    with atomic_write(folder / "README.md") as stream:
        stream.write(CARD.format(videos=len(rows), version=GENERATOR_VERSION, seed=request["seed"]))
    shutil.rmtree(folder / "rows")
    (folder / "request.json").unlink()
