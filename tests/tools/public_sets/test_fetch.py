"""From a set's annotation files and the user's videos to a folder that every other part takes."""

from __future__ import annotations

import io
import json
import tarfile
import threading
from dataclasses import replace
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import numpy as np
import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import ATTEMPT_RULES, Attempt
from siming_tasks.data import open_dataset
from siming_tasks.data.attempts import deciding
from siming_tasks.data.resolve import resolve_dataset
from siming_tasks.options import Options
from siming_tasks.tools import public_sets
from siming_tasks.tools.public_sets import registry
from siming_tasks.tools.public_sets.fetch import download, match_videos
from siming_tasks.tools.public_sets.public_set import Published

SEGMENTS = {
    "S1": [(0.5, 2.0, 0, []), (2.0, 3.0, -1, [1]), (3.0, 4.5, 1, [4]), (5.0, 6.0, 1, [])],
    "S12": [(0.0, 3.0, 0, [0]), (3.0, 5.5, 1, [])],
    "S2": [(1.0, 4.0, 1, [])],
}
"""Segments in EgoOops' form: a step with a wrong attempt and a right one, one of no instruction, one left out."""


@pytest.fixture
def annotations(tmp_path: Path) -> Path:
    """Three recordings of a task of two instructions, in the published form."""
    videos = [
        {
            "task_id": "blocks",
            "video_id": name,
            "segments": [
                {
                    "startTime": a,
                    "endTime": b,
                    "instruction": step,
                    "labels": labels,
                    "caption": "slips" if labels else "",
                }
                for a, b, step, labels in segments
            ],
        }
        for name, segments in SEGMENTS.items()
    ]
    folder = tmp_path / "annotations"
    (folder / "meta").mkdir(parents=True)
    content = {"videos": videos, "instructions": {"blocks": ["Take a red block.", "Put it on the blue one."]}}
    (folder / "meta" / "metadata.json").write_text(json.dumps(content))
    return folder


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    """Six seconds of moving noise for each, under the names that archives give them."""
    for number, name in enumerate(("blocks/S1.MP4", "blocks/S12_720p.mp4", "S2/view.mp4", "blocks/S3.mp4")):
        path = tmp_path / "videos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(number).integers(0, 255, (12, 16, 3), np.uint8).repeat(8, 0).repeat(8, 1)
        with av.open(str(path), "w") as out:
            stream = out.add_stream("mpeg4", rate=Fraction(10))
            stream.width, stream.height, stream.pix_fmt = 128, 96, "yuv420p"
            for shift in range(60):
                frame = av.VideoFrame.from_ndarray(np.roll(noise, shift, 1), format="rgb24")
                out.mux(stream.encode(frame))
            out.mux(stream.encode(None))
    return tmp_path / "videos"


def test_the_attempt_that_decides() -> None:
    right, wrong, late = Attempt(0, 1, True), Attempt(2, 3, False), Attempt(4, 5, False)
    assert [deciding([right, wrong, late], rule) for rule in ATTEMPT_RULES] == [right, late, right, wrong]
    assert [deciding([wrong, right], rule) for rule in ATTEMPT_RULES] == [wrong, right, right, wrong]


def test_a_set_with_videos_goes_through_check_and_score(
    annotations: Path, videos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "set"
    arguments = ["data", "fetch", "egooops", str(out), "--annotations", str(annotations), "--videos", str(videos)]
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert "further attempts: 1" in said.out and "left out: 1" in said.out and "no step: 1" in said.out
    assert "these are not the files of Y-Haneji/EgoOops-annotations at 538e4be47792" in said.err
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
    assert row["steps"][1]["reason"] == "slips" and [one["correct"] for one in row["steps"][1]["attempts"]] == [
        False,
        True,
    ]
    assert dataset.attempt_rule == "worst" and dataset.meta["license"] == "cc-by-sa-4.0"
    assert main(["data", "check", str(out)]) == 0
    assert "0 errors" in capsys.readouterr().out
    before = (out / "videos.jsonl").stat().st_mtime_ns
    assert main(arguments) == 0 and (out / "videos.jsonl").stat().st_mtime_ns == before
    assert main([*arguments, "--attempts", "last"]) == 1  # another label: the folder is not overwritten
    assert "exists and is not made of these files of egooops" in capsys.readouterr().err


def test_labels_alone_can_be_scored(annotations: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The truth as predictions has a kappa of exactly 1; the table names the judges that see nothing."""
    out = tmp_path / "labels"
    assert main(["data", "fetch", "egooops", str(out), "--annotations", str(annotations)]) == 0
    assert "Labels alone. The videos: https://y-haneji.github.io" in capsys.readouterr().out
    dataset = open_dataset(out, media=False)
    lines = [
        {"setting": "full_error", "video_id": video.video_id,
         "verdicts": {step.step_id: "correct" if step.consensus else "incorrect" for step in video.applicable}}
        for video in dataset.videos
    ]  # fmt: skip
    predictions = tmp_path / "oracle.jsonl"
    predictions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    capsys.readouterr()
    assert main(["score", str(predictions), "--data", str(out), "--resamples", "20", "--json"]) == 0
    metrics = json.loads(capsys.readouterr().out)["settings"]["full_error"]["metrics"]
    assert metrics["mcc"]["value"] == 1


def test_a_name_stands_for_the_folder(annotations: Path, videos: Path, tmp_path: Path, monkeypatch: Any) -> None:
    source = registry.SETS["egooops"]
    published = replace(source.published, digest=source.published.digest_of(annotations))
    monkeypatch.setitem(registry.SETS, "egooops", replace(source, published=published))
    options = Options(data="egooops", cache=str(tmp_path / "cache"))
    with pytest.raises(DataError, match=r"SIMING_DATA=egooops: .* Set EGOOOPS_VIDEO_DIR to their folder"):
        resolve_dataset(options)
    monkeypatch.setenv("EGOOOPS_VIDEO_DIR", str(videos))
    with serve(archive(annotations)) as address:
        monkeypatch.setattr(Published, "archive", property(lambda self: address))
        folder = resolve_dataset(options)
    assert len(open_dataset(folder).videos) == 3
    monkeypatch.delenv("EGOOOPS_VIDEO_DIR")
    assert resolve_dataset(options) == folder  # made once: neither the network nor the videos are needed again


def test_a_download_is_checked_and_nothing_else_of_the_archive_is_written(annotations: Path, tmp_path: Path) -> None:
    published = Published("some/where", "0" * 40, ("meta/metadata.json",), "")
    published = replace(published, digest=published.digest_of(annotations))
    with serve(archive(annotations, hostile=True)) as address:
        source: Any = SimpleNamespace(**vars(published), archive=address, digest_of=published.digest_of)
        folder = download(source, tmp_path / "cache")
        assert [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()] == [
            "meta/metadata.json"
        ]
        source.digest, source.repository = "f" * 64, "other/one"
        with pytest.raises(DataError, match="are not those of the commit"):
            download(source, tmp_path / "cache")
        source.archive = f"{address}/missing"
        with pytest.raises(DataError, match=r"Not Found\. .*give it as --annotations"):
            download(source, tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["some+where-000000000000"]
    assert not (tmp_path / "evil").exists()


def test_videos_are_matched_by_the_longest_name_and_doubtful_ones_refused(videos: Path, annotations: Path) -> None:
    assert {name: path.name for name, path in match_videos(videos, ["S1", "S12", "S2", "S9"]).items()} == {
        "S1": "S1.MP4", "S12": "S12_720p.mp4", "S2": "view.mp4",
    }  # fmt: skip
    (videos / "S1_side.mp4").write_bytes(b"")
    with pytest.raises(DataError, match=r"1 recordings have several files \(S1: .*one view of each"):
        match_videos(videos, ["S1", "S12"])
    with pytest.raises(DataError, match="no such folder"):
        match_videos(videos / "none", ["S1"])
    with pytest.raises(DataError, match=r"no meta/metadata\.json\. Give the folder"):
        public_sets.fetch("egooops", videos.parent / "x", annotations=videos)
    with pytest.raises(DataError, match="is no public set; they are egooops"):
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


class serve:
    """``with serve(content) as address``: a server on loopback that gives these bytes, and 404 below that address."""

    def __init__(self, content: bytes) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200 if self.path == "/archive" else 404)
                self.end_headers()
                if self.path == "/archive":
                    self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> str:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}/archive"

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def edited(annotations: Path, change: Any) -> None:
    file = annotations / "meta" / "metadata.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"instruction": 99}, "video 'S12': segments[1]: instruction 99 is none of 0 to 1"),
        ({"instruction": -2}, "video 'S12': segments[1]: instruction -2 is none of 0 to 1"),
        ({"labels": [6]}, "video 'S12': segments[1]: label 6 is none of 0 to 5"),
        ({"labels": [-1]}, "video 'S12': segments[1]: label -1 is none of 0 to 5"),
        ({"startTime": -3.0}, "video 'S12': segments[1]: -3.0 is no time in seconds"),
        ({"endTime": float("nan")}, "video 'S12': segments[1]: nan is no time in seconds"),
        ({"endTime": "soon"}, "video 'S12': segments[1]: 'soon' is no time in seconds"),
        ({"endTime": 1.0}, "video 'S12': segments[1]: the end 1 s is before the start 3 s"),
    ],
)
def test_a_value_out_of_range_is_named_with_file_and_row(
    annotations: Path, tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    edited(annotations, lambda content: content["videos"][1]["segments"][1].update(change))
    with pytest.raises(DataError) as refused:
        public_sets.fetch("egooops", tmp_path / "out", annotations=annotations)
    assert f"metadata.json: {words}. Take the published file." in str(refused.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "change", [{"videos": []}, {"instructions": {}, "videos": []}, {"instructions": {}}, {"videos": 3}]
)
def test_an_empty_set_names_the_annotation_file(annotations: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    edited(annotations, lambda content: content.update(change))
    with pytest.raises(DataError, match=r"meta/metadata\.json") as refused:
        public_sets.fetch("egooops", tmp_path / "out", annotations=annotations)
    assert "rubric.yaml" not in str(refused.value) and ".part" not in str(refused.value)


def test_counts_are_of_the_published_set_and_then_of_the_folder(
    annotations: Path, videos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (videos / "S2" / "view.mp4").unlink()
    arguments = ["data", "fetch", "egooops", str(tmp_path / "out"), "--annotations", str(annotations)]
    assert main([*arguments, "--videos", str(videos)]) == 0
    published, made = capsys.readouterr().out.split("The folder made:\n")
    assert "The published set:\n  recordings: 3\n" in published and "steps: 6\n  wrong: 3\n" in published
    assert made.startswith("  recordings: 2\n") and "steps: 4\n  wrong: 2\n" in made
    assert "errors of all attempts: wrong_way 1, wrong_object 1" in made


def test_the_card_says_what_is_filmed_and_whose_the_labels_are(annotations: Path, tmp_path: Path) -> None:
    public_sets.fetch("egooops", tmp_path / "out", annotations=annotations)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "Videos of “Tasks done after a text” on a table" in card and "the annotators' scores" in card
    assert "Reference: `consensus` (the set's own annotators judged every step)" in card
    assert "License: cc-by-sa-4.0. Citation: Haneji et al., EgoOops" in card
    assert not any(word in card for word in ("withheld", "clinical-skills", "clinical skill exams", "physicians'"))
