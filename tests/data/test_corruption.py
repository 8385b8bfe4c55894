"""The corruption matrix: every way to spoil a good folder has its own finding, and ``open_dataset`` agrees."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import yaml

from siming_tasks.common.errors import DataError
from siming_tasks.data import check_dataset, open_dataset
from tests.data.conftest import turn, unstate, write_video

Rows = list[dict[str, Any]]
Spoil = Callable[[Path], Any]


def rows(how: Callable[[Rows], Any], *, stated: bool = False) -> Spoil:
    """Spoil the rows; unless ``stated``, of a folder that states no digest of them."""

    def spoil(root: Path) -> None:
        content = [json.loads(line) for line in (root / "videos.jsonl").read_text().splitlines()]
        how(content)
        (root / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in content))
        if not stated and (root / "dataset.yaml").is_file():
            unstate(root)

    return spoil


def step(index: int = 0, **changes: Any) -> Spoil:
    """Change keys of a step of the first video."""
    return rows(lambda content: content[0]["steps"][index].update(changes))


def row(**changes: Any) -> Spoil:
    """Change keys of the first video."""
    return rows(lambda content: content[0].update(changes))


def line(text: bytes) -> Spoil:
    """Put a raw line in front of ``videos.jsonl``."""
    return lambda root: (root / "videos.jsonl").write_bytes(text + b"\n" + (root / "videos.jsonl").read_bytes())


def text(name: str, content: str | bytes) -> Spoil:
    """Replace a file."""
    raw = content if isinstance(content, bytes) else content.encode()
    return lambda root: (root / name).write_bytes(raw)


def info(**changes: Any) -> Spoil:
    """Change keys of ``dataset.yaml``."""

    def spoil(root: Path) -> None:
        content = yaml.safe_load((root / "dataset.yaml").read_text())
        content.update(changes)
        (root / "dataset.yaml").write_text(yaml.safe_dump(content))

    return spoil


def rubric(how: Callable[[dict[str, Any]], Any]) -> Spoil:
    """Change the rubric."""

    def spoil(root: Path) -> None:
        content = yaml.safe_load((root / "rubric.yaml").read_text())
        how(content)
        (root / "rubric.yaml").write_text(yaml.safe_dump(content))

    return spoil


def media(**how: Any) -> Spoil:
    """Replace the first video."""
    return lambda root: write_video(root / "media/v001.mp4", seed=9, **how)


def cut(share: float) -> Spoil:
    """Keep the first part of the first video's bytes."""

    def spoil(root: Path) -> None:
        path = root / "media/v001.mp4"
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * share)])

    return spoil


def flip(root: Path) -> None:
    """Damage pictures in the last third of the first video, not its index."""
    path = write_video(root / "media/v001.mp4", seed=9, frames=60, rate=30, options={"bf": "0"})
    data = bytearray(path.read_bytes())
    start, end = data.index(b"mdat"), data.index(b"moov")
    for at in range(start + (end - start) * 2 // 3, end - 40, 7):
        data[at] ^= 0x5A
    path.write_bytes(data)


def link(target: str, name: str = "media/v001.mp4") -> Spoil:
    """Put a symbolic link in place of a file."""

    def spoil(root: Path) -> None:
        (root / name).unlink(missing_ok=True)
        os.symlink(target, root / name)

    return spoil


def copied(root: Path) -> None:
    """The third video is the first one."""
    shutil.copyfile(root / "media/v001.mp4", root / "media/v003.mp4")


def repacked(root: Path, change: Callable[[list[Any]], list[Any]], **options: Any) -> None:
    """Write the first video's packets again, changed."""
    path = root / "media/v001.mp4"
    moved = path.with_suffix(".tmp.mp4")
    with av.open(str(path)) as source, av.open(str(moved), "w", **options) as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        target.start_encoding()
        for packet in change([packet for packet in source.demux(video=0) if packet.dts is not None]):
            packet.stream = stream
            target.mux(packet)
    moved.replace(path)


def hollow(root: Path) -> None:
    """A header and nothing behind it (an .mp4 without pictures does not even have that)."""
    repacked(root, lambda packets: packets[:0], format="avi")


def shuffled(root: Path) -> None:
    """Two pictures at one time."""

    def change(packets: list[Any]) -> list[Any]:
        packets[5].pts = packets[6].pts
        return packets

    media(options={"bf": "0"})(root)
    repacked(root, change)


def faststart(root: Path) -> None:
    """Move the index to the front, so that a cut takes pictures instead."""
    repacked(root, lambda packets: packets, options={"movflags": "faststart"})


def blank(root: Path) -> None:
    """A recording of nothing."""
    with av.open(str(root / "media/v001.mp4"), "w") as out:
        stream = out.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for _ in range(20):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), format="rgb24")))
        out.mux(stream.encode(None))


def nested(depth: int) -> bytes:
    return b'{"video_id": ' + b"[" * depth + b"]" * depth + b"}"


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nname: [*b, *b, *b, *b, *b]\n"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"

ERRORS: dict[str, tuple[Spoil, str, str]] = {
    "label changed": (
        rows(lambda content: content[0]["steps"][0]["score"].update(consensus=0), stated=True),
        "digest-mismatch",
        "the digest is not that of this rubric, these labels and these media (stated ",
    ),
    "rubric changed": (rubric(lambda r: r.update(version="2")), "digest-mismatch", "is not that of this rubric"),
    "list of media changed": (
        lambda root: info(media_sha256=dict.fromkeys((f"media/v00{n}.mp4" for n in (1, 2, 3)), "0" * 64))(root),
        "digest-mismatch",
        "is not that of this rubric",
    ),
    "no dataset.yaml": (lambda root: (root / "dataset.yaml").unlink(), "dataset-unreadable", "no such file"),
    "dataset.yaml without name": (text("dataset.yaml", "version: '1'\n"), "row-invalid", "name: Field required"),
    "dataset.yaml not YAML": (
        text("dataset.yaml", "name: [\n"),
        "dataset-unreadable",
        "dataset.yaml:2: not valid YAML",
    ),
    "dataset.yaml a bomb": (text("dataset.yaml", BOMB), "dataset-unreadable", "aliases (*name) are not accepted"),
    "dataset.yaml is a list": (text("dataset.yaml", "- 1\n"), "row-invalid", "valid dictionary"),
    "dataset.yaml key twice": (
        text("dataset.yaml", "name: a\nname: b\n"),
        "dataset-unreadable",
        "'name' appears twice",
    ),
    "synthetic is text": (info(synthetic="no"), "row-invalid", "synthetic: Input should be a valid boolean"),
    "digest is not hex": (info(digest="abc"), "row-invalid", "digest: String should match pattern"),
    "no rubric": (lambda root: (root / "rubric.yaml").unlink(), "rubric-unreadable", "rubric.yaml: no such file"),
    "rubric too large": (text("rubric.yaml", "#" * 4_000_001), "rubric-unreadable", "4,000,001 bytes"),
    "rubric step twice": (
        rubric(lambda r: r["skills"][0]["steps"][1].update(id="cpr_01")),
        "rubric-invalid",
        "step id 'cpr_01' appears twice",
    ),
    "rubric lacks a step": (
        rubric(lambda r: r["skills"][0]["steps"].pop()),
        "step-unknown",
        "videos.jsonl:1: steps[2] (cpr_03): the rubric has no step 'cpr_03'.",
    ),
    "no videos.jsonl": (lambda root: (root / "videos.jsonl").unlink(), "videos-unreadable", "No such file"),
    "videos.jsonl empty": (text("videos.jsonl", "\n\n"), "no-videos", "there is no video"),
    "videos.jsonl UTF-16": (text("videos.jsonl", "{}".encode("utf-16")), "encoding", "the file is UTF-16"),
    "line not UTF-8": (line(b'{"video_id": "\xff"}'), "encoding", "videos.jsonl:1: byte 15 of this line is not UTF-8"),
    "line not JSON": (line(b'{"video_id": "v9"'), "not-json", "videos.jsonl:1: not a JSON object"),
    "line a list": (line(b"[1, 2]"), "not-json", "found list"),
    "line with NaN": (line(b'{"duration": NaN}'), "not-json", "NaN is not a JSON number"),
    "line key twice": (line(b'{"video_id": "a", "video_id": "b"}'), "not-json", "key 'video_id' appears twice"),
    "line half a surrogate": (line(b'{"video_id": "\\ud800"}'), "not-json", "half of a surrogate pair"),
    "line nested deeply": (line(nested(100_000)), "not-json", "nested too deeply"),
    "line too long": (line(b'{"x": "' + b"y" * 4_000_001 + b'"}'), "line-too-long", "more than 4,000,000 bytes"),
    "huge integer": (line(b'{"duration": ' + b"9" * 5000 + b"}"), "not-json", "a number of 5,000 digits"),
    "video id with a slash": (row(video_id="a/b"), "row-invalid", "videos.jsonl:1: video_id: String should match"),
    "video id hidden": (row(video_id=".hidden"), "row-invalid", "video_id: String should match"),
    "video id missing": (rows(lambda c: c[0].pop("video_id")), "row-invalid", "video_id: Field required"),
    "video id twice": (row(video_id="v002"), "video-twice", "video 'v002' stands on line 1 already"),
    "duration negative": (row(duration=-1), "row-invalid", "duration: Input should be greater than 0, found '-1'"),
    "duration is text": (row(duration="2 s"), "row-invalid", "duration: Input should be a valid number, found '2 s'"),
    "steps missing": (rows(lambda c: c[0].pop("steps")), "row-invalid", "steps: Field required"),
    "steps empty": (row(steps=[]), "row-invalid", "steps: Tuple should have at least 1 item"),
    "step unknown": (step(step_id="cpr_99"), "step-unknown", "the rubric has no step 'cpr_99'"),
    "step twice": (step(1, step_id="cpr_01"), "step-twice", "steps[1] (cpr_01): this step is listed twice"),
    "span backwards": (step(start=1.0, end=0.5), "row-invalid", "steps[0] (cpr_01): the span 1-0.5 s is not"),
    "span negative": (step(start=-0.1), "row-invalid", "the span -0.1-0.4 s is not"),
    "span half": (step(start=None), "row-invalid", "give both `start` and `end` or neither"),
    "span outside": (step(3, end=9.0), "span-outside", "ends at 9 s, after the video's 2 s"),
    "score too high": (step(score={"consensus": 3}), "score-off-scale", "3 is off the step's scale 0-2"),
    "score negative": (step(score={"rater_a": -1}), "score-off-scale", "(cpr_01).score.rater_a: -1 is off"),
    "score is text": (step(score={"rater_a": "2"}), "row-invalid", "score.rater_a: Input should be a valid number"),
    "score is a boolean": (
        step(score={"rater_a": True}),
        "row-invalid",
        "score.rater_a: Input should be a valid number",
    ),
    "applicable is text": (step(applicable="no"), "row-invalid", "applicable: Input should be a valid boolean"),
    "media climbs out": (row(media="../../etc/passwd"), "media-outside", "leaves the dataset folder"),
    "media absolute": (row(media="/etc/passwd"), "media-outside", "leaves the dataset folder"),
    "media with backslash": (row(media="..\\x.mp4"), "media-outside", "is not a plain relative path"),
    "media links out": (link("/etc/hostname"), "media-outside", "leaves the dataset folder through a link"),
    "media missing": (
        lambda root: (root / "media/v001.mp4").unlink(),
        "media-missing",
        "video 'v001': media not found",
    ),
    "media is a folder": (row(media="media"), "media-missing", "media not found"),
    "media empty": (text("media/v001.mp4", b""), "media-empty", "media/v001.mp4 has no bytes"),
    "media is text": (text("media/v001.mp4", b"hello" * 100), "media-unreadable", "cannot be read"),
    "media is an LFS pointer": (text("media/v001.mp4", LFS), "media-lfs-pointer", "Run `git lfs pull`"),
    "media without index": (cut(0.5), "media-unreadable", "cannot be read"),
    "media without pictures": (
        lambda root: repacked(root, lambda packets: packets[:0]),
        "media-unreadable",
        "holds no video",
    ),
    "media not mp4": (
        lambda root: [(root / "media/v001.mp4").rename(root / "media/v001.webm"), row(media="media/v001.webm")(root)],
        "media-not-mp4",
        "is not an .mp4 file",
    ),
}
"""What stops a run: ``open_dataset`` refuses it."""

DECODED: dict[str, tuple[Spoil, str, str, str]] = {
    "truncated": (
        lambda root: [media(options={"x264-params": "keyint=5"})(root), faststart(root), cut(0.6)(root)],
        "media-truncated",
        "cut short or damaged: the last whole frame is at",
        "error",
    ),
    "no pictures": (hollow, "media-no-frames", "holds no video frames", "error"),
    "other container inside": (
        lambda root: repacked(root, lambda packets: packets, format="matroska"),
        "media-container",
        "is called .mp4 but is matroska",
        "warning",
    ),
    "timestamps backwards": (shuffled, "media-timestamps", "timestamp", "error"),
    "damaged": (flip, "media-damaged", "damaged", "error"),
    "longer than its row": (media(frames=60), "media-duration", "lasts 6.00 s, but its row says 2 s", "error"),
    "span after the end": (media(frames=10), "span-outside", "step aed_01: span 1.5-1.9 s reaches past", "error"),
    "variable rate": (
        media(pts=[0, 100, 130, 300, 420, 500, 580, 790, 800, 900, *range(1000, 2000, 100)]),
        "media-variable-rate",
        "has a variable frame rate (a picture every 0.010 to 0.210 s)",
        "warning",
    ),
    "begins late": (
        media(pts=[500 + 100 * n for n in range(20)], options={"bf": "0"}),
        "media-start",
        "begins at 0.500 s, not at 0",
        "warning",
    ),
    "turned": (lambda root: turn(root / "media/v001.mp4"), "media-rotated", "turned or mirrored", "warning"),
    "odd sides": (media(size=(63, 47), pixels="yuv444p"), "media-odd-size", "has odd sides (63x47)", "warning"),
    "another codec": (media(codec="mpeg4"), "media-codec", "is mpeg4 yuv420p", "warning"),
    "ten bits": (media(pixels="yuv420p10le"), "media-codec", "is h264 yuv420p10le", "warning"),
    "sound": (media(audio=True), "media-audio", "has sound", "warning"),
    "metadata": (
        media(metadata={"title": "Zhang San", "creation_time": "2024-01-01T00:00:00Z"}),
        "media-metadata",
        "carries metadata (creation_time, title)",
        "warning",
    ),
    "blank": (blank, "media-blank", "same flat picture", "warning"),
    "a copy": (copied, "media-copy", "media/v003.mp4 and media/v001.mp4 are the same file", "warning"),
    "replaced": (media(), "media-digest", "media/v001.mp4 is not the file that the digest was taken of", "error"),
    "no digests": (info(media_sha256={}), "digest-absent", "gives no media_sha256", "warning"),
    "one digest missing": (
        lambda root: info(
            media_sha256=dict(list(yaml.safe_load((root / "dataset.yaml").read_text())["media_sha256"].items())[1:])
        )(root),
        "digest-absent",
        "media/v001.mp4 has no digest",
        "warning",
    ),
    "link out of the folder": (link("/etc", "elsewhere"), "symlink-outside", "a link that leaves the folder", "error"),
    "table of names inside": (text("x.names.csv", "a"), "private-inside", "private table of names", "error"),
    "original left behind": (text("media/IMG_1.mov", "x"), "media-spare", "1 files in media/ belong to no", "warning"),
    "misspelt key": (
        step(appicable=False),
        "key-unknown",
        "key 'appicable' has no meaning here. Is it 'applicable'?",
        "warning",
    ),
    "step left out": (rows(lambda c: c[0]["steps"].pop(1)), "step-missing", "skill 'cpr' lacks cpr_02", "warning"),
    "N/A with points": (step(applicable=False), "na-with-score", "cpr_01 are not applicable but have", "warning"),
    "rater missing": (
        step(score={"rater_a": 2, "consensus": 2}),
        "rater-missing",
        "rater_b has no points for 1 of 12",
        "warning",
    ),
    "consensus missing": (step(score={"rater_a": 2, "rater_b": 2}), "consensus-missing", "for 1 of 12", "warning"),
    "consensus above both raters": (
        step(score={"rater_a": 0, "rater_b": 1, "consensus": 2}),
        "consensus-outside",
        "outside the raters' points for v001/cpr_01",
        "warning",
    ),
    "half points": (
        step(score={"rater_a": 1, "rater_b": 2, "consensus": 1.5}),
        "consensus-fraction",
        "not a whole",
        "warning",
    ),
    "all correct": (
        rows(
            lambda c: [
                s["score"].update(consensus={"cpr_03": 5, "aed_01": 3}.get(s["step_id"], 2))
                for r in c
                for s in r["steps"]
            ]
        ),
        "labels-constant",
        "every step of every video is correct",
        "warning",
    ),
    "ids differ in case": (row(video_id="V002"), "name-case", "video_id: V002, v002 look alike", "warning"),
    "student in two splits": (
        rows(
            lambda c: [r.update(student="s1", split=name) for r, name in zip(c, ("train", "test", "test"), strict=True)]
        ),
        "split-student",
        "student s1 appears in more than one part of the split",
        "warning",
    ),
    "findings of nobody": (
        step(findings={"ghost": {"reason": "slow"}}),
        "finding-rater",
        "findings of 'ghost' in 1 steps, who gave no points",
        "warning",
    ),
    "a performance of two students": (
        rows(
            lambda c: [r.update(performance="p", student=name) for r, name in zip(c, ("s1", "s2", "s2"), strict=True)]
        ),
        "performance-student",
        "one performance has several students: p (s1, s2).",
        "warning",
    ),
    "one student in two spellings": (
        rows(lambda c: [r.update(student=name) for r, name in zip(c, ("T01", "t01", "T02"), strict=True)]),
        "name-case",
        "student: T01, t01 look alike",
        "warning",
    ),
    "site in two splits": (
        rows(lambda c: [r.update(split=name) for r, name in zip(c, ("train", "test", "test"), strict=True)]),
        "split-site",
        "site A appears in more than one part of the split",
        "warning",
    ),
}
"""What the doctor finds in a folder that opens."""


def test_the_good_folder_has_no_finding(folder: Path) -> None:
    report = check_dataset(folder)
    assert [str(problem) for problem in report.problems] == []
    assert report.summary["frames"] == 60
    assert report.summary["seconds"] == 6.0


@pytest.mark.parametrize("name", ERRORS)
def test_opening_refuses_it_by_name(folder: Path, name: str) -> None:
    spoil, code, words = ERRORS[name]
    spoil(folder)
    with pytest.raises(DataError) as caught:
        open_dataset(folder)
    found = [problem for problem in caught.value.problems if problem.code == code]
    assert found, [problem.code for problem in caught.value.problems]
    assert any(words in str(problem) for problem in found), [str(problem) for problem in found]
    assert all(problem.fix and problem.file for problem in found)
    assert code in {problem.code for problem in check_dataset(folder, quick=True).errors}


@pytest.mark.parametrize("name", DECODED)
def test_check_finds_each_corruption(folder: Path, name: str) -> None:
    spoil, code, words, severity = DECODED[name]
    spoil(folder)
    open_dataset(folder)  # none of these stops a run from starting
    found = [problem for problem in check_dataset(folder).problems if problem.code == code]
    assert found, [(problem.code, str(problem)) for problem in check_dataset(folder).problems]
    assert any(words in str(problem) for problem in found), [str(problem) for problem in found]
    assert {problem.severity for problem in found} == {severity}


def test_all_findings_come_in_one_run(folder: Path) -> None:
    for spoil in (step(step_id="cpr_99"), row(site=3), text("media/v002.mp4", b""), info(synthetic="x")):
        spoil(folder)
    with pytest.raises(DataError) as caught:
        open_dataset(folder)
    assert {problem.code for problem in caught.value.problems} >= {"row-invalid", "media-empty"}
    assert {problem.file for problem in caught.value.problems} == {"videos.jsonl", "dataset.yaml"}
