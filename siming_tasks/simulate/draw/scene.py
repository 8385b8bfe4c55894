"""One frame: the room, then bodies, patient, devices, arms, bubbles, in that order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from siming_tasks.simulate.draw.bubbles import draw_bubble
from siming_tasks.simulate.draw.devices import draw_aed, draw_bag, draw_oxygen_mask
from siming_tasks.simulate.draw.look import Look
from siming_tasks.simulate.draw.patient import draw_patient
from siming_tasks.simulate.draw.pen import Image, Pen
from siming_tasks.simulate.draw.people import draw_body, draw_front, draw_hands, head_of
from siming_tasks.simulate.draw.room import CLOCK

__all__ = ["draw_frame"]


def draw_frame(
    room: Image, look: Look, state: Mapping[str, float], said: Sequence[tuple[str, str]], time: float
) -> Image:
    """One image.

    Args:
        room: the background (see :func:`siming_tasks.simulate.draw.room.draw_room`); not changed.
        look: of the video.
        state: every channel's value.
        said: (speaker, text) of the bubbles shown now.
        time: seconds since the start of the video (clock, lamps, sway).

    Returns:
        Shape (272, 480, 3), BGR.
    """
    image = room.copy()
    pen = Pen(image, look.camera)
    way = 2 * np.pi * (time // 1) / 60
    pen.line([CLOCK, (CLOCK[0] + 12 * float(np.sin(way)), CLOCK[1] - 12 * float(np.cos(way)))], (40, 40, 200), 1)
    for who in ("by", "aide", "me"):
        draw_body(pen, state, who, look, time)
    draw_patient(pen, state, look)
    draw_aed(pen, state, time)
    draw_oxygen_mask(pen, state)
    for who in ("by", "aide"):
        draw_front(pen, state, who, look, time)
        draw_hands(pen, state, who, look)
    draw_front(pen, state, "me", look, time)
    draw_bag(pen, state)
    draw_hands(pen, state, "me", look)
    for slot, (who, text) in enumerate(said):
        mouth = (state["a_x"], state["a_y"]) if who == "aed" else head_of(state, who, look, time)
        draw_bubble(pen, text, mouth, who == "aed", slot)
    return image
