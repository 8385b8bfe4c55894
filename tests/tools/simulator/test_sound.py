"""The sound track of a simulated exam says what happens when it happens."""

from __future__ import annotations

import json
from pathlib import Path

import av
import numpy as np
import pytest

from siming_tasks.rubrics import default_rubric
from siming_tasks.tools.simulator import make_demo
from siming_tasks.tools.simulator.choreography import Performance
from siming_tasks.tools.simulator.sound import RATE, sound_track
from siming_tasks.tools.simulator.speech import PITCH, speak, spoken
from siming_tasks.tools.simulator.trainee import TraineeErrors, with_consequences
from siming_tasks.tools.simulator.video import SHORT, frames, perform

PLAN = TraineeErrors({})


@pytest.fixture(scope="module")
def played() -> Performance:
    return perform(PLAN, pace=SHORT, seed=3)


def spectrum(samples: np.ndarray) -> np.ndarray:
    """Power of 64 bands up to 8 kHz, scaled to length 1."""
    power = np.abs(np.fft.rfft(samples)) ** 2
    bands = np.array([part.sum() for part in np.array_split(power[1:], 64)])
    return bands / np.linalg.norm(bands)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1002", "one thousand two"), ("30", "thirty"), ("call 120!", "call one hundred twenty"), ("21", "twenty one"),
        ("HELLO! CAN YOU", "HELLO CAN YOU"), ("0", "zero"), ("...", ""),
    ],
)  # fmt: skip
def test_numbers_are_said_in_words(text: str, words: str) -> None:
    assert spoken(text) == words


def test_a_voice_has_its_pitch_and_words_their_own_sound() -> None:
    rng = np.random.default_rng(0)
    for who, pitch in PITCH.items():
        said = speak("aaaa", 1.0, who, rng)
        middle = said[7200:8800]  # the pitch falls, here by less than 2 %
        alike = np.correlate(middle, middle, "full")[len(middle) :]
        period = 40 + int(alike[40:200].argmax()) + 1
        assert RATE / period == pytest.approx(pitch, rel=0.02)
    shape = {text: spectrum(speak(text, 0.6, "me", rng)) for text in ("one", "three", "help")}
    again = spectrum(speak("three", 0.6, "me", rng))
    assert again @ shape["three"] > 0.99 > max(again @ shape["one"], again @ shape["help"])
    assert np.std(speak("HELLO", 0.6, "me", rng)) > 1.5 * np.std(speak("hello", 0.6, "me", rng))
    assert len(speak("help", 0.123, "me", rng)) == round(0.123 * RATE)


def test_words_are_heard_when_their_bubble_is_seen_and_strokes_at_their_depth(played: Performance) -> None:
    track = sound_track(played, 3).astype(float)
    assert len(track) == round(played.duration * RATE) and np.array_equal(track, sound_track(played, 3))
    loud = np.convolve(np.abs(track), np.ones(160) / 160, "same")
    for word in played.utterances:
        begin, end = round(word.start * RATE), round(word.end * RATE)
        assert loud[begin + 800 : end - 800].mean() > 10 * 0.0015 * 32767, word
    quiet = np.ones(len(track), bool)
    for word in played.utterances:
        quiet[round(word.start * RATE) - 400 : round(word.end * RATE) + 400] = False
    depth = np.interp(np.arange(len(track)) / RATE, played.times["p_depth"], played.values["p_depth"])
    low = np.abs(np.fft.rfft(track[depth > 5][:4096]))
    assert low[10:30].max() > 20 * np.median(low)  # 40 to 120 Hz
    assert quiet.any() and loud[quiet].min() < 0.003 * 32767


def test_without_bubbles_words_cannot_be_seen(played: Performance) -> None:
    word = played.utterances[0]
    index = round((word.start + word.end) / 2 * 10)
    with_words, without = (next(iter(frames(played, 3, index, index + 1, bubbles=drawn))) for drawn in (True, False))
    assert (with_words != without).any(axis=2).sum() > 300
    silent = next(i for i in range(200) if not any(w.start <= (i + 0.5) / 10 < w.end for w in played.utterances))
    same = [next(iter(frames(played, 3, silent, silent + 1, bubbles=drawn))).copy() for drawn in (True, False)]
    assert np.array_equal(*same)


def test_a_demo_that_is_heard_has_the_pictures_and_labels_of_the_silent_one(
    short_demo: Path, voice_demo: Path, tmp_path: Path
) -> None:
    make_demo(tmp_path / "both", videos=1, seed=7, short=True, jobs=1, progress=False, contact=False, sound="beside")
    rows = {
        name: json.loads((root / "videos.jsonl").read_text().splitlines()[0])
        for name, root in (("silent", short_demo), ("voice", voice_demo), ("both", tmp_path / "both"))
    }
    assert rows["silent"]["steps"] == rows["voice"]["steps"] == rows["both"]["steps"]
    assert "transcript" not in rows["silent"] and rows["voice"]["transcript"] == rows["both"]["transcript"]
    events = json.loads((voice_demo / "events" / "sim001.json").read_text())["events"]
    said = [event["what"].removeprefix("says: ") for event in events if event["what"].startswith("says: ")]
    assert sorted(line["text"] for line in rows["voice"]["transcript"]) == sorted(said)
    packets = {}
    for name, root in (("silent", short_demo), ("both", tmp_path / "both")):
        with av.open(str(root / "media" / "sim001.mp4")) as container:
            packets[name] = [bytes(packet) for packet in container.demux(video=0)]
    assert packets["silent"] == packets["both"]  # the same pictures to the byte
    assert "heard as synthetic speech and not seen" in " ".join((voice_demo / "README.md").read_text().split())


def test_an_exam_whose_device_is_never_switched_on_can_be_heard() -> None:
    errors = {"aed_01": ("aed_01.omitted",)}
    silent = perform(with_consequences(default_rubric(), errors), pace=SHORT, seed=3)
    assert (silent.values["a_mode"] == 0).all()
    assert len(sound_track(silent, 3)) == round(silent.duration * RATE)


def test_a_leak_hisses_while_it_is_drawn() -> None:
    """Power around 5.5 kHz in an exam whose mask leaks and one whose does not."""
    levels = {}
    for errors in ({}, {"bmv_03": ("bmv_03.constant_leak",)}):
        play = perform(with_consequences(default_rubric(), errors), pace=SHORT, seed=3)
        first, last = (round(time * RATE) for time in play.spans["bmv_03"])
        power = np.abs(np.fft.rfft(sound_track(play, 3)[first:last].astype(float))) ** 2
        at = np.fft.rfftfreq(last - first, 1 / RATE)
        levels[bool(errors)] = power[(at > 5000) & (at < 6000)].mean()
    assert levels[True] > 4 * levels[False]
