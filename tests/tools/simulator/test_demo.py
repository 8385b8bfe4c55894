"""The dataset folder: complete, openable, deterministic, atomic."""

import json
from itertools import islice

import av
import numpy as np
import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import sha256_file
from siming_tasks.data import check_dataset, open_dataset
from siming_tasks.data.digest import content_digest
from siming_tasks.tools.simulator import demo, make_demo, simulate_labels
from siming_tasks.tools.simulator.video import FPS, encode, frames, perform
from tests.records import read_rows


def test_the_folder_is_a_dataset_that_says_it_is_synthetic(short_demo):
    dataset = open_dataset(short_demo)
    assert dataset.synthetic and dataset.raters == ("consensus", "rater_a", "rater_b")
    assert [len(video.applicable) for video in dataset.videos] == [33] * 4
    card = (short_demo / "README.md").read_text()
    assert "SYNTHETIC" in card and "may not be concluded" in card and "for tests only" in card
    rows = read_rows(short_demo / "videos.jsonl")
    assert all(row["synthetic"] for row in rows) and not any({"student", "site"} & row.keys() for row in rows)
    media = {row["media"]: sha256_file(short_demo / row["media"]) for row in rows}
    assert dataset.meta["media_sha256"] == media
    assert dataset.digest == content_digest(dataset.rubric, rows, media)
    assert not check_dataset(short_demo).problems
    for video in dataset.videos:
        with av.open(str(short_demo / video.media)) as file:
            stream = file.streams.video[0]
            assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
            assert "SYNTHETIC" in file.metadata["title"]  # for whoever meets the video without its folder
            decoded = list(file.decode(stream))
        assert len(decoded) == round(video.duration * FPS)
        keys = [index for index, frame in enumerate(decoded) if frame.key_frame]
        assert keys == list(range(0, len(decoded), 2 * FPS)), "cheap to seek: a keyframe every two seconds"


def test_labels_and_logs_are_those_of_the_seed(short_demo):
    """The workers' files against the labels drawn in this process, without pictures."""
    for exam, row in zip(simulate_labels(4, 7), read_rows(short_demo / "videos.jsonl"), strict=True):
        assert {step["step_id"]: step["score"] for step in row["steps"]} == exam.scores
        log = json.loads((short_demo / "events" / f"{exam.video_id}.json").read_text())
        assert log["synthetic"]
        assert {step["step_id"]: step["points"] for step in log["steps"]} == {
            step: truth.points for step, truth in exam.truth.items()
        }
        made = {error for event in log["events"] for error in event.get("errors", ())}
        assert made == set(exam.plan.errors.values())


def test_an_interrupted_run_leaves_nothing_and_is_taken_up_again(tmp_path, monkeypatch):
    out, finished = tmp_path / "demo", []
    make = demo._make

    def interrupted(exam, *more):
        if len(finished) == 1:
            raise KeyboardInterrupt
        finished.append(exam.video_id)
        return make(exam, *more)

    monkeypatch.setattr(demo, "_make", interrupted)
    options = {"videos": 2, "short": True, "jobs": 1, "progress": False}
    with pytest.raises(KeyboardInterrupt):
        make_demo(out, **options)
    assert not out.exists()
    stamp = (tmp_path / ".demo.part" / "media" / "sim001.mp4").stat().st_mtime_ns
    monkeypatch.setattr(demo, "_make", make)
    make_demo(out, **options)
    assert (out / "media" / "sim001.mp4").stat().st_mtime_ns == stamp
    assert make_demo(out, **options) == out  # already there: nothing to do
    with pytest.raises(DataError, match="exists and is not this demo"):
        make_demo(out, **(options | {"seed": 1}))


def test_the_command_refuses_nonsense_and_leaves_somebody_elses_folder_alone(tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("mine")
    for words, code, said in (
        (("--videos", "3", "--pairs", "x"), 1, "even number"),
        (("--videos", "1", "."), 1, "exists and is not this demo"),
    ):
        assert main(["data", "demo", *words[:-1], str(tmp_path / words[-1])]) == code
        assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.weekly
def test_the_same_frames_are_the_same_bytes_whatever_was_in_memory(tmp_path):
    """x264's AVX-512 code for macroblock trees gave another file one time in eight, and more often so."""
    exam = simulate_labels(7, 0)[-1]
    pictures = list(islice(frames(perform(exam.plan, seed=exam.look), exam.look), 300))
    rng = np.random.default_rng(0)
    found = set()
    for _ in range(24):
        litter = [np.full(rng.integers(1_000, 400_000), rng.integers(256), np.uint8) for _ in range(200)]
        del litter[::2]
        encode(tmp_path / "x.mp4", pictures, fps=FPS)
        found.add(sha256_file(tmp_path / "x.mp4"))
    assert len(found) == 1
