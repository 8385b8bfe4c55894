"""Training data of the judge that hears: sound tracks of simulated exams in other voices and noise; no picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from nano_data import RICH, USUAL
from nano_exams import STEPS, Case, case, nearly_alike

from siming_tasks.models.nano.listening import HEARD, HOP, RATE, STRIDE, WORDS, words_of
from siming_tasks.models.nano.sound_features import log_mel
from siming_tasks.tools.simulator.choreography import Performance
from siming_tasks.tools.simulator.sound import device_signals, rises, sound_track, strokes, while_on

__all__ = ["SOUND_SEEDS", "heard_truth", "make_sounds", "make_states"]

SOUND_SEEDS = {"sounds": 830_001, "unheard": 830_002, "states": 830_003, "heard-check": 830_004}
"""The demo has seed 0, and no test has one of these."""
_STEP = HOP * STRIDE / RATE


def heard_truth(played: Performance) -> np.ndarray:
    """Target of the encoder for an exam's sound, shape (seconds x 20, 49)."""
    out = np.zeros((-(-round(played.duration * RATE) // (HOP * STRIDE)), len(HEARD)), np.float32)
    at = (np.arange(len(out)) + 0.5) * _STEP
    for word in played.utterances:
        inside = (word.start <= at) & (at < word.end)
        out[inside, : len(WORDS)] = np.maximum(out[inside, : len(WORDS)], words_of(word.text))

    def put(name: str, start: float, end: float) -> None:
        out[int(start / _STEP) : max(int(start / _STEP) + 1, round(end / _STEP)), HEARD.index(name)] = 1

    for time, _ in strokes(played):
        put("stroke", time, time)
    for name, channel in (("breath", "p_rise"), ("bag", "b_sq")):
        for start, end in rises(played, channel):
            put(name, start, end)
    for channel in ("p_leak", "b_leak"):
        for start, end in while_on(played, channel):
            put("leak", start, end)
    for name, time, signal in device_signals(played):
        put(name, time, time + len(signal) / RATE)
    return out


def _elsewhere(track: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The track at another loudness and with more noise (15 dB below it at most)."""
    x = track.astype(np.float32) / 32768
    level = float(np.sqrt(np.mean(x**2))) * 10 ** (-rng.uniform(15, 45) / 20)
    x += np.float32(level) * rng.standard_normal(len(x), np.float32)
    return np.clip(np.rint(x * rng.uniform(0.5, 1.3) * 32767), -32767, 32767).astype(np.int16)


def _pitch(rng: np.random.Generator) -> float:
    """Voices that no demo has: 3 to 20 % higher or lower than its own."""
    return float(1 + rng.choice([-1, 1]) * rng.uniform(0.03, 0.2))


def make_sounds(path: Path, count: int) -> None:
    """Log-mel frames and truth of some exams, most with many errors so that everything is said often."""
    name, first = path.stem.rsplit("-", 1)
    seed, mels, targets = SOUND_SEEDS[name], [], []
    for number in range(int(first), int(first) + count):
        rng = np.random.default_rng([seed, 8, number])
        exam = case(seed, number, RICH if number % 4 else USUAL)
        track = _elsewhere(sound_track(exam.played, exam.look, pitch=_pitch(rng)), rng)
        mels.append(log_mel(track).astype(np.float16))
        targets.append(heard_truth(exam.played).astype(bool))
    whole = min(map(len, targets))
    part = path.with_name(f".{path.name}")
    np.savez(part, mel=np.stack([mel[: whole * STRIDE] for mel in mels]), heard=np.stack([t[:whole] for t in targets]))
    part.replace(path)


def _record(exam: Case) -> dict[str, object]:
    return {
        "heard": np.packbits(heard_truth(exam.played).astype(bool), axis=1),
        "spans": [exam.played.spans[step] for step in STEPS],
        "lines": [(word.start, word.text) for word in sorted(exam.played.utterances, key=lambda word: word.start)],
        "points": exam.points,
    }


def make_states(path: Path, count: int) -> None:
    """Record what is heard in some exams, without making the sound, two by two: of their own, or one error apart."""
    name, first = path.stem.rsplit("-", 1)
    seed, rows = SOUND_SEEDS[name], []
    for n in range(int(first), int(first) + count, 2):
        base = USUAL if n % 6 else -1.1
        pair = nearly_alike(seed, n // 4, base) if n % 4 else (case(seed, n, base), case(seed, n + 1, base))
        rows += [_record(exam) for exam in pair]
    part = path.with_name(f".{path.name}")
    with part.open("wb") as stream:
        np.save(stream, np.array(rows, dtype=object), allow_pickle=True)
    part.replace(path)
