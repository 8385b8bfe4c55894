"""One frame: the room, then bodies, patient, devices, arms, bubbles, in that order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from siming_tasks.tools.simulator.draw.appearance import Appearance
from siming_tasks.tools.simulator.draw.canvas import Image, Pen
from siming_tasks.tools.simulator.draw.devices import draw_aed, draw_bag, draw_oxygen_mask
from siming_tasks.tools.simulator.draw.hands import draw_hands
from siming_tasks.tools.simulator.draw.idle_motion import at_rest, draw_clipboard
from siming_tasks.tools.simulator.draw.patient import draw_patient, draw_shadow
from siming_tasks.tools.simulator.draw.people import draw_body, draw_front, head_of, sway_step
from siming_tasks.tools.simulator.draw.room import CLOCK, draw_room
from siming_tasks.tools.simulator.draw.speech_bubbles import draw_bubble

__all__ = ["Scene"]

_OVER_PATIENT = 170.0
"""Hands below this line of the picture are in front of the patient, others behind."""


class Scene:
    """Draws the frames of one video; keeps what stands still between them.

    Args:
        look: of the video.
        channels: names of the state's values, in order.
    """

    def __init__(self, look: Appearance, channels: Sequence[str]) -> None:
        self._look = look
        self._room = draw_room(look)
        self._names = list(channels)
        self._onlookers = [i for i, name in enumerate(self._names) if name.startswith(("by_", "aide_", "p_soft"))]
        self._back: Image = self._room
        self._back_key: tuple[object, ...] = ()

    def draw(self, row: Sequence[float], words: Sequence[tuple[str, str]], time: float) -> Image:
        """One new image, shape (272, 480, 3), BGR.

        Args:
            row: every channel's value.
            words: (speaker, text) of the bubbles shown now.
            time: seconds since the start of the video (clock, lamps, sway).
        """
        state = dict(zip(self._names, row, strict=True))
        look, busy = self._look, [who for who in ("by", "aide") if _over_patient(state, who)]
        image: Image = self._background(state, row, busy, time).copy()
        pen = Pen(image, look.camera)
        for who in (*busy, "me"):
            draw_body(pen, state, who, look, time)
        draw_patient(pen, state, look)
        draw_aed(pen, state, time)
        draw_oxygen_mask(pen, state)
        for who in busy:
            draw_front(pen, state, who, look, time)
            draw_hands(pen, state, who, look)
        draw_front(pen, state, "me", look, time)
        draw_bag(pen, state)
        draw_hands(pen, state, "me", look)
        for slot, (who, text) in enumerate(sorted(words)):
            mouth = (state["a_x"] + 8, state["a_y"] - 8) if who == "aed" else head_of(state, who, look, time)
            draw_bubble(pen, text, mouth, who == "aed", slot)
        return image

    def _background(self, state: Mapping[str, float], row: Sequence[float], busy: list[str], time: float) -> Image:
        """Room, clock, the patient's shadow and whoever only stands by; drawn anew when they move."""
        key = (*(row[i] for i in self._onlookers), sway_step(time), time // 1)
        if key != self._back_key:
            self._back_key, self._back = key, self._room.copy()
            pen = Pen(self._back, self._look.camera)
            way = 2 * np.pi * (time // 1) / 60
            hand = (CLOCK[0] + 12 * float(np.sin(way)), CLOCK[1] - 12 * float(np.cos(way)))
            pen.line([CLOCK, hand], (40, 40, 200), 1)
            draw_shadow(pen, state, self._look)
            for who in ("by", "aide"):
                if who not in busy:
                    posed = at_rest(state, who, self._look, sway_step(time))
                    draw_body(pen, posed, who, self._look, time)
                    draw_front(pen, posed, who, self._look, time)
                    if who == "by":
                        draw_clipboard(pen, posed, self._look)
                    draw_hands(pen, posed, who, self._look)
        return self._back


def _over_patient(state: Mapping[str, float], who: str) -> bool:
    return state[f"{who}_seen"] > 0.5 and max(state[f"{who}_ly"], state[f"{who}_ry"]) > _OVER_PATIENT
