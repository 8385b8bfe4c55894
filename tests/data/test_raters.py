"""Who judged: persons are human raters; instruments, rules and models never are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from siming_tasks.analysis.compare_runs import rater_points
from siming_tasks.analysis.raters import rater_rows
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import Rater
from siming_tasks.data import Dataset, open_dataset, with_labels, withhold
from siming_tasks.results.evaluate_records import build_reference_matrix

Edit = Callable[[Callable[[list[dict[str, Any]]], Any]], None]


def state(folder: Path, **facts: Any) -> None:
    """Write keys into ``dataset.yaml``."""
    path = folder / "dataset.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **facts}))


@pytest.fixture
def with_manikin(folder: Path, edit: Edit) -> Path:
    """The folder with a manikin that gives no step a point, whatever the two physicians say."""
    edit(lambda rows: [step["score"].update(manikin=0) for row in rows for step in row["steps"] if "score" in step])
    return folder


def pairs(dataset: Dataset, names: list[str] | None = None) -> list[str]:
    """The pairs of raters whose agreement is shown."""
    return rater_rows(dataset, None, names).of("physicians with each other", metric="qwk").names("row")[:-1]


@pytest.mark.parametrize("kind", ["instrument", "model"])
def test_an_instrument_is_in_no_human_analysis(with_manikin: Path, kind: str) -> None:
    before = open_dataset(with_manikin)
    assert before.physicians == ("manikin", "rater_a", "rater_b"), "of whom nothing is stated is a person"
    assert pairs(before) == ["manikin and rater_a", "manikin and rater_b", "rater_a and rater_b"]
    state(with_manikin, raters={"manikin": {"kind": kind}})
    dataset = open_dataset(with_manikin)
    assert dataset.raters == ("consensus", "manikin", "rater_a", "rater_b")  # its points are there all the same
    assert dataset.physicians == ("rater_a", "rater_b")
    assert pairs(dataset) == ["rater_a and rater_b"]
    matrix = build_reference_matrix(dataset, "full_score", "consensus")
    assert sorted(rater_points(dataset, matrix)) == ["rater_a", "rater_b"]
    assert pairs(dataset, ["rater_a", "manikin"]) == ["manikin and rater_a"]  # who asks for it by name gets it


def test_facts_about_raters_are_read_and_stand_where_they_are_compared(
    with_manikin: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {"manikin": {"kind": "instrument"}, "rater_a": {"heard": False, "saw": "recording"}}
    state(with_manikin, raters={**facts, "rater_b": {"kind": "person", "heard": True, "saw": "present", "note": "x"}})
    assert open_dataset(with_manikin).rater_facts == {
        "manikin": Rater("instrument"),
        "rater_a": Rater("person", False, "recording"),
        "rater_b": Rater("person", True, "present"),
    }
    state(with_manikin, raters={"manikin": {"kind": "instrument"}, "rater_a": {"heard": True, "saw": "present"}})
    assert main(["study", "raters", str(with_manikin)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "manikin: instrument; rater" in text and "_a: person, was present, with sound; rater" in text
    assert "_b: not stated" in text


@pytest.mark.parametrize(
    ("raters", "words"),
    [
        ({"manikin": {"knd": "instrument"}}, "knd"),
        ({"manikn": {"kind": "instrument"}}, "'manikn', who gave no points"),
        ({"rater_a": {"heard": "yes"}}, "heard"),
    ],
)
def test_a_slip_that_would_make_a_person_of_an_instrument_is_an_error(
    with_manikin: Path, raters: dict[str, Any], words: str
) -> None:
    state(with_manikin, raters=raters)
    with pytest.raises(DataError, match=words):
        open_dataset(with_manikin)


def test_the_label_file_says_who_is_an_instrument(with_manikin: Path, tmp_path: Path) -> None:
    state(with_manikin, raters={"manikin": {"kind": "instrument"}})
    withhold(with_manikin, tmp_path / "public", tmp_path / "exams.key.json")
    public = open_dataset(tmp_path / "public")
    assert not public.rater_facts and "manikin" not in (tmp_path / "public" / "dataset.yaml").read_text()
    assert with_labels(public, tmp_path / "exams.key.json").physicians == ("rater_a", "rater_b")


def test_attempts_and_findings_are_opened_as_written(folder: Path, edit: Edit) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        step = rows[0]["steps"][0]
        step |= {"errors": ["cpr_01.late"], "reason": "too late", "findings": {"rater_a": {"reason": "late"}}}
        step["attempts"] = [{"start": 0.1, "end": 0.2, "correct": False, "errors": ["cpr_01.late"]}, {"correct": True}]
        rows[0] |= {"split": "one", "splits": {"person": "test"}}

    edit(change)
    state(folder, attempts="worst")
    dataset = open_dataset(folder)
    video = dataset.videos[0]
    label = video.steps[0]
    assert (label.errors, label.reason) == (("cpr_01.late",), "too late")
    assert label.findings["rater_a"].reason == "late" and label.findings["rater_a"].errors is None
    assert [(one.start, one.correct) for one in label.attempts] == [(0.1, False), (None, True)]
    assert dataset.attempt_rule == "worst" and video.splits == {"split": "one", "person": "test"}
