"""Contact sheets: one small picture per step, for people to look at; models never see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from siming_tasks.files import atomic_path
from siming_tasks.simulate.draw.pen import Image

__all__ = ["ContactSheet"]

_THUMB = (192, 108)
_CAPTION = 14
_COLUMNS = 6
_BAND = 20


class ContactSheet:
    """Picks the middle frame of every step out of a passing stream of frames.

    Args:
        spans: start and end of each step in seconds.
        fps: of the stream.
    """

    def __init__(self, spans: Mapping[str, tuple[float, float]], fps: int) -> None:
        self._wanted = {step: int((start + end) / 2 * fps) for step, (start, end) in spans.items()}
        self._fps = fps
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
        """Write the sheet as a JPEG, steps in order of time; call it when the stream has passed."""
        import cv2

        tiles = [self._tile(step, index) for step, index in sorted(self._wanted.items(), key=lambda item: item[1])]
        while len(tiles) % _COLUMNS:
            tiles.append(np.full_like(tiles[0], 255))
        rows = [np.hstack(tiles[start : start + _COLUMNS]) for start in range(0, len(tiles), _COLUMNS)]
        band = np.full((_BAND, rows[0].shape[1], 3), (200, 240, 255), np.uint8)
        title = f"SYNTHETIC: simulated exam {path.stem}, drawn by a program"
        cv2.putText(band, title, (4, _BAND - 6), 0, 0.42, (0, 0, 0), 1, cv2.LINE_AA)
        with atomic_path(path) as temporary:
            cv2.imwrite(str(temporary), np.vstack([band, *rows]), [cv2.IMWRITE_JPEG_QUALITY, 80])

    def _tile(self, step: str, index: int) -> Image:
        import cv2

        tile = np.full((_THUMB[1] + _CAPTION, _THUMB[0], 3), 255, np.uint8)
        tile[: _THUMB[1]] = self._thumbs[index]
        place = (4, _THUMB[1] + _CAPTION - 4)
        cv2.putText(tile, f"{step}  {index / self._fps:.1f} s", place, 0, 0.35, (60, 60, 60), 1, cv2.LINE_AA)
        return tile
