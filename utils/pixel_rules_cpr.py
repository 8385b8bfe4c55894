"""Rules by which the pixel reader names errors of cardiopulmonary resuscitation: clip in, names out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pixel_signals import FPS, LAST, activity, chest_rises, color, far, gaze, head_course, moved
from pixel_strokes import strokes

__all__ = ["RULES"]

Clip = NDArray[np.uint8]


def responsiveness(clip: Clip) -> set[str]:
    return set() if moved(clip[-30:], (318, 172, 345, 214)) else {"omitted"}


def pulse(clip: Clip) -> set[str]:
    return set() if moved(clip, (338, 176, 380, 210)) else {"omitted"}


def supine(clip: Clip) -> set[str]:
    end = clip[LAST]
    top, front = color(end, (46, 196, 64, 210)), color(end, (46, 242, 64, 250))  # of a mattress, or floor
    soft = {"soft_surface"} if far(top, front) > 20 else set()
    if far(color(end, (402, 210, 414, 216)), color(end, (402, 228, 414, 236))) > 14:  # the pillow
        legs = far(color(end, (146, 157, 158, 161)), color(end, (146, 146, 158, 150)))
        return soft | {"omitted" if legs > 40 else "misaligned"}
    return soft


def expose(clip: Clip) -> set[str]:
    end = clip[LAST]
    bare = far(color(end, (300, 187, 316, 190)), color(end, (243, 199, 251, 203)))
    return set() if bare > 30 else {"omitted"}


def own_position(clip: Clip) -> set[str]:
    """The face mask says where the trainee kneels."""
    x = head_course(clip, (228, 84, 330, 112), axis=0)[LAST]
    return {"omitted"} if np.isfinite(x).any() and np.nanmedian(x) < 268 else set()


def hands(clip: Clip) -> set[str]:
    seen = strokes(clip[: 17 * FPS])
    if len(seen.times) < 8:
        return {"omitted"}
    away = abs(seen.place - 288)
    return {"wrong_zone"} if away > 17 else {"slight_offset"} if away > 8 else set()


def depth(clip: Clip) -> set[str]:
    seen = strokes(clip)
    if not len(seen.times):
        return {"omitted"}
    return {"mostly_shallow"} if seen.depth < 3.9 else {"mostly_too_deep"} if seen.depth > 7.0 else set()


def rate(clip: Clip) -> set[str]:
    times = strokes(clip).times
    if len(times) < 6:
        return {"omitted"}
    between = np.diff(times)
    per_minute = 60 / between[between < 1.6 * np.median(between)].mean()  # pauses are another step's matter
    if not 90 <= per_minute <= 130:
        return {"far_out"}
    return set() if 99 <= per_minute <= 121 else {"slightly_out"}


def recoil(clip: Clip) -> set[str]:
    seen = strokes(clip)
    if not len(seen.times):
        return {"omitted"}
    if seen.lift > 2.5:
        return {"hands_leave_chest"}
    return {"constant_lean"} if seen.rest > 0.7 else set()


def count(clip: Clip) -> set[str]:
    times = strokes(clip).times
    if len(times) < 10:
        return {"omitted"}
    names = {"pause_inside_set"} if np.diff(times).max() > 1.6 else set()
    if not counted(clip, times):
        names |= {"silent"}
    if len(times) != 30:
        names |= {"small_miscount" if 27 <= len(times) <= 33 else "large_miscount"}
    return names


def counted(clip: Clip, times: NDArray[np.float64]) -> bool:
    """True if there is a bubble above the compressing trainee's head most of the time."""
    first, last = round(times[0] * FPS), round(times[-1] * FPS)
    xs, ys = (head_course(clip, (205, 40, 385, 165), axis)[first:last] for axis in (0, 1))
    shown = []
    for k in np.flatnonzero(ys <= np.nanmedian(ys)):  # with the head up, above where it was at the start
        x, y = round(xs[k]), round(ys[k])
        place = (x - 9, max(y - 60, 0), x + 9, y - 46)
        shown.append(activity(clip[[0, first + k]], place) > 0.15)
    return bool(np.mean(shown) > 0.5)


def breaths(clip: Clip) -> set[str]:
    masked = np.isfinite(head_course(clip[:1], (200, 118, 420, 200), still=True)[0])  # nobody breathes through a mask
    if masked:
        return {"omitted"}
    names = set() if (gaze(clip) < -2).sum() > 5 else {"not_watching_chest"}
    number = len(chest_rises(clip, (268, 199, 288, 219))[0])  # where no arm comes
    return names | {0: {"neither_effective"}, 1: {"one_without_rise"}, 2: set()}.get(number, {"wrong_number"})


def cycles(clip: Clip) -> set[str]:
    return set() if len(strokes(clip).times) >= 8 else {"omitted"}


def reassess(clip: Clip) -> set[str]:
    return set() if moved(clip, (338, 176, 380, 210), 0.12) else {"omitted"}


RULES = {
    "cpr_02": (responsiveness, "omitted"),
    "cpr_05": (pulse, "omitted"),
    "cpr_06": (supine, "soft_surface misaligned omitted"),
    "cpr_07": (expose, "omitted"),
    "cpr_08": (own_position, "omitted"),
    "cpr_09": (hands, "wrong_zone omitted"),
    "cpr_11": (depth, "mostly_shallow mostly_too_deep"),
    "cpr_12": (rate, "far_out slightly_out"),
    "cpr_13": (recoil, "hands_leave_chest constant_lean"),
    "cpr_14": (count, "large_miscount small_miscount pause_inside_set silent omitted"),
    "cpr_17": (breaths, "one_without_rise neither_effective not_watching_chest omitted"),
    "cpr_18": (cycles, "omitted"),
    "cpr_19": (reassess, "omitted"),
}
"""By step: the rule, and the errors that it claims to recover."""
