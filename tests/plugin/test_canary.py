"""The canary: a service that drops sound or pictures without a word is found, one that hears and sees passes."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from siming_tasks.cli import main
from siming_tasks.common.errors import OptionsError
from siming_tasks.data import open_dataset
from siming_tasks.media import FrameStore, sound_of
from siming_tasks.tools.simulator import canary
from tests.plugin.serving import Server, completion
from tests.plugin.test_sound import samples_of

pytestmark = pytest.mark.host


def tones(samples: np.ndarray) -> int:
    """Number of tones in a sound: the rises of its loudness, in pieces of 20 ms."""
    loud = np.abs(samples[: len(samples) // 320 * 320].reshape(-1, 320)).max(axis=1) > 3000
    return int((loud[1:] & ~loud[:-1]).sum())


def digit(picture: bytes) -> int:
    """The digit of a picture, by the nearest of nine."""
    image = Image.open(io.BytesIO(picture)).convert("L")
    known = [np.asarray(Image.fromarray(canary._digit(n)).convert("L").resize(image.size), float) for n in range(1, 10)]
    return 1 + int(np.argmin([np.abs(np.asarray(image, float) - one).mean() for one in known]))


def replies(server: Server, hears: bool, sees: bool) -> Callable[..., Any]:
    def answer(images: tuple[str, ...], text: str, number: int) -> Any:
        got = server.options[number]
        if "tones" in text:
            points = tones(samples_of(got["sounds"][0])) if hears and got["sounds"] else 3
        else:
            points = digit(got["images"][0][1]) if sees else 3
        return completion(json.dumps({"score": points}))

    return answer


@pytest.mark.parametrize(("hears", "sees"), [(False, True), (True, True)])
def test_what_a_server_drops_is_found(
    serve: Callable[..., Server], warm: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hears: bool, sees: bool
) -> None:
    """Only where everything arrives is the class noted as verified."""
    server = serve(lambda *_: None)
    server.answer = replies(server, hears, sees)
    arguments = f"model_version=m,api_key=k,max_retries=1,retry_backoff_s=0,num_cpus=1,timeout=5,base_url={server.url}"
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("SIMING_CACHE", str(tmp_path))
    found = canary.ask("async_openai", arguments, seed=3, command=(warm.command(),))
    assert found.task == "siming_sound_video_audio_clip_score" and not found.refused
    assert found.requests == 8 == len(server.received)
    assert {verdict.channel: verdict.arrives for verdict in found.verdicts} == {"sound": hears, "pictures": sees}
    chances = {"sound": 6 * 5 * 4 * 3, "pictures": 9 * 8 * 7 * 6}
    for verdict in found.verdicts:
        assert len(set(verdict.wanted)) == 4 and verdict.by_guessing == pytest.approx(1 / chances[verdict.channel])
        assert verdict.arrives or verdict.got == (3, 3, 3, 3)
    assert (tmp_path / "verified" / "chat.async_openai").exists() == (hears and sees)


def test_a_class_is_asked_about_what_it_takes() -> None:
    assert canary.task_for("qwen2_audio")[0] == "sound_audio_clip_score"
    setting, refused = canary.task_for("sglang")
    assert setting == "clip_score" and len(refused) == 2 and "never sends the sound" in refused[0]
    assert canary.task_for("minicpm_o", "init_audio=False")[0] == "clip_score"
    with pytest.raises(OptionsError, match="it makes videos"):
        canary.task_for("ltx_video")


def test_each_answer_is_in_one_channel_alone(tmp_path: Path) -> None:
    numbers = {"sound": (2, 5, 1, 6), "pictures": (9, 4, 7, 1)}
    data = open_dataset(canary.make_canary(tmp_path / "d", numbers))
    (video,) = data.videos
    store = FrameStore(tmp_path, data.media_path(video), data.media_digest(video, tmp_path))
    track = sound_of(store)
    shown = store.images([step * canary.SECONDS * canary.FPS + 3 for step in range(8)])
    wanted = [(channel, number) for channel, row in numbers.items() for number in row]
    for place, ((channel, number), image) in enumerate(zip(wanted, shown, strict=True)):
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        seen = digit(buffer.getvalue())
        heard = tones(track.part(place * canary.SECONDS, (place + 1) * canary.SECONDS).samples)
        assert (heard == number) == (channel == "sound") and (seen == number) == (channel == "pictures")
        assert video.steps[place].consensus == number


def test_the_command_says_what_does_not_arrive(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    heard = canary.Verdict("sound", (1, 2, 3, 4), (3, 3, 3, None))
    seen = canary.Verdict("pictures", (9, 2, 3, 4), (9, 2, 3, 4))
    found = canary.Canary("siming_sound_video_audio_clip_score", 8, (heard, seen), ())
    monkeypatch.setattr(canary, "ask", lambda *_, **__: found)
    assert main(["run", "plan", "--canary", "--model", "m", "--model_args", "a=1"]) == 1
    text = capsys.readouterr().out
    assert "sound: 1 of 4 right (chance of 4 by guessing: 1 in 360): NOT SHOWN TO HEAR" in text
    assert "pictures: 4 of 4 right (chance of 4 by guessing: 1 in 3,024): the pictures arrive and are used." in text
