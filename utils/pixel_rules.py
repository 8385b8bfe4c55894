"""What the signals mean: rules by which the pixel reader names errors, one per step, clip in, names out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from pixel_signals import FPS, activity, chest_rises, color, head_course, strokes

__all__ = ["RULES"]

Clip = NDArray[np.uint8]
LAST = slice(-8, None)
"""The end of a clip, when hands have gone back."""


def far(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Greatest difference of two colours over the channels."""
    return float(np.abs(one - other).max())


def spoken(clip: Clip) -> bool:
    """Whether the trainee's bubble appears (above a head at x = 345)."""
    return activity(clip, (310, 40, 385, 58)) > 0.08


def looked_round(clip: Clip) -> bool:
    """Whether the trainee (kneeling at x = 345) turns the head to the patient's feet."""
    x = head_course(clip, (326, 60, 366, 112), axis=0)
    return bool((x < 341.5).any())


def moved(clip: Clip, box: tuple[int, int, int, int], share: float = 0.2) -> bool:
    """Whether a good part of the box changes at any time."""
    return activity(clip, box) > share


def responsiveness(clip: Clip) -> set[str]:
    return set() if moved(clip[-30:], (318, 172, 345, 214)) else {"omitted"}


def pulse(clip: Clip) -> set[str]:
    return set() if moved(clip, (338, 176, 380, 210)) else {"omitted"}


def supine(clip: Clip) -> set[str]:
    end = clip[LAST]
    floor = color(end, (300, 258, 340, 268))
    soft = {"soft_surface"} if far(color(end, (120, 242, 200, 250)), floor) > 14 else set()
    if far(color(end, (402, 210, 414, 216)), color(end, (402, 228, 414, 236))) > 14:
        legs = far(color(end, (146, 157, 158, 161)), color(end, (146, 146, 158, 150)))
        return soft | {"omitted" if legs > 40 else "misaligned"}
    return soft


def expose(clip: Clip) -> set[str]:
    end = clip[LAST]
    bare = far(color(end, (300, 187, 316, 190)), color(end, (243, 199, 251, 203)))
    return set() if bare > 30 else {"omitted"}


def own_position(clip: Clip) -> set[str]:
    """The face mask says where the trainee kneels."""
    x = head_course(clip[LAST], (228, 84, 330, 112), axis=0)
    return {"omitted"} if np.isfinite(x).any() and np.nanmedian(x) < 268 else set()


def hands(clip: Clip) -> set[str]:
    seen = strokes(clip[: 17 * FPS])
    if len(seen["times"]) < 8:
        return {"omitted"}
    away = abs(seen["place"] - 288)
    return {"wrong_zone"} if away > 17 else {"slight_offset"} if away > 8 else set()


def depth(clip: Clip) -> set[str]:
    seen = strokes(clip)
    if not len(seen["times"]):
        return {"omitted"}
    middle = float(np.median(seen["depths"]))
    return {"mostly_shallow"} if middle < 3.9 else {"mostly_too_deep"} if middle > 7.0 else set()


def rate(clip: Clip) -> set[str]:
    times = strokes(clip)["times"]
    if len(times) < 6:
        return {"omitted"}
    between = np.diff(times)
    per_minute = 60 / between[between < 1.6 * np.median(between)].mean()  # pauses are another step's matter
    if not 90 <= per_minute <= 130:
        return {"far_out"}
    return set() if 99 <= per_minute <= 121 else {"slightly_out"}


def recoil(clip: Clip) -> set[str]:
    seen = strokes(clip)
    if not len(seen["times"]):
        return {"omitted"}
    if seen["lift"] > 2.5:
        return {"hands_leave_chest"}
    return {"constant_lean"} if float(np.median(seen["rests"])) > 0.9 else set()


def count(clip: Clip) -> set[str]:
    times = strokes(clip)["times"]
    if len(times) < 10:
        return {"omitted"}
    names = {"pause_inside_set"} if np.diff(times).max() > 1.6 else set()
    if not 27 <= len(times) <= 33:
        return names | {"large_miscount"}
    return names if len(times) == 30 else names | {"small_miscount"}


def breaths(clip: Clip) -> set[str]:
    heads = moved(clip, (338, 150, 400, 200), 0.35)
    number = len(chest_rises(clip, (268, 199, 288, 219))[0])  # where no arm comes
    if number == 0:
        return {"neither_effective" if heads and len(clip) > 2.5 * FPS else "omitted"}
    return {1: {"one_without_rise"}, 2: set()}.get(number, {"wrong_number"})


def cycles(clip: Clip) -> set[str]:
    return set() if len(strokes(clip)["times"]) >= 8 else {"omitted"}


def reassess(clip: Clip) -> set[str]:
    return set() if moved(clip, (338, 130, 400, 210), 0.3) else {"omitted"}


def power(clip: Clip) -> set[str]:
    hue = clip[LAST].astype(np.float64).mean(0)
    yellow = (hue[..., 2] - hue[..., 0] > 80) & (hue[..., 1] - hue[..., 0] > 50) & (hue[..., 2] > hue[..., 1] + 15)
    yellow[:, 440:] = False
    yellow[:125] = yellow[172:] = False
    xs = np.flatnonzero(yellow.sum(0) > 6)
    return {"bad_placement"} if len(xs) and np.median(xs) < 240 else set()


def pads(clip: Clip) -> set[str]:
    """One pad has a blue rim, the other an orange one, as on the device."""
    blue, orange = (rim(clip[-2:], color) for color in ((200, 130, 40), (40, 130, 240)))
    if blue is None and orange is None:
        return {"omitted"}
    if blue is None or orange is None:
        return set()  # one is hidden: no verdict
    if orange[0] > 304 and orange[1] < 195:
        return {"swapped"}
    if blue[1] > 190:
        return {"both_misplaced"}
    return {"one_misplaced"} if orange[0] < 271 and orange[1] < 210 else set()


def rim(frames: Clip, wanted: tuple[int, int, int]) -> tuple[float, float] | None:
    """Centre of what has a colour on and around the chest."""
    part = frames[:, 168:226, 240:346].astype(np.int16)
    found = (np.abs(part - np.array(wanted)) < 40).all(3).any(0)
    if found.sum() < 8:
        return None
    ys, xs = np.nonzero(found)
    return 240 + float(np.median(xs)), 168 + float(np.median(ys))


def connector(clip: Clip) -> set[str]:
    """The plug in its socket is white; without it there is a dark hole."""
    return set() if color(clip[LAST], (384, 158, 389, 162)).mean() > 110 else {"omitted"}


def clear_analysis(clip: Clip) -> set[str]:
    before = clip[: round(2.4 * FPS)]
    voice, sign = spoken(before), looked_round(before)
    if not voice and not sign:
        return {"omitted"}
    return set() if voice and sign else {"voice_only" if voice else "gesture_only"}


def advice(clip: Clip) -> set[str]:
    return {"omitted"} if moved(clip, (272, 172, 304, 200), 0.15) else set()


def clear_shock(clip: Clip) -> set[str]:
    voice, sign = spoken(clip), looked_round(clip)
    if not voice and not sign:
        return {"omitted"}
    return set() if voice and sign else {"voice_only" if voice else "visual_only"}


def shock(clip: Clip) -> set[str]:
    if not moved(clip, (402, 128, 424, 156), 0.25):
        return {"omitted"}
    return {"delayed"} if len(clip) > 10 * FPS else set()


def resume(clip: Clip) -> set[str]:
    times = strokes(clip)["times"]
    if len(times) < 4:
        return {"omitted"}
    return {"delay_over_10s"} if times[0] > 10 else {"delay_5_10s"} if times[0] > 4.5 else set()


def volume(clip: Clip) -> set[str]:
    _, heights = chest_rises(clip)
    if len(heights) and np.median(heights) > 10.5:
        return {"over_inflation"}
    squeezed = moved(clip, (380, 130, 420, 170), 0.12)
    if not squeezed:
        return {"omitted"}
    return {0: {"mostly_without_rise"}, 1: {"mostly_without_rise"}, 2: {"some_without_rise"}}.get(len(heights), set())


def ventilation_rate(clip: Clip) -> set[str]:
    times, _ = chest_rises(clip)
    if not len(times):
        return {"omitted"}
    return {"hyperventilation"} if len(times) >= 4 else set()


RULES: Mapping[str, tuple[Callable[[Clip], set[str]], frozenset[str]]] = {
    step: (rule, frozenset(names.split()))
    for step, rule, names in (
        ("cpr_02", responsiveness, "omitted"),
        ("cpr_05", pulse, "omitted"),
        ("cpr_06", supine, "soft_surface misaligned omitted"),
        ("cpr_07", expose, "omitted"),
        ("cpr_08", own_position, "omitted"),
        ("cpr_09", hands, "wrong_zone omitted"),
        ("cpr_11", depth, "mostly_shallow mostly_too_deep"),
        ("cpr_12", rate, "far_out slightly_out"),
        ("cpr_13", recoil, "hands_leave_chest constant_lean"),
        ("cpr_14", count, "large_miscount small_miscount pause_inside_set omitted"),
        ("cpr_17", breaths, "one_without_rise neither_effective omitted"),
        ("cpr_18", cycles, "omitted"),
        ("cpr_19", reassess, "omitted"),
        ("aed_01", power, "bad_placement"),
        ("aed_03", pads, "omitted one_misplaced both_misplaced swapped"),
        ("aed_04", connector, "omitted"),
        ("aed_05", clear_analysis, "voice_only gesture_only omitted"),
        ("aed_06", advice, "omitted"),
        ("aed_07", clear_shock, "voice_only visual_only omitted"),
        ("aed_08", shock, "omitted delayed"),
        ("aed_09", resume, "delay_5_10s delay_over_10s omitted"),
        ("bmv_04", volume, "some_without_rise mostly_without_rise over_inflation omitted"),
        ("bmv_05", ventilation_rate, "hyperventilation omitted"),
    )
}
"""By step: the rule, and the errors that it claims to recover (the *named set*)."""
