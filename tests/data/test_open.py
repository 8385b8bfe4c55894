"""What an opened dataset says about itself, and how a run finds its dataset."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import sha256_file
from siming_tasks.data import check_dataset, open_dataset, resolve_dataset
from siming_tasks.data.digest import fingerprint
from siming_tasks.options import Options
from siming_tasks.tools import simulator
from tests.data.conftest import unstate, write_video

Edit = Callable[[Callable[[list[dict[str, Any]]], Any]], None]


def test_a_data_set_is_opened_with_its_rows_as_written(folder: Path) -> None:
    dataset = open_dataset(str(folder))
    assert (dataset.name, dataset.version, dataset.synthetic, dataset.withheld) == ("tiny", "1", True, False)
    assert [video.video_id for video in dataset.videos] == ["v001", "v002", "v003"]
    video = dataset.video("v002")
    assert dataset.media_path(video) == folder / "media/v002.mp4"
    assert dataset.media_digest(video) == sha256_file(folder / "media/v002.mp4")
    assert dataset.raters == ("consensus", "rater_a", "rater_b")
    assert dataset.lines == {"v001": 1, "v002": 2, "v003": 3}
    assert video.step("cpr_02").span == (0.5, 0.9)
    with pytest.raises(DataError, match="no video 'v9'; there is v001"):
        dataset.video("v9")


def test_steps_come_in_rubric_order_and_other_keys_are_kept(folder: Path, edit: Edit) -> None:
    edit(lambda rows: [rows[0].update(split="test", camera=2), rows[0]["steps"].reverse()])
    video = open_dataset(folder).videos[0]
    assert [step.step_id for step in video.steps] == ["cpr_01", "cpr_02", "cpr_03", "aed_01"]
    assert video.extra["camera"] == 2


def test_withheld_means_no_consensus_anywhere(folder: Path, edit: Edit) -> None:
    edit(lambda rows: [step.update(score={"consensus": None}) for row in rows for step in row["steps"]])
    assert open_dataset(folder).withheld
    edit(lambda rows: rows[0]["steps"][0].update(score={"consensus": 1}))
    assert not open_dataset(folder).withheld


def test_the_computed_digest_follows_the_content_and_nothing_else(folder: Path, edit: Edit) -> None:
    def without(*names: str) -> None:
        info = yaml.safe_load((folder / "dataset.yaml").read_text())
        (folder / "dataset.yaml").write_text(yaml.safe_dump({k: v for k, v in info.items() if k not in names}))

    stated = open_dataset(folder).digest
    without("digest")
    assert open_dataset(folder).digest == stated
    rubric = yaml.safe_load((folder / "rubric.yaml").read_text())
    (folder / "rubric.yaml").write_text("# a remark\n" + json.dumps(rubric))
    assert open_dataset(folder).digest == stated
    without("media_sha256")
    by_ends = open_dataset(folder).digest
    assert by_ends != stated
    edit(lambda rows: rows[0]["steps"][0]["score"].update(consensus=0))
    relabelled = open_dataset(folder).digest
    assert relabelled not in (stated, by_ends)
    write_video(folder / "media/v001.mp4", seed=77)
    assert open_dataset(folder).digest not in (stated, by_ends, relabelled)


def test_the_fingerprint_sees_both_ends_and_the_size(tmp_path: Path) -> None:
    path = tmp_path / "file"
    data = bytearray(300_000)
    seen = set()
    for change in (None, 0, 299_999, 150_000):
        if change is not None:
            data[change] ^= 1
        path.write_bytes(data)
        seen.add(fingerprint(path))
    assert len(seen) == 3  # the middle is not read
    path.write_bytes(data + b"\0")
    assert fingerprint(path) not in seen


def test_a_hub_snapshot_links_into_its_blob_store(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "datasets--org--exams"
    snapshot = store / "snapshots" / ("0" * 40)
    shutil.copytree(folder, snapshot)
    (store / "blobs").mkdir()
    (snapshot / "media/v001.mp4").rename(store / "blobs/abc")
    os.symlink("../../../blobs/abc", snapshot / "media/v001.mp4")
    dataset = open_dataset(snapshot)
    assert dataset.meta["revision"] == "0" * 40
    (store / "secret.mp4").write_bytes((store / "blobs/abc").read_bytes())
    (snapshot / "media/v001.mp4").unlink()
    os.symlink("../../../secret.mp4", snapshot / "media/v001.mp4")
    with pytest.raises(DataError, match="leaves the dataset folder through a link"):
        open_dataset(snapshot)


def test_a_line_of_two_gigabytes_costs_neither_time_nor_memory(folder: Path) -> None:
    with (folder / "videos.jsonl").open("r+b") as stream:
        stream.truncate(2 << 30)
    start = time.monotonic()
    with pytest.raises(DataError, match=r"videos.jsonl:4: this line has more than 4,000,000 bytes"):
        open_dataset(folder)
    assert time.monotonic() - start < 10


def test_a_folder_is_taken_as_it_is(folder: Path) -> None:
    assert resolve_dataset(Options(data=str(folder))) == folder


@pytest.mark.parametrize("data", ["/no/such/folder", "no-such-name", "a/b/c", "../x"])
def test_a_name_that_is_neither_folder_nor_repository_is_refused(data: str) -> None:
    with pytest.raises(DataError) as caught:
        resolve_dataset(Options(data=data))
    assert str(caught.value) == (
        f"SIMING_DATA={data!r}: no such folder, and not a Hugging Face dataset (org/name[@revision]). Give "
        "a folder with dataset.yaml; `siming data demo exams` makes one."
    )


RACE = """
import sys
from pathlib import Path
from siming_tasks.tools import simulator
from siming_tasks.data import open_dataset, resolve, resolve_dataset
from siming_tasks.options import Options
real = simulator.make_demo
def counted(out, **options):
    with open(sys.argv[1] + "/made", "a") as stream:
        stream.write("once\\n")
    return real(out, **{**options, "short": True, "jobs": 1})
simulator.make_demo = counted
resolve.DEMO_VIDEOS = 1
print(open_dataset(resolve_dataset(Options(cache=sys.argv[1]), draw_demo=True)).digest)
"""


def test_the_demo_is_made_once_by_several_processes_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The real simulator, with its short form in place of three minutes a video."""
    command = [sys.executable, "-c", RACE, str(tmp_path)]
    ranks = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [rank.communicate(timeout=240) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], outputs
    assert len({output for output, _ in outputs}) == 1
    assert (tmp_path / "made").read_text() == "once\n"

    real = simulator.make_demo
    made = []

    def short(out: Path, **options: Any) -> Path:
        made.append(out)
        return real(out, **{**options, "short": True, "jobs": 1, "progress": False})

    monkeypatch.setattr(simulator, "make_demo", short)
    monkeypatch.setattr("siming_tasks.data.resolve.DEMO_VIDEOS", 1)
    settings = Options(cache=str(tmp_path))
    with caplog.at_level(logging.WARNING):
        home = resolve_dataset(settings, draw_demo=True)
    assert "SYNTHETIC" in caplog.text
    assert (made, open_dataset(home).synthetic) == ([], True)
    whole = (home / "videos.jsonl").read_text()
    (home / "videos.jsonl").write_text(whole.replace('"consensus": 2', '"consensus": 1', 1))
    assert resolve_dataset(settings, draw_demo=True) == home
    assert made == [home]
    assert (home / "videos.jsonl").read_text() == whole


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize("what", ["file", "folder"])
def test_media_without_permission_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, what: str, stated: bool
) -> None:
    """The account may not read one file, or not enter its folder: a finding with file, row and way out."""
    closed = folder / "media/v002.mp4"
    if not stated:
        unstate(folder)

    def refuse(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *arguments: Any, **named: Any) -> Any:
            if not isinstance(path, int) and Path(path) == closed:
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *arguments, **named)

        return call

    monkeypatch.setattr(os, "open", refuse(os.open))
    if what == "folder":
        monkeypatch.setattr(Path, "stat", refuse(Path.stat))
    with pytest.raises(DataError) as caught:
        open_dataset(folder)
    (problem,) = caught.value.problems
    assert (problem.code, problem.line) == ("media-unreadable", 2)
    assert "'v002'" in problem.what and "media/v002.mp4 cannot be opened (Permission denied)." in problem.what
    assert [error.code for error in check_dataset(folder).errors] == ["media-unreadable"]
