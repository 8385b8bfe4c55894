"""Media and labels are what the digest says, in every command and before a model is loaded."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from siming_tasks.benchmark.rubrics import load_rubric
from siming_tasks.cli.main import main
from siming_tasks.common import files
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import digest_of, known_digest, sha256_file, sha256_json
from siming_tasks.data import check_dataset, open_dataset, restate, verify_media
from tests.data.conftest import Edit, write_video


def swap(root: Path) -> None:
    """Exchange two videos by renaming; sizes, dates and inodes move with them."""
    one, two, spare = root / "media/v001.mp4", root / "media/v002.mp4", root / "media/spare"
    one.rename(spare)
    two.rename(one)
    spare.rename(two)


def relabel(root: Path) -> None:
    text = (root / "videos.jsonl").read_text()
    changed = text.replace('"consensus": 2', '"consensus": 0', 1)
    assert changed != text
    (root / "videos.jsonl").write_text(changed)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []

    def counted(path: Path) -> str:
        seen.append(path.name)
        return sha256_file(path)

    monkeypatch.setattr(files, "sha256_file", counted)
    return seen


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_read_here", {})


def test_swapped_videos_are_refused_although_they_were_verified(folder: Path, tmp_path: Path) -> None:
    dataset = open_dataset(folder)
    first, second = sha256_file(folder / "media/v001.mp4"), sha256_file(folder / "media/v002.mp4")
    verify_media(dataset, tmp_path / "cache")
    swap(folder)
    with pytest.raises(DataError) as caught:
        verify_media(open_dataset(folder), tmp_path / "cache")
    assert [problem.code for problem in caught.value.problems] == ["media-digest", "media-digest"]
    assert str(caught.value).splitlines()[0] == (
        f"{folder}/dataset.yaml: media_sha256: media/v001.mp4 does not match its digest "
        f"(stated {first[:12]}, found {second[:12]}). Something was changed after the build. Fetch or build it again; "
        f"if the change is intended, `siming data check {folder} --restate`."
    )
    with pytest.raises(DataError, match=r"media/v001\.mp4 does not match its digest"):
        dataset.media_digest(dataset.videos[0])  # the key of the frame store, whoever asks


@pytest.mark.parametrize("how", ["same size and date", "copy with dates"])
def test_a_file_is_read_once_by_all_processes_and_again_when_it_was_written_to(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: list[str], how: str
) -> None:
    dataset, path = open_dataset(folder), folder / "media/v002.mp4"
    for _ in range(2):
        verify_media(dataset, tmp_path)
        assert dataset.media_digest(dataset.videos[0], tmp_path) == sha256_file(folder / "media/v001.mp4")
        forget(monkeypatch)
    assert sorted(reads) == ["v001.mp4", "v002.mp4", "v003.mp4"]
    before = path.stat()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    time.sleep(0.02)  # longer than the clock of any file system ticks
    target = path if how == "same size and date" else tmp_path / "other"
    target.write_bytes(data)
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    if target != path:
        path.unlink()
        shutil.copy2(target, path)
    for _ in range(2):
        with pytest.raises(DataError, match=r"media/v002\.mp4 does not match its digest"):
            verify_media(dataset, tmp_path)
        forget(monkeypatch)


def test_a_cache_that_cannot_be_written_or_holds_nonsense(folder: Path, tmp_path: Path, reads: list[str]) -> None:
    (tmp_path / "file").write_text("")
    dataset, path = open_dataset(folder), folder / "media/v001.mp4"
    verify_media(dataset, tmp_path / "file")
    assert len(reads) == 3
    files._read_here.clear()
    verify_media(dataset, tmp_path / "c")
    for note in (tmp_path / "c" / files.VERIFIED).iterdir():
        note.write_text("nonsense")
    files._read_here.clear()
    assert known_digest(path, tmp_path / "c") is None
    assert digest_of(path, tmp_path / "c") == sha256_file(path)


def test_a_folder_that_states_nothing_is_not_read_but_its_frames_have_the_true_name(
    folder: Path, tmp_path: Path, reads: list[str]
) -> None:
    """Two files with equal ends and sizes have one fingerprint, and must not have one place for frames."""
    (folder / "dataset.yaml").write_text("name: tiny")
    dataset = open_dataset(folder)
    verify_media(dataset, tmp_path)
    assert reads == []
    assert dataset.media_digest(dataset.videos[0], tmp_path) == sha256_file(folder / "media/v001.mp4")
    (folder / "media/v001.mp4").unlink()
    with pytest.raises(DataError, match=r"'v001': .*v001\.mp4: No such file or directory\. Put it back"):
        open_dataset(folder, media=False).media_digest(dataset.videos[0])


@pytest.mark.parametrize(
    "command", ["run prepare --dry-run", "run plan", "data split OUT --key KEY"], ids=lambda text: text.split()[1]
)
def test_commands_that_show_videos_refuse_swapped_ones(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.setenv("SIMING_CACHE", str(tmp_path / "cache"))
    swap(folder)
    words = [str(tmp_path / word) if word.isupper() else word for word in command.split()]
    where = ["--data", str(folder)] if words[0] == "run" else [str(folder)]
    assert main([*words[:2], *where, *words[2:]]) != 0
    said = "".join(capsys.readouterr())
    assert "media/v001.mp4 does not match its digest" in said and "--restate" in said
    assert not (tmp_path / "OUT").exists() and not (tmp_path / "KEY").exists()


def test_a_hub_snapshot_is_read_through_its_links(folder: Path, tmp_path: Path, reads: list[str]) -> None:
    store = tmp_path / "datasets--org--exams"
    snapshot = store / "snapshots" / ("0" * 40)
    shutil.copytree(folder, snapshot)
    (store / "blobs").mkdir()
    for video in sorted((snapshot / "media").iterdir()):
        video.rename(store / "blobs" / video.name)
        os.symlink(f"../../../blobs/{video.name}", video)
    verify_media(open_dataset(snapshot), tmp_path / "cache")
    assert len(reads) == 3 and open_dataset(snapshot).meta["revision"] == "0" * 40
    write_video(store / "blobs/v001.mp4", seed=50)
    with pytest.raises(DataError, match=r"media/v001\.mp4 does not match its digest"):
        verify_media(open_dataset(snapshot), tmp_path / "cache")
    write_video(store / "blobs/v001.mp4", seed=0)
    with pytest.raises(DataError, match="a copy fetched from the hub is never changed"):
        restate(snapshot)
    (snapshot / "media/v001.mp4").unlink()
    shutil.copyfile(store / "blobs/v001.mp4", store / "secret.mp4")
    os.symlink("../../../secret.mp4", snapshot / "media/v001.mp4")
    with pytest.raises(DataError, match="leaves the dataset folder through a link"):
        open_dataset(snapshot)


def test_a_change_that_is_meant_is_stated_anew(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = open_dataset(folder).digest
    relabel(folder)
    with pytest.raises(DataError, match="does not match the rubric, labels"):
        open_dataset(folder, media=False)
    swap(folder)
    assert main(["data", "check", str(folder), "--quick"]) == 1
    assert main(["data", "check", str(folder), "--restate"]) == 0
    said = capsys.readouterr()
    new = open_dataset(folder).digest
    assert f"digest {old[:12]} is now {new[:12]}. Raise `version`" in said.err
    rows = [json.loads(line) for line in (folder / "videos.jsonl").read_text().splitlines()]
    media = {row["media"]: sha256_file(folder / row["media"]) for row in rows}
    rubric = load_rubric(folder / "rubric.yaml").model_dump(mode="json")
    assert new == sha256_json({"rubric": rubric, "videos": rows, "media": media}) != old
    verify_media(open_dataset(folder), tmp_path / "cache")
    assert old not in (folder / "README.md").read_text() and new in (folder / "README.md").read_text()
    assert check_dataset(folder).errors == ()
    assert restate(folder) == (new, new)


@pytest.mark.parametrize("fault", ["points", "attempt", "stray"])
def test_nothing_is_restated_beside_another_error(
    folder: Path, edit: Edit, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Found when the folder is opened, and by the whole check alone."""
    relabel(folder)
    if fault == "points":
        edit(lambda rows: rows[0]["steps"][0]["score"].update(consensus=99))
        with pytest.raises(DataError, match="99 is outside the step's range"):
            restate(folder)
    elif fault == "attempt":
        edit(lambda rows: rows[0]["steps"][0].update(errors=["cpr_01.no_such_error"]))
    else:
        (folder / "x.key.json").write_text("{}")
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert main(["data", "check", str(folder), "--quick", "--restate"]) == 1
    said = capsys.readouterr()
    assert "the digest was not recomputed: fix 1 other error first." in said.err and "error [" in said.out
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
