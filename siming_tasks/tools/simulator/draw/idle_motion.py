"""Those who only stand by: they breathe, shift their weight and look about, by the clock alone and whatever happens.

Nothing here may depend on the exam: a bystander who reacts would be a cue.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import pi, sin

from siming_tasks.tools.simulator.draw.appearance import Appearance
from siming_tasks.tools.simulator.draw.canvas import Pen

__all__ = ["at_rest", "draw_clipboard"]

State = Mapping[str, float]
_HANDS: Mapping[str, tuple[float, float, float, float]] = {
    "clipboard": (-9, 104, 9, 98),
    "folded": (-4, 114, 4, 112),
    "hips": (-19, 110, 19, 110),
}
"""Both hands by pastime: x beside the body's middle, y."""
_GAZES = ((0.6, 0.4), (0.8, 0.5), (0.3, 0.6), (0.6, 0.5), (-0.1, 0.2), (0.7, 0.4), (0.2, 0.9))


def at_rest(state: State, who: str, look: Appearance, time: float) -> State:
    """The state with the small motion of somebody who stands upright; ``time`` in held steps (``sway_step``)."""
    if state[f"{who}_seen"] < 0.5 or state[f"{who}_crouch"] > 0 or state[f"{who}_lean"]:
        return state
    phase = look.seed % 97 + (3.0 if who == "by" else 0.0)
    moved = {
        **state,
        f"{who}_lean": 2.4 * sin(2 * pi * time / 9 + phase),
        f"{who}_bow": state[f"{who}_bow"] + 0.7 * sin(2 * pi * time / 4 + phase),
    }
    if who == "by":
        left, left_y, right, right_y = _HANDS[look.pastime]
        write = 1.5 * (time * 2 % 2) if _writes(look, time) else 0.0
        gaze = (0.1, 1.0) if _writes(look, time) else _GAZES[int(time / 3.5 + phase) % len(_GAZES)]
        x = state["by_x"]
        moved |= {"by_lx": x + left, "by_ly": left_y, "by_rx": x + right + write, "by_ry": right_y + write}
        moved |= {"by_gx": gaze[0], "by_gy": gaze[1]}
    return moved


def draw_clipboard(pen: Pen, state: State, look: Appearance) -> None:
    """The bystander's score sheet, if that is the pastime."""
    if look.pastime == "clipboard" and state["by_seen"] > 0.5:
        x = state["by_x"]
        pen.box((x, 99), (10, 12), (70, 60, 55), -6)
        pen.box((x, 100), (8.5, 10), (240, 240, 240), -6)
        pen.line([(x - 5, 97), (x + 4, 96)], (150, 150, 150), 1)
        pen.line([(x - 5, 101), (x + 4, 100)], (150, 150, 150), 1)
        pen.box((x - 1, 87.5), (4, 1.6), (150, 150, 150), -6)


def _writes(look: Appearance, time: float) -> bool:
    return look.pastime == "clipboard" and (time + look.seed % 11) % 11 < 3
