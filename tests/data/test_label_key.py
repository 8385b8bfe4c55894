"""The label file: only an unchanged one of this very folder gives labels."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.clusters import clusters_of
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, open_dataset, with_labels, withhold
from tests.data.conftest import make_folder

Key = dict[str, Any]


@pytest.fixture
def key(folder: Path, tmp_path: Path) -> Path:
    withhold(folder, tmp_path / "public", tmp_path / "exams.key.json")
    return tmp_path / "exams.key.json"


@pytest.fixture
def public(key: Path) -> Dataset:
    return open_dataset(key.parent / "public")


def refused(public: Dataset, key: Path) -> list[str]:
    with pytest.raises(DataError) as caught:
        with_labels(public, key)
    said = str(caught.value).splitlines()
    assert all(line.startswith(str(key)) for line in said)
    return said


def test_withheld_labels_and_what_they_say_beyond_points_come_back_with_their_key(
    folder: Path, edit: Any, tmp_path: Path
) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for row, student in zip(rows, ("T07", "T07", "T7"), strict=True):
            row |= {"student": student, "performance": "p", "split": "test", "splits": {"person": "dev"}}
        step = rows[0]["steps"][0]
        step |= {"errors": [], "reason": "late", "findings": {"rater_a": {"errors": ["cpr_01.x"], "reason": "why"}}}
        step["attempts"] = [{"start": 0.1, "end": 0.2, "correct": False}, {"correct": True}]

    edit(change)
    with (folder / "dataset.yaml").open("a") as stream:
        stream.write("different: [[T7, T07]]\n")
    full, public = open_dataset(folder), withhold(folder, tmp_path / "public", tmp_path / "exams.key.json")
    assert public.withheld and not full.withheld
    text = (tmp_path / "public" / "videos.jsonl").read_text()
    assert not any(word in text for word in ("student", "performance", "attempts", "reason", "findings", "errors"))
    assert public.videos[0].splits == {"split": "test", "person": "dev"}
    labelled = with_labels(public, tmp_path / "exams.key.json")
    assert [video.steps for video in labelled.videos] == [video.steps for video in full.videos]
    assert (tmp_path / "exams.key.json").stat().st_mode & 0o077 == 0, "its owner alone reads it"
    # before: every video was a cluster of its own, and intervals were too narrow
    assert clusters_of(labelled, "student").names == clusters_of(full, "student").names
    assert clusters_of(public).unit == "video"


def test_nothing_of_the_key_is_in_the_public_folder(folder: Path, edit: Any, tmp_path: Path) -> None:
    """Neither a rater, a reason, a student nor a date of the full folder's files; the spans are those of all steps."""

    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row |= {"student": "zhang", "graded": "2024-03-01"}
            row["steps"][0] |= {"reason": "too shallow", "findings": {"rater_a": {"reason": "bends"}}}

    edit(change)
    for file in (*folder.rglob("*"), folder):
        os.utime(file, (1, 1))
    withhold(folder, tmp_path / "public", tmp_path / "exams.key.json")
    files = [*(tmp_path / "public").rglob("*")]
    assert {file.name for file in files} == {
        *("README.md", "dataset.yaml", "rubric.yaml", "videos.jsonl", "media", "v001.mp4", "v002.mp4", "v003.mp4")
    }
    assert all(file.stat().st_mtime > 1 for file in files)
    for file in files:
        text = "" if file.is_dir() or file.suffix == ".mp4" else file.read_text()
        for secret in ("rater_", "zhang", "shallow", "bends", "graded", open_dataset(folder).digest):
            assert secret not in text, (file, secret)
    rows = [json.loads(line) for line in (tmp_path / "public" / "videos.jsonl").read_text().splitlines()]
    assert {json.dumps(step["score"]) for row in rows for step in row["steps"]} == {'{"consensus": null}'}


def test_the_public_folder_is_the_same_whatever_the_labels_are(folder: Path, edit: Any, tmp_path: Path) -> None:
    """Names, sizes, bytes and digests: else each would confirm a guess of the labels."""
    withhold(folder, tmp_path / "first", tmp_path / "first.key.json")

    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            for step in row["steps"]:
                step["score"] = dict.fromkeys(step["score"], 0) | {"rater_z": 0}

    edit(change)
    withhold(folder, tmp_path / "second", tmp_path / "second.key.json")
    first, second = (
        {path.relative_to(top): path.read_bytes() for path in top.rglob("*") if path.is_file()}
        for top in (tmp_path / "first", tmp_path / "second")
    )
    assert first == second and len(first) == 7


def other_points(key: Key) -> None:
    """The same videos, scored otherwise: the head of the right key does not make them the right points."""
    for step in (step for video in key["videos"].values() for step in video["steps"]):
        step["score"]["rater_a"] = 0


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (lambda key: key.update(format="siming-labels-7"), "format 'siming-labels-7'; this version reads"),
        (lambda key: key.update(public_digest="0" * 64), "the labels of data set 000000000000, but the folder is"),
        (lambda key: key.pop("digest"), "digest: missing field `digest`"),
        (lambda key: key["videos"].pop("v002"), "changed after it was written"),
        (other_points, "changed after it was written"),
        (lambda key: key.update(source_digest="0" * 64), "changed after it was written"),
    ],
)
def test_a_changed_key_is_refused(public: Dataset, key: Path, how: Callable[[Key], Any], words: str) -> None:
    content = json.loads(key.read_text())
    how(content)
    key.write_text(json.dumps(content))
    (said,) = refused(public, key)
    assert words in said


def test_a_key_that_is_none_of_this_folder_is_refused(folder: Path, public: Dataset, key: Path, tmp_path: Path) -> None:
    (said,) = refused(open_dataset(folder), key)
    assert "already contains these labels. Leave out the label file." in said
    other = make_folder(tmp_path / "other", 2)
    withhold(other, tmp_path / "other-public", tmp_path / "other.json")
    (said,) = refused(public, tmp_path / "other.json")
    assert f"the folder is {public.digest[:12]}" in said
    key.write_text(key.read_text().replace('"consensus":', '"consensus": 0, "consensus":', 1))
    (said,) = refused(public, key)
    assert "key 'consensus' appears twice" in said


def test_nothing_is_withheld_into_a_place_that_would_show_it(folder: Path, public: Dataset, tmp_path: Path) -> None:
    (tmp_path / "there.json").write_text("")
    for root, out, key, words in (
        (folder, "out", "out/exams.key.json", "must be outside the public folder"),
        (folder, "out", "there.json", "already exists. Choose another place"),
        (folder, "public", "new.json", "public"),
        (public.root, "out", "new.json", "no step has a consensus, so there is nothing to withhold"),
    ):
        with pytest.raises(DataError, match=words):
            withhold(root, tmp_path / out, tmp_path / key)
        assert not (tmp_path / "out").exists() and not (tmp_path / "new.json").exists()
