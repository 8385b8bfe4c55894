"""The moment of a step that decides: what to look at when only one picture of it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from siming_tasks.tools.simulator.performance import CHANNELS, Performance

__all__ = ["deciding_moments"]

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
    """Seconds of the video by step id, each within its step; the middle where nothing of the kind happens.

    Args:
        played: the exam.
        fps: moments are middles of frames of this rate.
    """
    rows = played.sample(fps)
    columns = dict(zip(CHANNELS, rows.T, strict=True))
    moments = {}
    for step, (start, end) in played.spans.items():
        first, last = round(start * fps), max(round(end * fps) - 1, round(start * fps))
        rule, _, subject = _DECIDES.get(step, "middle").partition(" ")
        frame = (first + last) // 2
        if rule in ("says", "last") and subject not in CHANNELS:
            spoken = [word for word in played.utterances if word.who == subject and start <= word.start < end]
            if spoken:
                word = spoken[0 if rule == "says" else -1]
                frame = int((word.start + min(word.end, end)) / 2 * fps)
        elif rule == "end":
            frame = last
        elif subject and np.ptp(columns[subject][first : last + 1]) > 0:
            frame = first + _pick(rule, columns[subject][first : last + 1])
        moments[step] = (min(max(frame, first), last) + 0.5) / fps
    return moments


def _pick(rule: str, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> int:
    """The frame of a channel that moves."""
    high = np.flatnonzero(values >= values.min() + 0.8 * np.ptp(values))
    if rule == "release":  # the hands up between two strokes: the least after the first stroke
        after = values[high[0] :]
        return int(high[0] + after[: max(len(after) * 3 // 4, 1)].argmin())
    choose = {"most": partial(np.argmax, values), "least": partial(np.argmin, values)}
    if rule in choose:
        return int(choose[rule]())
    return int(high[0] if rule == "first" else high[-1])
