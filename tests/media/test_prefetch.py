"""Preparing a dataset: every frame of every setting, resumable, honest about what failed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import MediaError
from siming_tasks.data import open_dataset
from siming_tasks.media import PROXY, VIDEO, Job, Request, prepare, view
from siming_tasks.media import store as module
from siming_tasks.media.prefetch import estimate


def job(path: Path, **options: Any) -> Job:
    return Job(path, (Request(None, 8), Request((0.4, 1.2), 5)), **options)


@pytest.mark.parametrize("workers", [1, 2])
def test_nothing_is_decoded_after_preparation(videos: Any, tmp_path: Path, workers: int, monkeypatch: Any) -> None:
    paths = [videos.get(shape) for shape in ("plain", "vfr", "open_gop")]
    outcomes = prepare([job(path) for path in paths], tmp_path, workers=workers)
    assert [(outcome.path, outcome.errors) for outcome in outcomes] == [(path, ()) for path in paths]
    assert outcomes[0].frames == 8 + 5 - len({0, 8, 16, 25, 33, 42, 50, 59} & {10, 14, 19, 24, 29})
    monkeypatch.setattr(module, "decode", None)
    for path in paths:
        assert len(view(path, span=None, frames=8, cache=tmp_path).images()) == 8
        assert len(view(path, span=(0.4, 1.2), frames=5, cache=tmp_path).images()) == 5
    again = prepare([job(path) for path in paths], tmp_path)
    assert [outcome.frames for outcome in again] == [0, 0, 0]


def test_one_bad_video_or_span_does_not_stop_the_others(videos: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.mp4").write_text("no video")
    late = Job(videos.get("vfr"), (Request(None, 2), Request((90.0, 91.0), 2)))
    bad, partly, good = prepare([job(tmp_path / "bad.mp4"), late, job(videos.get("plain"))], tmp_path / "c")
    assert bad.errors[0].startswith(f"{tmp_path / 'bad.mp4'}: cannot be read")
    assert partly.errors == (f"{late.path}: span 90-91 s reaches past the last frame at 6.785 s.",)
    assert (bad.frames, partly.frames, good.frames, good.errors) == (0, 2, 13, ())


def test_prepare_writes_clips_and_proxies(videos: Any, tmp_path: Path) -> None:
    path = videos.get("plain")
    (outcome,) = prepare([job(path, mode=VIDEO)], tmp_path)
    assert outcome.frames == 20
    assert [file.name for file in sorted((tmp_path / "media").rglob("*.mp4"))] == ["000010-000029.mp4"]
    prepare([job(path, mode=PROXY)], tmp_path)
    assert len(list((tmp_path / "media").rglob("proxies/*.mp4"))) == 2


def test_the_estimate_counts_remaining_work(videos: Any, tmp_path: Path) -> None:
    jobs = [job(videos.get(shape)) for shape in ("plain", "vfr")]
    (tmp_path / "bad.mp4").write_text("no video")
    before = estimate([*jobs, job(tmp_path / "bad.mp4")], tmp_path / "c")
    assert (before.videos, before.frames) == (2, 26)
    assert before.seconds > 0
    prepare(jobs[:1], tmp_path / "c")
    held = sum(file.stat().st_size for file in (tmp_path / "c" / "media").rglob("*.jpg"))
    assert before.bytes / 2 == pytest.approx(held, rel=0.3)
    after = estimate(jobs, tmp_path / "c")
    assert (after.videos, after.frames) == (1, 13)
    prepare(jobs, tmp_path / "c")
    assert estimate(jobs, tmp_path / "c").frames == 0


def test_the_prepare_command_reports_estimate_and_result(
    short_demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "run",
        "prepare",
        "--data",
        str(short_demo),
        "--cache",
        str(tmp_path),
        "--frames",
        "6",
        "--clip-frames",
        "2",
    ]
    assert main([*command, "--dry-run"]) == 0
    first = capsys.readouterr().out
    assert first.startswith("4 videos, 4 to decode: ")
    assert not list(tmp_path.rglob("*.jpg"))
    assert main(command) == 0
    assert "4 videos prepared, no problems." in capsys.readouterr().out
    assert main([*command, "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("4 videos, 0 to decode: 0 frames, about 0.00 GB and 0.0 min")
    dataset = open_dataset(short_demo)
    video = dataset.videos[0]
    media = view(
        dataset.media_path(video),
        digest=dataset.media_digest(video),
        span=video.applicable[0].span,
        frames=2,
        cache=tmp_path,
    )
    assert media.store.missing(media.indices) == []


def test_the_prepare_command_refuses_more_than_the_cache_limit(short_demo: Path, tmp_path: Path, capsys: Any) -> None:
    command = ["run", "prepare", "--data", str(short_demo), "--cache", str(tmp_path), "--cache-gb", "0.001"]
    assert main(command) == 2
    assert "more than the limit of 0.001 GB" in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.jpg"))


def test_the_prepare_command_lists_videos_that_failed(short_demo: Path, tmp_path: Path, capsys: Any) -> None:
    import shutil

    data = tmp_path / "data"
    shutil.copytree(short_demo, data)
    lines = [json.loads(line) for line in (data / "videos.jsonl").read_text().splitlines()]
    broken = data / lines[1]["media"]
    content = broken.read_bytes()
    broken.write_bytes(content[: len(content) // 2])
    arguments = ["--cache", str(tmp_path / "c"), "--frames", "2", "--clip-frames", "1"]
    assert main(["run", "prepare", "--data", str(data), *arguments]) == 1
    assert f"{lines[1]['media']} is not the file that the digest" in capsys.readouterr().err
    (data / "dataset.yaml").write_text("name: by-hand\nsynthetic: true\n")  # a folder that states nothing of its media
    assert main(["run", "prepare", "--data", str(data), *arguments]) == 1
    captured = capsys.readouterr()
    assert str(broken) in captured.out
    assert "4 videos prepared, 1 problems (above)." in captured.out


def test_a_damaged_frame_stops_its_video_only(videos: Any, tmp_path: Path) -> None:
    import av

    source = videos.make(tmp_path / "v.mp4", options={"bf": "0", "crf": "1", "sc_threshold": "0"})
    with av.open(str(source)) as container:
        packet = next(packet for number, packet in enumerate(container.demux(video=0)) if number == 30)
        at, size = int(packet.pos or 0), packet.size
    data = bytearray(source.read_bytes())
    data[at + 10 : at + size] = bytes(byte ^ 0xA5 for byte in data[at + 10 : at + size])
    source.write_bytes(data)
    (outcome,) = prepare([job(source)], tmp_path / "c")
    assert outcome.errors[0].startswith(f"{source}: the frame at 1.200 s or soon after is damaged")
    with pytest.raises(MediaError, match=r"the frame at 1\.200 s"):
        view(source, span=None, frames=8, cache=tmp_path / "c")
