"""Simulated exams as training data of the nano judge: states without pictures, frames as JPEG, both by seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siming_tasks.models.nano.frame_state import features_of
from siming_tasks.rubrics import default_rubric
from siming_tasks.tools.simulator.canvas import draw_appearance
from siming_tasks.tools.simulator.choreography import CHANNELS, Performance
from siming_tasks.tools.simulator.scene import Scene
from siming_tasks.tools.simulator.simulated_exam import compute_true_scores
from siming_tasks.tools.simulator.trainee import TraineeErrors, draw_errors, with_consequences
from siming_tasks.tools.simulator.video import FPS, FULL, perform

__all__ = ["CLIP", "FULL_FRAMES", "STEPS", "Case", "Shown", "case", "drawn", "nearly_alike", "shown"]

RUBRIC = default_rubric()
STEPS = tuple(step.id for step in RUBRIC.steps)
CLIP, FULL_FRAMES = 16, 240
_NAMES = list(CHANNELS)
_ERRORS = [error.id for step in RUBRIC.steps for error in step.errors]


@dataclass(frozen=True)
class Case:
    """An exam: its performance, the seed of its look, and the true points of each step."""

    played: Performance
    look: int
    points: NDArray[np.int8]

    @property
    def frames(self) -> int:
        """Number of frames of the video."""
        return round(self.played.duration * FPS)


def case(seed: int, number: int, base: float) -> Case:
    """Exam ``number`` of ``seed``; ``base`` is the simulator's log-odds of an error (-1.79: as in the demo)."""
    return _played(draw_errors(RUBRIC, np.random.default_rng([seed, 2, number]), base=base), _look(seed, number))


def nearly_alike(seed: int, number: int, base: float) -> tuple[Case, Case]:
    """Two exams in one room at one pace: the second has one error more, any of the rubric's, and what it brings.

    With an even ``number`` that error decides a step whose own execution is the same in both.
    """
    rng = np.random.default_rng([seed, 7, number])
    plan = draw_errors(RUBRIC, rng, base=base)
    other = next(filter(None, (_worse(plan, error, not number % 2) for error in rng.permutation(_ERRORS))), plan)
    look = _look(seed, number)
    return _played(plan, look), _played(other, look)


def _worse(plan: TraineeErrors, error: str, by_history: bool) -> TraineeErrors | None:
    """The plan with the error, unless that changes nothing, or no later step although it should."""
    step = error.rpartition(".")[0]
    more = with_consequences(RUBRIC, {**plan.errors, step: (*plan.errors[step], error)}, plan.ability)
    before, after = compute_true_scores(RUBRIC, plan.errors), compute_true_scores(RUBRIC, more.errors)
    moved = {each for each in STEPS if before[each].points != after[each].points}
    if by_history:
        moved = {each for each in moved if plan.errors[each] == more.errors[each]}
    return more if moved else None


def _look(seed: int, number: int) -> int:
    return int(np.random.default_rng([seed, 4, number]).integers(2**31))


def _played(plan: TraineeErrors, look: int) -> Case:
    truth = compute_true_scores(RUBRIC, plan.errors)
    played = perform(plan, pace=FULL, fps=FPS, seed=look)
    return Case(played, look, np.array([truth[step].points for step in STEPS], np.int8))


@dataclass(frozen=True)
class Shown:
    """Frames of an exam that a judge is shown: of each step's clip (repeated to 16), and of the whole video."""

    clips: NDArray[np.int64]
    lengths: NDArray[np.int8]
    whole: NDArray[np.int64]

    def where(self, exam: Case) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """For each frame of the whole, a step that shows it (its shortest) and its place in that step's clip."""
        first, last = self.clips[:, 0], self.clips.max(1)
        frames, length = self.whole[:, None], (last - first).astype(float)
        away = np.maximum(0, np.maximum(first - frames, frames - last))  # 0 inside
        step = np.argmin(away * 1e6 + length, 1)
        share = (self.whole - first[step]) / np.maximum(1, length[step])
        place = np.rint(np.clip(share, 0, 1) * (self.lengths[step] - 1))
        return step.astype(np.int8), place.astype(np.int8)


def shown(exam: Case) -> Shown:
    """The frames that the suite shows by default (docs/media.md), 240 of the whole video."""
    clips, lengths = np.zeros((len(STEPS), CLIP), np.int64), np.zeros(len(STEPS), np.int8)
    for number, step in enumerate(STEPS):
        begin, end = exam.played.spans[step]
        first = int(np.ceil((begin - 0.0005) * FPS))
        last = max(first, min(exam.frames, int(np.ceil((end - 0.0005) * FPS))) - 1)
        count = max(1, min(CLIP, int(FPS * (end - begin) + 1e-6), last - first + 1))
        clips[number, :count] = np.linspace(first, last, count, dtype=int)
        clips[number, count:] = clips[number, count - 1]
        lengths[number] = count
    whole = np.linspace(0, exam.frames - 1, min(FULL_FRAMES, exam.frames), dtype=int)
    return Shown(clips, lengths, whole)


def state(exam: Case, frames: NDArray[np.int64]) -> tuple[NDArray[np.float64], list[tuple[tuple[str, str], ...]]]:
    """Channels at some frames, rounded as they are drawn, and who says what."""
    at = (frames + 0.5) / FPS
    played = exam.played
    rows = np.column_stack([np.interp(at, played.times[name], played.values[name]) for name in _NAMES])
    words: list[tuple[tuple[str, str], ...]] = [()] * len(at)
    for word in played.utterances:
        for index in np.flatnonzero((word.start <= at) & (at < word.end)):
            words[index] = (*words[index], (word.who, word.text))
    return np.round(rows, 2), words


def truth(exam: Case, frames: NDArray[np.int64]) -> NDArray[np.float32]:
    """The features of some frames."""
    rows, words = state(exam, frames)
    return features_of(rows, [[text for _, text in utterances] for utterances in words], _NAMES)


def drawn(exam: Case, frames: NDArray[np.int64], rng: np.random.Generator, *, bubbles: bool = True) -> Iterator[bytes]:
    """Some frames as JPEG of varying quality (what a codec loses), in the order given; with or without what is said."""
    import cv2

    cv2.setNumThreads(1)
    scene = Scene(draw_appearance(exam.look), _NAMES)
    rows, words = state(exam, frames)
    order = np.argsort(frames, kind="stable")
    pictures: dict[int, bytes] = {}
    for index in order.tolist():
        picture = scene.draw(rows[index].tolist(), words[index] if bubbles else (), float((frames[index] + 0.5) / FPS))
        quality = int(rng.integers(45, 93))
        pictures[index] = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])[1].tobytes()
    return (pictures[index] for index in range(len(frames)))
