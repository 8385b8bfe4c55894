"""Classes of lmms-eval whose weights cannot be here: their own code, with a stand-in for the weights that notes all."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siming_tasks.data import open_dataset
from siming_tasks.media import backends
from siming_tasks.media.modes import VIDEO
from siming_tasks.media.sound import decode_sound
from tests.plugin.test_model_classes import CLIP_FRAMES, FRAMES, ROOT, SIZE, expected, in_order

pytestmark = [pytest.mark.host, pytest.mark.weekly, pytest.mark.timeout(2400)]

TOKENS = 777
Runs = list[tuple[str, dict[str, Any]]]
"""Name of each class that has such a run, and the run."""


@pytest.fixture(scope="module")
def measured(heard_demo: Path, shared: Path, warm: Any) -> dict[str, Runs]:
    """Runs by what they are of: single requests, pairs, weights that fail once, a damaged file, sound."""
    out, folder = shared / "stand-ins.json", shared / "stand-ins"
    folder.mkdir(exist_ok=True)
    env = {
        **os.environ, "SIMING_DATA": str(heard_demo), "SIMING_CACHE": str(folder / "cache"), "SIMING_REPLIES": "off",
        "SIMING_FRAMES": str(FRAMES), "SIMING_CLIP_FRAMES": str(CLIP_FRAMES), "SIMING_FRAME_SIZE": str(SIZE),
    }  # fmt: skip
    script = str(ROOT / "utils" / "measure_model_classes.py")
    code = warm.run([str(out)], folder, env, folder / "log", script=script)
    assert code == 0, (folder / "log").read_text()[-5000:]
    runs: dict[str, Runs] = {}
    for run in json.loads(out.read_text()):
        runs.setdefault(run["of"], []).append((run["row"], run))
    return runs


def test_each_reply_is_to_its_own_pictures_and_prompt_as_asked(
    measured: dict[str, Runs], heard_demo: Path, tmp_path: Path
) -> None:
    """A frame is one picture, as sharp in a clip as in a full video: else a class would show clips in more detail."""
    wanted, dataset = expected(heard_demo, tmp_path), open_dataset(heard_demo)
    for name, run in measured["single"]:
        assert not run["error"], (name, run["error"])
        assert len({sample["reply"] for sample in run["samples"]}) == len(run["samples"]) == 4, name
        for sample in run["samples"]:
            seen, media = sample["seen"], sample["media"]
            assert seen and not seen["sounds"], (name, sample["reply"])  # though the videos have a track
            steps = dataset.video(sample["video"]).steps
            told = [step.step_id for step in steps if f"[{step.step_id}]" in seen["text"]]
            assert told == [sample["step"]] if sample["step"] else len(told) > 20, name
            if media["mode"] == "video":
                assert seen["pictures"] or [Path(file).suffix for file in seen["files"]] == [".mp4"], name
            else:
                assert len(seen["pictures"]) == media["n_frames"], name
                assert "Frame times" in seen["text"] or " s" in seen["text"], name
            given, row = seen["arguments"], backends()[name]
            assert media.get("encoding") == {"jpeg": "jpeg90", "png": "png"}.get(row.sent or ""), name
            asked = TOKENS in map(given.get, ("max_new_tokens", "max_length", "max_tokens"))
            assert asked or row.tokens, (name, given)
            drawn = given.get("do_sample") or (given.get("temperature") and given.get("do_sample") is not False)
            assert not drawn, (name, given)
        assert len({tuple(size) for sample in run["samples"] for size in sample["seen"]["sizes"]}) <= 1, name
        for scope, pictures in wanted.items():
            shown = [one for one in run["samples"] if scope in one["task"] and one["media"]["mode"] == "frames"]
            found = [np.array(sample["seen"]["pictures"], dtype=float) for sample in shown]
            assert not shown or any(in_order(one, pictures) for one in found), (name, scope)


def test_a_batch_of_two_is_right_or_refused_in_a_sentence(measured: dict[str, Runs]) -> None:
    for name, run in measured["pairs"]:
        if backends()[name].batch == "one":
            assert "OptionsError: --batch_size 2" in run["error"], (name, run["error"])
            continue
        assert not run["error"] and len(run["samples"]) == 4, (name, run["error"])
        for sample in run["samples"]:
            assert sample["seen"]["text"].count(f"[{sample['step']}]") == 1 or not sample["step"], name


def test_a_failure_is_no_reply_and_a_file_that_cannot_be_read_is_never_answered_without_it(
    measured: dict[str, Runs],
) -> None:
    """A failure ends the run, is tried again by the class, or counts as a failed request; some classes hide theirs."""
    for name, run in measured["failure"]:
        if run["error"]:
            assert "the stand-in fails" in run["error"], (name, run["error"])
            continue
        answered = [sample for sample in run["samples"] if sample["seen"]]
        assert len({sample["reply"] for sample in answered}) == len(answered), name
        statuses = [sample["status"] for sample in run["samples"] if not sample["seen"]]
        assert statuses in ([], ["request_failed"]), (name, statuses)
    hiding = {name for name, row in backends().items() if row.unread and row.media is VIDEO}
    assert hiding == {name for name, _ in measured["unread"]} != set()
    for name, run in measured["unread"]:
        statuses = [sample["status"] for sample in run["samples"]]
        assert not run["error"] and statuses.count("request_failed") == 1 and len(statuses) == 4, (name, run["error"])
        assert all(sample["seen"]["pictures"] for sample in run["samples"] if sample["seen"]), name


@pytest.mark.parametrize("what", ["sound", "sound alone"])
def test_the_samples_that_arrive_are_those_that_the_record_states(
    measured: dict[str, Runs], heard_demo: Path, what: str
) -> None:
    dataset = open_dataset(heard_demo)
    assert {"simple.qwen2_audio", "chat.qwen3_omni"} <= {name for name, _ in measured["sound alone"]}
    for name, run in measured[what]:
        assert not run["error"] and len(run["samples"]) == 4, (name, run["error"])
        for sample in run["samples"]:
            video, seen, recorded = dataset.video(sample["video"]), sample["seen"], sample["media"]["sound"]
            start, end = video.step(sample["step"]).span if sample["step"] else (0.0, video.duration)
            samples = decode_sound(dataset.media_path(video), 0.0).part(start, end).samples
            digest = hashlib.sha256(samples.tobytes()).hexdigest()
            assert recorded["sha256"] == digest and recorded["seconds"] == round(len(samples) / 16_000, 4), name
            assert seen["sounds"] == [[len(samples), digest]], name
            assert bool(seen["pictures"] or seen["files"]) == (what == "sound"), name
