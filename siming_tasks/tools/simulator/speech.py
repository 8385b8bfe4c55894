"""Speech of simulated people: words as formants, letter by letter, for ears and models that cannot be given a person.

Each letter has the resonances (formants) of the sound that it most often stands for in English, after the tables of
Peterson and Barney, *Control Methods Used in a Study of the Vowels*, 1952, rounded. A voiced letter is a sum of
harmonics of the speaker's pitch, a voiceless one noise around its first frequency. Nobody would take it for a person;
equal words by one speaker sound alike and different words do not, which is what a judge that hears needs.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

RATE = 16_000
"""Samples per second of every sound track of the simulator."""
PITCH = {"me": 122.0, "aide": 208.0, "by": 156.0, "aed": 176.0}
"""Hertz of each speaker's voice; the device's does not rise and fall."""
_VOWELS = {
    "a": (730, 1090, 2440), "e": (530, 1840, 2480), "i": (390, 1990, 2550), "o": (570, 840, 2410),
    "u": (440, 1020, 2240), "y": (300, 2300, 3000), "w": (300, 700, 2200), "r": (420, 1300, 1600),
    "l": (380, 1100, 2600), "m": (280, 900, 2200), "n": (280, 1500, 2500), "j": (280, 2200, 2900),
}  # fmt: skip
_NOISES = {
    "s": 6000, "z": 5500, "f": 4200, "v": 3600, "h": 1700, "x": 5000, "c": 3200, "q": 2000, "k": 2300, "g": 1900,
    "t": 4600, "d": 3900, "p": 1100, "b": 800,
}  # fmt: skip
_STOPS = frozenset("kgtdpbcq")
_LOUDER = 1.8
"""Factor on the amplitude of words that are written in capitals."""
_BANDWIDTH = 110.0
_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def spoken(text: str) -> str:
    """The words of a text as they are said: numbers (below ten thousand) in words, nothing but letters and spaces."""
    words = re.sub(r"\d+", lambda found: f" {_number(int(found[0]))} ", text)
    return " ".join(re.sub(r"[^A-Za-z]+", " ", words).split())


def _number(number: int) -> str:
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            rest = f" {_number(number % size)}" if number % size else ""
            return f"{_number(number // size)} {name}{rest}"
    if number < len(_UNITS):
        return _UNITS[number]
    unit = f" {_UNITS[number % 10]}" if number % 10 else ""
    return f"{_TENS[number // 10]}{unit}"


def speak(text: str, seconds: float, speaker: str, rng: np.random.Generator, pitch: float = 1.0) -> NDArray[np.float64]:
    """Words in a speaker's voice, shape (samples,), amplitudes of about 0.3 at most.

    Args:
        text: English words and numbers; capitals are louder. Words that take less than ``seconds`` are said slower.
        seconds: length of the result.
        speaker: a name of :data:`PITCH`.
        rng: of the noise in voiceless letters.
        pitch: factor on the speaker's pitch.
    """
    samples = round(seconds * RATE)
    said = spoken(text)
    letters = said.lower()
    if not letters or samples < RATE // 50:
        return np.zeros(samples)
    weights = np.array([0.5 if letter == " " else 1.3 if letter in "aeiou" else 0.8 for letter in letters])
    edges = np.concatenate([[0], np.cumsum(weights)]) * (0.94 * samples / weights.sum())
    at = np.arange(samples)
    middles = (edges[:-1] + edges[1:]) / 2
    voiced = np.array([letter in _VOWELS for letter in letters], float)
    formants = np.array([_VOWELS.get(letter, (500, 1500, 2500)) for letter in letters], float)
    course = [np.interp(at, middles, formants[:, number]) for number in range(3)]
    tone = _voice(np.interp(at, middles, voiced), course, pitch * _pitch(speaker, samples))
    for start, end, letter in zip(edges[:-1], edges[1:], letters, strict=True):
        if letter in _NOISES:
            begin, stop = round(start), round(end)
            tone[begin:stop] += _noise(letter, stop - begin, rng)
    return tone * (0.3 * _LOUDER if said.isupper() else 0.3)


def _pitch(speaker: str, samples: int) -> NDArray[np.float64]:
    fall = 0.0 if speaker == "aed" else 0.16
    return PITCH[speaker] * np.linspace(1 + fall, 1 - fall, samples)


def _voice(
    strength: NDArray[np.float64], formants: list[NDArray[np.float64]], pitch: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Harmonics of a pitch, each as strong as the resonances at its frequency; all of shape (samples,)."""
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    total = np.zeros(len(pitch))
    for harmonic in range(1, int(4000 / pitch.min()) + 1):
        frequency = harmonic * pitch
        weight = sum(
            level / (1 + ((frequency - formant) / _BANDWIDTH) ** 2)
            for level, formant in zip((1.0, 0.6, 0.3), formants, strict=True)
        )
        total += weight * np.sin(harmonic * phase)
    return strength * total / 2.5


def _noise(letter: str, samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """A hiss around a letter's frequency, shape (samples,); of a stop only its end, after silence."""
    hiss = band_noise(samples, _NOISES[letter], 0.5, rng) * np.hanning(samples)
    if letter in _STOPS:
        hiss[: samples // 2] = 0
    return 0.35 * hiss


def band_noise(samples: int, centre: float, width: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Noise around a frequency, shape (samples,), standard deviation 1 for more than a few samples.

    Args:
        samples: length.
        centre: hertz of the loudest part.
        width: standard deviation of the band, as a share of the centre.
        rng: of the noise.
    """
    if samples < 8:
        return np.zeros(samples)
    spectrum = np.fft.rfft(rng.standard_normal(samples))
    frequency = np.fft.rfftfreq(samples, 1 / RATE)
    shaped = np.fft.irfft(spectrum * np.exp(-0.5 * ((frequency - centre) / (width * centre)) ** 2), samples)
    deviation = float(shaped.std())
    return np.asarray(shaped / deviation if deviation else shaped, np.float64)
