"""The constant rate of recordings of varying rate: each picture has a place of its own, and few are repeated."""

from fractions import Fraction

import numpy as np
import pytest

from siming_tasks.tools.builder.constant_rate import constant_rate, places


def phone(rate: float, pictures: int, jitter: float = 0.0, dropped: float = 0.0, seed: int = 1) -> list[float]:
    """Times of a camera of this rate that is off by up to ``jitter`` seconds and drops a share of pictures."""
    rng = np.random.default_rng(seed)
    times = np.arange(pictures) / rate + rng.uniform(-jitter, jitter, pictures)
    return np.maximum(times[rng.random(pictures) >= dropped], 0).tolist()


DARK = [*phone(30, 300), *(10 + np.array(phone(15, 150))), *(20 + np.array(phone(30, 300)))]
MIXED = [*phone(24, 240), *(10 + np.array(phone(60, 300))), *(15 + np.array(phone(30, 150)))]
FILMS = {
    "constant": (phone(25, 200), 25),
    "NTSC": ((np.arange(200) * 1001 / 30_000).tolist(), Fraction(30_000, 1001)),
    "dropped": (phone(30, 900, 0.002, 0.07), 30),
    "NTSC, dropped": (phone(29.97, 3000, 0.001, 0.01), 30),
    "every third dropped": (np.delete(np.arange(90) / 30, np.s_[::3]).tolist(), 25),
    "jitter alone": (phone(30, 450, 0.008), 30),
    "jitter around the middle of places": ((np.array(phone(30, 450, 0.004)) + 1 / 60).tolist(), 30),
    "jitter of a slow camera": (phone(12, 300, 0.005), 12),
    "dark": (DARK, 30),
    "mixed": (MIXED, 60),
    "film": (phone(24, 500, 0.003, 0.1), 24),
    "PAL": (phone(25, 500, 0.003, 0.1), 25),
    "PAL, fast": (phone(50, 500, 0.002, 0.1), 50),
}


@pytest.mark.parametrize("name", FILMS)
def test_no_two_pictures_share_a_place_and_each_is_near_its_time(name: str) -> None:
    times, rate = np.array(FILMS[name][0]), FILMS[name][1]
    chosen = constant_rate(times)
    assert float(chosen) == pytest.approx(float(rate), rel=0.001)
    numbers = places(times, chosen)
    assert (np.diff(numbers) > 0).all()
    assert np.abs(numbers / float(chosen) - times).max() * float(chosen) <= 0.75


def test_what_is_faster_than_60_shares_places_and_one_time_is_one_place() -> None:
    fast = np.arange(240) / 240
    assert constant_rate(fast) == 60 and len(set(places(fast, Fraction(60)).tolist())) in (60, 61)
    twice = np.repeat(np.arange(50) / 25, 2)
    assert constant_rate(twice) == 25 and places(twice, Fraction(25)).tolist() == np.repeat(np.arange(50), 2).tolist()
    assert constant_rate(np.array([3.0])) == 25
