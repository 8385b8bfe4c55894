"""Sound and transcripts on their way to a service on loopback: the bytes that arrive are those that records state.

vLLM's and SGLang's servers take ``audio_url``, which the chat classes send; OpenAI's own takes ``input_audio``, which
the simple class sends.
"""

import hashlib
import io
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import decord
import numpy as np
import pytest

from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.common.errors import SimingError
from siming_tasks.data import open_dataset
from siming_tasks.media import Policy, backends
from siming_tasks.options import Options
from siming_tasks.plugin.preflight import plan
from tests.plugin.serving import Server, completion

pytestmark = pytest.mark.host

LIMIT = 5


def samples_of(sound: tuple[str, bytes]) -> np.ndarray:
    kind, data = sound
    assert kind.startswith("audio/wav#")
    with wave.open(io.BytesIO(data)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 16_000)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2")


@pytest.mark.parametrize(
    ("modality", "model", "more"),
    [
        ("video_audio", "async_openai", ",num_cpus=1"),
        ("audio", "openai", ""),
        ("video_transcript", "async_openai", ",num_cpus=1"),
    ],
)
def test_what_arrives_is_what_the_record_states(
    host: Callable[..., Any], serve: Callable[..., Server], heard_demo: Path, modality: str, model: str, more: str
) -> None:
    server = serve(lambda *_: completion('{"score": 1}'))
    arguments = f"model_version=m,api_key=k,max_retries=1,retry_backoff_s=0,timeout=5,base_url={server.url}{more}"
    names = [f"sound_{modality}_{part}_score" for part in ("full", "clip")]
    run = host(
        "--model", model, *(["--force_simple"] * (model == "openai")), "--model_args", arguments,
        "--tasks", ",".join(f"siming_{name}" for name in names), "--limit", str(LIMIT),
        data=heard_demo, SIMING_FRAMES="4", SIMING_CLIP_FRAMES="2",
    )  # fmt: skip
    assert run.code == 0, run.output[-3000:]
    dataset, heard, texts = open_dataset(heard_demo), {}, []
    for (images, (*_, text)), options in zip(server.received, server.options, strict=True):
        sounds = [samples_of(sound) for sound in options["sounds"]]
        assert options["forms"] <= {"input_audio" if model == "openai" else "audio_url"}
        task = TASKS[names["step by step" not in text]]
        assert len(sounds) == task.modality.sound
        assert len(images) == (0 if not task.modality.pictures else 4 if task.scope == "full" else 2)
        assert ("Transcript of what is said" in text) == task.modality.transcript
        heard |= {hashlib.sha256(sound.tobytes()).hexdigest(): sound for sound in sounds}
        texts.append(text)
    records = [sample["siming_stderr"] for name in names for sample in run.samples(name)]
    assert len(records) == LIMIT + min(LIMIT, len(dataset.videos)) == len(server.options)
    for record in records:
        video, media = dataset.video(record["video_id"]), record["media"]
        span = video.step(record["step_id"]).span if record["step_id"] else (0.0, video.duration)
        if TASKS[record["setting"]].modality.sound:
            track = decord.AudioReader(str(dataset.media_path(video)), sample_rate=16_000, mono=True)[:].asnumpy()[0]
            first, last = (round(time * 16_000) for time in span)
            cut = track[first:last] * 32768
            wanted = np.pad(cut, (0, last - first - len(cut)))
            assert np.abs(wanted - heard[media["sound"]["sha256"]]).max() <= 1
            assert media["sound"]["seconds"] == round((last - first) / 16_000, 4) and "transcript" not in media
        else:
            said = [line for line in video.extra["transcript"] if span[0] <= line["start"] < span[1]]
            lines = [f"[{line['start'] - span[0]:.1f} s] {line['who']}: {line['text']}" for line in said]
            assert media["transcript"]["lines"] == len(lines) and "sound" not in media
            block = "\n".join(lines) or "(nothing is said)"
            assert any(f"from the start:\n\n{block}\n\nYou are" in text for text in texts)


@pytest.mark.parametrize(
    ("model", "silent", "task", "words"),
    [
        ("chat.sglang", False, "sound_audio_clip_score", "never sends the sound"),
        ("chat.longvila", False, "ablation_no_video_clip_score", "needs pictures or a video"),
        ("simple.qwen2_audio", False, "sound_video_audio_clip_score", "hears but does not see"),
        ("chat.async_openai", True, "sound_audio_clip_score", "missing in 4 of 4 videos (sim001"),
        ("chat.async_openai", True, "sound_video_transcript_full_error", "Add `transcript` to their rows"),
    ],
)
def test_a_class_that_does_not_hear_and_data_without_sound_are_refused_by_name(
    heard_demo: Path, short_demo: Path, monkeypatch: pytest.MonkeyPatch, model: str, silent: bool, task: str, words: str
) -> None:
    monkeypatch.setenv("SIMING_DATA", str(short_demo if silent else heard_demo))
    with pytest.raises(SimingError) as refused:
        plan(Options.from_env(), [f"siming_{task}"])
        Policy.of(Options()).mode_for(backends()[model], task=TASKS[task])
    assert words in str(refused.value)
