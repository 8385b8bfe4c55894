"""The sound track of a simulated exam says what happens when it happens."""

import json
from pathlib import Path

import av
import numpy as np
import pytest

from siming_tasks.tools.simulator.sound import RATE, sound_track
from siming_tasks.tools.simulator.trainee import with_consequences
from siming_tasks.tools.simulator.video import SHORT, perform


def power(samples: np.ndarray, low: float, high: float) -> float:
    at = np.fft.rfftfreq(len(samples), 1 / RATE)
    return float((np.abs(np.fft.rfft(samples.astype(float))) ** 2)[(at > low) & (at < high)].mean())


def part(track: np.ndarray, start: float, end: float) -> np.ndarray:
    return track[round(start * RATE) : round(end * RATE)]


def test_the_device_speaks_strokes_are_heard_at_their_depth_and_people_are_silent() -> None:
    played = perform(with_consequences(), pace=SHORT, seed=3)
    track = sound_track(played, 3)
    assert len(track) == round(played.duration * RATE) and np.array_equal(track, sound_track(played, 3))
    said = [part(track, word.start + 0.04, word.end - 0.02) for word in played.utterances if word.who == "aed"]
    assert len(said) >= 4 and all(np.abs(word.astype(float)).mean() > 300 for word in said)
    hello = next(word for word in played.utterances if word.text.startswith("HELLO"))
    for start, end in ((hello.start, hello.end), played.spans["cpr_01"]):
        assert np.abs(part(track, start, end).astype(float)).mean() < 100
    depth = np.interp(np.arange(len(track)) / RATE, played.times["p_depth"], played.values["p_depth"])
    low = np.abs(np.fft.rfft(track[depth > 5][:4096]))
    assert low[10:30].max() > 20 * np.median(low)  # 40 to 120 Hz


@pytest.mark.parametrize(("error", "step", "band"), [("bmv_03.constant_leak", "bmv_03", (5000, 6000)),
                                                      ("aed_01.omitted", "aed_08", (1480, 1520))])  # fmt: skip
def test_a_leak_hisses_and_a_device_that_is_off_does_not_beep(error: str, step: str, band: tuple[float, float]) -> None:
    levels = []
    for errors in ((error,), ()):
        play = perform(with_consequences(*errors), pace=SHORT, seed=3)
        levels.append(power(part(sound_track(play, 3), *play.spans[step]), *band))
    assert max(levels) > 4 * min(levels) and (levels[0] > levels[1]) == (step == "bmv_03")


def test_a_demo_with_sound_has_the_pictures_and_labels_of_the_silent_one(short_demo: Path, heard_demo: Path) -> None:
    rows, packets = {}, {}
    for name, root in (("silent", short_demo), ("heard", heard_demo)):
        rows[name] = json.loads((root / "videos.jsonl").read_text().splitlines()[0])
        with av.open(str(root / "media" / "sim001.mp4")) as container:
            packets[name] = [bytes(packet) for packet in container.demux(video=0)]
    assert packets["silent"] == packets["heard"]  # the same pictures to the byte
    assert rows["silent"]["steps"] == rows["heard"]["steps"] and "transcript" not in rows["silent"]
    events = json.loads((heard_demo / "events" / "sim001.json").read_text())["events"]
    said = [event["what"].removeprefix("says: ") for event in events if event["what"].startswith("says: ")]
    assert sorted(line["text"] for line in rows["heard"]["transcript"]) == sorted(said)
