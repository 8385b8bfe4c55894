"""The corruption matrix: every way to spoil a good folder has its own finding, and ``open_dataset`` agrees."""

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import yaml

from siming_tasks.common.errors import DataError
from siming_tasks.data import check_dataset, open_dataset
from siming_tasks.data.dataset import read_pairs
from tests.data.conftest import state, turn, unstate, write_video
from tests.records import change_rows

Rows = list[dict[str, Any]]
Spoil = Callable[[Path], Any]


def rows(how: Callable[[Rows], Any], *, stated: bool = False) -> Spoil:
    """Spoil the rows; unless ``stated``, of a folder that states no digest of them."""

    def spoil(root: Path) -> None:
        change_rows(root / "videos.jsonl", how)
        if not stated:
            unstate(root)

    return spoil


def step(index: int = 0, **changes: Any) -> Spoil:
    return rows(lambda content: content[0]["steps"][index].update(changes))


def row(**changes: Any) -> Spoil:
    return rows(lambda content: content[0].update(changes))


def each(key: str, *values: str, **more: str) -> Spoil:
    return rows(lambda content: [one.update({key: value}, **more) for one, value in zip(content, values, strict=True)])


def line(text: bytes) -> Spoil:
    return lambda root: (root / "videos.jsonl").write_bytes(text + b"\n" + (root / "videos.jsonl").read_bytes())


def text(name: str, content: bytes) -> Spoil:
    return lambda root: (root / name).write_bytes(content)


def gone(name: str) -> Spoil:
    return lambda root: (root / name).unlink()


def edited(name: str, how: Callable[[dict[str, Any]], Any]) -> Spoil:
    def spoil(root: Path) -> None:
        content = yaml.safe_load((root / name).read_text())
        how(content)
        (root / name).write_text(yaml.safe_dump(content))

    return spoil


def info(**changes: Any) -> Spoil:
    return lambda root: state(root, **changes)


def media(**how: Any) -> Spoil:
    return lambda root: write_video(root / "media/v001.mp4", seed=9, **how)


def flip(root: Path) -> None:
    """Damage pictures in the last third of the first video, not its index."""
    path = write_video(root / "media/v001.mp4", seed=9, frames=60, rate=30, options={"bf": "0"})
    data = bytearray(path.read_bytes())
    start, end = data.index(b"mdat"), data.index(b"moov")
    for at in range(start + (end - start) * 2 // 3, end - 40, 7):
        data[at] ^= 0x5A
    path.write_bytes(data)


def link(target: str, name: str = "media/v001.mp4") -> Spoil:
    def spoil(root: Path) -> None:
        (root / name).unlink(missing_ok=True)
        os.symlink(target, root / name)

    return spoil


def copied(root: Path) -> None:
    shutil.copyfile(root / "media/v001.mp4", root / "media/v003.mp4")


def matroska(root: Path) -> None:
    path = root / "media/v001.mp4"
    moved = path.with_suffix(".tmp.mp4")
    with av.open(str(path)) as source, av.open(str(moved), "w", format="matroska") as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    moved.replace(path)


def hollow(root: Path) -> None:
    """A header and nothing behind it (an .mp4 without pictures does not even have that)."""
    with av.open(str(root / "media/v001.mp4"), "w", format="avi") as target:
        stream = target.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        target.start_encoding()


def webm(root: Path) -> None:
    (root / "media/v001.mp4").rename(root / "media/v001.webm")
    row(media="media/v001.webm")(root)


def blank(root: Path) -> None:
    with av.open(str(root / "media/v001.mp4"), "w") as out:
        stream = out.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for _ in range(20):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), format="rgb24")))
        out.mux(stream.encode(None))


def all_correct(content: Rows) -> None:
    for one in (one for row in content for one in row["steps"]):
        one["score"]["consensus"] = {"cpr_03": 5, "aed_01": 3}.get(one["step_id"], 2)


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
OTHER_MEDIA = {f"media/v00{number}.mp4": "0" * 64 for number in (1, 2, 3)}
UNEVEN = [0, 100, 130, 300, 420, 500, 580, 790, 800, 900, *range(1000, 2000, 100)]

ERRORS: list[tuple[Spoil, str, str]] = [
    (rows(lambda c: c[0]["steps"][0]["score"].update(consensus=0), stated=True), "digest-mismatch", "(stated "),
    (edited("rubric.yaml", lambda r: r.update(version="2")), "digest-mismatch", "does not match the rubric"),
    (info(media_sha256=OTHER_MEDIA), "digest-mismatch", "and media ("),
    (gone("dataset.yaml"), "dataset-unreadable", "no such file"),
    (text("dataset.yaml", b"name: a\nname: b\n"), "dataset-unreadable", "'name' appears twice"),
    (info(simulated={"videos": "no"}), "row-invalid", "simulated.videos: Input should be a valid boolean"),
    (gone("rubric.yaml"), "rubric-unreadable", "rubric.yaml: no such file"),
    (edited("rubric.yaml", lambda r: r["skills"][0]["steps"].pop()), "step-unknown",
     "videos.jsonl:1: steps[2] (cpr_03): the rubric has no step 'cpr_03'."),
    (gone("videos.jsonl"), "videos-unreadable", "No such file"),
    (text("videos.jsonl", b"\n\n"), "no-videos", "there is no video"),
    (text("videos.jsonl", "{}".encode("utf-16")), "encoding", "the file is UTF-16"),
    (line(b'{"video_id": "\xff"}'), "encoding", "videos.jsonl:1: this line is not UTF-8"),
    (line(b'{"video_id": "v9"'), "not-json", "videos.jsonl:1: not a JSON object"),
    (line(b"[1, 2]"), "not-json", "found list"),
    (line(b'{"duration": NaN}'), "not-json", "NaN is not a finite number"),
    (line(b'{"video_id": "a", "video_id": "b"}'), "not-json", "key 'video_id' appears twice"),
    (line(b'{"video_id": "\\ud800"}'), "not-json", "half of a surrogate pair"),
    (row(video_id="a/b"), "row-invalid", "videos.jsonl:1: video_id: String should match"),
    (row(video_id="v002"), "video-twice", "video 'v002' is already on line 1"),
    (row(duration="2 s"), "row-invalid", "duration: Input should be a valid number, found '2 s'"),
    (step(1, step_id="cpr_01"), "step-twice", "steps[1] (cpr_01): this step is listed twice"),
    (step(start=1.0, end=0.5), "row-invalid", "steps[0] (cpr_01): the span 1-0.5 s is not"),
    (step(start=-0.1), "row-invalid", "the span -0.1-0.4 s is not"),
    (step(start=None), "row-invalid", "give both `start` and `end` or neither"),
    (step(3, end=9.0), "span-outside", "ends at 9 s, after the video's 2 s"),
    (step(score={"consensus": 3}), "score-off-scale", "3 is outside the step's range 0-2"),
    (step(score={"rater_a": -1}), "score-off-scale", "(cpr_01).score.rater_a: -1 is outside"),
    (step(score={"rater_a": True}), "row-invalid", "score.rater_a: Input should be a valid number"),
    (step(applicable="no"), "row-invalid", "applicable: Input should be a valid boolean"),
    (row(splits={"split": "test"}), "row-invalid", "the name `split` is reserved for the main split"),
    (row(split="a:b"), "row-invalid", "must not be empty or contain a colon"),
    (row(student="Zhang\u200b"), "row-invalid", "contains U+200B, which is invisible"),
    (row(media="../../etc/passwd"), "media-outside", "leaves the dataset folder"),
    (row(media="..\\x.mp4"), "media-outside", "is not a plain relative path"),
    (link("/etc/hostname"), "media-outside", "leaves the dataset folder through a link"),
    (gone("media/v001.mp4"), "media-missing", "video 'v001': media not found"),
    (text("media/v001.mp4", b""), "media-empty", "media/v001.mp4 is empty"),
    (text("media/v001.mp4", b"hello" * 100), "media-unreadable", "cannot be read"),
    (text("media/v001.mp4", LFS), "media-lfs-pointer", "Run `git lfs pull`"),
    (webm, "media-not-mp4", "is not an .mp4 file"),
]  # fmt: skip
"""What stops a run: ``open_dataset`` refuses it."""

FOUND: list[tuple[Spoil, str, str, str]] = [
    (hollow, "media-unreadable", "error", "contains no video frames"),
    (matroska, "media-form", "warning", "a matroska that is called .mp4"),
    (flip, "media-damaged", "error", "damaged"),
    (media(frames=60), "media-duration", "error", "lasts 6.00 s, but its row says 2 s"),
    (media(frames=10), "span-outside", "error", "step aed_01: span 1.5-1.9 s reaches past"),
    (media(pts=UNEVEN), "media-form", "warning", "(a picture every 0.010 to 0.210 s)"),
    (media(pts=[500 + 100 * n for n in range(20)], options={"bf": "0"}), "media-form", "warning", "at 0.500 s"),
    (lambda root: turn(root / "media/v001.mp4"), "media-form", "warning", "rotated or mirrored"),
    (media(size=(63, 47), pixels="yuv444p"), "media-form", "warning", "odd sides (63x47)"),
    (media(audio=True), "media-audio", "warning", "has sound"),
    (media(metadata={"title": "Zhang San"}), "media-metadata", "warning", "contains metadata (title)"),
    (blank, "media-blank", "warning", "same blank picture"),
    (copied, "media-copy", "warning", "media/v003.mp4 and media/v001.mp4 are the same file"),
    (media(), "media-digest", "error", "media/v001.mp4 does not match its digest"),
    (info(media_sha256={}), "digest-absent", "warning", "gives no media_sha256"),
    (edited("dataset.yaml", lambda i: i["media_sha256"].pop("media/v001.mp4")), "digest-absent", "warning",
     "media/v001.mp4 has no digest"),
    (link("/etc", "elsewhere"), "symlink-outside", "error", "a link that leaves the folder"),
    (text("x.names.csv", b"a"), "private-inside", "error", "private table of names"),
    (text("media/IMG_1.mov", b"x"), "media-spare", "warning", "media/ has 1 file that no video uses"),
    (step(appicable=False), "key-unknown", "warning", "Is it 'applicable'?"),
    (rows(lambda c: c[0]["steps"].pop(1)), "step-missing", "warning", "skill 'cpr' lacks cpr_02"),
    (step(applicable=False), "na-with-score", "warning", "cpr_01 are not applicable but have"),
    (step(score={"rater_a": 2, "consensus": 2}), "rater-missing", "warning", "rater_b has no points for 1 of 12"),
    (step(score={"rater_a": 2, "rater_b": 2}), "consensus-missing", "warning", "for 1 of 12"),
    (step(score={"rater_a": 0, "rater_b": 1, "consensus": 2}), "consensus-outside", "warning", "for v001/cpr_01"),
    (step(score={"rater_a": 1, "rater_b": 2, "consensus": 1.5}), "consensus-fraction", "warning", "not a whole"),
    (step(score={"rater_a": 1.5, "rater_b": 2, "consensus": 2}), "score-off-increment", "error", "of rater_a's points"),
    (rows(all_correct), "labels-constant", "warning", "every step of every video is correct"),
    (row(video_id="V002"), "name-case", "warning", "video_id: V002, v002 look alike"),
    (each("student", "T07", "t 7", "x"), "name-differs", "error", "'T07' and 't 7' may be one student or two. Spell"),
    (each("site", "Müller", "Mueller", "x"), "name-differs", "error", "`different: [['Mueller', 'Müller']]` in"),
    (each("student", "未知", "未知", "x"), "no-name", "error", "student: '未知' is not a name. Leave the key out."),
    (step(score={"Final": 2, "consensus": 2}), "rater-aggregate", "error", "'Final' is a decision or a mean"),
    (each("student", "s1", "s2", "s2", performance="p"), "performance-student", "warning", "p (s1, s2)."),
    (step(findings={"ghost": {"reason": "slow"}}), "finding-rater", "warning", "'ghost' gave no points, and has"),
]  # fmt: skip
"""What the check finds in a folder that opens."""


def test_the_good_folder_has_no_finding(folder: Path) -> None:
    report = check_dataset(folder)
    assert [str(problem) for problem in report.problems] == []
    assert (report.summary["frames"], report.summary["seconds"]) == (60, 6.0)


@pytest.mark.parametrize(("spoil", "code", "words"), ERRORS)
def test_opening_refuses_it_by_name(folder: Path, spoil: Spoil, code: str, words: str) -> None:
    spoil(folder)
    with pytest.raises(DataError) as caught:
        open_dataset(folder)
    found = [problem for problem in caught.value.problems if problem.code == code]
    assert any(words in str(problem) for problem in found), [str(problem) for problem in caught.value.problems]
    if "media" not in code:  # a bad row's film belongs to a video that nobody could read
        assert "media-spare" not in {problem.code for problem in check_dataset(folder, quick=True).problems}
    assert all(problem.fix and problem.file for problem in found)
    assert code in {problem.code for problem in check_dataset(folder, quick=True).errors}


@pytest.mark.parametrize(("spoil", "code", "severity", "words"), FOUND)
def test_check_finds_each_corruption(folder: Path, spoil: Spoil, code: str, severity: str, words: str) -> None:
    spoil(folder)
    open_dataset(folder)  # none of these stops a run from starting
    problems = check_dataset(folder).problems
    found = [problem for problem in problems if problem.code == code]
    assert any(words in str(problem) for problem in found), [(problem.code, str(problem)) for problem in problems]
    assert {problem.severity for problem in found} == {severity}


def test_all_findings_come_in_one_report_whatever_the_jobs(folder: Path) -> None:
    flip(folder)
    write_video(folder / "media/v002.mp4", audio=True, size=(62, 46))
    assert check_dataset(folder, quick=True).errors == (), "quick does not decode"
    report = check_dataset(folder, jobs=1)
    assert report == check_dataset(folder, jobs=3)
    assert {problem.code for problem in report.errors} == {"media-damaged", "media-digest"}
    for spoil in (rows(lambda c: c[0].pop("steps")), text("media/v002.mp4", b""), info(simulated="x")):
        spoil(folder)
    with pytest.raises(DataError) as caught:
        open_dataset(folder)
    assert {problem.code for problem in caught.value.problems} == {"row-invalid", "media-empty"}
    assert {problem.file for problem in caught.value.problems} == {
        str(folder / "videos.jsonl"), str(folder / "dataset.yaml")
    }  # fmt: skip
    stated = json.loads(json.dumps(check_dataset(folder).to_json(), allow_nan=False))
    assert stated["ok"] is False and stated["summary"]["videos"] == 2
    assert set(stated["errors"][0]) == {"code", "what", "fix", "file", "line", "field", "severity"}


@pytest.mark.parametrize(
    ("content", "code", "count"),
    [("{}\n" * 1_000_000, "too-many-errors", 1_001), ("{\n" * 1_500_000, "too-many-errors", 1_001),
     ('{"steps": [' + "{}," * 1_000_000 + "{}]}\n", "not-json", 1), ('{"a":' * 60 + "1" + "}" * 60, "not-json", 1)],
)  # fmt: skip
def test_megabytes_of_nothing_cost_nothing(folder: Path, content: str, code: str, count: int) -> None:
    text("videos.jsonl", content.encode())(folder)
    before = time.process_time()
    problems = check_dataset(folder).problems
    assert time.process_time() - before < 5
    assert len(problems) == count and code in {problem.code for problem in problems}


@pytest.mark.parametrize(
    "change", [{"video_a": []}, {"step_id": {}}, {"unchanged_steps": 3}, {"unchanged_steps": [[1]]}]
)
def test_a_line_of_pairs_with_values_of_other_kinds_is_no_pair(folder: Path, change: dict[str, Any]) -> None:
    pair = {"pair_id": "p", "kind": "local", "video_a": "v001", "video_b": "v002", "step_id": "cpr_01", "direction": 1,
            "unchanged_steps": ["cpr_02"]}  # fmt: skip
    text("pairs.jsonl", json.dumps(pair).encode())(folder)
    assert read_pairs(open_dataset(folder)) == [pair]
    text("pairs.jsonl", json.dumps(pair | change).encode())(folder)
    with pytest.raises(DataError, match=r"pairs\.jsonl:1: not a pair of this data set"):
        read_pairs(open_dataset(folder))
