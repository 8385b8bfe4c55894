"""A crude picture of an exam (placeholder for the drawn scene)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from siming_tasks.simulate.exam import Exam

__all__ = ["FPS", "frames", "spans_of"]

FPS = 12
SIZE = (480, 272)


def spans_of(exam: Exam, short: bool) -> tuple[dict[str, tuple[float, float]], float]:
    """Step spans in seconds and the length of the video."""
    each = 0.75 if short else 5.0
    spans = {step: (round(i * each, 3), round((i + 1) * each, 3)) for i, step in enumerate(exam.truth)}
    return spans, len(spans) * each


def frames(exam: Exam, spans: Mapping[str, tuple[float, float]], duration: float) -> Iterator[NDArray[np.uint8]]:
    """The images of the video, BGR."""
    import cv2

    rng = np.random.default_rng(exam.look)
    ground = np.full((SIZE[1], SIZE[0], 3), rng.integers(150, 230, 3), np.uint8)
    steps = list(spans)
    for index in range(round(duration * FPS)):
        image = ground.copy()
        time = index / FPS
        step = steps[min(int(time / duration * len(steps)), len(steps) - 1)]
        dip = 10 * abs(np.sin(time * 6))
        cv2.ellipse(image, (240, 200), (150, 30), 0, 0, 360, (180, 190, 220), -1, cv2.LINE_AA)
        cv2.circle(image, (410, 190), 26, (180, 190, 220), -1, cv2.LINE_AA)
        cv2.line(image, (270, 90), (270, int(180 + dip)), (90, 60, 40), 14, cv2.LINE_AA)
        cv2.circle(image, (270, 60), 24, (150, 170, 220), -1, cv2.LINE_AA)
        for place in range(len(exam.plan.errors[step])):
            cv2.circle(image, (60 + 30 * place, 60), 10, (60, 90, 160), -1, cv2.LINE_AA)
        yield image
