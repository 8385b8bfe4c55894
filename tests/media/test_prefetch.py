"""Preparing a dataset: every frame of every setting, resumable, honest about what failed."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.media import PROXY, VIDEO, Job, Request, prepare, view
from siming_tasks.media import store as module
from siming_tasks.media.prefetch import estimate


def job(path: Path, **options: Any) -> Job:
    return Job(path, (Request(None, 8), Request((0.4, 1.2), 5)), **options)


def test_nothing_is_decoded_after_preparation(videos: Any, tmp_path: Path, monkeypatch: Any) -> None:
    paths = [videos.get(shape) for shape in ("plain", "vfr", "open_gop")]
    jobs = [job(path) for path in paths]
    before = estimate(jobs, tmp_path)
    assert (before.videos, before.frames) == (3, 39) and before.seconds > 0
    outcomes = list(prepare(jobs, tmp_path, workers=2))
    assert [(outcome.path, outcome.errors) for outcome in outcomes] == [(path, ()) for path in paths]
    stored = [len(list(jobs[0].store(tmp_path).frames.iterdir()))]
    assert stored == [8 + 5 - len({0, 8, 16, 25, 33, 42, 50, 59} & {10, 14, 19, 24, 29})]
    held = sum(file.stat().st_size for file in tmp_path.rglob("*.jpg"))
    assert before.bytes == pytest.approx(held, rel=0.3)
    monkeypatch.setattr(module, "decode", None)
    for path in paths:
        assert len(view(path, span=None, frames=8, cache=tmp_path).images()) == 8
        assert len(view(path, span=(0.4, 1.2), frames=5, cache=tmp_path).images()) == 5
    assert [outcome.errors for outcome in prepare(jobs, tmp_path)] == [(), (), ()]
    assert estimate(jobs, tmp_path).frames == 0


def test_one_bad_video_or_span_does_not_stop_the_others(videos: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.mp4").write_text("no video")
    late = Job(videos.get("vfr"), (Request(None, 2), Request((90.0, 91.0), 2)))
    jobs = [job(tmp_path / "bad.mp4"), late, job(videos.get("plain"))]
    assert estimate(jobs, tmp_path / "c").videos == 2
    bad, partly, good = prepare(jobs, tmp_path / "c")
    assert bad.errors[0].startswith(f"{tmp_path / 'bad.mp4'}: cannot be read")
    assert partly.errors == (f"{late.path}: span 90-91 s reaches past the last frame at 6.785 s.",)
    assert [len(list(one.store(tmp_path / "c").frames.iterdir())) for one in jobs[1:]] == [2, 13]
    assert good.errors == ()


def test_prepare_writes_clips_and_proxies(videos: Any, tmp_path: Path) -> None:
    path = videos.get("plain")
    (outcome,) = prepare([job(path, mode=VIDEO)], tmp_path)
    assert outcome.errors == ()
    assert [file.name for file in sorted((tmp_path / "media").rglob("*.mp4"))] == ["000010-000029.mp4"]
    list(prepare([job(path, mode=PROXY)], tmp_path))
    assert len(list((tmp_path / "media").rglob("proxies/*.mp4"))) == 2


def test_the_prepare_command_reports_estimate_result_and_failures(
    short_demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, cache = tmp_path / "data", tmp_path / "cache"
    shutil.copytree(short_demo, data)
    command = ["run", "prepare", "--data", str(data), "--cache", str(cache), "--frames", "6", "--clip-frames", "2"]
    assert main([*command, "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("4 videos, 4 to decode: ")
    assert main([*command, "--cache-gb", "0.001"]) == 2
    assert "more than the limit of 0.001 GB" in capsys.readouterr().err
    assert not list(cache.rglob("*.jpg"))
    assert main(command) == 0
    assert "4 videos prepared, no problems." in capsys.readouterr().out
    assert main([*command, "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("4 videos, 0 to decode: 0 frames, about 0.00 GB and 0.0 min")

    media = json.loads((data / "videos.jsonl").read_text().splitlines()[1])["media"]
    content = (data / media).read_bytes()
    (data / media).write_bytes(content[: len(content) // 2])
    assert main(command) == 1
    assert f"{media} does not match its digest" in capsys.readouterr().err
    (data / "dataset.yaml").write_text(
        "name: by-hand\nsimulated: {videos: true}\n"
    )  # a folder that states nothing of its media
    assert main(command) == 1
    out = capsys.readouterr().out
    assert str(data / media) in out and "4 videos prepared, 1 problem (above)." in out
