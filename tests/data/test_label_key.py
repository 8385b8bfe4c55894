"""The label file: only an unchanged one of this very folder gives labels."""

from __future__ import annotations

import json
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


def test_a_label_file_of_the_first_releases_is_read(public: Dataset, key: Path) -> None:
    change(key, lambda content: content.pop("digest"))
    assert with_labels(public, key).video("v001").step("cpr_01").consensus == 1.0  # see conftest.video_row


@pytest.mark.parametrize("stated", [True, False], ids=["with digest", "without"])
@pytest.mark.parametrize(
    ("how", "words"),
    [
        (lambda key: key["scores"].pop("v002"), "no labels of video 'v002'"),
        (lambda key: key["scores"]["v003"].pop("cpr_03"), "video 'v003': no labels of step 'cpr_03'"),
        (lambda key: key["scores"].update(v9={}), "the folder has no video 'v9'"),
        (lambda key: key["scores"]["v001"].update(cpr_99={"consensus": 1}), "a step that is not asked, 'cpr_99'"),
        (lambda key: key["scores"]["v001"]["cpr_01"].update(consensus=9), "9 points are off the step's scale"),
        (lambda key: key.update(format="siming-labels-7"), "format 'siming-labels-7'; this version reads"),
        (lambda key: key.update(public_digest="0" * 64), "the labels of dataset 000000000000, the folder is"),
    ],
    ids=["video", "step", "other video", "other step", "scale", "format", "public digest"],
)
def test_a_key_of_another_data_set_is_refused(
    public: Dataset, key: Path, how: Callable[[Key], Any], words: str, stated: bool
) -> None:
    if not stated:
        change(key, lambda content: content.pop("digest"))
    change(key, how)
    (said,) = refused(public, key)
    assert words in said


@pytest.mark.parametrize(
    "how",
    [
        lambda key: key["scores"]["v001"]["cpr_01"].update(consensus=0),
        lambda key: key["scores"]["v001"]["cpr_01"].pop("rater_b"),
        lambda key: key.update(source_digest="0" * 64),
        lambda key: key.update(digest="0" * 64),
    ],
    ids=["points", "rater", "source", "digest"],
)
def test_a_changed_key_is_refused(public: Dataset, key: Path, how: Callable[[Key], Any]) -> None:
    change(key, how)
    (said,) = refused(public, key)
    assert "changed after it was written" in said and "siming data split" in said


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ('"v001": {', '"v002": {}, "v001": {', "v002"),
        ('"cpr_01": {', '"cpr_01": {}, "cpr_01": {', "cpr_01"),
        ('"consensus":', '"consensus": 0, "consensus":', "consensus"),
        ('"format":', '"format": "x", "format":', "format"),
    ],
    ids=["video", "step", "rater", "head"],
)
def test_a_key_with_a_doubled_entry_is_refused(public: Dataset, key: Path, old: str, new: str, name: str) -> None:
    key.write_text(key.read_text().replace(old, new, 1))
    (said,) = refused(public, key)
    assert f"{name!r} stands twice in one object" in said


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
    points = json.loads((tmp_path / "other.json").read_text())["scores"]
    change(key, lambda content: content.update(scores=points))
    (said,) = refused(public, key)
    assert "changed after it was written" in said


def test_the_full_data_set_needs_no_key(folder: Path, key: Path) -> None:
    (said,) = refused(open_dataset(folder), key)
    assert "is the data set with these labels in it. Leave out the label file." in said
