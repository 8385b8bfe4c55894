"""Labels: raters of whom some are no persons, attempts, errors, order and splits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from siming_tasks.benchmark.exams import Attempt, AttemptRule, Rater, deciding
from siming_tasks.benchmark.scoring import build_reference_matrix
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, open_dataset, with_labels, withhold
from siming_tasks.data.check.label_checks import label_problems
from siming_tasks.study.analysis.compare_runs import rater_points
from siming_tasks.study.analysis.raters import rater_rows
from tests.data.conftest import Edit, state

Row = dict[str, Any]


@pytest.fixture
def with_manikin(folder: Path, edit: Edit) -> Path:
    """The folder with a manikin that gives no step a point, whatever the two physicians say, and one who was absent."""
    edit(lambda rows: [step["score"].update(manikin=0, absent=None) for row in rows for step in row["steps"]])
    return folder


def pairs(dataset: Dataset, names: list[str] | None = None) -> list[str]:
    return rater_rows(dataset, None, names).of("inter-physician agreement", metric="qwk").names("row")[:-1]


@pytest.mark.parametrize("kind", ["instrument", "model"])
def test_an_instrument_is_in_no_human_analysis(with_manikin: Path, kind: str) -> None:
    before = open_dataset(with_manikin)
    assert before.physicians == ("manikin", "rater_a", "rater_b"), "of whom nothing is stated is a person"
    assert pairs(before) == ["manikin and rater_a", "manikin and rater_b", "rater_a and rater_b"]
    state(with_manikin, raters={"manikin": {"kind": kind}})
    dataset = open_dataset(with_manikin)
    assert "manikin" in dataset.raters, "its points are there all the same"
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


def codes(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for problem in label_problems(open_dataset(folder)):
        found.setdefault(problem.code, problem.what)
    return found


@pytest.fixture
def with_attempts(folder: Path, edit: Edit) -> Path:
    """``cpr_01`` of the first video: wrong, then right; the first wrong one is the label. The rubric lists a slip."""
    rubric = yaml.safe_load((folder / "rubric.yaml").read_text())
    rubric["skills"][0]["steps"][0]["errors"] = [{"id": "cpr_01.slip", "observable": "Slips.", "deduct": 1}]
    (folder / "rubric.yaml").write_text(yaml.safe_dump(rubric))

    def change(rows: list[Row]) -> None:
        step = rows[0]["steps"][0]
        step |= {"start": 0.0, "end": 0.4, "score": {"consensus": 0}, "errors": ["cpr_01.slip"]}
        step |= {"reason": "too late", "findings": {"rater_a": {"reason": "late"}}}
        wrong = {"start": 0.0, "end": 0.4, "correct": False, "errors": ["cpr_01.slip"]}
        step["attempts"] = [wrong, {"start": 1.0, "end": 1.4, "correct": True}]

    edit(change)
    state(folder, attempts="worst")
    return folder


def test_sound_attempts_have_no_finding_but_that_no_rule_is_stated(with_attempts: Path) -> None:
    assert not {"attempt-rule", "attempt-differs", "error-unknown"} & codes(with_attempts).keys()
    dataset = open_dataset(with_attempts)
    assert dataset.facts["attempts"] == "worst"
    label = dataset.videos[0].steps[0]
    assert label.attempts[1] == Attempt(1.0, 1.4, True)
    assert (label.errors, label.reason) == (("cpr_01.slip",), "too late")
    assert label.findings["rater_a"].reason == "late" and label.findings["rater_a"].errors is None
    state(with_attempts, attempts=None)
    assert "but the attempt to score is not stated" in codes(with_attempts)["attempt-rule"]


@pytest.mark.parametrize(
    ("how", "code", "words"),
    [
        (lambda s: s.update(start=1.0, end=1.4), "attempt-differs", "span of the step are not those of its worst"),
        (lambda s: s.update(score={"consensus": 2}, errors=[]), "attempt-differs", "points and errors of the step"),
        (lambda s: s["attempts"].reverse(), "attempt-order", "not in the order of time"),
        (lambda s: s["attempts"][1].update(end=9.0), "attempt-outside", "ends at 9 s, after the video's 2 s"),
        (lambda s: s["attempts"][1].update(errors=["cpr_01.slap"]), "error-unknown", "no error 'cpr_01.slap'"),
        (lambda s: s.update(findings={"rater_a": {"errors": ["cpr_02.x"]}}), "error-unknown", "no error 'cpr_02.x'"),
        (lambda s: s.update(score={"consensus": 2}), "error-without-cost", "despite the error 'cpr_01.slip'"),
    ],
)
def test_what_contradicts_itself_is_found(
    with_attempts: Path, edit: Edit, how: Callable[[Row], Any], code: str, words: str
) -> None:
    edit(lambda rows: how(rows[0]["steps"][0]))
    assert words in codes(with_attempts)[code]


def test_the_attempt_that_decides() -> None:
    right, wrong, late = Attempt(0, 1, True), Attempt(2, 3, False), Attempt(4, 5, False)
    rules = get_args(AttemptRule)
    assert [deciding([right, wrong, late], rule) for rule in rules] == [right, late, right, wrong]
    assert [deciding([wrong, right], rule) for rule in rules] == [wrong, right, right, wrong]
    assert [deciding([wrong], "best"), deciding([right], "worst")] == [wrong, right]


def test_leaks_across_any_split_are_named(folder: Path, edit: Edit) -> None:
    def change(rows: list[Row]) -> None:
        for row, student, take, person in zip(rows, "aab", "xyy", ("train", "train", "test"), strict=True):
            row |= {"student": student, "performance": take, "splits": {"person": person, "recording": row["video_id"]}}

    edit(change)
    found = [(p.code, p.what) for p in label_problems(open_dataset(folder)) if p.code.startswith("split-")]
    # by person: take y and site A are on both sides, student a is not; by recording: everything that is shared
    assert found == [
        ("split-performance", "performance y appears in more than one part of the split 'recording'."),
        ("split-student", "student a appears in more than one part of the split 'recording'."),
        ("split-site", "site A appears in more than one part of the split 'recording'."),
        ("split-performance", "performance y appears in more than one part of the split 'person'."),
        ("split-site", "site A appears in more than one part of the split 'person'."),
    ]
