"""The sound track of an exam, made from the same performance as its pictures: voices, compressions, device, breaths."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from siming_tasks.tools.simulator.choreography import Performance
from siming_tasks.tools.simulator.patient import AED_MODES
from siming_tasks.tools.simulator.speech import RATE, band_noise, speak

_ROOM = 0.0015
"""Standard deviation of the room's noise."""
_LEAST_STROKE = 0.8
"""Centimetres from which on a compression is heard."""


def sound_track(performance: Performance, seed: int, *, pitch: float = 1.0) -> NDArray[np.int16]:
    """Samples of a whole exam, shape (duration x 16,000,), one channel; the same for a seed.

    Everything is heard when it is seen: words from their start to their end, a thump at the bottom of every
    compression, air while the chest rises or the bag is squeezed, a hiss where it escapes beside the mouth or the mask,
    and the device's signals in its modes. ``pitch`` is a factor on that of every voice: 1 in every demo.
    """
    rng = np.random.default_rng([seed, 9])
    track = _ROOM * rng.standard_normal(round(performance.duration * RATE))
    for word in performance.utterances:
        _add(track, word.start, speak(word.text, word.end - word.start, word.who, rng, pitch))
    for time, depth in strokes(performance):
        _add(track, time - 0.02, _thump(min(depth, 6.0) / 6.0))
    for name, centre, level in (("p_rise", 900.0, 0.05), ("b_sq", 500.0, 0.04)):
        for start, end in rises(performance, name):
            air = band_noise(round((end - start) * RATE), centre, 0.5, rng)
            _add(track, start, level * air * np.hanning(len(air)))
    for name in ("p_leak", "b_leak"):
        for start, end in while_on(performance, name):
            _add(track, start, 0.02 * band_noise(round((end - start) * RATE), 5500.0, 0.15, rng))
    for _, time, signal in device_signals(performance):
        _add(track, time, signal)
    return np.asarray(np.rint(np.clip(track, -0.99, 0.99) * 32767), np.int16)


def _add(track: NDArray[np.float64], time: float, sound: NDArray[np.float64]) -> None:
    begin = max(0, round(time * RATE))
    part = sound[: max(0, len(track) - begin)]
    track[begin : begin + len(part)] += part


def strokes(performance: Performance) -> Iterator[tuple[float, float]]:
    """Time (s) and depth (cm) of the bottom of each compression, whoever makes it."""
    times, depths = performance.times["p_depth"], performance.values["p_depth"]
    for place in range(1, len(depths) - 1):
        if depths[place] >= _LEAST_STROKE and depths[place - 1] < depths[place] >= depths[place + 1]:
            yield float(times[place]), float(depths[place])


def rises(performance: Performance, name: str) -> Iterator[tuple[float, float]]:
    """Start and end (s) of every time that a channel rises by a tenth or more."""
    times, values = performance.times[name], performance.values[name]
    for place in np.flatnonzero((np.diff(values) > 0.1) & (np.diff(times) > 0.05)):
        yield float(times[place]), float(times[place + 1])


def while_on(performance: Performance, name: str) -> Iterator[tuple[float, float]]:
    """Start and end (s) of every time that a switch is on."""
    times, on = performance.times[name], performance.values[name] > 0.5
    for place in np.flatnonzero(on[:-1] & (np.diff(times) > 0)):
        yield float(times[place]), float(times[place + 1])


def _thump(strength: float) -> NDArray[np.float64]:
    at = np.arange(round(0.12 * RATE)) / RATE
    return 0.25 * strength * np.sin(2 * np.pi * 70 * at) * np.exp(-at / 0.03)


def _tone(frequency: float, seconds: float, level: float = 0.12) -> NDArray[np.float64]:
    at = np.arange(round(seconds * RATE)) / RATE
    return level * np.sin(2 * np.pi * frequency * at) * np.minimum(1, np.minimum(at, seconds - at) / 0.005)


def device_signals(performance: Performance) -> Iterator[tuple[str, float, NDArray[np.float64]]]:
    """Signals of the device: ``tone``, ``beep`` or ``shock``, time (s), samples.

    Two tones when it is switched on, two beeps a second while it is charged (a shock can be given), a click when it
    gives the shock, a low tone when it is switched off.
    """
    times, modes = performance.times["a_mode"], np.rint(performance.values["a_mode"]).astype(int)
    changes = [
        (float(times[place]), int(modes[place - 1]), int(modes[place]))
        for place in range(1, len(modes))
        if modes[place] != modes[place - 1]
    ]
    ends = [*(time for time, _, _ in changes), performance.duration][1:]
    for (time, _, mode), end in zip(changes, ends, strict=True):
        if mode == AED_MODES["idle"]:
            yield "tone", time, np.concatenate([_tone(660, 0.15), _tone(990, 0.2)])
        elif mode == AED_MODES["ready"]:
            for beep in np.arange(time, end, 0.5):
                yield "beep", float(beep), _tone(1500, 0.15)
        elif mode == AED_MODES["off"]:
            yield "tone", time, _tone(440, 0.3)
    for event in performance.events:
        if event["what"] == "delivers the shock":
            yield "shock", float(event["t"]), _thump(2.0)
