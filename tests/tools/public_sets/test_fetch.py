"""From a set's annotation files and the user's videos to a folder that every other part takes."""

import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import open_dataset
from siming_tasks.data.resolve import resolve_dataset
from siming_tasks.options import Options
from siming_tasks.tools import public_sets
from siming_tasks.tools.public_sets.fetch import download, match_videos
from tests.data.conftest import write_video
from tests.records import number_of

SEGMENTS = {
    "S1": [(0.5, 2.0, 0, []), (2.0, 3.0, -1, [1]), (3.0, 4.5, 1, [4]), (5.0, 6.0, 1, [])],
    "S12": [(0.0, 3.0, 0, [0]), (3.0, 5.5, 1, [])],
    "S2": [(1.0, 4.0, 1, [])],
}
"""Segments in EgoOops' form: a step with a wrong attempt and a right one, one of no instruction, one left out."""


@pytest.fixture
def annotations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three recordings of a task of two instructions, in the published form and as if they were the published ones."""
    videos = [
        {"task_id": "blocks", "video_id": name, "segments": [
            {"startTime": a, "endTime": b, "instruction": step, "labels": labels, "caption": "slips" if labels else ""}
            for a, b, step, labels in segments
        ]}
        for name, segments in SEGMENTS.items()
    ]  # fmt: skip
    folder = tmp_path / "annotations"
    (folder / "meta").mkdir(parents=True)
    content = {"videos": videos, "instructions": {"blocks": ["Take a red block.", "Put it on the blue one."]}}
    text = json.dumps(content)
    (folder / "meta" / "metadata.json").write_text(text)
    listed = f"{hashlib.sha256(text.encode()).hexdigest()}  meta/metadata.json\n"
    digest = hashlib.sha256(listed.encode()).hexdigest()
    monkeypatch.setitem(public_sets.SETS, "egooops", replace(public_sets.SETS["egooops"], digest=digest))
    return folder


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    """Six seconds for each, under the names that archives give them."""
    for place, name in enumerate(("blocks/S1.MP4", "blocks/S12_720p.mp4", "S2-view.mp4", "blocks/S3.mp4")):
        write_video(tmp_path / "videos" / name, seed=place, frames=60, codec="mpeg4", size=(128, 96))
    return tmp_path / "videos"


def test_a_set_with_videos_goes_through_check_and_score(
    annotations: Path, videos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "set"
    arguments = ["data", "fetch", "egooops", str(out), "--annotations", str(annotations), "--videos", str(videos)]
    assert main(arguments) == 0
    assert "set: 3 recordings, 6 steps, 3 of them wrong, digest" in capsys.readouterr().out
    dataset = open_dataset(out)
    assert [video.video_id for video in dataset.videos] == ["S1", "S12", "S2"]
    labels = {(v.video_id, s.step_id): (s.consensus, s.span, s.errors) for v in dataset.videos for s in v.steps}
    assert labels == {
        ("S1", "blocks_01"): (1, (0.5, 2.0), ()),
        ("S1", "blocks_02"): (0, (3.0, 4.5), ("blocks_02.wrong_way",)),
        ("S12", "blocks_01"): (0, (0.0, 3.0), ("blocks_01.wrong_object",)),
        ("S12", "blocks_02"): (1, (3.0, 5.5), ()),
        ("S2", "blocks_01"): (0, None, ("blocks_01.left_out",)),
        ("S2", "blocks_02"): (1, (1.0, 4.0), ()),
    }
    row = json.loads((out / "videos.jsonl").read_text().splitlines()[0])
    assert row["steps"][1]["reason"] == "slips"
    assert [one["correct"] for one in row["steps"][1]["attempts"]] == [False, True]
    assert dataset.attempt_rule == "worst" and dataset.meta["license"] == "cc-by-sa-4.0"
    assert main(["data", "check", str(out)]) == 0
    assert "0 errors" in capsys.readouterr().out
    before = (out / "videos.jsonl").stat().st_mtime_ns
    assert main(arguments) == 0 and (out / "videos.jsonl").stat().st_mtime_ns == before
    (videos / "S2-view.mp4").unlink()
    assert main([*arguments[:3], str(tmp_path / "fewer"), *arguments[4:]]) == 0
    said = capsys.readouterr()
    assert (
        "there is no video of 1 of 3 recordings." in said.err and "2 recordings, 4 steps, 2 of them wrong" in said.out
    )
    assert main([*arguments, "--keep-audio"]) == 1  # something else: the folder is not overwritten
    assert "exists and is not made of these files of egooops" in capsys.readouterr().err


def test_labels_alone_can_be_scored(annotations: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The truth as predictions has a kappa of exactly 1; the table names the judges that see nothing."""
    out = tmp_path / "labels"
    assert main(["data", "fetch", "egooops", str(out), "--annotations", str(annotations)]) == 0
    assert "Labels alone; the videos: https://y-haneji.github.io" in capsys.readouterr().out
    card = (out / "README.md").read_text()
    assert "Videos of “Tasks done after a text”, with scores" in card and "the annotators' scores" in card
    assert "Reference: `consensus` (the set's own annotators judged every step)" in card
    assert not any(word in card for word in ("withheld", "clinical-skills", "clinical skill exams", "physicians'"))
    dataset = open_dataset(out, media=False)
    lines = [
        {"setting": "full_error", "video_id": video.video_id,
         "verdicts": {step.step_id: "correct" if step.consensus else "incorrect" for step in video.applicable}}
        for video in dataset.videos
    ]  # fmt: skip
    predictions = tmp_path / "oracle.jsonl"
    predictions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    capsys.readouterr()
    assert main(["score", str(predictions), "--data", str(out), "--json"]) == 0
    assert number_of(json.loads(capsys.readouterr().out)["settings"]["full_error"], "mcc").value == 1


def test_a_name_stands_for_the_folder(annotations: Path, videos: Path, tmp_path: Path, monkeypatch: Any) -> None:
    options = Options(data="egooops", cache=str(tmp_path / "cache"))
    with pytest.raises(DataError, match=r"SIMING_DATA=egooops: .* Set EGOOOPS_VIDEO_DIR to their folder"):
        resolve_dataset(options)
    monkeypatch.setenv("EGOOOPS_VIDEO_DIR", str(videos))
    with serve(tmp_path / "host", archive(annotations), public_sets.SETS["egooops"].repository) as address:
        monkeypatch.setitem(download.__globals__, "GITHUB", address)
        folder = resolve_dataset(options)
    assert len(open_dataset(folder).videos) == 3
    monkeypatch.delenv("EGOOOPS_VIDEO_DIR")
    assert resolve_dataset(options) == folder  # made once: neither the network nor the videos are needed again


def test_a_download_is_checked_and_nothing_else_of_the_archive_is_written(
    annotations: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    public = public_sets.SETS["egooops"]
    content = archive(annotations, hostile=True)
    with serve(tmp_path / "host", content, public.repository, "other/one") as address:
        monkeypatch.setitem(download.__globals__, "GITHUB", address)
        folder = download(public, tmp_path / "cache")
        assert [path for path in folder.rglob("*") if path.is_file()] == [folder / "meta/metadata.json"]
        with pytest.raises(DataError, match=r"are not the files of .*other/one at 538e4be4"):
            download(replace(public, repository="other/one", digest="f" * 64), tmp_path / "cache")
        with pytest.raises(DataError, match=r"File not found\. .*give it as --annotations"):
            download(replace(public, repository="third/one"), tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["Y-Haneji+EgoOops-annotations-538e4be47792"]
    assert not (tmp_path / "evil").exists()


def test_videos_are_matched_by_the_longest_name_and_doubtful_ones_refused(videos: Path, annotations: Path) -> None:
    assert {name: path.name for name, path in match_videos(videos, ["S1", "S12", "S2", "S9"]).items()} == {
        "S1": "S1.MP4", "S12": "S12_720p.mp4", "S2": "S2-view.mp4",
    }  # fmt: skip
    assert match_videos(videos, ["S12", "S12_720p"]).keys() == {"S12_720p"}
    (videos / "S1_side.mp4").write_bytes(b"")
    with pytest.raises(DataError, match=r"S1_side\.mp4 and S1\.MP4 are both of S1"):
        match_videos(videos, ["S1", "S12"])
    with pytest.raises(DataError, match="no such folder"):
        match_videos(videos / "none", ["S1"])
    with pytest.raises(DataError, match=r"are not the files of https://github.com/Y-Haneji/EgoOops-annotations"):
        public_sets.fetch("egooops", videos.parent / "x", annotations=videos)
    with pytest.raises(DataError, match="is not a public set; the sets are egooops"):
        public_sets.fetch("nothing", videos.parent / "x")


def archive(folder: Path, hostile: bool = False) -> bytes:
    """A repository's archive as a host makes it; ``hostile`` adds names that leave the folder, and a link."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        if hostile:
            for name in ("repo/../../evil/meta/metadata.json", "/evil/meta/metadata.json", "repo/other.txt"):
                entry = tarfile.TarInfo(name)
                entry.size = 2
                tar.addfile(entry, io.BytesIO(b"{}"))
            link = tarfile.TarInfo("repo/link/meta/metadata.json")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            tar.addfile(link)
        tar.add(folder, "repo")
    return stream.getvalue()


@contextmanager
def serve(root: Path, content: bytes, *repositories: str) -> Iterator[str]:
    """A server on loopback that has this archive of the set's commit for these repositories, and no others."""
    for name in repositories:
        path = root / name / "tar.gz" / public_sets.SETS["egooops"].commit
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    handler = partial(SimpleHTTPRequestHandler, directory=str(root))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
