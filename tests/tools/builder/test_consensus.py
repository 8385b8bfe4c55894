"""Where the reference points come from, and what raters, videos and formulas are called."""

import os
import stat
import unicodedata
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import openpyxl
import pytest

from siming_tasks.benchmark.exams import Rater
from siming_tasks.benchmark.rubrics import rubric_from
from siming_tasks.tools.builder.build_plan import decide, rater_names
from siming_tasks.tools.builder.label_rows import LabelRow
from siming_tasks.tools.builder.label_tables import read_labels
from siming_tasks.tools.builder.template import write_adjudication
from siming_tasks.tools.builder.video_files import VideoFiles
from tests.data.conftest import RUBRIC

FACTS = {"manikin": Rater("instrument"), "timing": Rater("rule")}


def row(scores: dict[str, float], **more: Any) -> LabelRow:
    return LabelRow("v1", "cpr_01", "sheet.csv", 2, scores=scores, **more)


@pytest.mark.parametrize(
    ("scores", "rule", "expected", "origin"),
    [
        ({"consensus": 1.0, "a": 2.0, "b": 0.0}, "agree", 1.0, "given"),
        ({"a": 2.0, "b": 2.0}, "agree", 2.0, "raters agree"),
        ({"a": 2.0, "b": 2.0, "c": 2.0}, "mean", 2.0, "raters agree"),
        ({"a": 2.0, "b": 1.0}, "mean", 1.5, "mean of raters"),
        ({"a": 2.0}, "mean", 2.0, "mean of raters"),
        ({"a": 2.0, "b": 1.0}, "b", 1.0, "points of b"),
        # an instrument has no voice unless it is named
        ({"a": 2.0, "b": 2.0, "manikin": 0.0}, "agree", 2.0, "raters agree"),
        ({"a": 2.0, "b": 1.0, "manikin": 0.0}, "mean", 1.5, "mean of raters"),
        ({"a": 2.0, "manikin": 0.0}, "manikin", 0.0, "points of manikin"),
    ],
)
def test_consensus_rules_decide_as_calculated_by_hand(
    scores: dict[str, float], rule: str, expected: float, origin: str
) -> None:
    decision = decide([row(scores)], rule, FACTS)
    assert decision.scores["v1", "cpr_01"] == {**scores, "consensus": expected}
    assert (decision.origins, decision.problems, decision.open) == ({origin: 1}, (), ())


@pytest.mark.parametrize(
    ("scores", "rule", "message"),
    [
        ({"a": 2.0, "b": 1.0}, "agree", "the raters differ (a 2, b 1). Add a row of consensus"),
        ({"a": 2.0, "manikin": 2.0}, "agree", "no points of b for 1 step that a scored. Let b score, or add rows of"),
        ({"manikin": 2.0, "timing": 2.0}, "agree", "no person gave points (manikin 2, timing 2)."),
        ({"a": 2.0}, "b", "no points of 'b' (a 2)."),
        ({}, "mean", "no rater gave points (1 step)."),
    ],
)
def test_undecided_steps_are_listed(scores: dict[str, float], rule: str, message: str) -> None:
    undecided = row(scores)
    decision = decide([undecided, row({"a": 1.0, "b": 1.0})], rule, FACTS)
    (problem,) = decision.problems
    assert message in str(problem) and str(problem).startswith("sheet.csv:2: ") and decision.open == (undecided,)


def test_no_points_at_all_are_withheld_labels() -> None:
    decision = decide([row({}), row({}, applicable=False)])
    assert (decision.problems, decision.origins) == ((), {"withheld": 1})
    assert decision.scores == {("v1", "cpr_01"): {"consensus": None}}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["Wang", "Li"], ["rater_a", "rater_b"]),
        (["rater_a", "rater_b", "rater_12"], ["rater_a", "rater_b", "rater_12"]),
        (["rater_b", "Li", "rater_a", "rater_wang"], ["rater_b", "rater_c", "rater_a", "rater_d"]),
        (["Li", "manikin", "Wang"], ["rater_a", "manikin", "rater_b"]),
        ([f"n{k}" for k in range(28)], [*(f"rater_{c}" for c in ascii_lowercase), "rater_aa", "rater_ab"]),
    ],
)  # fmt: skip
def test_letters_for_names(names: list[str], expected: list[str]) -> None:
    given = row({**dict.fromkeys(names, 1.0), "consensus": 1.0})
    assert rater_names([given], facts=FACTS) == dict(zip(names, expected, strict=True))
    assert rater_names([given], keep=True) == {name: name for name in names}


def test_a_name_means_the_file_of_that_name(tmp_path: Path) -> None:
    """In composed letters or not, and without taking one letter for another."""
    apart = unicodedata.normalize("NFD", "Müller.mp4")
    for file in ("Fall2.mp4", apart):
        (tmp_path / file).touch()
    found = {name: [path.name for path in VideoFiles(tmp_path).find(name)] for name in ("Fall2", "Fall²", "Müller")}
    assert found == {"Fall2": ["Fall2.mp4"], "Fall²": [], "Müller": [apart]}
    assert VideoFiles(tmp_path).find(apart) == [tmp_path / apart]


EVIL = ('=HYPERLINK("http://x",1)', "+1+cmd|' /C calc'!A0", "@SUM(A1)", "-2+3", "'=already", "O'Brien", "-1.5")


def test_the_list_to_adjudicate_is_private_from_its_first_byte_holds_no_formula_and_reads_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    replace = os.replace

    def noted(source: Any, target: Any) -> None:
        modes.append(stat.S_IMODE(os.stat(source).st_mode))
        replace(source, target)

    monkeypatch.setattr(os, "replace", noted)
    rows = [LabelRow(name, "cpr_01", "sheet.csv", 2, scores={"=cmd": 1.0, "rater_b": 0.0}) for name in EVIL]
    before = os.umask(0)  # which forbids nothing
    path = write_adjudication(tmp_path / "a.xlsx", rubric_from(RUBRIC), rows)
    os.umask(before)
    assert modes == [0o600]
    assert write_adjudication(path, rubric_from(RUBRIC), rows) == path, "an equal one that is there stays"
    sheet = openpyxl.load_workbook(path).active
    cells = [str(cell.value or "") for row in sheet.iter_rows() for cell in row]
    assert [cell for cell in cells if cell[:1] in tuple("=+@\t\r") or (cell[:1] == "-" and cell != "-1.5")] == []
    judgments, problems = read_labels([path], rubric_from(RUBRIC))
    assert problems == [] and [(row.video, row.rater, row.points) for row in judgments] == [
        (name, *given) for name in EVIL for given in (("=cmd", 1.0), ("rater_b", 0.0), ("consensus", None))
    ]
