"""History and local pairs for the nano judge: drawn, judged, counted."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from nano_data import save_shown
from nano_exams import STEPS, Case

from siming_tasks.analysis.input_controls import MinimalPairScores, score_minimal_pairs
from siming_tasks.tools.simulator import MinimalPair, simulate_pairs
from siming_tasks.tools.simulator.minimal_pairs import pair_row
from siming_tasks.tools.simulator.video import FPS, FULL, perform

__all__ = ["draw_minimal_pairs", "minimal_pairs", "pair_result"]

_SEED, _EACH = 820_002, 4


@cache
def minimal_pairs(number: int) -> tuple[MinimalPair, ...]:
    """History and local pairs in turn."""
    return simulate_pairs(number, _SEED)


def draw_minimal_pairs(work: Path, number: int, jobs: int) -> None:
    """Draw all that a judge is shown of both exams of every pair; four pairs to a file."""
    todo = [first for first in range(0, number, _EACH) if not _file(work, first).exists()]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        list(pool.map(_draw, [work] * len(todo), todo, [number] * len(todo)))


def _file(work: Path, first: int) -> Path:
    return work / f"minimal_pairs-{first:05d}.npz"


def _draw(work: Path, first: int, number: int) -> None:
    cases = []
    for pair in minimal_pairs(number)[first : first + _EACH]:
        slots = pair.slots(short=False)
        for exam in pair.exams:
            played = perform(exam.plan, pace=FULL, fps=FPS, seed=exam.look, slots=slots)
            points = np.array([exam.truth[step].points for step in STEPS], np.int8)
            cases.append(Case(played, exam.look, points))
    save_shown(_file(work, first), cases, (_SEED, first))


def pair_result(answers: np.ndarray, answer: str, kind: str = "all") -> MinimalPairScores:
    """Counts a judge's answers to all exams of the pairs, shape (2 x pairs, steps), or of one kind of pairs."""
    made = minimal_pairs(len(answers) // 2)
    kept = np.array([kind in ("all", pair.kind) for pair in made])
    pairs = [pair for pair, keep in zip(made, kept, strict=True) if keep]
    rows = [pair_row(pair) for pair in pairs]
    return score_minimal_pairs(
        answers[0::2][kept],
        answers[1::2][kept],
        np.array([STEPS.index(pair.step_id) for pair in pairs]),
        np.array([float(row["direction"]) for row in rows]),
        np.array([[step in row["unchanged_steps"] for step in STEPS] for row in rows]),
        [pair.kind for pair in pairs],
        "score" if answer == "score" else "error",
    )
