"""siming_nano hears: what it is told of sound and transcripts, and that a broken path of sound costs points."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef

from siming_tasks.common.errors import MediaError
from siming_tasks.data.transcript import Utterance, transcript_text
from siming_tasks.media import FrameStore
from siming_tasks.media.sound import Sound
from siming_tasks.models.nano.exam_judge import Watcher, sound, transcript
from siming_tasks.models.nano.frame_features import WEIGHTS
from siming_tasks.models.nano.listening import HEARD, RATE, SUMMARY, WORDS, Heard, Lines, summary, words_of
from siming_tasks.models.nano.sound_features import SOUND_WEIGHTS, log_mel
from siming_tasks.parsing import parse_reply
from siming_tasks.rubrics import default_rubric
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.prompt import build_prompt
from siming_tasks.tools.simulator.choreography import Performance
from siming_tasks.tools.simulator.simulated_exam import simulate_labels
from siming_tasks.tools.simulator.sound import sound_track
from siming_tasks.tools.simulator.video import perform
from tests.models.nano.conftest import Messages

STEPS = default_rubric().steps
NEED_SOUND = [step for step in STEPS if "audio" in step.evidence.channel]


def messages(task: str, steps: Any, samples: np.ndarray | None = None, said: str = "", frames: Any = ()) -> Messages:
    content: list[dict[str, Any]] = []
    for time, picture in frames:
        content += [{"type": "text", "text": f"Frame at {time:.1f} s:"}, {"type": "image", "url": picture}]
    if samples is not None:
        content.append({"type": "audio", "url": Sound(samples).to_send("array", FrameStore(WEIGHTS, WEIGHTS, ""))})
    prompt = build_prompt(TASKS[task], steps)
    content.append({"type": "text", "text": f"{said}\n\n{prompt}" if said else prompt})
    return [{"role": "user", "content": content}]


def test_both_weights_together_are_small_and_stated(watcher: Watcher) -> None:
    assert WEIGHTS.stat().st_size + SOUND_WEIGHTS.stat().st_size <= 3_000_000
    assert watcher.ear.digest in WEIGHTS.with_name("MODEL.md").read_text()
    assert watcher.ear.facts.steps == watcher.facts.steps and watcher.ear.facts.binary == HEARD


def test_a_tone_stands_in_the_band_of_its_frequency() -> None:
    """1000 Hz are 1000 mel; 42 edges from 50 Hz (78 mel) to 7600 Hz (2787): the band nearest to it is number 13."""
    at = np.arange(RATE)
    frames = log_mel(np.rint(8000 * np.sin(2 * np.pi * 1000 * at / RATE)).astype(np.int16))
    assert frames.shape == (80, 40)
    assert set(frames[5:-5].argmax(1)) == {13}
    assert log_mel(np.zeros(1, np.int16)).shape == (4, 40)  # one output of the encoder


def test_what_the_messages_give_is_taken_as_it_is() -> None:
    samples = np.array([0, 1, -32768, 32767], np.int16)
    given = messages("sound_audio_clip_score", STEPS[:1], samples)
    np.testing.assert_array_equal(sound(given), samples)
    assert sound(messages("clip_score", STEPS[:1])) is None
    given[0]["content"][0]["url"]["sampling_rate"] = 44_100
    with pytest.raises(MediaError, match="hears 16000 samples a second, not 44100"):
        sound(given)


def test_lines_of_a_prompt_are_read_and_nothing_else() -> None:
    said = (Utterance(2.64, 4.0, "HELP!", "trainee"), Utterance(5.0, 6.0, "You there: call 120!"))
    read = transcript(messages("sound_transcript_clip_score", STEPS[:1], said=transcript_text(said)))
    assert read == Lines([(2.6, "trainee: HELP!"), (5.0, "You there: call 120!")])
    assert transcript(messages("sound_transcript_clip_score", STEPS[:1], said=transcript_text(()))) == Lines([])
    assert transcript(messages("clip_score", STEPS[:1])) is None


def names(features: np.ndarray) -> set[str]:
    return {name for name, value in zip(WORDS, features, strict=True) if value}


def test_words_in_writing_are_those_of_the_bubbles() -> None:
    assert names(words_of("trainee: HELP!")) == names(words_of("help")) == {"says HELP!"}
    assert names(words_of("You there: call 120!")) == {"says You there: call 120!"}
    assert names(words_of("trainee: 27")) == {"counts", "tens=2", "ones=7"}
    assert names(words_of("1006")) == {"counts seconds", "tens=0", "ones=6"}
    assert names(words_of("What a day.")) == set()
    lines = Lines([(1.0, "aide: OK!"), (1.5, "HELP!")])
    at = lines.at(np.array([0.9, 1.0, 1.4, 1.5, 2.3], np.float32))
    assert [names(row) for row in at] == [set(), {"says OK!"}, {"says OK!"}, {"says HELP!"}, set()]


def test_a_compression_is_where_it_is_loudest_and_a_flicker_is_no_second_word() -> None:
    heard = np.zeros((60, len(HEARD)), np.float32)
    heard[[10, 11, 12, 21], HEARD.index("stroke")] = [0.6, 0.9, 0.7, 0.8]
    heard[[5, 6, 7, 8, 10, 40], HEARD.index("says HELP!")] = 0.9  # 9 is below a half: it flickers
    events = Heard(heard).events()
    np.testing.assert_allclose(events["stroke"], [0.55, 1.05])
    np.testing.assert_allclose(events["says HELP!"], [0.25, 2.0])
    told = summary(events)
    assert told.shape == (SUMMARY,) and told[-1] == 1
    assert summary(Lines([]).events()).sum() == 2  # no set of compressions, and the constant


@cache
def played() -> tuple[list[Performance], list[np.ndarray], np.ndarray]:
    """Four exams of a seed of their own, their sound, and which of the steps that need sound are wrong; no picture."""
    exams = simulate_labels(4, seed=9292)
    performances = [perform(exam.plan, seed=exam.look) for exam in exams]
    tracks = [sound_track(play, exam.look) for play, exam in zip(performances, exams, strict=True)]
    wrong = np.array([[exam.truth[step.id].points < step.max_score for step in NEED_SOUND] for exam in exams])
    return performances, tracks, wrong


def mcc(watcher: Watcher, tracks: list[np.ndarray]) -> float:
    """Verdicts on the clips of the steps that need sound, from sound alone, through messages as a run sends them."""
    performances, _, wrong = played()
    asked = []
    for play, track in zip(performances, tracks, strict=True):
        for step in NEED_SOUND:
            part = Sound(track).part(*play.spans[step.id])
            asked.append(messages("sound_audio_clip_error", [step], part.samples))
    said = [json.loads(reply)["verdict"] == "incorrect" for reply in watcher.replies(asked)]
    return float(matthews_corrcoef(wrong.ravel(), said))


def late(track: np.ndarray, _: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(3 * RATE, np.int16), track[: -3 * RATE]])


def other_exam(track: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.resize(other, len(track))


def silence(track: np.ndarray, _: np.ndarray) -> np.ndarray:
    return np.zeros_like(track)


def half_speed(track: np.ndarray, _: np.ndarray) -> np.ndarray:
    return np.interp(np.arange(len(track)) / 2, np.arange(len(track)), track).astype(np.int16)


def noise_at_0_db(track: np.ndarray, _: np.ndarray) -> np.ndarray:
    level = np.sqrt(np.mean(track.astype(float) ** 2))
    noisy = track + level * np.random.default_rng(5).standard_normal(len(track))
    return np.clip(noisy, -32768, 32767).astype(np.int16)


def test_every_way_of_breaking_the_sound_costs_points(watcher: Watcher) -> None:
    tracks = played()[1]
    whole = mcc(watcher, tracks)
    losses = {
        way.__name__: whole - mcc(watcher, [way(track, tracks[(n + 1) % 4]) for n, track in enumerate(tracks)])
        for way in (late, other_exam, silence, half_speed, noise_at_0_db)
    }
    assert 0.5 <= whole <= 0.98, whole
    assert {way: loss for way, loss in losses.items() if loss < 0.15} == {}


@pytest.mark.parametrize("modality", ["audio", "video_audio", "transcript", "video_transcript"])
@pytest.mark.parametrize("name", ["full_score", "clip_error"])
def test_every_question_with_sound_or_a_transcript_is_answered(name: str, modality: str, watcher: Watcher) -> None:
    task = f"sound_{modality}_{name}"
    steps = STEPS[2:3] if name.startswith("clip") else STEPS
    rng = np.random.default_rng(3)
    samples = rng.integers(-200, 200, 2 * RATE).astype(np.int16) if "audio" in modality else None
    said = transcript_text([Utterance(0.2, 1.0, "HELP!", "trainee")]) if "transcript" in modality else ""
    frames = [(t, rng.integers(0, 255, (272, 480, 3), np.uint8)) for t in (0.0, 1.0)] if "video" in modality else []
    given = messages(task, steps, samples, said, frames)
    (reply,) = watcher.replies([given])
    parsed = parse_reply(reply, steps, TASKS[task].answer)
    assert parsed.status == "ok" and set(parsed.answers) == {step.id for step in steps}


def test_a_word_that_is_heard_is_for_the_judge_as_if_it_were_seen(watcher: Watcher) -> None:
    """The probabilities from frames whose bubbles are read and from frames without bubbles beside the same words."""
    rng = np.random.default_rng(8)
    seen = rng.normal(0, 1, (6, len(watcher.reader.names))).astype(np.float32)
    words = [watcher.reader.names.index(name) for name in WORDS]
    times = np.arange(6, dtype=np.float32)
    lines = Lines([(2.0, "HELP!")])
    seen[:, words] = lines.at(times)
    mute = seen.copy()
    mute[:, words] = 0
    with_bubbles, _ = watcher.chances(seen, times, None, ["cpr_03"], True)
    with_words, _ = watcher.chances(mute, times, lines, ["cpr_03"], True)
    without, _ = watcher.chances(mute, times, None, ["cpr_03"], True)
    np.testing.assert_array_equal(with_bubbles, with_words)
    assert np.abs(without - with_words).max() > 0.01
