"""Contact sheets: the moment that decides each step, with its name; for people to look at, models never see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from siming_tasks.common.files import atomic_path
from siming_tasks.tools.simulator.canvas import Image
from siming_tasks.tools.simulator.choreography import CHANNELS, Performance

_THUMB = (192, 108)
_CAPTION = 30
_COLUMNS = 6
_BAND = 20
_DECIDES: Mapping[str, str] = {
    "cpr_01": "says me", "cpr_02": "says me", "cpr_03": "last me", "cpr_04": "most me_bow", "cpr_05": "last me",
    "cpr_06": "least p_twist", "cpr_07": "most p_cloth", "cpr_08": "end", "cpr_09": "first me_grip",
    "cpr_10": "first p_depth", "cpr_11": "most p_depth", "cpr_12": "middle", "cpr_13": "release p_depth",
    "cpr_14": "last me", "cpr_15": "most p_mouth", "cpr_16": "most p_tilt", "cpr_17": "most p_rise",
    "cpr_18": "last me", "cpr_19": "last me", "aed_01": "says aed", "aed_02": "says me", "aed_03": "end",
    "aed_04": "most a_plug", "aed_05": "says me", "aed_06": "says aed", "aed_07": "says me", "aed_08": "most p_shake",
    "aed_09": "first p_depth", "bmv_01": "end", "bmv_02": "most p_tilt", "bmv_03": "first b_sq",
    "bmv_04": "most p_rise", "bmv_05": "last b_sq",
}  # fmt: skip
"""What to look for by step: words of somebody, or a channel's greatest, least, first or last value above rest."""


def deciding_moments(played: Performance, fps: int) -> dict[str, float]:
    """Seconds of the video by step id, middles of frames; the step's middle where nothing of the kind happens."""
    columns = dict(zip(CHANNELS, played.sample(fps).T, strict=True))
    moments = {}
    for step, (start, end) in played.spans.items():
        first, last = round(start * fps), max(round(end * fps) - 1, round(start * fps))
        rule, _, subject = _DECIDES.get(step, "middle").partition(" ")
        frame = last if rule == "end" else (first + last) // 2
        if subject in CHANNELS:
            values = columns[subject][first : last + 1]
            if np.ptp(values) > 0:
                high = np.flatnonzero(values >= values.min() + 0.8 * np.ptp(values))
                # Released: the hands up between two strokes, the least after the first stroke.
                after = values[high[0] :][: max((len(values) - high[0]) * 3 // 4, 1)]
                choices = {
                    "most": values.argmax(),
                    "least": values.argmin(),
                    "first": high[0],
                    "last": high[-1],
                    "release": high[0] + after.argmin(),
                }
                frame = first + int(choices[rule])
        elif spoken := [word for word in played.utterances if word.who == subject and start <= word.start < end]:
            word = spoken[0 if rule == "says" else -1]
            frame = int((word.start + min(word.end, end)) / 2 * fps)
        moments[step] = (min(max(frame, first), last) + 0.5) / fps
    return moments


class ContactSheet:
    """Picks the frame of every step's moment (in seconds) out of a passing stream of ``fps`` frames a second.

    ``faults`` says what went wrong, by step; steps done well are absent.
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

        wide, high = _THUMB
        rows = -(-len(self._wanted) // _COLUMNS)
        sheet = Pillow.new("RGB", (_COLUMNS * wide, _BAND + rows * (high + _CAPTION)), "white")
        pen = ImageDraw.Draw(sheet)
        pen.rectangle((0, 0, sheet.width, _BAND - 1), (255, 240, 200))
        title = f"SYNTHETIC: simulated exam {path.stem}, drawn by a program; red: what was done wrong"
        _write(pen, (4, 3), title, "black")
        for number, (step, index) in enumerate(self._wanted.items()):
            left, top = number % _COLUMNS * wide, _BAND + number // _COLUMNS * (high + _CAPTION)
            sheet.paste(Pillow.fromarray(self._thumbs[index][:, :, ::-1]), (left, top))
            _write(pen, (left + 3, top + high + 1), self._names.get(step, ""), "black", wide - 6)
            below = top + high + 14
            used = _write(pen, (left + 3, below), f"{step}  {index / self._fps:.1f} s", (90, 90, 90))
            _write(pen, (left + used + 10, below), self._faults.get(step, ""), (190, 0, 0), wide - used - 12)
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
