"""From what is heard or written to the points of steps, without a picture: events, a summary, and a linear judge.

Sound and transcripts become the same events, so that the judge is one: what was said or sounded, and when it began.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siming_tasks.models.nano.frame_state import BINARY

RATE = 16_000
"""Samples per second that are read."""
HOP, STRIDE = 200, 4
"""Samples between two log-mel frames, log-mel frames to one output of the encoder: 80 and 20 a second."""
WORDS: tuple[str, ...] = tuple(name for name in BINARY if name.startswith(("says ", "counts", "tens=", "ones=")))
"""Words that can be said, by the names of the frame's features."""
NOISES = ("stroke", "breath", "bag", "leak", "tone", "beep", "shock")
"""Sounds that are no words: a compression, air, and the device's signals."""
HEARD = (*WORDS, *NOISES)
"""Names of the encoder's outputs, in order."""
_SECONDS = HOP * STRIDE / RATE
_EVENTS = (*(name for name in WORDS if name.startswith("says ")), *NOISES)
_STROKES, _PERIODS, _PAUSES = (4, 13, 25, 29, 32, 34), (0.43, 0.51, 0.59, 0.67), (8, 12, 16, 20, 25, 30, 40)
"""Edges of classes: compressions of a set, seconds of one, seconds between two sets."""
_NEW_SET, _UNEVEN, _HALT = 4.0, 0.15, 1.5
"""Seconds from which a pause ends a set, spread of the periods, seconds of a halt within a set."""
_SET = len(_STROKES) + len(_PERIODS) + 4
SUMMARY = 5 * len(_EVENTS) + 10 + 2 * _SET + 4 + len(_PAUSES) + 1 + 2
"""Numbers of a summary."""

Events = Mapping[str, NDArray[np.float64]]
"""Beginnings of everything that was heard (s), by the names of :data:`HEARD`; ``second=3`` is a counted 1003."""


@dataclass(frozen=True)
class Heard:
    """Output of the encoder: probabilities of everything in :data:`HEARD`, 20 times a second, shape (n, 49)."""

    features: NDArray[np.float32]

    def at(self, times: NDArray[np.float32]) -> NDArray[np.float32]:
        """Words that are heard at some times, shape (times, words)."""
        places = np.clip((times / _SECONDS).astype(int), 0, len(self.features) - 1)
        return self.features[places, : len(WORDS)]

    def events(self) -> Events:
        """Beginnings: a probability rises above one half for the first time in a fifth of a second.

        A compression is where its own is highest.
        """
        here, n = self.features, len(self.features)
        padded = np.pad(here, ((4, 1), (0, 0)))
        before, after = padded[3:-2], padded[5:]
        lately = np.max([padded[back : back + n] for back in range(4)], 0)
        begins = (here > 0.5) & (lately <= 0.5)
        stroke = HEARD.index("stroke")
        begins[:, stroke] = ((here > 0.5) & (here > before) & (here >= after))[:, stroke]
        times = np.arange(len(begins)) * _SECONDS
        events = {name: times[begins[:, column]] for column, name in enumerate(HEARD)}
        seconds = here[:, WORDS.index("counts seconds")] > 0.5
        digits = here[:, [WORDS.index(f"ones={digit}") for digit in range(10)]] > 0.5
        return events | {f"second={digit}": times[seconds & digits[:, digit]] for digit in range(10)}


@dataclass(frozen=True)
class Lines:
    """Lines of a transcript: start (s) and text of each, by time."""

    lines: Sequence[tuple[float, str]]

    def at(self, times: NDArray[np.float32]) -> NDArray[np.float32]:
        """Words of the lines that are being said at some times, shape (times, words).

        A transcript in a prompt has no ends: words last about as long as they take to be said, and no line goes on when
        the next begins.
        """
        said = np.zeros((len(times), len(WORDS)), np.float32)
        following = [start for start, _ in self.lines[1:]]
        for (start, text), latest in zip(self.lines, [*following, float("inf")], strict=False):
            end = min(latest, start + 0.6 + 0.03 * len(text))
            said[(start <= times) & (times < end)] = words_of(text)
        return said

    def events(self) -> Events:
        """Beginnings of what is said; a counted number stands for a compression."""
        times: dict[str, list[float]] = {name: [] for name in (*HEARD, *(f"second={digit}" for digit in range(10)))}
        for start, text in self.lines:
            names = [name for name, said in zip(WORDS, words_of(text), strict=True) if said]
            if "counts" in names:
                names.append("stroke")
            if "counts seconds" in names:
                names += [name.replace("ones", "second") for name in names if name.startswith("ones=")]
            for name in names:
                times[name].append(start)
        return {name: np.array(starts) for name, starts in times.items()}


def words_of(text: str) -> NDArray[np.float32]:
    """Features of an utterance in writing, shape (words,): those of its bubble; zeros if it is not known.

    A speaker may stand before it; capitals and punctuation do not matter.
    """
    features = np.zeros(len(WORDS), np.float32)
    for word in (_plain(text), _plain(text.partition(": ")[2])):
        if word in _PHRASES:
            features[_PHRASES[word]] = 1
        elif word.isascii() and word.isdecimal() and len(word) <= 4:
            number = int(word)
            names = ("counts seconds" if number >= 1000 else "counts", f"tens={min(number % 1000 // 10, 4)}",
                     f"ones={number % 10}")  # fmt: skip
            features[[WORDS.index(name) for name in names]] = 1
    return features


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", " ", text.casefold()).split())


_PHRASES = {_plain(name.removeprefix("says ")): place for place, name in enumerate(WORDS) if name.startswith("says ")}


def summary(events: Events) -> NDArray[np.float32]:
    """Numbers that a linear judge is told, shape (:data:`SUMMARY`,).

    Of every phrase and noise: whether it began once, twice, more often, when first (10 s are 1, at most 3), whether
    before the first compression. The seconds counted at the pulse. Of the first two sets of compressions: classes of
    their number and of the time of one, whether uneven, whether halted; how many sets, and how long between the two.
    """
    strokes = events["stroke"]
    first_stroke = strokes[0] if len(strokes) else np.inf
    told: list[float] = []
    for name in _EVENTS:
        times = events[name]
        told += [len(times) == 1, len(times) == 2, len(times) > 2]
        told += [min(times[0] / 10, 3.0), times[0] < first_stroke] if len(times) else [0.0, 0.0]
    told += [len(events[f"second={digit}"]) > 0 for digit in range(10)]
    sets = np.split(strokes, np.flatnonzero(np.diff(strokes) > _NEW_SET) + 1) if len(strokes) else []
    for number in range(2):
        told += _set(sets[number]) if number < len(sets) else [0.0] * _SET
    told += [len(sets) == count for count in (0, 1, 2)] + [len(sets) > 2]
    pause = sets[1][0] - sets[0][-1] if len(sets) > 1 else np.nan
    told += _class(pause, _PAUSES)
    told += [len(events["counts"]) > 0, 1.0]
    return np.array(told, np.float32)


def _set(times: NDArray[np.float64]) -> list[float]:
    gaps = np.diff(times)
    inside = gaps[gaps < _HALT]
    period = float(inside.mean()) if len(inside) else np.nan
    uneven = len(inside) > 2 and float(inside.std()) > _UNEVEN
    return [*_class(len(times), _STROKES), *_class(period, _PERIODS), float(uneven), float((gaps >= _HALT).any())]


def _class(value: float, edges: Sequence[float]) -> list[float]:
    """One-hot class of a value between edges; zeros for nan."""
    place = -1 if np.isnan(value) else int(np.searchsorted(edges, value, side="right"))
    return [float(place == number) for number in range(len(edges) + 1)]
