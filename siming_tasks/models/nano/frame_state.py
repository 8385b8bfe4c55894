"""Visible state of a frame of a simulated exam, as numbers: the features that the frame encoder learns to read.

A feature is *continuous* (a place, a depth; shifted and scaled to about one) or *binary* (a hand's shape, a lamp, a
word in a bubble). What is not in the picture has the neutral value 0: a feature is always a function of the pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_PERSON = {"x": 60, "crouch": 0.3, "lean": 15, "bow": 10, "gx": 0.5, "gy": 0.3, "lx": 30, "ly": 20, "rx": 30, "ry": 20}
_CENTER = {
    "me_x": 300, "me_crouch": 1, "me_lean": 0, "me_bow": 10, "me_gx": 0, "me_gy": 0.4,
    "me_lx": 290, "me_ly": 170, "me_rx": 320, "me_ry": 170, "aide_x": 150, "aide_gy": 0.4,
    "aide_lx": 150, "aide_ly": 140, "aide_rx": 190, "aide_ry": 140,
    "a_x": 390, "a_y": 150, "b_x": 390, "b_y": 160, "b_size": 1, "o_x": 240, "o_y": 180,
    "p_hx": 288, "p_hz": 0.5, "p_twist": 0.3,
    **{f"a_pad{n}{axis}": value for n in (1, 2) for axis, value in {"x": 310, "y": 195, "z": 0.6}.items()},
}  # fmt: skip
_SCALE = {
    **{f"me_{name}": value for name, value in _PERSON.items()},
    **{f"aide_{name}": 2 * value for name, value in _PERSON.items()},
    "p_cloth": 0.3, "p_twist": 0.25, "p_pillow": 0.4, "p_shake": 3, "p_depth": 1.5, "p_hx": 14, "p_hz": 0.1,
    "p_rise": 0.3, "p_belly": 0.5, "p_tilt": 0.4, "p_mouth": 0.15, "a_x": 60, "a_y": 8,
    **{f"a_pad{n}{axis}": value for n in (1, 2) for axis, value in {"x": 20, "y": 15, "z": 0.4}.items()},
    "b_x": 12, "b_y": 8, "b_sq": 0.3, "b_res": 0.4, "b_flow": 0.4, "b_size": 0.25, "o_x": 35, "o_y": 18,
}  # fmt: skip

CONTINUOUS: tuple[str, ...] = tuple(_SCALE)
"""Names of the continuous features; they are channels of the simulator, shifted and scaled."""

PHRASES: tuple[str, ...] = (
    "The scene is safe.", "HELLO! CAN YOU HEAR ME?", "WAKE UP!", "hello", "HELP!", "You there: call 120!",
    "You there: call 120, get the AED!", "Somebody, call 120!", "Somebody, call 120, get the AED!", "OK!",
    "Not breathing.", "No pulse!", "No pulse, go on!", "Dry, no patches.", "Attach the pads.", "Plug in the connector.",
    "Analysing. Do not touch.", "Shock advised. Charging.", "Press the button.", "Shock delivered.", "Stand clear!",
    "Everybody clear!", "It advises a shock!", "No shock.", "Pulse is back, no breathing.",
)  # fmt: skip
"""Everything that is said in a simulated exam, but numbers."""

_STATES = {
    "me_lshape": (1, 2, 4, 5, 6, 7, 8), "me_rshape": (1, 4, 5), "me_grip": (1, 2, 3, 4), "aide_grip": (1,),
    "aide_rshape": (4,), "a_mode": (1, 2, 3, 4),
}  # fmt: skip
_SWITCHES = (
    "me_bare", "p_flap", "p_wet", "p_soft", "p_debris", "p_shield", "p_leak", "a_seen", "a_plug", "a_curl", "a_pad1",
    "a_pad2", "b_seen", "b_tube", "b_fault", "b_leak", "o_seen",
)  # fmt: skip
BINARY: tuple[str, ...] = (
    *_SWITCHES,
    "me_puff",
    "a_pad1 stuck",
    "a_pad2 stuck",
    *(f"{name}={value}" for name, values in _STATES.items() for value in values),
    *(f"says {phrase}" for phrase in PHRASES),
    "counts",
    "counts seconds",
    *(f"tens={digit}" for digit in range(5)),
    *(f"ones={digit}" for digit in range(10)),
)
"""Names of the binary features."""

FEATURES: tuple[str, ...] = (*CONTINUOUS, *BINARY)
"""All features, in the order of the encoder's outputs."""

_AT = {name: number for number, name in enumerate(FEATURES)}


def features_of(
    rows: NDArray[np.float64], utterances: Sequence[Sequence[str]], channels: Sequence[str]
) -> NDArray[np.float32]:
    """The features of frames whose state is known, shape (frames, features), in the order of :data:`FEATURES`.

    ``rows``: the state at each frame, shape (frames, channels), columns named by ``channels``; ``utterances``: the
    texts in the bubbles at each frame.
    """
    state = dict(zip(channels, rows.T, strict=True))
    seen = _visible(state)
    out = np.zeros((len(rows), len(FEATURES)), np.float32)

    def put(name: str, values: NDArray[Any], channel: str = "") -> None:
        out[:, _AT[name]] = np.where(seen.get(channel or name, True), values, 0.0)

    for name in CONTINUOUS:
        put(name, (state[name] - _CENTER.get(name, 0.0)) / _SCALE[name])
    for name in (*_SWITCHES, "me_puff"):
        put(name, state[name] > 0.5)
    for pad in ("a_pad1", "a_pad2"):
        put(f"{pad} stuck", state[f"{pad}z"] >= 0, f"{pad}x")
    for name, values in _STATES.items():
        for value in values:
            put(f"{name}={value}", np.round(state[name]) == value, name)
    for frame, texts in enumerate(utterances):
        for text in texts:
            names = [f"says {text}"] if text in PHRASES else []
            if text.isdecimal():
                number = int(text)
                names = ["counts seconds" if number >= 1000 else "counts"]
                names += [f"tens={min(number % 1000 // 10, 4)}", f"ones={number % 10}"]
            out[frame, [_AT[name] for name in names]] = 1.0
    return out


def _visible(state: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.bool_]]:
    """Frames in which a channel is visible, for the channels that are not always visible."""
    device = (state["a_seen"] > 0.5) & (state["a_x"] > -20)
    bag, mask = state["b_seen"] > 0.5, state["o_seen"] > 0.5
    seen: dict[str, NDArray[np.bool_]] = dict.fromkeys(("p_hx", "p_hz"), state["p_depth"] > 0.3)
    seen |= dict.fromkeys(("p_wet", "p_flap"), state["p_cloth"] > 0.3) | {"p_debris": state["p_mouth"] > 0.4}
    seen |= dict.fromkeys(("a_seen", "a_x", "a_y", "a_mode"), device)
    pads = {pad: state[pad] > 0.5 for pad in ("a_pad1", "a_pad2")}
    stuck = {pad: on & (state[f"{pad}z"] >= 0) for pad, on in pads.items()}
    seen |= {"a_plug": device & (pads["a_pad1"] | pads["a_pad2"]), "a_curl": stuck["a_pad1"] | stuck["a_pad2"]}
    for pad, on in pads.items():
        seen |= {f"{pad}x": on, f"{pad}y": on, f"{pad}z": stuck[pad]}
    seen |= {f"b_{name}": bag for name in ("seen", "x", "y", "sq", "tube", "res", "flow", "size", "fault", "leak")}
    seen |= dict.fromkeys(("me_lshape", "me_rshape"), ~(state["me_grip"] > 0.5))
    return seen | {f"o_{name}": mask for name in ("seen", "x", "y")}
