"""A complete synthetic dataset folder: plan, draw, encode, label, describe, and only then put in place."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write, read_yaml
from siming_tasks.common.locks import locked
from siming_tasks.common.workers import worker_pool
from siming_tasks.rubrics import default_rubric
from siming_tasks.tools.simulator.contact_sheet import ContactSheet
from siming_tasks.tools.simulator.dataset_files import GENERATOR_VERSION, Recipe, describe, event_log, video_row
from siming_tasks.tools.simulator.key_moments import deciding_moments
from siming_tasks.tools.simulator.minimal_pairs import pair_row, simulate_pairs
from siming_tasks.tools.simulator.procedure.perform import FULL, SHORT, perform
from siming_tasks.tools.simulator.simulated_exam import Exam, simulate_labels
from siming_tasks.tools.simulator.video import FPS, encode, frames

__all__ = ["make_demo"]


@dataclass(frozen=True)
class _Job:
    exam: Exam
    folder: Path
    short: bool
    contact: bool
    slots: Mapping[str, float]


def make_demo(
    out: Path,
    *,
    videos: int = 16,
    seed: int = 0,
    short: bool = False,
    pairs: bool = False,
    jobs: int = 2,
    progress: bool = True,
    contact: bool = True,
) -> Path:
    """Make a dataset folder of simulated exams whose labels are true by construction.

    Everything is written into ``.<name>.part`` beside ``out``, which takes its name at the end. An interrupted run
    leaves only that hidden folder of finished videos; the same call goes on from there. A second process that wants the
    same folder waits for the first.

    Args:
        out: the new folder; it must not exist, unless it is empty or holds exactly this demo already.
        videos: number of exams; with ``pairs`` two to a pair, so an even number.
        seed: of trainees, raters and looks; labels and event logs are the same for a seed on every machine.
        short: about 30 s a video instead of about 170 s; for tests, not for judging time.
        pairs: counterfactual minimal pairs and ``pairs.jsonl`` instead of independent exams.
        jobs: worker processes. With more than one, a script that calls this must be importable (have the usual
            ``if __name__ == "__main__"``), because workers are spawned.
        progress: show a bar on stderr.
        contact: also write ``contact/<video_id>.jpg``, the moment that decides each step.

    Returns:
        ``out``.

    Raises:
        DataError: ``out`` exists and is something else, or ``videos`` is odd with ``pairs``.
    """
    out = Path(out)
    if videos < 1 or (pairs and videos % 2):
        raise DataError(f"{videos} videos: at least 1 is needed, and an even number for pairs.")
    request = Recipe(GENERATOR_VERSION, videos, seed, short, pairs, contact)
    if _is_there(out, request):  # without a lock: the folder around it may not be ours to write
        return out
    out.parent.mkdir(parents=True, exist_ok=True)
    with locked(out.with_name(f".{out.name}.lock")):
        if not _is_there(out, request):
            with _workplace(out, request) as part:
                minimal_pairs = simulate_pairs(videos // 2, seed) if pairs else ()
                exams = tuple(exam for pair in minimal_pairs for exam in pair.exams) or simulate_labels(videos, seed)
                slots = {exam.video_id: pair.slots(short) for pair in minimal_pairs for exam in pair.exams}
                todo = [_Job(exam, part, short, contact, slots.get(exam.video_id, {})) for exam in exams]
                rows = _render(todo, jobs, progress)
                describe(part, rows, [pair_row(pair) for pair in minimal_pairs], request)
    return out


def _is_there(out: Path, request: Recipe) -> bool:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return False
    try:
        if read_yaml(out / "dataset.yaml")["simulation"] == request.to_json():
            return True
    except (DataError, KeyError, TypeError):
        pass
    raise DataError(f"{out} exists and is not this demo. Name another folder, or delete that one.")


@contextmanager
def _workplace(out: Path, request: Recipe) -> Iterator[Path]:
    """A hidden folder that becomes ``out`` when the block ends well; kept for the next run when it does not."""
    part = out.with_name(f".{out.name}.part")
    note = part / "request.json"
    if not note.is_file() or json.loads(note.read_text(encoding="utf-8")) != request.to_json():
        shutil.rmtree(part, ignore_errors=True)
        with atomic_write(note) as stream:
            json.dump(request.to_json(), stream)
    _sweep(part)
    yield part
    shutil.rmtree(part / "rows")
    note.unlink()
    _sweep(part)  # once more: a worker of a killed run may have been at work until now
    if out.exists():
        out.rmdir()
    part.replace(out)


def _sweep(part: Path) -> None:
    """Remove what killed workers left half-written."""
    for path in part.rglob(".*"):
        path.unlink(missing_ok=True)


def _render(todo: Sequence[_Job], jobs: int, progress: bool) -> list[dict[str, Any]]:
    with tqdm(total=len(todo), unit="video", desc="Simulated exams", disable=not progress) as bar:
        if min(jobs, len(todo)) == 1:
            rows = []
            for job in todo:
                rows.append(_make(job))
                bar.update()
            return rows
        with worker_pool(min(jobs, len(todo))) as pool:
            futures = [pool.submit(_make, job) for job in todo]
            for future in as_completed(futures):
                future.result()
                bar.update()
            return [future.result() for future in futures]


def _make(job: _Job) -> dict[str, Any]:
    """Draw, encode and log one exam, unless an earlier run has; returns its row."""
    import cv2

    name, row_file = job.exam.video_id, job.folder / "rows" / f"{job.exam.video_id}.json"
    if row_file.is_file():
        row: dict[str, Any] = json.loads(row_file.read_text(encoding="utf-8"))
        return row
    cv2.setNumThreads(1)  # the work is shared out by video
    pace = SHORT if job.short else FULL
    played = perform(job.exam.plan, pace=pace, fps=FPS, seed=job.exam.look, slots=job.slots)
    names = {step.id: step.name for step in default_rubric().steps}
    faults = {
        step: ", ".join(error.rpartition(".")[2].replace("_", " ") for error in errors)
        for step, errors in job.exam.plan.errors.items()
    }
    sheet = ContactSheet(deciding_moments(played, FPS), names, faults, FPS)
    encode(job.folder / "media" / f"{name}.mp4", sheet.watch(frames(played, job.exam.look)), fps=FPS)
    if job.contact:
        sheet.save(job.folder / "contact" / f"{name}.jpg")
    with atomic_write(job.folder / "events" / f"{name}.json") as stream:
        json.dump(event_log(job.exam, played), stream, indent=1)
    row = video_row(job.exam, played)
    with atomic_write(row_file) as stream:
        json.dump(row, stream)
    return row
