"""One frame: the room, then bodies, patient, devices, arms and speech bubbles, in that order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from siming_tasks.tools.simulator.canvas import HEIGHT, WIDTH, Appearance, Image, Pen, Point, State, shade
from siming_tasks.tools.simulator.patient import draw_aed, draw_bag, draw_oxygen_mask, draw_patient, draw_shadow
from siming_tasks.tools.simulator.people import (
    at_rest,
    draw_body,
    draw_clipboard,
    draw_front,
    draw_hands,
    head_of,
    sway_step,
)

CLOCK = (318.0, 30.0)
"""Where the wall clock hangs; its hand moves, so it is drawn with the frame."""
_EDGE = 112.0
"""Where the floor meets the wall."""
_OVER_PATIENT = 170.0
"""Hands below this line of the picture are in front of the patient, others behind."""
_WIDE = 130
"""Pixels of the longest line of a bubble."""
_RIM = 8
"""Pixels from the words to the bubble's outer edge."""


class Scene:
    """Draws the frames of one video from values of ``channels``; keeps what stands still between them."""

    def __init__(self, look: Appearance, channels: Sequence[str]) -> None:
        self._look = look
        self._room = _draw_room(look)
        self._names = list(channels)
        self._back: Image = self._room
        self._back_key: tuple[object, ...] = ()

    def draw(self, row: Sequence[float], words: Sequence[tuple[str, str]], time: float) -> Image:
        """One new image, shape (272, 480, 3), BGR.

        Args:
            row: every channel's value.
            words: (speaker, text) of the bubbles shown now.
            time: seconds since the start of the video (clock, lamps, sway).
        """
        look, state = self._look, dict(zip(self._names, row, strict=True))
        busy = [
            who
            for who in ("by", "aide")
            if state[f"{who}_seen"] > 0.5 and max(state[f"{who}_ly"], state[f"{who}_ry"]) > _OVER_PATIENT
        ]
        onlookers = (value for name, value in state.items() if name.startswith(("by_", "aide_", "p_soft")))
        key = (*onlookers, sway_step(time), time // 1)
        if key != self._back_key:
            self._back_key, self._back = key, self._draw_background(state, busy, time)
        image: Image = self._back.copy()
        pen = Pen(image, look.camera)
        for who in (*busy, "me"):
            draw_body(pen, state, who, look, time)
        draw_patient(pen, state, look)
        draw_aed(pen, state, time)
        draw_oxygen_mask(pen, state)
        for who in (*busy, "me"):
            draw_front(pen, state, who, look, time)
            if who == "me":
                draw_bag(pen, state)
            draw_hands(pen, state, who, look)
        for slot, (who, text) in enumerate(sorted(words)):
            mouth = (state["a_x"] + 8, state["a_y"] - 8) if who == "aed" else head_of(state, who, look, time)
            _draw_bubble(pen, text, pen.at(mouth), who == "aed", slot)
        return image

    def _draw_background(self, state: State, busy: list[str], time: float) -> Image:
        """Room, clock, the patient's shadow and whoever only stands by."""
        look = self._look
        image: Image = self._room.copy()
        pen = Pen(image, look.camera)
        way = 2 * np.pi * (time // 1) / 60
        hand = (CLOCK[0] + 12 * float(np.sin(way)), CLOCK[1] - 12 * float(np.cos(way)))
        pen.line([CLOCK, hand], (40, 40, 200), 1)
        draw_shadow(pen, state, look)
        for who in ("by", "aide"):
            if who not in busy:
                posed = at_rest(state, who, look, sway_step(time))
                draw_body(pen, posed, who, look, time)
                draw_front(pen, posed, who, look, time)
                if who == "by":
                    draw_clipboard(pen, posed, look)
                draw_hands(pen, posed, who, look)
        return image


def _draw_room(look: Appearance) -> Image:
    """The empty room, shape (272, 480, 3), BGR, with light falling from one side and a fixed sensor pattern."""
    image = np.empty((HEIGHT, WIDTH, 3), np.uint8)
    image[:] = look.wall
    pen = Pen(image, look.camera)
    pen.fill([(-80, _EDGE), (560, _EDGE), (560, 380), (-80, 380)], look.floor)
    pen.line([(-80, _EDGE), (560, _EDGE)], shade(look.wall, 0.75), 3)
    rng = np.random.default_rng([look.seed, 8])
    for x in range(-60, 560, 60):
        pen.line([(x, _EDGE), (240 + (x - 240) * 1.7, 330)], shade(look.floor, 0.95), 1)
    for place, piece in zip((95.0, 215.0, 425.0), look.furniture, strict=False):
        _draw_furniture(pen, piece, place + float(rng.uniform(-10, 10)))
    pen.disc(CLOCK, 17, (70, 70, 70))
    pen.disc(CLOCK, 15, (250, 250, 250))
    for hour in range(12):
        way = np.radians(hour * 30)
        pen.disc((CLOCK[0] + 12.5 * np.sin(way), CLOCK[1] - 12.5 * np.cos(way)), 0.9, (90, 90, 90))
    side = rng.uniform(-0.10, 0.10)
    ramp = look.light * (1 + side * np.linspace(-1, 1, WIDTH))[None, :, None]
    grain = rng.normal(0, look.grain, (HEIGHT, WIDTH, 1))
    return np.clip(image * ramp + grain, 0, 255).astype(np.uint8)


def _draw_furniture(pen: Pen, piece: str, x: float) -> None:
    if piece == "cabinet":
        pen.box((x, 78), (30, 38), (150, 170, 190))
        pen.line([(x, 42), (x, 114)], (110, 130, 150), 1.5)
        pen.disc((x - 5, 78), 2, (80, 90, 100))
        pen.disc((x + 5, 78), 2, (80, 90, 100))
    elif piece == "window":
        pen.box((x, 50), (32, 30), (170, 175, 175))
        pen.box((x, 50), (29, 27), (240, 225, 190))
        pen.line([(x, 23), (x, 77)], (170, 175, 175), 2.5)
    elif piece == "poster":
        pen.box((x, 50), (20, 26), (210, 200, 230))
        pen.line([(x - 12, 40), (x + 12, 40)], (120, 110, 160), 2)
        pen.disc((x, 56), 8, (160, 140, 200))
    elif piece == "door":
        pen.box((x, 62), (24, 52), (120, 150, 180))
        pen.disc((x + 17, 66), 2.5, (60, 90, 110))
    elif piece == "plant":
        pen.fill([(x - 9, 96), (x + 9, 96), (x + 6, 116), (x - 6, 116)], (80, 110, 160))
        for lean in (-14, -7, 0, 7, 14):
            pen.line([(x, 96), (x + lean, 66 + abs(lean))], (80, 140, 70), 4)
    elif piece == "curtain":
        for fold in range(6):
            pen.box((x - 25 + fold * 10, 60), (4.5, 52), shade((200, 205, 170), 0.92 + 0.03 * (fold % 3)))


@lru_cache(maxsize=512)
def _words(text: str) -> NDArray[np.float32]:
    """The text as coverage, shape (height, width, 1), 0 to 1."""
    from PIL import Image as Pillow
    from PIL import ImageDraw, ImageFont

    font = ImageFont.load_default(size=13)
    left, top, right, bottom = ImageDraw.Draw(Pillow.new("L", (1, 1))).multiline_textbbox((0, 0), text, font=font)
    canvas = Pillow.new("L", (int(right - left) + 2, int(bottom - top) + 2), 0)
    ImageDraw.Draw(canvas).multiline_text((1 - left, 1 - top), text, fill=255, font=font)
    return np.divide(np.asarray(canvas, np.float32)[:, :, None], 255, dtype=np.float32)


def _in_two(text: str) -> str:
    """The text on two lines, broken after a comma or else in the middle."""
    spaces = [place for place, letter in enumerate(text) if letter == " "]
    best = min(spaces, key=lambda place: (text[place - 1] != ",", abs(place - len(text) / 2)), default=None)
    return text if best is None else f"{text[:best]}\n{text[best + 1 :]}"


def _draw_bubble(pen: Pen, text: str, mouth: Point, device: bool, slot: int) -> None:
    """A speech bubble, the drawn counterpart of sound, with its tail at ``mouth`` (pixels); a device's is angular.

    The wall clock stays in view. ``slot`` counts bubbles shown at once and keeps them apart.
    """
    words = _words(text.replace(". ", ".\n") if device else text)
    if words.shape[1] > _WIDE:
        words = _words(_in_two(text))
    high, wide = words.shape[:2]
    x, y = mouth
    left = int(np.clip(x - wide / 2, 8, WIDTH - wide - 8))
    top = int(np.clip(y - 46 - 24 * slot, 6, HEIGHT - high - 8))
    if device:  # high up, so that it hides no face
        top = 8
    elif top + high + 8 > y - 18:  # no room above the head: beside it, and narrow, for the next head is not far
        words = _words(_in_two(text))
        high, wide = words.shape[:2]
        left = int(x + 25) if x + 33 + wide < WIDTH else int(x - 29 - wide)
        left = int(np.clip(left, 8, WIDTH - wide - 8))
    clock_x, clock_y = pen.at(CLOCK)
    radius = 18 * pen.zoom
    before, after = int(clock_x - radius - _RIM - wide) - 2, int(clock_x + radius + _RIM) + 2
    if top - _RIM <= clock_y + radius and top + high + _RIM >= clock_y - radius and before < left < after:
        # Moved by as little as will do, so that the box does not cover the clock.
        free = [place for place in (before, after) if 8 <= place <= WIDTH - wide - 8]
        left = min(free, key=lambda place: abs(place - left), default=left)
    _draw_box(pen.image, (left - 6, top - 5, left + wide + 6, top + high + 5), mouth, device)
    area = pen.image[top : top + high, left : left + wide]
    area[:] = area - (area - np.float32(25)) * words


def _draw_box(image: Image, box: tuple[int, int, int, int], mouth: Point, device: bool) -> None:
    """The bubble without its words; ``box`` is left, top, right and bottom in pixels."""
    import cv2

    edge = (150, 110, 60) if device else (90, 90, 90)
    fill = (250, 240, 215) if device else (255, 255, 255)
    x0, y0, x1, y1 = box
    root = (min(max(mouth[0], x0 + 10), x1 - 10), (y0 + y1) / 2)
    way = np.array([mouth[0] - root[0], mouth[1] - root[1]])
    length = float(np.hypot(*way)) or 1.0
    tip = np.array(root) + way * max(length - 16, 0) / length
    across = np.array([-way[1], way[0]]) / length * 5
    corners = np.array([np.array(root) + across, tip, np.array(root) - across])
    tail = [np.round(corners * 16).astype(np.int32)]
    cv2.polylines(image, tail, True, edge, 2, cv2.LINE_AA, 4)
    if device:
        cv2.rectangle(image, (x0, y0), (x1, y1), edge, 2, cv2.LINE_AA)
        cv2.rectangle(image, (x0, y0), (x1, y1), fill, -1)
    else:
        half = (y1 - y0) // 2
        for color, thick in ((edge, 2 * (half + 1)), (fill, 2 * half)):
            cv2.line(image, (x0 + half, y0 + half), (x1 - half, y0 + half), color, thick, cv2.LINE_AA)
    cv2.fillPoly(image, tail, fill, cv2.LINE_AA, 4)
