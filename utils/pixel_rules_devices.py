"""Rules by which the pixel reader names errors with the AED and the bag and mask: clip in, names out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pixel_signals import FPS, LAST, activity, chest_rises, color, device, head_course, moved
from pixel_strokes import strokes

__all__ = ["RULES"]

Clip = NDArray[np.uint8]


def spoken(clip: Clip) -> bool:
    """True if the trainee's bubble appears (above a head at x = 345, below that of the device)."""
    return activity(clip, (310, 46, 385, 58)) > 0.08


def looked_round(clip: Clip) -> bool:
    """True if the trainee (kneeling at x = 345) turns the head to the patient's feet."""
    x = head_course(clip, (326, 60, 366, 112), axis=0, still=True)
    return bool((x < 341.5).any())


def power(clip: Clip) -> set[str]:
    at = device(clip[LAST])
    return {"bad_placement"} if at and at[0] < 240 else set()


def pads(clip: Clip) -> set[str]:
    """One pad has a blue rim, the other an orange one, as on the device."""
    blue, orange = (rim(clip, color) for color in ((200, 130, 40), (40, 130, 240)))
    if blue is None and orange is None:
        return {"omitted"}
    if blue is None or orange is None:
        return set()  # one is hidden: no verdict
    if orange[0] > 304 and orange[1] < 200:
        return {"swapped"}
    if blue[1] > 196:
        return {"both_misplaced"}
    return {"one_misplaced"} if orange[0] < 279 and orange[1] < 210 else set()


def rim(clip: Clip, wanted: tuple[int, int, int]) -> tuple[float, float] | None:
    """Centre of what has come to have a colour on and around the chest."""
    part = clip[[0, -2, -1], 168:226, 240:346].astype(np.int16)
    like, new = np.abs(part[1:] - wanted).max(3) < 40, np.abs(part[1:] - part[0]).max(3) > 40
    columns = (like & new).any(0)
    if columns.sum() < 8:
        return None
    ys, xs = np.nonzero(columns)
    return 240 + float(np.median(xs)), 168 + float(np.median(ys))


def connector(clip: Clip) -> set[str]:
    """The plug in its socket is white; without it there is a dark hole."""
    x, y = device(clip[LAST]) or (398, 150)
    left, top = round(x) - 14, round(y) + 8
    return set() if color(clip[LAST], (left, top, left + 5, top + 4)).mean() > 110 else {"omitted"}


def cleared(clip: Clip, sign_only: str) -> set[str]:
    """Faults of a warning that takes a word and a sign."""
    voice, sign = spoken(clip), looked_round(clip)
    if not voice and not sign:
        return {"omitted"}
    return set() if voice and sign else {"voice_only" if voice else sign_only}


def clear_analysis(clip: Clip) -> set[str]:
    return cleared(clip[: round(2.4 * FPS)], "gesture_only")


def advice(clip: Clip) -> set[str]:
    return {"omitted"} if moved(clip, (272, 172, 304, 200), 0.15) else set()


def clear_shock(clip: Clip) -> set[str]:
    return cleared(clip, "visual_only")


def shock(clip: Clip) -> set[str]:
    x, y = map(round, device(clip) or (398, 150))
    if not moved(clip, (x + 4, y - 22, x + 26, y + 6), 0.25):
        return {"omitted"}
    said, pressed = (
        next((k for k in range(len(clip)) if activity(clip[[0, k]], box) > share), 0)
        for box, share in (((330, 4, 460, 34), 0.15), ((x + 4, y - 22, x + 26, y + 6), 0.25))
    )
    return {"delayed"} if pressed - said > 6 * FPS else set()


def resume(clip: Clip) -> set[str]:
    times = strokes(clip).times
    if len(times) < 4:
        return {"omitted"}
    return {"delay_over_10s"} if times[0] > 10 else {"delay_5_10s"} if times[0] > 4.5 else set()


def volume(clip: Clip) -> set[str]:
    times, heights, seconds = chest_rises(clip)
    if not moved(clip, (380, 130, 420, 170), 0.12):
        return {"omitted"}
    names = {"jab"} if len(times) and np.median(seconds) < 0.5 else set()
    if len(times) and np.median(heights) > 10.5:
        return names | {"over_inflation"}
    return names | {0: {"mostly_without_rise"}, 1: {"mostly_without_rise"}, 2: {"some_without_rise"}}.get(
        len(times), set()
    )


def ventilation_rate(clip: Clip) -> set[str]:
    times = chest_rises(clip)[0]
    if not len(times):
        return {"omitted"}
    return {"hyperventilation"} if len(times) >= 4 else set()


RULES = {
    "aed_01": (power, "bad_placement"),
    "aed_03": (pads, "omitted one_misplaced both_misplaced swapped"),
    "aed_04": (connector, "omitted"),
    "aed_05": (clear_analysis, "voice_only gesture_only omitted"),
    "aed_06": (advice, "omitted"),
    "aed_07": (clear_shock, "voice_only visual_only omitted"),
    "aed_08": (shock, "omitted delayed"),
    "aed_09": (resume, "delay_5_10s delay_over_10s omitted"),
    "bmv_04": (volume, "some_without_rise mostly_without_rise over_inflation jab omitted"),
    "bmv_05": (ventilation_rate, "hyperventilation omitted"),
}
"""By step: the rule, and the errors that it claims to recover."""
