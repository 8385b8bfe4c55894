"""Contact sheets: the moment that decides each step, with its name; for people to look at, models never see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from siming_tasks.common.files import atomic_path
from siming_tasks.tools.simulator.draw.canvas import Image

__all__ = ["ContactSheet"]

_THUMB = (192, 108)
_CAPTION = 30
_COLUMNS = 6
_BAND = 20


class ContactSheet:
    """Picks one frame of every step out of a passing stream of frames.

    Args:
        moments: of each step in seconds.
        names: of the steps.
        faults: what went wrong, by step; steps done well are absent.
        fps: of the stream.
    """

    def __init__(
        self, moments: Mapping[str, float], names: Mapping[str, str], faults: Mapping[str, str], fps: int
    ) -> None:
        self._wanted = {step: int(time * fps) for step, time in moments.items()}
        self._names, self._faults, self._fps = names, faults, fps
        self._thumbs: dict[int, Image] = {}

    def watch(self, stream: Iterable[Image]) -> Iterator[Image]:
        """Pass the frames on."""
        import cv2

        wanted = set(self._wanted.values())
        for index, image in enumerate(stream):
            if index in wanted:
                self._thumbs[index] = np.asarray(cv2.resize(image, _THUMB, interpolation=cv2.INTER_AREA), np.uint8)
            yield image

    def save(self, path: Path) -> None:
        """Write the sheet as a JPEG, steps in the order of the rubric; call it when the stream has passed."""
        from PIL import Image as Pillow
        from PIL import ImageDraw

        rows = -(-len(self._wanted) // _COLUMNS)
        sheet = Pillow.new("RGB", (_COLUMNS * _THUMB[0], _BAND + rows * (_THUMB[1] + _CAPTION)), "white")
        pen = ImageDraw.Draw(sheet)
        pen.rectangle((0, 0, sheet.width, _BAND - 1), (255, 240, 200))
        _write(
            pen, (4, 3), f"SYNTHETIC: simulated exam {path.stem}, drawn by a program; red: what was done wrong", "black"
        )
        for number, (step, index) in enumerate(self._wanted.items()):
            left, top = number % _COLUMNS * _THUMB[0], _BAND + number // _COLUMNS * (_THUMB[1] + _CAPTION)
            sheet.paste(Pillow.fromarray(self._thumbs[index][:, :, ::-1]), (left, top))
            below = top + _THUMB[1] + 1
            _write(pen, (left + 3, below), self._names.get(step, ""), "black", _THUMB[0] - 6)
            where = f"{step}  {index / self._fps:.1f} s"
            wide = _write(pen, (left + 3, below + 13), where, (90, 90, 90))
            _write(pen, (left + wide + 10, below + 13), self._faults.get(step, ""), (190, 0, 0), _THUMB[0] - wide - 12)
        with atomic_path(path) as temporary:
            sheet.save(temporary, "JPEG", quality=82)


def _write(pen: Any, at: tuple[int, int], text: str, color: Any, room: float = np.inf) -> int:
    """Write one line, cut short if it is wider than ``room`` pixels; returns the width."""
    from PIL import ImageFont

    font = ImageFont.load_default(size=10)
    if pen.textlength(text, font) > room:
        while text and pen.textlength(f"{text}...", font) > room:
            text = text[:-1]
        text = f"{text.rstrip()}..."
    pen.text(at, text, fill=color, font=font)
    return int(pen.textlength(text, font))
