"""Speech bubbles: the drawn counterpart of sound."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from siming_tasks.tools.simulator.draw.appearance import HEIGHT, WIDTH
from siming_tasks.tools.simulator.draw.canvas import Image, Pen
from siming_tasks.tools.simulator.draw.room import CLOCK

__all__ = ["draw_bubble"]

_WIDE = 130
_RIM = 8
"""From the words to the bubble's outer edge."""


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


def draw_bubble(pen: Pen, text: str, mouth: tuple[float, float], device: bool = False, slot: int = 0) -> None:
    """A bubble with its tail at ``mouth`` (world coordinates); a device's is angular. The wall clock stays in view.

    ``slot`` counts bubbles shown at once and keeps them apart.
    """
    words = _words(text.replace(". ", ".\n") if device else text)
    if words.shape[1] > _WIDE:
        words = _words(_in_two(text))
    high, wide = words.shape[:2]
    x, y = pen.at(mouth)
    left = int(np.clip(x - wide / 2, 8, WIDTH - wide - 8))
    top = int(np.clip(y - 46 - 24 * slot, 6, HEIGHT - high - 8))
    if device:  # high up, so that it hides no face
        top = 8
    elif top + high + 8 > y - 18:  # no room above the head: beside it, and narrow, for the next head is not far
        words = _words(_in_two(text))
        high, wide = words.shape[:2]
        left = int(x + 25) if x + 33 + wide < WIDTH else int(x - 29 - wide)
        left = int(np.clip(left, 8, WIDTH - wide - 8))
    left = _beside_clock(pen, left, top, wide, high)
    _box(pen.image, left, top, wide, high, (x, y), device)
    area = pen.image[top : top + high, left : left + wide]
    area[:] = area - (area - np.float32(25)) * words


def _in_two(text: str) -> str:
    """The text on two lines, broken after a comma or else in the middle."""
    spaces = [place for place, letter in enumerate(text) if letter == " "]
    best = min(spaces, key=lambda place: (text[place - 1] != ",", abs(place - len(text) / 2)), default=None)
    return text if best is None else f"{text[:best]}\n{text[best + 1 :]}"


def _beside_clock(pen: Pen, left: int, top: int, wide: int, high: int) -> int:
    """The left edge moved, by as little as will do, so that the box does not cover the clock."""
    x, y = pen.at(CLOCK)
    radius = 18 * pen.zoom
    if top - _RIM > y + radius or top + high + _RIM < y - radius:
        return left
    before, after = int(x - radius - _RIM - wide) - 2, int(x + radius + _RIM) + 2
    if left <= before or left >= after:
        return left
    free = [place for place in (before, after) if 8 <= place <= WIDTH - wide - 8]
    return min(free, key=lambda place: abs(place - left), default=left)


def _box(image: Image, left: int, top: int, wide: int, high: int, mouth: tuple[float, float], device: bool) -> None:
    import cv2

    edge = (150, 110, 60) if device else (90, 90, 90)
    fill = (250, 240, 215) if device else (255, 255, 255)
    x0, y0, x1, y1 = left - 6, top - 5, left + wide + 6, top + high + 5
    root = (min(max(mouth[0], x0 + 10), x1 - 10), (y0 + y1) / 2)
    way = np.array([mouth[0] - root[0], mouth[1] - root[1]])
    length = float(np.hypot(*way)) or 1.0
    tip = np.array(root) + way * max(length - 16, 0) / length
    across = np.array([-way[1], way[0]]) / length * 5
    tail = np.array([np.array(root) + across, tip, np.array(root) - across])
    cv2.polylines(image, [np.round(tail * 16).astype(np.int32)], True, edge, 2, cv2.LINE_AA, 4)
    if device:
        cv2.rectangle(image, (x0, y0), (x1, y1), edge, 2, cv2.LINE_AA)
        cv2.rectangle(image, (x0, y0), (x1, y1), fill, -1)
    else:
        round_ = (y1 - y0) // 2
        for color, grow in ((edge, 1), (fill, 0)):
            cv2.line(
                image, (x0 + round_, y0 + round_), (x1 - round_, y0 + round_), color, 2 * (round_ + grow), cv2.LINE_AA
            )
    cv2.fillPoly(image, [np.round(tail * 16).astype(np.int32)], fill, cv2.LINE_AA, 4)
