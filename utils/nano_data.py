"""The training data of the nano judge as files, made by several processes, each file whole or not there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from nano_exams import STEPS, Case, case, drawn, nearly_alike, shown, truth
from tqdm import tqdm

__all__ = ["CHECK", "NOISE", "SEEDS", "USUAL", "all_shown", "make_exams", "make_frames", "run_files", "save_shown"]

SEEDS = {"frames": 810_001, "unseen": 810_002, "noise": 810_003, "check": 810_004, "exams": 810_005, "table": 820_001}
"""The demo has seed 0, and no test has one of these."""
NOISE, CHECK = 56, 24
"""Exams drawn with all that a judge is shown: to measure what is misread, and to decide when to stop."""
_CHUNK, _EXAMS = 20, 250
USUAL, RICH = -1.79, -0.7
"""Log-odds of an error: as in the demo, and with many more."""


def make_frames(work: Path, looks: int, jobs: int) -> None:
    """Draw the frames: ``frames-*`` to train on, ``unseen-*`` on looks of their own, ``noise-*`` and ``check-*``."""
    todo: list[tuple[Callable[..., None], Path, int]] = []
    for name, count, size, make in (
        ("unseen", 40, _CHUNK, _some_frames),
        ("frames", looks, _CHUNK, _some_frames),
        ("noise", NOISE, 8, all_shown),
        ("check", CHECK, 8, all_shown),
    ):
        todo += [(make, work / f"{name}-{first:05d}.npz", min(size, count - first)) for first in range(0, count, size)]
    run_files(todo, jobs, "Frames")


def make_exams(work: Path, exams: int, jobs: int) -> None:
    """Simulate exams without pictures: features of what would be shown, and the points."""
    chunks = [(_states, work / f"exams-{first:05d}.npy", _EXAMS) for first in range(0, exams, _EXAMS)]
    run_files(chunks, jobs, "Exams")


def run_files(todo: Sequence[tuple[Callable[..., None], Path, int]], jobs: int, what: str) -> None:
    """Make the files that are not there yet."""
    left = [job for job in todo if not job[1].exists()]
    with (
        ProcessPoolExecutor(max(1, jobs), mp_context=get_context("spawn")) as pool,
        tqdm(total=len(todo), initial=len(todo) - len(left), desc=what, unit="file") as bar,
    ):
        for done in as_completed([pool.submit(make, path, count) for make, path, count in left]):
            done.result()
            bar.update()


def _place(path: Path) -> tuple[int, int]:
    name, first = path.stem.rsplit("-", 1)
    return SEEDS[name], int(first)


def _save(path: Path, **arrays: np.ndarray) -> None:
    part = path.with_name(f".{path.name}")
    np.savez(part.with_suffix(".part.npz"), **arrays)
    part.with_suffix(".part.npz").replace(path)


def _packed(pictures: list[bytes]) -> dict[str, np.ndarray]:
    ends = np.cumsum([len(picture) for picture in pictures])
    return {"jpeg": np.frombuffer(b"".join(pictures), np.uint8), "ends": ends}


def _some_frames(path: Path, count: int) -> None:
    seed, first = _place(path)
    pictures: list[bytes] = []
    targets = []
    for number in range(first, first + count):
        rng = np.random.default_rng([seed, 6, number])
        exam = case(seed, number, RICH if number % 2 else USUAL)
        spans = shown(exam).clips
        picked = [rng.integers(spans[step, 0], spans[step].max() + 1, 5) for step in range(len(STEPS))]
        frames = np.unique(np.concatenate([*picked, rng.integers(0, exam.frames, 40)]))
        pictures += drawn(exam, frames, rng)
        targets.append(truth(exam, frames).astype(np.float16))
    _save(path, **_packed(pictures), targets=np.concatenate(targets))


def all_shown(path: Path, count: int) -> None:
    """Draw all that a judge is shown of some exams."""
    seed, first = _place(path)
    rich = path.stem.startswith("noise")
    cases = [case(seed, n, RICH if rich and n % 2 else USUAL) for n in range(first, first + count)]
    save_shown(path, cases, (seed, first))


def save_shown(path: Path, cases: Sequence[Case], seed: tuple[int, int]) -> None:
    """Draw the frames of every clip and of the whole of some exams."""
    pictures: list[bytes] = []
    records = []
    for number, exam in enumerate(cases):
        records.append(_record(exam))
        view = shown(exam)
        frames = np.concatenate([view.clips.ravel(), view.whole])
        unique, back = np.unique(frames, return_inverse=True)
        once = list(drawn(exam, unique, np.random.default_rng([seed[0], 6, seed[1] + number])))
        pictures += [once[index] for index in back]
    _save(path, **_packed(pictures), **{name: np.stack([r[name] for r in records]) for name in records[0]})


def _record(exam: Case) -> dict[str, np.ndarray]:
    """Features, times and points of an exam as a judge would be shown it."""
    view = shown(exam)
    step, place = view.where(exam)
    start = view.clips[:, :1]
    return {
        "clips": truth(exam, view.clips.ravel()).reshape(*view.clips.shape, -1).astype(np.float16),
        "clip_times": ((view.clips - start) / 10).astype(np.float32),
        "lengths": view.lengths,
        "whole": truth(exam, view.whole).astype(np.float16),
        "times": (view.whole / 10).astype(np.float32),
        "step": step,
        "place": place,
        "points": exam.points,
    }


def _states(path: Path, count: int) -> None:
    """Two by two: exams of their own, and such as differ in one error."""
    seed, first = _place(path)
    rows = []
    for n in range(first, first + count, 2):
        base = USUAL if n % 6 else -1.1
        pair = nearly_alike(seed, n // 4, base) if n % 4 else (case(seed, n, base), case(seed, n + 1, base))
        rows += [_record(exam) for exam in pair]
    whole = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    part = path.with_name(f".{path.name}")
    with part.open("wb") as stream:
        np.save(stream, np.array([tuple(row[name] for name in row) for row in rows], dtype=_dtype(whole)))
    part.replace(path)


def _dtype(arrays: dict[str, np.ndarray]) -> np.dtype:
    return np.dtype([(name, array.dtype, array.shape[1:]) for name, array in arrays.items()])
