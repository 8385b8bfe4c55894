"""The label file: only an unchanged one of this very folder gives labels."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, open_dataset, with_labels, withhold
from siming_tasks.data.clusters import clusters_of
from tests.data.conftest import make_folder

Key = dict[str, Any]


@pytest.fixture
def key(folder: Path, tmp_path: Path) -> Path:
    withhold(folder, tmp_path / "public", tmp_path / "exams.key.json")
    return tmp_path / "exams.key.json"


@pytest.fixture
def public(key: Path) -> Dataset:
    return open_dataset(key.parent / "public")


def change(key: Path, how: Callable[[Key], Any]) -> None:
    content = json.loads(key.read_text())
    how(content)
    key.write_text(json.dumps(content))


def refused(public: Dataset, key: Path) -> list[str]:
    """What is said, a line per finding; each names the file."""
    with pytest.raises(DataError) as caught:
        with_labels(public, key)
    said = str(caught.value).splitlines()
    assert all(line.startswith(str(key)) for line in said)
    return said


def test_withheld_labels_come_back_with_their_key(folder: Path, public: Dataset, key: Path) -> None:
    full = open_dataset(folder)
    assert public.withheld
    assert [video.steps for video in with_labels(public, key).videos] == [video.steps for video in full.videos]


def test_what_labels_say_beyond_points_comes_back_with_the_key(folder: Path, edit: Any, tmp_path: Path) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for row, student in zip(rows, "aab", strict=True):
            row |= {"student": student, "performance": "p", "split": "test", "splits": {"person": "dev"}}
        step = rows[0]["steps"][0]
        step |= {"errors": [], "reason": "late", "findings": {"rater_a": {"errors": ["cpr_01.x"], "reason": "why"}}}
        step["attempts"] = [{"start": 0.1, "end": 0.2, "correct": False}, {"correct": True}]

    edit(change)
    full = open_dataset(folder)
    withhold(folder, tmp_path / "public", tmp_path / "exams.key.json")
    public = open_dataset(tmp_path / "public")
    text = (tmp_path / "public" / "videos.jsonl").read_text()
    assert not any(word in text for word in ("student", "performance", "attempts", "reason", "findings", "errors"))
    assert public.videos[0].splits == {"split": "test", "person": "dev"}
    labelled = with_labels(public, tmp_path / "exams.key.json")
    assert [video.steps for video in labelled.videos] == [video.steps for video in full.videos]
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


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (lambda key: key.update(format="siming-labels-7"), "format 'siming-labels-7'; this version reads"),
        (lambda key: key.update(public_digest="0" * 64), "the labels of dataset 000000000000, the folder is"),
        (lambda key: key.pop("digest"), "digest: Field required"),
        (lambda key: key["videos"].pop("v002"), "changed after it was written"),
        (lambda key: key["videos"]["v003"]["steps"].pop(), "changed after it was written"),
        (lambda key: key["videos"]["v001"]["steps"][0]["score"].update(consensus=0), "changed after it was written"),
        (lambda key: key.update(source_digest="0" * 64), "changed after it was written"),
        (lambda key: key.update(digest="0" * 64), "changed after it was written"),
    ],
    ids=["format", "public digest", "no digest", "video", "step", "points", "source", "digest"],
)
def test_a_changed_key_is_refused(public: Dataset, key: Path, how: Callable[[Key], Any], words: str) -> None:
    change(key, how)
    (said,) = refused(public, key)
    assert words in said


def test_a_key_with_a_doubled_entry_is_refused(public: Dataset, key: Path) -> None:
    key.write_text(key.read_text().replace('"consensus":', '"consensus": 0, "consensus":', 1))
    (said,) = refused(public, key)
    assert "key 'consensus' appears twice" in said


def test_the_labels_of_another_data_set(public: Dataset, tmp_path: Path) -> None:
    other = make_folder(tmp_path / "other", 2)
    withhold(other, tmp_path / "other-public", tmp_path / "other.json")
    (said,) = refused(public, tmp_path / "other.json")
    assert f"the folder is {public.digest[:12]}" in said


def test_points_under_the_head_of_another_key(public: Dataset, key: Path, folder: Path, tmp_path: Path) -> None:
    """The same videos, scored otherwise: a head copied from the right key does not make it the right points."""
    other = make_folder(tmp_path / "other", 3)
    text = (other / "videos.jsonl").read_text().replace('"rater_a": 2', '"rater_a": 0')
    (other / "videos.jsonl").write_text(text)
    info = [line for line in (other / "dataset.yaml").read_text().splitlines() if not line.startswith("digest:")]
    (other / "dataset.yaml").write_text("\n".join(info))
    withhold(other, tmp_path / "other-public", tmp_path / "other.json")
    videos = json.loads((tmp_path / "other.json").read_text())["videos"]
    change(key, lambda content: content.update(videos=videos))
    (said,) = refused(public, key)
    assert "changed after it was written" in said


def test_the_full_data_set_needs_no_key(folder: Path, key: Path) -> None:
    (said,) = refused(open_dataset(folder), key)
    assert "is the data set with these labels in it. Leave out the label file." in said
