"""The sound track of an exam, made from the same performance as its pictures: compressions, breaths, and the device.

People are not heard to speak: their words are drawn. The device's voice is made letter by letter: each letter has the
resonances (formants) of the sound that it most often stands for in English, after the tables of Peterson and Barney,
*Control Methods Used in a Study of the Vowels*, 1952, rounded. Nobody would take it for a person; equal words sound
alike and different words do not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from siming_tasks.tools.simulator.choreography import Performance
from siming_tasks.tools.simulator.patient import AED_MODES

RATE = 16_000
"""Samples per second of every sound track of the simulator."""
_ROOM = 0.0015
"""Standard deviation of the room's noise."""
_LEAST_STROKE = 0.8
"""Centimetres from which on a compression is heard."""
_PITCH = 176.0
"""Hertz of the device's voice, which does not rise and fall."""
_VOICED = {
    "a": (730, 1090, 2440), "e": (530, 1840, 2480), "i": (390, 1990, 2550), "o": (570, 840, 2410),
    "u": (440, 1020, 2240), "y": (300, 2300, 3000), "w": (300, 700, 2200), "r": (420, 1300, 1600),
    "l": (380, 1100, 2600), "m": (280, 900, 2200), "n": (280, 1500, 2500), "j": (280, 2200, 2900),
}  # fmt: skip
"""Hertz of three formants of a voiced letter."""
_NOISES = {
    "s": 6000, "z": 5500, "f": 4200, "v": 3600, "h": 1700, "x": 5000, "c": 3200, "q": 2000, "k": 2300, "g": 1900,
    "t": 4600, "d": 3900, "p": 1100, "b": 800,
}  # fmt: skip
"""Hertz of the middle of a voiceless letter's hiss."""


def sound_track(performance: Performance, seed: int) -> NDArray[np.int16]:
    """Samples of a whole exam, shape (duration x 16,000,), one channel; the same for a seed.

    Everything is heard when it is seen: the device's words from their start to their end, a thump at the bottom of
    every compression, air while the chest rises or the bag is squeezed, a hiss where it escapes next to the mouth or
    the mask, and the device's signals in its modes.
    """
    rng = np.random.default_rng([seed, 9])
    track = _ROOM * rng.standard_normal(round(performance.duration * RATE))

    def add(time: float, sound: NDArray[np.float64]) -> None:
        begin = max(0, round(time * RATE))
        part = sound[: max(0, len(track) - begin)]
        track[begin : begin + len(part)] += part

    for word in performance.utterances:
        if word.who == "aed":
            add(word.start, _speak(word.text, word.end - word.start, rng))
    for time, depth in strokes(performance):
        add(time - 0.02, _thump(min(depth, 6.0) / 6.0))
    for name, centre, level in (("p_rise", 900.0, 0.05), ("b_sq", 500.0, 0.04)):
        times, values = performance.times[name], performance.values[name]
        for place in np.flatnonzero((np.diff(values) > 0.1) & (np.diff(times) > 0.05)):
            air = _noise(round((times[place + 1] - times[place]) * RATE), centre, 0.5, rng)
            add(times[place], level * air * np.hanning(len(air)))
    for name in ("p_leak", "b_leak"):
        times, on = performance.times[name], performance.values[name] > 0.5
        for place in np.flatnonzero(on[:-1] & (np.diff(times) > 0)):
            add(times[place], 0.02 * _noise(round((times[place + 1] - times[place]) * RATE), 5500.0, 0.15, rng))
    for time, signal in _device_signals(performance):
        add(time, signal)
    return np.asarray(np.rint(np.clip(track, -0.99, 0.99) * 32767), np.int16)


def strokes(performance: Performance) -> Iterator[tuple[float, float]]:
    """Time (s) and depth (cm) of the bottom of each compression, by any person."""
    times, depths = performance.times["p_depth"], performance.values["p_depth"]
    for place in range(1, len(depths) - 1):
        if depths[place] >= _LEAST_STROKE and depths[place - 1] < depths[place] >= depths[place + 1]:
            yield float(times[place]), float(depths[place])


def _device_signals(performance: Performance) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """Time (s) and samples of every signal of the device.

    Two tones when it is switched on, two beeps a second while it is charged (a shock can be given), a click when it
    gives the shock, a low tone when it is switched off.
    """
    times, modes = performance.times["a_mode"], np.rint(performance.values["a_mode"]).astype(int)
    changes = [int(place) for place in np.flatnonzero(np.diff(modes)) + 1]
    ends = [*(float(times[place]) for place in changes), performance.duration][1:]
    for place, end in zip(changes, ends, strict=True):
        time = float(times[place])
        if modes[place] == AED_MODES["idle"]:
            yield time, np.concatenate([_tone(660, 0.15), _tone(990, 0.2)])
        elif modes[place] == AED_MODES["ready"]:
            for beep in np.arange(time, end, 0.5):
                yield float(beep), _tone(1500, 0.15)
        elif modes[place] == AED_MODES["off"]:
            yield time, _tone(440, 0.3)
    for event in performance.events:
        if event["what"] == "delivers the shock":
            yield float(event["t"]), _thump(2.0)


def _thump(strength: float) -> NDArray[np.float64]:
    at = np.arange(round(0.12 * RATE)) / RATE
    return 0.25 * strength * np.sin(2 * np.pi * 70 * at) * np.exp(-at / 0.03)


def _tone(frequency: float, seconds: float) -> NDArray[np.float64]:
    at = np.arange(round(seconds * RATE)) / RATE
    return 0.12 * np.sin(2 * np.pi * frequency * at) * np.minimum(1, np.minimum(at, seconds - at) / 0.005)


def _speak(text: str, seconds: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """The device's words, shape (seconds x 16,000,), the letters equally long."""
    letters = [letter for letter in text.lower() if letter.isalpha() or letter == " "]
    edges = np.linspace(0, round(seconds * RATE), len(letters) + 1).round().astype(int)
    parts = []
    for letter, begin, end in zip(letters, edges[:-1], edges[1:], strict=True):
        at, sound = np.arange(begin, end) / RATE, np.zeros(end - begin)
        if letter in _NOISES:
            sound = 0.1 * _noise(end - begin, _NOISES[letter], 0.5, rng)
        elif letter in _VOICED:  # harmonics of the pitch, each as strong as the resonances at its frequency
            for harmonic in _PITCH * np.arange(1, 24):
                formants = zip((1.0, 0.6, 0.3), _VOICED[letter], strict=True)
                level = sum(part / (1 + ((harmonic - formant) / 110) ** 2) for part, formant in formants)
                sound += 0.12 * level * np.sin(2 * np.pi * harmonic * at)
        parts.append(sound * np.hanning(end - begin) ** 0.3)
    return np.concatenate(parts)


def _noise(samples: int, centre: float, width: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Noise around ``centre`` hertz, shape (samples,), standard deviation 1; ``width`` is a share of the centre."""
    spectrum = np.fft.rfft(rng.standard_normal(samples))
    frequency = np.fft.rfftfreq(samples, 1 / RATE)
    shaped = np.fft.irfft(spectrum * np.exp(-0.5 * ((frequency - centre) / (width * centre)) ** 2), samples)
    return np.asarray(shaped / (shaped.std() or 1.0), np.float64)
