"""Classes of lmms-eval whose weights cannot be here: their own code, with a stand-in for the weights that notes all."""

from __future__ import annotations

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

SCRIPT = ROOT / "utils" / "measure_model_classes.py"
TOKENS = 777


@pytest.fixture(scope="module")
def measured(heard_demo: Path, shared: Path, warm: Any) -> dict[str, dict[str, dict[str, Any]]]:
    """Runs of each class by what they are of: single requests, pairs, weights that fail once, a damaged file, sound."""
    out, folder = shared / "stand-ins.json", shared / "stand-ins"
    folder.mkdir(exist_ok=True)
    env = {
        **os.environ, "SIMING_DATA": str(heard_demo), "SIMING_CACHE": str(folder / "cache"), "SIMING_REPLIES": "off",
        "SIMING_FRAMES": str(FRAMES), "SIMING_CLIP_FRAMES": str(CLIP_FRAMES), "SIMING_FRAME_SIZE": str(SIZE),
    }  # fmt: skip
    code = warm.run(["--json", str(out)], folder, env, folder / "log", script=str(SCRIPT))
    assert code == 0, (folder / "log").read_text()[-5000:]
    runs: dict[str, dict[str, dict[str, Any]]] = {}
    for run in json.loads(out.read_text()):
        runs.setdefault(run["row"], {})[run["of"]] = run
    return runs


def of(measured: dict[str, dict[str, dict[str, Any]]], what: str) -> list[tuple[str, dict[str, Any]]]:
    """Name of each class that has such a run, and the run."""
    return [(name, runs[what]) for name, runs in measured.items() if what in runs]


def test_each_reply_is_to_its_own_pictures_and_prompt(
    measured: dict[str, dict[str, dict[str, Any]]], heard_demo: Path, tmp_path: Path
) -> None:
    wanted, dataset = expected(heard_demo, tmp_path), open_dataset(heard_demo)
    for name, run in of(measured, "single"):
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
                continue
            assert len(seen["pictures"]) == media["n_frames"], name
            assert "Frame times" in seen["text"] or " s" in seen["text"], name
        for scope, pictures in wanted.items():
            shown = [
                sample for sample in run["samples"] if scope in sample["task"] and sample["media"]["mode"] == "frames"
            ]
            seen_pictures = [np.array(sample["seen"]["pictures"], dtype=float) for sample in shown]
            assert not shown or any(in_order(pictures_seen, pictures) for pictures_seen in seen_pictures), (name, scope)


def test_a_frame_is_one_picture_and_as_sharp_in_a_clip_as_in_a_full_video(
    measured: dict[str, dict[str, dict[str, Any]]],
) -> None:
    """A class that cuts pictures in tiles, or makes them smaller if they are many, would show clips in more detail."""
    for name, run in of(measured, "single"):
        sizes = {tuple(size) for sample in run["samples"] for size in sample["seen"]["sizes"]}
        assert len(sizes) <= 1, (name, sizes)


def test_new_tokens_and_temperature_are_those_asked_for(measured: dict[str, dict[str, dict[str, Any]]]) -> None:
    for name, run in of(measured, "single"):
        for sample in run["samples"]:
            got = sample["seen"]["arguments"]
            if not backends()[name].tokens:
                assert TOKENS in map(got.get, ("max_new_tokens", "max_length", "max_tokens")), (name, got)
            if "temperature" in backends()[name].tokens:
                continue
            assert not got.get("do_sample") and (not got.get("temperature") or got.get("do_sample") is False), (
                name,
                got,
            )


def test_a_batch_of_two_is_right_or_refused_in_a_sentence(measured: dict[str, dict[str, dict[str, Any]]]) -> None:
    for name, run in of(measured, "pairs"):
        if backends()[name].batch == "one":
            assert "OptionsError: --batch_size 2" in run["error"], (name, run["error"])
            continue
        assert not run["error"] and len(run["samples"]) == 4, (name, run["error"])
        for sample in run["samples"]:
            assert sample["seen"]["text"].count(f"[{sample['step']}]") == 1 or not sample["step"], name


def test_a_failure_is_no_reply(measured: dict[str, dict[str, dict[str, Any]]]) -> None:
    """It ends the run, is tried again by the class, or is counted as a failed request; nobody gets another's reply."""
    for name, run in of(measured, "failure"):
        if run["error"]:
            assert "the stand-in fails" in run["error"], (name, run["error"])
            continue
        answered = [sample for sample in run["samples"] if sample["seen"]]
        assert len({sample["reply"] for sample in answered}) == len(answered), name
        statuses = [sample["status"] for sample in run["samples"] if not sample["seen"]]
        assert statuses in ([], ["request_failed"]), (name, statuses)


def test_a_file_that_cannot_be_read_is_never_answered_without_it(
    measured: dict[str, dict[str, dict[str, Any]]],
) -> None:
    """These classes hide the error and ask their weights without pictures, or with black ones."""
    hiding = {name for name, row in backends().items() if row.unread and row.media is VIDEO}
    assert hiding == {name for name, runs in measured.items() if "unread" in runs} != set()
    for name, run in of(measured, "unread"):
        statuses = [sample["status"] for sample in run["samples"]]
        assert not run["error"] and statuses.count("request_failed") == 1 and len(statuses) == 4, (name, run["error"])
        assert all(sample["seen"]["pictures"] for sample in run["samples"] if sample["seen"]), name


@pytest.mark.parametrize("what", ["sound", "sound alone"])
def test_the_samples_that_arrive_are_those_that_the_record_states(
    measured: dict[str, dict[str, dict[str, Any]]], heard_demo: Path, what: str
) -> None:
    """A class that takes a file's track fills it up to 80 ms with silence."""
    dataset = open_dataset(heard_demo)
    runs = of(measured, what)
    hearing = {name: backends()[name].hears for name in measured if backends()[name].hears}
    assert {name for name, _ in runs} == {n for n, form in hearing.items() if what == "sound" or form != "file"}
    for name, run in runs:
        assert not run["error"] and len(run["samples"]) == 4, (name, run["error"])
        for sample in run["samples"]:
            video, seen, recorded = dataset.video(sample["video"]), sample["seen"], sample["media"]["sound"]
            start, end = video.step(sample["step"]).span if sample["step"] else (0.0, video.duration)
            wanted = decode_sound(dataset.media_path(video), 0.0).part(start, end).samples
            full = np.pad(wanted, (0, -len(wanted) % 1280)) if hearing[name] == "file" else wanted
            assert recorded["sha256"] == hashlib.sha256(wanted.tobytes()).hexdigest(), name
            assert recorded["seconds"] == round(len(wanted) / 16_000, 4)
            assert seen["sounds"] == [[len(full), hashlib.sha256(full.tobytes()).hexdigest()]], name
            assert bool(seen["pictures"] or seen["files"]) == (what == "sound"), name
